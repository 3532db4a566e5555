"""RECORDING -> LABELS by the methods that Rondo is measured against, behind one interface."""

from rondo_bench.baselines.base import (
    BASELINES,
    Baseline,
    BaselineSettings,
    FittedBaseline,
    JoiningBaseline,
    JoiningReader,
    ReadingBaseline,
    build_baseline,
    label_recording,
)

__all__ = [
    "BASELINES",
    "Baseline",
    "BaselineSettings",
    "FittedBaseline",
    "JoiningBaseline",
    "JoiningReader",
    "ReadingBaseline",
    "build_baseline",
    "label_recording",
]
