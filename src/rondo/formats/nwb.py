"""NWB (.nwb): bouts as the extension ndx-ethogram keeps them, written with pynwb (extra `nwb`), read with h5py.

For each level `processing/behavior` holds an Ethogram, the catalogue of entries, and an EthogramBouts, which is a
TimeIntervals: https://pypi.org/project/ndx-ethogram. Times count from the first frame, which is the session start where
the clock has dates. Every table of intervals with a column `label` is read, whoever wrote it; no link is followed.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rondo.annotations.formats import AnnotationFormat, Export, ExportedRecording
from rondo.annotations.tracks import NamedSpan, Track
from rondo.errors import AnnotationError, MissingExtraError, RecordingError
from rondo.files.crash_guard import refuse_fatal
from rondo.files.extras import optional_library
from rondo.formats.hdf5_places import refuse_elsewhere

_COLUMNS = ("start_time", "stop_time", "label")
_MOST_BOUTS = 1 << 22  # of a table: more are not read into memory


def as_nwb(export: Export) -> dict[str, bytes]:
    """A file for each recording."""
    try:
        import h5py
        from pynwb import NWBHDF5IO
    except ImportError:
        raise MissingExtraError("Writing NWB", "pynwb", "nwb") from None
    contents = {}
    for recording in export.recordings:
        file = io.BytesIO()
        with h5py.File(file, "w") as opened, NWBHDF5IO(file=opened, mode="w") as writer:
            writer.write(_session(export, recording))
        contents[recording.id] = file.getvalue()
    return contents


def _session(export: Export, recording: ExportedRecording) -> Any:
    try:
        from ndx_ethogram import Ethogram, EthogramBouts
        from pynwb import NWBFile
    except ImportError:
        raise MissingExtraError("Writing NWB", "ndx-ethogram", "nwb") from None
    began = _first_frame(export, recording)
    unknown = "" if began else "; the clock has no dates, the session start is that of the export"
    session = NWBFile(
        session_description=f"Units and motifs that {export.made_by} found in {recording.source_name}{unknown}",
        identifier=f"{recording.id} {export.made_at:%Y-%m-%dT%H:%M:%S} {export.made_by}",
        session_start_time=began or export.made_at,
        file_create_date=export.made_at,
    )
    behavior = session.create_processing_module("behavior", "What recurs, found without labels")
    for level in export.levels:
        own = recording.of_level(level)
        catalogue = Ethogram(name=f"{level}_ethogram", description=f"The {level}s of the run", exclusive=True)
        for label, id in sorted({(segment.label, segment.id) for segment in own}, key=lambda entry: entry[1]):
            catalogue.add_row(behavior=label, definition="found without labels", native_code=id)
        bouts = EthogramBouts(
            name=level,
            description=f"Every occurrence of a {level}",
            labeling_method="automated",
            source_software=export.made_by,
            ethogram=catalogue,
        )
        for segment in own:
            bouts.add_row(start_time=segment.start_s, stop_time=segment.stop_s, label=segment.label)
        behavior.add(catalogue)
        behavior.add(bouts)
    return session


def _first_frame(export: Export, recording: ExportedRecording) -> datetime | None:
    """The date of the first frame: of a segment, less the seconds that it begins after it."""
    own = export.table.filter((pl.col("recording") == recording.id) & pl.col("start_time").is_not_null())
    if own.is_empty() or not recording.segments:
        return None
    row = own.row(0, named=True)
    first = row["level"], row["start_frame"]
    after_s = next(it.start_s for it in recording.segments if (it.level, it.start) == first)
    return datetime.fromtimestamp(row["start_s"] - (after_s or 0.0), UTC)


def read_nwb(path: Path) -> list[Track]:
    """A track for each table of intervals that has labels, in a file that ends no process."""
    optional_library("h5py", "Reading NWB")
    trial = f"import pathlib, {__name__} as reader; reader.untried_nwb(pathlib.Path(path))"
    try:
        refuse_fatal(path, "h5py", trial)
        return untried_nwb(path)
    except (OSError, RecordingError, KeyError, ValueError, UnicodeError, RuntimeError) as error:
        raise AnnotationError(f"'{path}': not a readable NWB file ({str(error)[:120]!r})") from error


def untried_nwb(path: Path) -> list[Track]:
    """`read_nwb`, for a file that ends no process."""
    import h5py

    tracks: list[Track] = []

    def visit(name: str, item: Any) -> None:  # follows no link
        links = [item.get(it, getlink=True) for it in _COLUMNS] if isinstance(item, h5py.Group) else [None]
        if all(isinstance(link, h5py.HardLink) for link in links):
            tracks.append(_track(name, {it: item[it] for it in _COLUMNS}))

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return tracks


def _track(name: str, columns: Mapping[str, Any]) -> Track:
    for column, dataset in columns.items():
        refuse_elsewhere(dataset, f"{name}/{column}")
        if dataset.ndim != 1 or dataset.shape[0] > _MOST_BOUTS:
            raise RecordingError(f"{name}/{column} has the shape {dataset.shape}, expected a column")
    starts, stops = (np.asarray(columns[it], np.float64) for it in _COLUMNS[:2])
    labels = columns["label"].asstr()[:]
    if not (len(starts) == len(stops) == len(labels)) or not np.isfinite([starts, stops]).all():
        raise RecordingError(f"{name}: a bout lacks its start, its stop or its label")
    spans = zip(starts.tolist(), stops.tolist(), map(str, labels), strict=True)
    return Track(tuple(NamedSpan(*span) for span in sorted(spans)), name.rpartition("/")[2])


FORMAT = AnnotationFormat(
    name="nwb",
    program="NWB with ndx-ethogram",
    suffixes=(".nwb",),
    read=read_nwb,
    write=as_nwb,
    one_per_recording=True,
    needs_seconds=True,
    order=6,
)
