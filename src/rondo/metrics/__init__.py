"""How well discovered labels agree with the truth: the paper's scores, recurrence scores, and the clock."""

from rondo.metrics.comparison import Comparison, compare
from rondo.metrics.continual import ContinualScores, StageScores, evaluate_continual
from rondo.metrics.meaning import SharedScores, meaning, shared_scores
from rondo.metrics.scores import ScoreRow, Scores, clock_labels, evaluate

__all__ = [
    "Comparison",
    "ContinualScores",
    "ScoreRow",
    "Scores",
    "SharedScores",
    "StageScores",
    "clock_labels",
    "compare",
    "evaluate",
    "evaluate_continual",
    "meaning",
    "shared_scores",
]
