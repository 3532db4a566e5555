"""A mouse that walks, stands and turns in an arena, as a tracker of points sees it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.data.body import BodyPoint
from rondo.data.recording import Recording

NAMES = ("nose", "ear", "paw", "tail_base", "tail_tip")
RATE = 30.0
_AT = np.array([[1.0, 0.0], [0.8, 0.2], [0.5, -0.25], [0.0, 0.0], [-1.0, 0.0]]) * 60  # in the body, in pixels
_BOUT = 90  # frames of one behaviour


def mouse(n_frames: int = 3_600, seed: int = 0) -> NDArray[np.float64]:
    """Points (n_frames, 5, 2): in turn it walks ahead, stands and grooms, and turns on the spot."""
    rng = np.random.default_rng(seed)
    deed = np.repeat(np.tile(np.arange(3), n_frames // (3 * _BOUT) + 1), _BOUT)[:n_frames]
    time = np.arange(n_frames) / RATE
    heading = np.cumsum(np.where(deed == 2, 2.5, 0.1) / RATE) + 0.02 * np.cumsum(rng.normal(size=n_frames)) / RATE
    ahead = np.stack([np.cos(heading), np.sin(heading)], axis=1)
    middle = np.cumsum(np.where(deed == 0, 90.0, 0.0)[:, None] / RATE * ahead, axis=0) + 400
    points = np.tile(_AT, (n_frames, 1, 1))
    points[:, 2, 0] += np.where(deed == 0, 8 * np.sin(2 * np.pi * 3 * time), 0)
    points[:, 0, 0] -= np.where(deed == 1, 5 + 5 * np.sin(2 * np.pi * 4 * time), 0)
    points[:, 4, 1] += 25 * np.sin(2 * np.pi * 0.4 * time)
    across = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
    placed = points[..., :1] * ahead[:, None] + points[..., 1:] * across[:, None] + middle[:, None]
    return np.asarray(placed + rng.normal(size=placed.shape) * 0.5)


def tracked(points: NDArray[np.float64], id: str = "mouse", rate: float | None = RATE) -> Recording:
    """A recording of these points, 2D or 3D, that says that they are some."""
    axes = "xyz"[: points.shape[2]]
    own = tuple(BodyPoint(name, tuple(f"{name}.{axis}" for axis in axes)) for name in NAMES[: points.shape[1]])
    names = [column for point in own for column in point.columns]
    return Recording(points.reshape(len(points), -1), rate, names, id, points=own)


def turned(points: NDArray[np.float64], angle: float) -> NDArray[np.float64]:
    """The arena rotated, in the plane of the first two axes."""
    cosine, sine = np.cos(angle), np.sin(angle)
    found = points.copy()
    found[..., 0] = cosine * points[..., 0] - sine * points[..., 1]
    found[..., 1] = sine * points[..., 0] + cosine * points[..., 1]
    return found
