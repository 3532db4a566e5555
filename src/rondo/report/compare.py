"""Two runs over the same recordings: their lanes under one signal, how far they agree, and which entries are which.

Ids of two runs have nothing to do with each other. The scores do not care; for the eye, entries are paired one to one
by shared time, as classes of an annotation are, and an entry of the other run gets the colour of its partner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER, Labels, from_runs
from rondo.errors import OutputError
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_mutual_information, adjusted_rand, one_to_one
from rondo.report.contents import EVERYTHING, Wish
from rondo.report.lanes import OTHER_LOOK, Look, entry_look, entry_name, lane_of, look_of, partners
from rondo.report.summarize import summarize
from rondo.run.overview import score_rows

if TYPE_CHECKING:
    import polars as pl

    from rondo.result import Result

MAX_ENTRIES_COMPARED = 16
_LEVELS = ("unit", "motif")
_SCORE_BYTES = 300_000  # of one recording
_SCORES = {"ari": adjusted_rand, "ami": adjusted_mutual_information, "one_to_one": one_to_one}


class Shared(NamedTuple):
    """One level of both runs: their ids, OTHER first where it occurs, and the frames that each two of them share."""

    rows: list[int]
    columns: list[int]
    frames: NDArray[np.int64]  # (n_rows, n_columns)

    @classmethod
    def of(cls, first: Labels, second: Labels) -> Shared:
        (rows, row), (columns, column) = (np.unique(track, return_inverse=True) for track in (first, second))
        frames = np.bincount(row * columns.size + column, minlength=rows.size * columns.size)
        return cls(rows.tolist(), columns.tolist(), frames.reshape(rows.size, columns.size))

    @property
    def partners(self) -> dict[int, int]:
        """Row -> column of the same entry in both runs; OTHER belongs to OTHER."""
        is_entry = np.outer(np.array(self.rows) != OTHER, np.array(self.columns) != OTHER)
        pairs = dict(partners(self.frames * is_entry, self.frames.sum(axis=1), self.frames.sum(axis=0)))
        both = OTHER in self.rows and OTHER in self.columns
        return pairs | ({self.rows.index(OTHER): self.columns.index(OTHER)} if both else {})


def agreement(first: Mapping[str, Labels], second: Mapping[str, Labels]) -> dict[str, float]:
    """ARI, AMI and one-to-one in percent, per recording, then averaged with equal weight; OTHER is a label too."""
    overlaps = [Overlap.of(first[id] + 1, second[id] + 1, id) for id in first]
    return {name: 100 * float(np.mean([score(it) for it in overlaps])) for name, score in _SCORES.items()}


def compare(result: Result, beside: Result, wish: Wish = EVERYTHING) -> dict[str, Any]:
    """`summarize(result)` with the lanes of another result beside its own, and how far both agree."""
    summary = summarize(result, wish)
    run, other = result.summary, beside.summary
    names = _names(result, beside)
    lengths = {recording.id: recording.n_frames for recording in run.recordings}
    common = {it.id: it.n_frames for it in other.recordings if lengths.get(it.id) == it.n_frames}
    if not common:
        raise OutputError(
            f"{beside.run.folder or names[1]}: none of its recordings is in {result.run.folder or names[0]} with the "
            "same name and number of frames; compare runs over the same recordings"
        )
    tables = [result.run.tables["segments"], beside.run.tables["segments"]]
    repeats = run.motifs_are_units and other.motifs_are_units
    levels = _LEVELS[:1] if repeats else _LEVELS
    looks, agreements = {}, []
    for level in levels:
        first, second = (_tracks(table, level, common) for table in tables)
        shared = Shared.of(*(np.concatenate([*tracks.values()]) for tracks in (first, second)))
        looks[level] = _looks(level, shared)
        table = _table(level, shared, looks[level])
        agreements.append({"level": level, "scores": agreement(first, second), **table})
    for recording in summary["recordings"]:
        id, lanes = recording["id"], []
        for lane in recording["lanes"]:
            level = lane["kind"]
            if level in levels and lane.get("in_labels", True):
                lanes.append(lane | {"title": f"{level}s {names[0]}", "of": ""})
                if id in common:
                    lanes.append(_other_lane(lane_of(id, level, level, tables[1]), names[1], looks[level]))
        annotated = [lane for lane in recording["lanes"] if lane["kind"] == "annotation"]
        recording["lanes"] = [*lanes, *annotated]
        scores = {names[0]: result.run.scores[id]} | ({names[1]: beside.run.scores[id]} if id in common else {})
        recording["scores"] = score_rows(scores, _SCORE_BYTES)
    agreed = {"names": names, "n_recordings": len(common), "levels": agreements, "motifs_are_units": repeats}
    title = f"Rondo report: {names[0]} and {names[1]}"
    return summary | {"title": title, "agreement": agreed, "scores": []}


def _names(result: Result, beside: Result) -> tuple[str, str]:
    """What distinguishes the two: their folders, or how they were found."""
    if result.run.folder is None or beside.run.folder is None:
        first, second = (f"{it.method}, seed {it.summary.seed}" for it in (result, beside))
        return (first, second) if first != second else (f"{first} (1)", f"{second} (2)")
    first_folder, second_folder = result.run.folder.resolve(), beside.run.folder.resolve()
    if first_folder.name != second_folder.name:
        return first_folder.name, second_folder.name
    return f"{first_folder.parent.name}/{first_folder.name}", f"{second_folder.parent.name}/{second_folder.name}"


def _tracks(segments: pl.DataFrame, level: str, lengths: Mapping[str, int]) -> dict[str, Labels]:
    import polars as pl

    tracks = {}
    for id, n_frames in lengths.items():
        rows = segments.filter((pl.col("recording") == id) & (pl.col("level") == level))
        tracks[id] = from_runs(rows["start_frame"], rows["end_frame"], rows["id"], n_frames)
    return tracks


def _looks(level: str, shared: Shared) -> dict[int, Look]:
    """Of the entries of the other run: the look of their partner, else one of another level."""
    partner = {shared.columns[j]: shared.rows[i] for i, j in shared.partners.items()}
    looks = {}
    for id in shared.columns:
        has_partner = partner.get(id, OTHER) != OTHER
        look = look_of(level, partner[id]) if has_partner else look_of(f"true {level}", id)
        looks[id] = OTHER_LOOK if id == OTHER else look
    return looks


def _other_lane(lane: dict[str, Any], name: str, looks: Mapping[int, Look]) -> dict[str, Any]:
    ids = [OTHER if entry == "OTHER" else int(entry.split()[0][1:]) for entry in lane["names"]]
    return lane | {
        "run": f"{name}: ",
        "title": f"{lane['kind']}s {name}",
        "colours": [looks[id].colour for id in ids],
        "patterns": [looks[id].pattern for id in ids],
    }


def _table(level: str, shared: Shared, looks: Mapping[int, Look]) -> dict[str, Any]:
    """Which share of the time of each entry goes to each entry of the other run.

    The entries with most time, in the order of ids; columns in the order of their partners, so that agreement is a
    diagonal.
    """
    rows, columns, frames = shared
    kept, kept_columns = (
        sorted(np.argsort(-sizes, kind="stable")[:MAX_ENTRIES_COMPARED].tolist())
        for sizes in (frames.sum(axis=1), frames.sum(axis=0))
    )
    partner = shared.partners
    paired = [partner[i] for i in kept if partner.get(i) in kept_columns]
    order = [*paired, *(j for j in kept_columns if j not in paired)]
    return {
        "columns": [{"name": entry_name(level, columns[j]), **looks[columns[j]]._asdict()} for j in order],
        "rows": [
            {
                **entry_look(level, rows[i]),
                "share": float(frames[i].sum() / frames.sum()),
                "cells": [float(frames[i, j] / frames[i].sum()) for j in order],
            }
            for i in kept
        ],
        "n_left_out": len(rows) - len(kept) + len(columns) - len(order),
    }
