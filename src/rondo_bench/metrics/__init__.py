"""Scores of the experiments that the library does not have."""
