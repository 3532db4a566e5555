"""Where a model comes from: versions and the recordings it saw. No time stamps: same input, same folder."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rondo.data.recording import Recording
from rondo.version import __version__

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch")


def provenance_of(recordings: Sequence[Recording]) -> dict[str, Any]:
    """Versions of what computed, and id, size and rate of every recording."""
    return {
        "python": platform.python_version(),
        "packages": {"rondo-ts": __version__} | {name: _version(name) for name in _LIBRARIES},
        "recordings": [
            {"id": r.id, "n_frames": r.n_frames, "n_channels": r.n_channels, "rate": r.rate} for r in recordings
        ],
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
