"""RECORDING -> LABELS by the methods that Rondo is measured against, behind one interface."""

from rondo_bench.baselines.baseline import (
    Baseline,
    BaselineSettings,
    JoiningBaseline,
    baseline_names,
    build_baseline,
    label_recording,
)

__all__ = ["Baseline", "BaselineSettings", "JoiningBaseline", "baseline_names", "build_baseline", "label_recording"]
