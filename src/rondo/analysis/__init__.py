"""Statistics of a finished run: usage, transitions and groups, durations and cycles, what entries are made of."""
