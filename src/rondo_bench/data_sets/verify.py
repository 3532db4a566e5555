"""Count a copy of a data set and hold the counts against what the catalogue expects of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rondo.errors import InputError
from rondo.formats.annotations.annotation import Annotation
from rondo.progress import Progress, silent
from rondo_bench.data_sets import actrectut, mocap, opportunity, pamap2, usc_had
from rondo_bench.data_sets.catalogue import Listing
from rondo_bench.data_sets.read import Copy

# One label for all frames of a recording needs no algorithm, so its scores tell whether classes, segments and frames
# are those of the paper: AutoPlait's published rows are such labels on two data sets; that of MoCap is ours.
CONSTANT_SCORES: Mapping[str, Mapping[str, float]] = {
    "opportunity": {"mof": 37.64, "recall": 20.83, "edit": 0.63},
    "drive_act": {"mof": 39.42, "recall": 8.08, "edit": 4.32},
    "mocap": {"mof": 39.49, "recall": 20.32, "edit": 12.73},
}
EXPECTED_IDS: Mapping[str, tuple[str, ...]] = {
    "mocap": tuple(mocap.SEGMENTS),
    "actrectut": actrectut.IDS,
    "pamap2": pamap2.IDS,
    "opportunity": opportunity.IDS,
    "usc_had": usc_had.IDS,
}
ROUNDING = 0.0051  # of a published value with two decimals


@dataclass(frozen=True)
class Counts:
    """What is in a copy: frames and channels of each recording, and the classes of all."""

    frames: Mapping[str, int]
    channels: Mapping[str, int]
    annotations: Mapping[str, Annotation]
    unreadable: Mapping[str, str] = field(default_factory=dict)  # recordings, and why each cannot be read

    @property
    def n_classes(self) -> int:
        return len({number for one in self.annotations.values() for number in np.unique(one.classes).tolist()})


@dataclass(frozen=True)
class Check:
    """One thing that was expected, what was found, and whether that will do."""

    what: str
    expected: str
    found: str
    agrees: bool


def count(copy: Copy, progress: Progress = silent) -> Counts:
    """Read a copy recording by recording; of the signals only the sizes are kept. Raises where none can be read."""
    frames, channels, annotations, unreadable = {}, {}, {}, {}
    for done, (id, path) in enumerate(zip(copy.ids, copy.paths, strict=True)):
        progress(f"reading {copy.name}", done, len(copy.paths))
        try:
            recording, annotation = copy.read(path)
        except InputError as error:
            unreadable[id] = str(error)
            if len(unreadable) == len(copy.paths):
                raise
            continue
        frames[recording.id], channels[recording.id] = recording.n_frames, recording.n_channels
        if annotation is not None:
            annotations[recording.id] = annotation
    return Counts(frames, channels, annotations, unreadable)


def check_counts(listing: Listing, counts: Counts) -> list[Check]:
    """Recordings, frames, channels and classes against the catalogue; a sample that was counted may be exceeded."""
    widths = sorted(set(counts.channels.values()))
    more = listing.source != "paper" and len(counts.frames) > listing.n_recordings  # what was counted was a sample
    n_found = len(counts.frames) + len(counts.unreadable)
    pairs = [
        ("recordings", listing.n_recordings, n_found),
        ("annotated", listing.n_recordings, len(counts.annotations)),
        ("frames", listing.n_frames, sum(counts.frames.values())),
        ("classes", listing.n_classes, counts.n_classes),
    ]
    checks = [
        Check(
            what, f"{'>= ' if more else ''}{expected:,}", f"{found:,}", found >= expected if more else found == expected
        )
        for what, expected, found in pairs
    ]
    if counts.unreadable:
        checks.insert(1, Check("readable", f"{n_found:,}", f"{len(counts.frames):,}", False))
    found = " and ".join(str(width) for width in widths)
    return [*checks[:-1], Check("channels", str(listing.n_channels), found, widths == [listing.n_channels]), checks[-1]]


def other_recordings(listing: Listing, counts: Counts) -> tuple[list[str], list[str]]:
    """Recordings that are missing, and those that are there beside them, where we know which there should be."""
    expected, found = EXPECTED_IDS.get(listing.name, ()), [*counts.frames, *counts.unreadable]
    if not expected:
        return [], []
    return [id for id in expected if id not in found], [id for id in found if id not in expected]


def check_constant(name: str, scores: Mapping[str, float]) -> list[Check]:
    """Scores of a constant prediction against those that are known; none where none is known."""
    return [
        Check(f"constant {score}", f"{value:.2f}", f"{scores[score]:.2f}", abs(scores[score] - value) <= ROUNDING)
        for score, value in CONSTANT_SCORES.get(name, {}).items()
    ]
