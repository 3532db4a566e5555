"""Count a copy of a data set and hold the counts against what the catalogue expects of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rondo.data.annotation import Annotation
from rondo.data.sources.catalogue import Listing
from rondo.data.sources.read import Copy
from rondo.training.progress import Progress, silent

# One label for all frames of a recording needs no algorithm, so its scores tell whether classes, segments and frames
# are those of the paper: AutoPlait's published rows are such labels on two data sets; that of MoCap is ours.
CONSTANT_SCORES: Mapping[str, Mapping[str, float]] = {
    "opportunity": {"mof": 37.64, "recall": 20.83, "edit": 0.63},
    "drive_act": {"mof": 39.42, "recall": 8.08, "edit": 4.32},
    "mocap": {"mof": 39.49, "recall": 20.32, "edit": 12.73},
}
ROUNDING = 0.0051  # of a published value with two decimals


@dataclass(frozen=True)
class Counts:
    """What is in a copy: frames and channels of each recording, and the classes of all."""

    frames: Mapping[str, int]
    channels: Mapping[str, int]
    annotations: Mapping[str, Annotation]

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
    """Read a copy recording by recording; of the signals only the sizes are kept."""
    frames, channels, annotations = {}, {}, {}
    for done, path in enumerate(copy.paths):
        progress(f"reading {copy.name}", done, len(copy.paths))
        recording, annotation = copy.read(path)
        frames[recording.id], channels[recording.id] = recording.n_frames, recording.n_channels
        if annotation is not None:
            annotations[recording.id] = annotation
    return Counts(frames, channels, annotations)


def check_counts(listing: Listing, counts: Counts) -> list[Check]:
    """Recordings, frames, channels and classes against the catalogue; a sample that was counted may be exceeded."""
    widths = sorted(set(counts.channels.values()))
    more = listing.source != "paper" and len(counts.frames) > listing.n_recordings  # what was counted was a sample
    pairs = [
        ("recordings", listing.n_recordings, len(counts.frames)),
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
    found = " and ".join(str(width) for width in widths)
    return [*checks[:3], Check("channels", str(listing.n_channels), found, widths == [listing.n_channels]), *checks[3:]]


def check_constant(name: str, scores: Mapping[str, float]) -> list[Check]:
    """Scores of a constant prediction against those that are known; none where none is known."""
    return [
        Check(f"constant {score}", f"{value:.2f}", f"{scores[score]:.2f}", abs(scores[score] - value) <= ROUNDING)
        for score, value in CONSTANT_SCORES.get(name, {}).items()
    ]
