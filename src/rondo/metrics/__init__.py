"""How well discovered labels agree with the truth: the paper's scores, recurrence scores, and the clock."""

from rondo.metrics.comparison import Comparison, compare
from rondo.metrics.continual import ContinualScores, StageScores, evaluate_continual
from rondo.metrics.scores import ScoreRow, Scores, clock_labels, evaluate

__all__ = [
    "Comparison",
    "ContinualScores",
    "ScoreRow",
    "Scores",
    "StageScores",
    "clock_labels",
    "compare",
    "evaluate",
    "evaluate_continual",
]
