"""Ground truth, for evaluation only: no learner may import it."""
