"""How well discovered labels agree with the truth: the paper's scores, recurrence scores, and the clock."""

from rondo.metrics.comparison import Comparison, compare
from rondo.metrics.meaning import SharedScores, meaning, shared_scores
from rondo.metrics.scores import ScoreRow, Scores, clock_labels, evaluate

__all__ = [
    "Comparison",
    "ScoreRow",
    "Scores",
    "SharedScores",
    "clock_labels",
    "compare",
    "evaluate",
    "meaning",
    "shared_scores",
]
