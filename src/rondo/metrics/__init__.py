"""How well discovered labels agree with the truth: the paper's scores, recurrence scores, and the clock."""

from rondo.metrics.continual import ContinualScores, StageScores, evaluate_continual
from rondo.metrics.controls import clock_labels
from rondo.metrics.scores import ScoreRow, Scores, evaluate

__all__ = [
    "ContinualScores",
    "ScoreRow",
    "Scores",
    "StageScores",
    "clock_labels",
    "evaluate",
    "evaluate_continual",
]
