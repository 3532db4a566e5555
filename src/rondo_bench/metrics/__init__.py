"""Scores of the experiments that the library does not have."""

from rondo_bench.metrics.published import ContinualScores, StageScores, evaluate_continual

__all__ = ["ContinualScores", "StageScores", "evaluate_continual"]
