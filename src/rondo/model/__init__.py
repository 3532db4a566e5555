"""Rondo, the model: fit, label, describe, transfer, and its folder on disk."""
