"""Rondo: what recurs in long, unlabelled sensor recordings."""

from rondo.data.recording import Recording
from rondo.labelling import Labelling
from rondo.model import Rondo

__all__ = ["Labelling", "Recording", "Rondo"]
