"""Statistics of a result: usage, sequence, shape, composition."""
