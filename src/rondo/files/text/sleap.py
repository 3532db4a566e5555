"""SLEAP's csv: one row for each animal in each frame (`track,frame_idx,…,nose.x,nose.y,nose.score`).

It becomes what an analysis file of SLEAP is: a row per frame of the film, and columns for each track. Frames in which a
track is not seen are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO

import numpy as np
import polars as pl

from rondo.data.body import BodyPoint
from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.arrays import Description, recording_of
from rondo.files.reading import Reading, listed
from rondo.files.text.layout import Layout
from rondo.memory import refuse_large_array

_TRACK, _FRAME = "track", "frame_idx"


def is_sleap(header: Sequence[str]) -> bool:
    """Whether these are the names of its columns."""
    return tuple(header[:2]) == (_TRACK, _FRAME) and any(name.endswith(".x") for name in header)


def refuse_several_tracks(layout: Layout) -> None:
    """Refuse a stream in which rows of several animals take turns."""
    tracks = sorted({row[0] for row in layout.rows}) if is_sleap(layout.names) else []
    if len(tracks) > 1:
        raise RecordingError(
            f"it holds {len(tracks)} tracks ({listed(tracks, 3)}), and a stream is one animal; `rondo label` reads "
            "them, each as a recording"
        )


def read_sleap(file: BinaryIO, id: str, reading: Reading) -> Recording:
    """The tracks in such a file."""
    table = pl.read_csv(file.read(), infer_schema_length=None)
    points = [name.removesuffix(".x") for name in table.columns if name.endswith(".x")]
    words = [word for word in ("x", "y", "score") if f"{points[0]}.{word}" in table.columns]
    names = [f"{point}.{word}" for point in points for word in words]
    tracks = table[_TRACK].cast(pl.String).fill_null("")
    animals = tracks.unique(maintain_order=True).to_list()
    frames = table[_FRAME].cast(pl.Int64).to_numpy()
    if table.select(tracks, _FRAME).is_duplicated().any():
        raise RecordingError("a track has several rows in one frame; track the animals in SLEAP, and export again")
    n_frames = int(frames.max()) + 1
    refuse_large_array(n_frames, len(animals) * len(names))
    values = np.full((n_frames, len(animals), len(names)), np.nan, np.float32)
    columns = table.select(pl.col(name).cast(pl.Float32) for name in names).to_numpy()
    place_of = {animal: place for place, animal in enumerate(animals)}
    values[frames, [place_of[track] for track in tracks]] = columns
    prefix = [f"{animal}." for animal in animals] if len(animals) > 1 else [""]
    shape = n_frames, len(animals) * len(names)
    about = Description(
        channels=tuple(f"{animal}{name}" for animal in prefix for name in names),
        notes=(f"read as SLEAP writes it: rows are frames of the film, tracks {', '.join(map(str, animals))}",),
    )
    whole = (slice(0, n_frames), slice(0, shape[1]), values.reshape(shape))
    found = recording_of(shape, iter([whole]), about, id, reading)
    own = (f"{animal}{point}" for animal in prefix for point in points)
    return replace(found, points=tuple(BodyPoint(point, (f"{point}.x", f"{point}.y")) for point in own))
