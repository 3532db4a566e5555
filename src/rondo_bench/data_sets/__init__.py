"""Public data sets: what they are, and where a local copy lies."""
