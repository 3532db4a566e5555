"""The published continual rule: entries and micro-clusters in the latent space, at both levels (`continual.rule`)."""
