"""Small run folders with known labels: what exports are compared with, frame by frame."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rondo.data.labels import OTHER
from rondo.run.labelling import Labelling


@dataclass(frozen=True)
class Made:
    """The labels of one recording, and its clock."""

    units: list[int]
    motifs: list[int]
    rate: float | None = 50.0
    times_s: NDArray[np.float64] | None = None
    breaks: tuple[int, ...] = ()
    source: str = "somewhere/day1.csv"
    channels: tuple[str, ...] = ("a", "b")
    given: dict[tuple[str, int], str] = field(default_factory=dict)  # names that people gave, by level and id

    def names(self, level: str) -> list[str]:
        """What a reader must find in each frame."""
        track = self.units if level == "unit" else self.motifs
        return ["(none)" if id == OTHER else f"{level[0]}{id}" for id in track]


def write_made_run(folder: Path, recordings: dict[str, Made]) -> Path:
    """A run folder with the files that an export reads, the segment table made by `Labelling` itself."""
    folder.mkdir(parents=True)
    for name in ("labels", "units"):
        (folder / name).mkdir()
    tables, about = [], []
    for id, made in recordings.items():
        labelling = _labelling(id, made)
        np.save(folder / "labels" / f"{id}.npy", labelling.motifs)
        np.save(folder / "units" / f"{id}.npy", labelling.units)
        table = labelling.table
        names = [made.given.get(entry, "") for entry in table.select("level", "id").iter_rows()]
        tables.append(table.with_columns(pl.Series("name", names, dtype=pl.String)))
        times = labelling.times_s
        about.append(
            {
                "id": id,
                "source": made.source,
                "n_frames": len(made.units),
                "channels": list(made.channels),
                "rate": made.rate,
                "duration_s": None if times is None else float(times[-1] - times[0] + 1 / (made.rate or 1.0)),
                "notes": [],
                "share_other": 0.0,
                "breaks": list(made.breaks),
            }
        )
    pl.concat(tables).write_parquet(folder / "segments.parquet")
    summary: dict[str, Any] = {
        "schema": 2, "rondo_version": "0.1.0", "method": "rondo", "seed": 0, "window_length_frames": 4,
        "step_frames": 2, "recordings": about, "units": [], "motifs": [],
    }  # fmt: skip
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return folder


def _labelling(id: str, made: Made) -> Labelling:
    n_frames = len(made.units)
    times = made.times_s
    if times is None and made.rate is not None:
        times = np.arange(n_frames) / made.rate
    scores = np.linspace(0.1, 0.9, n_frames, dtype=np.float32)
    return Labelling(
        id, np.array(made.units, np.int32), np.array(made.motifs, np.int32), scores, scores, times, made.rate,
        np.array(made.breaks, np.int64), 1.0,
    )  # fmt: skip
