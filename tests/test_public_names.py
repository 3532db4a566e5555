"""The public surface changes only on purpose, and importing it is cheap."""

from __future__ import annotations

import subprocess
import sys

import rondo


def test_public_names_are_complete_sorted_and_there() -> None:
    assert rondo.__all__ == sorted(rondo.__all__) == [
        "Labelling", "Reading", "Recording", "Result", "Rondo", "__version__", "discover", "errors", "evaluate",
        "label", "read",
    ]  # fmt: skip
    for name in set(rondo.__all__) - {"__version__"}:
        assert getattr(rondo, name).__name__.removeprefix("rondo.") == name
    assert rondo.__version__.count(".") == 2
    assert set(rondo.__all__) <= set(dir(rondo))


def test_importing_and_loading_names_brings_no_heavy_library() -> None:
    code = (
        "import sys, rondo; rondo.Rondo(); rondo.Recording; rondo.Labelling; rondo.Result; rondo.read;"
        "rondo.discover; rondo.label;"
        "heavy = {'torch', 'sklearn', 'polars', 'bokeh', 'pandas', 'scipy.signal', 'scipy.cluster'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "[]"
