"""Poses in HDF5: SLEAP's .slp and analysis files, DeepLabCut's .h5, `movement`'s netCDF, NWB with ndx-pose.

Each becomes columns `nose.x`, `nose.y`, …, after the animal where there are several, as in DeepLabCut's csv; and how
sure the tracker is, under the name that decides its threshold (`rondo.files.missing`).

- `.slp` (SLEAP, format of sleap-io's docs): `frames` and `instances` lead to `points` (of people) and `pred_points`.
- analysis file (SLEAP): `tracks` is (tracks, axes, nodes, frames).
- DeepLabCut: a table of PyTables; the names are pickled, and read without unpickling (`rondo.formats.pandas_names`).
- `movement`: `position` is (time, space, keypoints, individuals), `confidence` has no space; `fps` is an attribute.
- NWB: a PoseEstimationSeries for each point, with `data`, `confidence`, and `timestamps` or `starting_time`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats
from rondo.data.body import BodyPoint
from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.arrays import Description, recording_of
from rondo.files.reading import Reading
from rondo.formats.hdf5_places import refuse_elsewhere
from rondo.formats.pandas_names import tuples_in
from rondo.memory import refuse_large_array

_PREDICTED, _OF_A_PERSON = 1, 0  # kinds of instances


class Pose(NamedTuple):
    """Points of animals in every frame."""

    program: str
    animals: Sequence[str]
    points: Sequence[str]
    values: NDArray[np.floating]  # (n_frames, n_animals, n_points, n_axes)
    sure: NDArray[np.floating] | None = None  # (n_frames, n_animals, n_points)
    word: str = "score"  # "likelihood" or "score"
    rate: float | None = None
    times_s: Floats | None = None


def pose_in(file: Any) -> Pose | None:
    """The pose in an open file, where it is one of these."""
    for read in (_slp, _sleap_analysis, _deeplabcut, _movement, _nwb):
        if (found := read(file)) is not None:
            return found
    return None


def pose_recording(pose: Pose, id: str, reading: Reading) -> Recording:
    """The recording of a pose, with its points."""
    n_frames, n_animals, _, n_axes = pose.values.shape
    prefix = [f"{animal}." for animal in pose.animals] if n_animals > 1 else [""]
    names = [f"{animal}{point}" for animal in prefix for point in pose.points]
    points = tuple(BodyPoint(name, tuple(f"{name}.{axis}" for axis in "xyz"[:n_axes])) for name in names)
    shape = n_frames, len(names) * (n_axes + (pose.sure is not None))
    refuse_large_array(*shape)
    every = pose.values if pose.sure is None else np.concatenate([pose.values, pose.sure[..., None]], axis=3)
    words = ["x", "y", "z"][:n_axes] + ([pose.word] if pose.sure is not None else [])
    columns = tuple(f"{name}.{word}" for name in names for word in words)
    whole = (slice(0, n_frames), slice(0, shape[1]), every.reshape(shape))
    times = pose.times_s if reading.rate is None else None
    about = Description(pose.rate, columns, times, (f"read as {pose.program}: {len(names)} points",))
    found = recording_of(shape, iter([whole]), about, id, reading)
    return replace(found, points=points)


def _text(stored: Any) -> str:
    return stored.decode("utf-8", "replace") if isinstance(stored, bytes) else str(stored)


def _texts(dataset: Any) -> list[str]:
    return [_text(each) for each in np.asarray(dataset[()]).ravel().tolist()]


def _is_inside(file: Any, name: str, kind: Any) -> bool:
    """Whether that is a group or dataset of this file; links are not followed, wherever they lead."""
    import h5py

    return isinstance(file.get(name, getlink=True), h5py.HardLink) and isinstance(file[name], kind)


def _here(file: Any, *names: str) -> bool:
    """Whether all of these are datasets whose numbers are in this file."""
    import h5py

    if not all(_is_inside(file, name, h5py.Dataset) for name in names):
        return False
    for name in names:
        refuse_elsewhere(file[name], file[name].name.strip("/"))
    return True


def _sleap_analysis(file: Any) -> Pose | None:
    if not _here(file, "tracks", "node_names"):
        return None
    shape: tuple[int, ...] = file["tracks"].shape or ()
    if len(shape) != 4 or shape[1] not in (2, 3) or shape[2] != file["node_names"].shape[0]:
        return None
    refuse_large_array(shape[3], shape[0] * shape[1] * shape[2])
    values = np.asarray(file["tracks"][()], np.float32).transpose(3, 0, 2, 1)
    animals = [f"track{i}" for i in range(shape[0])]
    return Pose("an analysis file of SLEAP", animals, _texts(file["node_names"]), values)


def _slp(file: Any) -> Pose | None:
    import h5py

    if not _is_inside(file, "metadata", h5py.Group) or not _here(
        file, "frames", "instances", "points", "pred_points", "tracks_json"
    ):
        return None
    about = json.loads(_text(file["metadata"].attrs["json"]))
    nodes = [node["name"] if isinstance(node, dict) else str(node) for node in about["nodes"]]
    skeleton = about["skeletons"][0]["nodes"]
    points = [nodes[node["id"] if isinstance(node, dict) else node] for node in skeleton]
    frames, instances = file["frames"][()], file["instances"][()]
    if len(videos := np.unique(frames["video"])) > 1:
        raise RecordingError(f"it holds {len(videos)} videos; export each (sleap-convert) to a file of its own")
    tracks = [
        track[1] if isinstance(track, list) else str(track) for track in map(json.loads, _texts(file["tracks_json"]))
    ]
    n_frames = 1 + int(frames["frame_idx"].max()) if len(frames) else 0
    refuse_large_array(n_frames, 3 * len(points) * max(1, len(tracks)))
    found = np.full((n_frames, max(1, len(tracks)), len(points), 3), np.nan, np.float32)
    stored = {_PREDICTED: file["pred_points"][()], _OF_A_PERSON: file["points"][()]}
    taken: set[tuple[int, int]] = set()
    frame_of = dict(zip(frames["frame_id"].tolist(), frames["frame_idx"].tolist(), strict=True))
    for instance in sorted(instances, key=lambda one: int(one["instance_type"])):  # those of people first
        place = (frame_of[int(instance["frame_id"])], max(0, int(instance["track"])))
        if place in taken:
            if int(instance["track"]) < 0 and int(instance["instance_type"]) == _PREDICTED:
                raise RecordingError("it has several animals in a frame and no tracks; track them in SLEAP first")
            continue
        taken.add(place)
        kind = int(instance["instance_type"])
        own = stored[kind][int(instance["point_id_start"]) : int(instance["point_id_end"])]
        seen = own["visible"].astype(bool)
        found[*place, seen, 0], found[*place, seen, 1] = own["x"][seen], own["y"][seen]
        found[*place, seen, 2] = own["score"][seen] if kind == _PREDICTED else 1.0
    return Pose("SLEAP's labels", tracks or [""], points, found[..., :2], found[..., 2])


def _deeplabcut(file: Any) -> Pose | None:
    """`df_with_missing/table` and others like it; None where it is another table of pandas."""
    import h5py

    for group in (file[name] for name in file if _is_inside(file, name, h5py.Group)):
        if not _here(group, "table"):
            continue
        table = group["table"]
        stored = table.attrs.get("values_block_0_kind")
        if stored is None or "values_block_0" not in (table.dtype.names or ()):
            continue
        names = tuples_in(bytes(stored) if isinstance(stored, bytes) else str(stored).encode("latin-1"))
        if not names or {name[-1] for name in names} != {"x", "y", "likelihood"} or len({*map(len, names)}) != 1:
            continue
        return _of_columns([each[1:] for each in names], table)
    return None


def _of_columns(names: Sequence[tuple[str, ...]], table: Any) -> Pose:
    """Columns (individual, point, axis) or (point, axis)."""
    place_of = {name: place for place, name in enumerate(names)}
    points = list(dict.fromkeys(".".join(name[:-1]) for name in names))
    refuse_large_array(len(table), len(names))
    values = np.asarray(table["values_block_0"], np.float64)
    order = [
        [place_of[(*point.split(".", len(names[0]) - 2), word)] for word in ("x", "y", "likelihood")]
        for point in points
    ]
    whole = values[:, np.array(order)][:, None]
    return Pose("a table of DeepLabCut", [""], points, whole[..., :2], whole[..., 2], "likelihood")


def _movement(file: Any) -> Pose | None:
    if not _here(file, "position", "keypoints", "individuals", "space") or file["position"].ndim != 4:
        return None
    points, animals, space = (_texts(file[name]) for name in ("keypoints", "individuals", "space"))
    n_frames = file["position"].shape[0]
    if file["position"].shape != (n_frames, len(space), len(points), len(animals)):
        return None
    refuse_large_array(n_frames, len(space) * len(points) * len(animals))
    values = np.asarray(file["position"][()]).transpose(0, 3, 2, 1)
    sure = None
    if _here(file, "confidence"):
        sure = np.asarray(file["confidence"][()]).transpose(0, 2, 1)
        sure = None if np.isnan(sure).all() else sure
    software = _text(file.attrs.get("source_software", ""))
    fps = file.attrs.get("fps")
    rate = None if fps is None or not np.isfinite(float(np.ravel(fps)[0])) else float(np.ravel(fps)[0])
    word = "likelihood" if software in ("DeepLabCut", "LightningPose") else "score"
    return Pose("a dataset of movement", animals, points, values, sure, word, rate)


def _nwb(file: Any) -> Pose | None:
    series = [
        group for group in _groups(file) if _text(group.attrs.get("neurodata_type", "")) == "PoseEstimationSeries"
    ]
    series = [group for group in series if _here(group, "data") and group["data"].ndim == 2]
    if not series:
        return None
    animals = list(dict.fromkeys(group.parent.name.rpartition("/")[2] for group in series))
    names = {group.name: group.name.rpartition("/")[2].removeprefix("PoseEstimationSeries") for group in series}
    points = list(dict.fromkeys(names.values()))
    shapes = {group["data"].shape for group in series}
    if len(shapes) > 1:
        raise RecordingError("its points have series of different lengths; export those of one camera")
    n_frames, n_axes = shapes.pop()
    refuse_large_array(n_frames, n_axes * len(series))
    values = np.full((n_frames, len(animals), len(points), n_axes), np.nan)
    sure = np.full(values.shape[:3], np.nan)
    for group in series:
        place = animals.index(group.parent.name.rpartition("/")[2]), points.index(names[group.name])
        values[:, *place] = group["data"][()]
        if _here(group, "confidence"):
            sure[:, *place] = group["confidence"][()]
    first, rate, times = series[0], None, None
    if _here(first, "starting_time"):
        rate = float(first["starting_time"].attrs["rate"])
    elif (own := next((group for group in series if _here(group, "timestamps")), None)) is not None:
        times = np.asarray(own["timestamps"][()], np.float64)
    software = first.parent["source_software"][()] if _here(first.parent, "source_software") else ""
    word = "likelihood" if "deeplabcut" in _text(software).casefold() else "score"
    return Pose("poses of NWB", animals, points, values, None if np.isnan(sure).all() else sure, word, rate, times)


def _groups(file: Any) -> list[Any]:
    """All groups that lie in the file; links are not followed."""
    import h5py

    found: list[Any] = []

    def keep(name: str, item: Any) -> None:
        found.extend([item] if isinstance(item, h5py.Group) else [])

    file.visititems(keep)
    return found
