"""Does it recur? Surrogate tests, for units and motifs alike."""
