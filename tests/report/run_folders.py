"""A run folder as `rondo discover --out` writes it, made from sines: what the report is tested on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rondo.data.labels import OTHER, runs_of
from rondo.evidence.verdicts import EntryEvidence, Evidence, Verdict
from rondo.model.describe import evidence_words
from rondo.run.overview import FrameScores, overview_path, scores_path
from rondo.run.tally import EntryTally, Words
from tests.run.stored import write_overview, write_scores

N_UNITS = 5
MOTIFS = ((0, 1), (2, 3, 2), (4, 1))
CLOCK = {"mof": 71.5, "recall": 80.0, "f1_10": 75.0, "f1_25": 70.0, "f1_50": 64.25, "edit": 88.0}
CLOCK |= {"seg_ratio": 1.5, "ari": 9.5, "ami": 31.0, "one_to_one": 22.0, "n_clusters": 90, "n_recordings": 1}
SCORES = CLOCK | {
    "mof": 83.25,
    "ari": 72.25,
    "ami": 76.0,
    "one_to_one": 80.0,
    "n_clusters": 7,
    "clock": CLOCK,
}


def write_run_folder(
    folder: Path,
    *,
    recording_ids: tuple[str, ...] = ("day1",),
    n_frames: int = 6000,
    channels: tuple[str, ...] = ("acc_x", "acc_y", "acc_z", "gyr_x", "gyr_y", "gyr_z"),
    rate: float | None = 50.0,
    unit_length: int = 100,
    with_truth: bool = True,
    with_gap: bool = True,
    with_scores: bool = True,
) -> Path:
    """Write a whole run folder and return it; the same arguments write the same folder."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    tables, truths, recordings = [], [], []
    for recording_id in recording_ids:
        tracks = _label_tracks(rng, n_frames, unit_length)
        values = _signal(rng, tracks["unit"], len(channels))
        if with_gap:
            values[n_frames // 2 : n_frames // 2 + n_frames // 20] = np.nan
        write_overview(overview_path(folder, recording_id), values, channels)
        tables.append(_segments(recording_id, tracks, rate, rng))
        if with_scores:
            write_scores(scores_path(folder, recording_id), _scores(tracks))
        late = {level: np.roll(track, unit_length // 10) for level, track in tracks.items()}
        truths.append(_segments(recording_id, late, rate, rng).drop("start_s", "end_s", "score", "units"))
        recordings.append(
            {
                "id": recording_id,
                "source": f"recordings/{recording_id}.csv",
                "n_frames": n_frames,
                "channels": list(channels),
                "rate": rate,
                "duration_s": None if rate is None else n_frames / rate,
                "notes": ["3 short gaps (41 frames) were interpolated."],
                "share_other": float(np.mean(tracks["motif"] == OTHER)),
                "breaks": [n_frames // 2] if with_gap else [],
            }
        )
    segments = pl.concat(tables)
    segments.write_parquet(folder / "segments.parquet")
    if with_truth:
        pl.concat(truths).write_parquet(folder / "truth.parquet")
    summary = {
        "schema": 2,
        "rondo_version": "0.1.0",
        "method": "rondo",
        "seed": 0,
        "window_length_frames": 50,
        "step_frames": 25,
        "config": {"anything": {"nested": 1}},
        "recordings": recordings,
        "evidence": {"p": 0.05, "recurs": True},
        "units": _entries(segments, "unit", n_frames * len(recording_ids)),
        "motifs": _entries(segments, "motif", n_frames * len(recording_ids)),
    }
    if with_truth:
        summary["scores"] = {"units": SCORES, "motifs": SCORES}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return folder


def add_fit(folder: Path, *verdicts: str) -> None:
    """Make the run one of `rondo label`: a verdict for each recording, and what it is compared with."""
    path = folder / "summary.json"
    summary = json.loads(path.read_text(encoding="utf-8"))
    summary["fitted"] = {
        "share_accepted": 0.95,
        "distance_quantiles": {"0.05": 0.2, "0.25": 0.3, "0.5": 0.5, "0.75": 0.7, "0.95": 1.0},
    }
    for recording, verdict in zip(summary["recordings"], verdicts, strict=True):
        recording["fit"] = summary["fitted"] | {"verdict": verdict, "n_units": 3, "n_units_of_model": N_UNITS}
    recording["fit"] |= {"share_accepted": 0.0, "distance_quantiles": {}}  # the last one is too short for a window
    path.write_text(json.dumps(summary), encoding="utf-8")


def edit_summary(folder: Path, **changes: Any) -> None:
    """Overwrite top-level keys of summary.json."""
    path = folder / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


def _label_tracks(rng: np.random.Generator, n_frames: int, unit_length: int) -> dict[str, NDArray[np.int32]]:
    units = np.full(n_frames, OTHER, dtype=np.int32)
    motifs = units.copy()
    at = 0
    while at < n_frames:
        motif = int(rng.integers(-1, len(MOTIFS)))
        steps = (OTHER,) if motif == OTHER else MOTIFS[motif]
        begin = at
        for unit in steps:
            length = int(rng.integers(unit_length // 2, 2 * unit_length))
            units[at : at + length] = unit
            at += length
        motifs[begin:at] = motif
    return {"unit": units, "motif": motifs}


def _signal(rng: np.random.Generator, units: NDArray[np.int32], n_channels: int) -> NDArray[np.float32]:
    channel = np.arange(n_channels)
    pace = 0.05 * (units[:, None] + 2) * (1 + channel % 3)
    strength = 0.2 + np.abs(np.sin(units[:, None] * 1.7 + channel))
    waves = strength * np.sin(np.cumsum(pace, axis=0)) + 10.0 ** np.minimum(channel, 6) * 0.01
    return np.asarray(waves + 0.1 * rng.normal(size=waves.shape), dtype=np.float32)


def _scores(tracks: dict[str, NDArray[np.int32]]) -> FrameScores:
    """One score per window of 25 frames, 0 where the label is OTHER; from a generator of their own."""
    rng, n_frames = np.random.default_rng(1), tracks["unit"].size
    found = [
        np.where(track == OTHER, 0, np.repeat(rng.random(-(-n_frames // 25)), 25)[:n_frames])
        for track in tracks.values()
    ]
    return FrameScores(*(np.asarray(scores, dtype=np.float32) for scores in found))


def _segments(
    recording_id: str, tracks: dict[str, NDArray[np.int32]], rate: float | None, rng: np.random.Generator
) -> pl.DataFrame:
    parts = []
    for level, track in tracks.items():
        runs = runs_of(track)
        seconds = [None] * len(runs)
        parts.append(
            pl.DataFrame(
                {
                    "recording": [recording_id] * len(runs),
                    "level": [level] * len(runs),
                    "id": runs.ids.astype(np.int32),
                    "start_frame": runs.starts,
                    "end_frame": runs.stops,
                    "start_s": seconds if rate is None else (runs.starts / rate).tolist(),
                    "end_s": seconds if rate is None else (runs.stops / rate).tolist(),
                    "score": [
                        None if i == OTHER else float(s) for i, s in zip(runs.ids, rng.random(len(runs)), strict=True)
                    ],
                    "units": ["" if level == "unit" or i == OTHER else _sequence(int(i)) for i in runs.ids],
                },
                schema_overrides={"start_s": pl.Float64, "end_s": pl.Float64, "score": pl.Float64},
            )
        )
    return pl.concat(parts)


def _sequence(motif: int) -> str:
    return " ".join(f"u{unit}" for unit in MOTIFS[motif])


def _entries(segments: pl.DataFrame, level: str, n_frames: int) -> list[dict[str, Any]]:
    """The rows that a run writes, with a word and a verdict for each entry."""
    own = segments.filter(pl.col("id") != OTHER)
    verdicts: list[Verdict] = ["recurs clearly", "blurred", "occurs once", "not tested", "recurs faintly"]
    figures, visits = [0.05, 0.35, np.nan, np.nan, 0.05], [3, 3, 1, 0, 2]
    found = {id: EntryEvidence(figures[id], 1.0, 3, verdicts[id], n_visits=visits[id], like=0) for id in range(N_UNITS)}
    evidence = replace(Evidence.not_tested({}, {}), p=0.05, units=found, motifs=found)
    motifs = {id: _sequence(id) for id in range(len(MOTIFS))}
    tally = EntryTally(level)
    tally.add(own)
    rows = tally.rows(n_frames, Words(motifs=motifs, **evidence_words(evidence, None)))
    return [row.model_dump(mode="json") for row in rows]
