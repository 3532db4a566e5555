"""Recordings of points -> recordings of bodies, one for each animal; what a model knows of them is taken over.

Which columns are points, the file says: columns of likelihoods stand beside them (`rondo.files.missing`), its format
declares them (`Recording.points`), or they are EthoVision's three. Several animals have the same points:
`mouse1.nose`, `mouse2.nose` in DeepLabCut and SLEAP, `Nose_1`, `Nose_2` in SimBA.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rondo.config.settings import PreprocessConfig
from rondo.data.body import BodyFrame, BodyPoint, as_body, chosen_body
from rondo.data.recording import Recording
from rondo.errors import RecordingError, SettingError
from rondo.files.missing import points_of, still_points
from rondo.files.reading import PoseReading, Reading
from rondo.wording import counted

if TYPE_CHECKING:
    from rondo.data.scaling import Preprocessor

_FEWEST = 2  # points of a body
_ETHOVISION, _HEADING = ("nose", "center", "tail"), "Direction"


def as_the_model_reads(reading: Reading, preprocessor: Preprocessor) -> Reading:
    """How recordings are read for a model: with its channels, and its body where it has one."""
    poses = None if preprocessor.body is None else PoseReading(frame=preprocessor.body)
    return replace(reading, known=preprocessor.known_channels, poses=poses)


def poses_in(config: PreprocessConfig) -> PoseReading:
    """How the settings want points to be read."""
    if config.body and len({*config.body}) != 2:
        raise SettingError(f"--body takes two points, ORIGIN,TIP, got {','.join(config.body)!r}")
    return PoseReading(config.pose, config.body)


def as_bodies(recordings: Sequence[Recording], reading: Reading) -> list[Recording]:
    """The recordings of bodies, in one frame for all; others, and all where places are kept, stay as they are.

    The frame is that of the model, or chosen from the recording that is first by its id, so that the order in which
    recordings are given changes nothing.
    """
    poses = reading.poses
    if poses is None or (poses.pose == "arena" and not poses.names):
        return list(recordings)
    if poses.pose == "arena":
        raise SettingError("--body names the frame of a body, and --pose arena keeps places; give one of them")
    each = [own for recording in recordings for own in animals_in(_named_points(recording, reading))]
    frame = poses.frame or _chosen(each, poses)
    if frame is None:
        return list(recordings)
    return [one if _is_body(one, frame) else as_body(one, frame) for one in each]


def as_one_body(recording: Recording, reading: Reading) -> Recording:
    """The same of one file that is read by itself, which can hold one animal only."""
    found = as_bodies([recording], reading)
    if len(found) > 1:
        names = ", ".join(one.id.removeprefix(f"{recording.id}.") for one in found)
        raise RecordingError(
            f"recording '{recording.id}' holds {len(found)} animals ({names}), which are separated where files are "
            "held in memory; give it without --engine and --workers, or export one file for each animal"
        )
    return found[0]


def _is_body(recording: Recording, frame: BodyFrame) -> bool:
    return recording.body is not None or set(frame.channels) <= set(recording.channels)


def _named_points(recording: Recording, reading: Reading) -> Recording:
    """With the points that its columns are where --body says that they are points; of unnamed columns by position."""
    poses = reading.poses
    if recording.is_unnamed and reading.known and recording.n_channels == len(reading.known):
        recording = replace(recording, channels=reading.known_names)
    if recording.points or recording.body is not None or poses is None:
        return recording
    if points := _of_ethovision(recording.channels):
        return _without_heading(replace(recording, points=points), reading)
    if not poses.names:
        return recording
    found = {
        point.name: tuple(recording.channels[axis] for axis in point.axes) for point in points_of(recording.channels)
    }
    return replace(recording, points=tuple(BodyPoint(name, own) for name, own in found.items()))


def _of_ethovision(channels: Sequence[str]) -> tuple[BodyPoint, ...]:
    """The points of EthoVision XT: `X nose`, `Y nose`; there are at most three."""
    found = (BodyPoint(name, (f"X {name}", f"Y {name}")) for name in _ETHOVISION)
    points = tuple(point for point in found if {*point.columns} <= {*channels})
    return points if len(points) >= _FEWEST else ()


def _without_heading(recording: Recording, reading: Reading) -> Recording:
    """EthoVision's heading is that in the arena."""
    if _HEADING not in recording.channels or reading.keeps(_HEADING):
        return recording
    note = f"column '{_HEADING}' left out: it is the heading in the arena; --keep-column '{_HEADING}' keeps it"
    return recording.without([recording.channels.index(_HEADING)]).noted(note)


def _chosen(recordings: Sequence[Recording], poses: PoseReading) -> BodyFrame | None:
    """The frame for these recordings; None where they hold no points."""
    if any(recording.body is not None for recording in recordings):
        return next(recording.body for recording in recordings if recording.body is not None)
    with_points = [moving for recording in recordings if len((moving := _moving(recording)).points) >= _FEWEST]
    if with_points:
        return chosen_body(min(with_points, key=lambda one: one.id), poses.pose, poses.names)
    option = "--body" if poses.names else "--pose"
    if poses.names or poses.pose != "centred":
        raise SettingError(
            f"{option} is about two or more points of a body, and no recording has them; expected columns such as "
            "nose.x, nose.y, nose.likelihood (docs/animals.md)"
        )
    return None


def _moving(recording: Recording) -> Recording:
    """With those of its points that have columns and move: corners of the arena are no body."""
    places = {name: place for place, name in enumerate(recording.channels)}
    there = [point for point in recording.points if set(point.columns) <= places.keys()]
    axes = [tuple(places[column] for column in point.columns) for point in there]
    still = set(still_points(recording.values, axes))
    return replace(recording, points=tuple(point for i, point in enumerate(there) if i not in still))


def animals_in(recording: Recording) -> list[Recording]:
    """One recording for each animal, its points named without it; the recording itself where there is one."""
    for split in (_by_prefix, _by_number, _by_both):
        of_point = {point: split(point.name) for point in recording.points}
        groups: dict[str, dict[str, BodyPoint]] = {}
        for point, (animal, part) in of_point.items():
            groups.setdefault(animal, {})[part] = point
        alike = Counter(frozenset(group) for name, group in groups.items() if name and len(group) >= _FEWEST)
        parts, n_animals = alike.most_common(1)[0] if alike else (frozenset[str](), 0)
        animals = [name for name, group in groups.items() if name and group.keys() == parts]
        if n_animals > 1 and (split is _by_prefix or len(animals) == len(groups)):
            return [_animal(recording, name, groups[name], animals) for name in animals]
    return [recording]


def _by_prefix(name: str) -> tuple[str, str]:
    animal, _, part = name.partition(".")
    return (animal, part) if part else ("", name)


def _by_number(name: str) -> tuple[str, str]:
    """`Ear_left_1` as SimBA names it."""
    match = re.fullmatch(r"(.+)_(\d+)", name)
    return (match[2], match[1]) if match else ("", name)


def _by_both(name: str) -> tuple[str, str]:
    """`JJ_Nose_2` and `Simon_Nose_1`, which SimBA has too."""
    match = re.fullmatch(r"(?:.*\.)?([^_.]+)_(.+)_(\d+)", name)
    return (f"{match[1]}_{match[3]}", match[2]) if match else ("", name)


def _animal(recording: Recording, name: str, points: dict[str, BodyPoint], animals: Sequence[str]) -> Recording:
    places = {channel: place for place, channel in enumerate(recording.channels)}
    own = [point for point in points.values() if set(point.columns) <= places.keys()]
    named = tuple(
        BodyPoint(part, tuple(f"{part}.{axis}" for axis in "xyz"[: len(point.columns)]))
        for part, point in points.items()
        if point in own
    )
    values = recording.values[:, [places[column] for point in own for column in point.columns]]
    note = f"{counted(len(animals), 'animal')} in the file, a recording for each: {', '.join(animals)}"
    return replace(
        recording,
        id=f"{recording.id}.{name}",
        values=values,
        channels=tuple(column for point in named for column in point.columns),
        points=named,
        missing_codes=(),
    ).noted(note)
