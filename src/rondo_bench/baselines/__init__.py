"""RECORDING -> LABELS by the methods that Rondo is measured against, behind one interface."""

from rondo_bench.baselines.base import (
    Baseline,
    BaselineSettings,
    FittedBaseline,
    JoiningBaseline,
    JoiningReader,
    ReadingBaseline,
    baseline_names,
    build_baseline,
    label_recording,
)

__all__ = [
    "Baseline",
    "BaselineSettings",
    "FittedBaseline",
    "JoiningBaseline",
    "JoiningReader",
    "ReadingBaseline",
    "baseline_names",
    "build_baseline",
    "label_recording",
]
