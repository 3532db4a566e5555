"""The columns of tables: what they are called, how they are shown, and which values are better."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rondo_bench.experiments.spec import Experiment


@dataclass(frozen=True)
class Column:
    """One score in a table."""

    name: str
    title: str
    better: Literal["high", "low", "near 1", "neither"] = "high"
    digits: int = 2

    def badness(self, value: float) -> float:
        """Less is better, of values as they are shown; |log| of a ratio, as in the paper.

        >>> SEG_RATIO.badness(0.5) == SEG_RATIO.badness(2.0), SEG_RATIO.badness(0.0)
        (True, inf)
        """
        shown = round(value, self.digits)
        if self.better == "near 1":
            return abs(math.log(shown)) if shown > 0 else math.inf
        return shown if self.better == "low" else -shown


SEG_RATIO = Column("seg_ratio", "SegRatio", "near 1")
_LOOSER_F1 = (
    Column("f1_10", "F1@10"),
    Column("f1_25", "F1@25"),
)  # "complete results" of the paper, in none of its tables
_PAPER = (Column("mof", "MoF"), Column("recall", "Recall"), Column("f1_50", "F1@50"), Column("edit", "Edit"), SEG_RATIO)
RECURRENCE = (Column("ari", "ARI"), Column("ami", "AMI"), Column("one_to_one", "one-to-one"))
_CLUSTERS = Column("n_clusters", "clusters", "neither", 1)
_STATES = (
    Column("covering", "covering"),
    Column("change_point_f1", "F1 of changes"),
    Column("wari", "WARI"),
    Column("sms", "SMS"),
)
_ALSO = {
    "nmi": Column("nmi", "NMI"),
    "pooled_ari": Column("pooled_ari", "pooled ARI"),
    "pooled_ami": Column("pooled_ami", "pooled AMI"),
    "pooled_one_to_one": Column("pooled_one_to_one", "pooled one-to-one"),
}
_STAGES = tuple(Column(f"h_{percent}", f"H@{percent}") for percent in (40, 60, 80, 100))
_FORGETTING = Column("forgetting", "M_f", "low")
_INSPECTED = (
    Column("persistence", "units that persist, %"),
    Column("unit_purity", "purity of units"),
    Column("motif_purity", "of motifs"),
    Column("purity_gain", "gain"),
    Column("n_units", "units", "neither", 1),
    Column("occurrences_per_unit", "occurrences of a unit", "neither", 1),
)


def columns_of(experiment: Experiment, *, all_scores: bool = False) -> tuple[Column, ...]:
    """What the table of an experiment shows, the paper's columns first; `all_scores`: F1@10 and F1@25 too."""
    shown = _shown(experiment)
    return tuple(one for own in shown for one in ((*_LOOSER_F1, own) if all_scores and own.name == "f1_50" else (own,)))


def _shown(experiment: Experiment) -> tuple[Column, ...]:
    match experiment.protocol:
        case "continual":
            return (*_PAPER, *_STAGES, _FORGETTING, *RECURRENCE, _CLUSTERS)
        case "states":
            return (*RECURRENCE, *(_ALSO[name] for name in experiment.also), *_STATES, _CLUSTERS)
        case "qualitative":
            return (*_INSPECTED, *_PAPER, *RECURRENCE)
        case _:
            return (*_PAPER, *RECURRENCE, _CLUSTERS)
