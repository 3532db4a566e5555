"""Count a copy of a data set and hold the counts against what the catalogue expects of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rondo.annotations.annotation import Annotation
from rondo.errors import InputError
from rondo.wording import Progress, counted, silent
from rondo_bench.data_sets.catalogue import Listing, folders_of
from rondo_bench.data_sets.fetch import Offer, digest_of, offers
from rondo_bench.data_sets.motion import MOCAP_SEGMENTS
from rondo_bench.data_sets.read import Copy
from rondo_bench.data_sets.wearables import ACTRECTUT_IDS, OPPORTUNITY_IDS, PAMAP2_IDS, USC_HAD_IDS

# One label for all frames of a recording needs no algorithm, so its scores tell whether classes, segments and frames
# are those of the paper: AutoPlait's published rows are such labels on two data sets; that of MoCap is ours.
CONSTANT_SCORES: Mapping[str, Mapping[str, float]] = {
    "opportunity": {"mof": 37.64, "recall": 20.83, "edit": 0.63},
    "drive_act": {"mof": 39.42, "recall": 8.08, "edit": 4.32},
    "mocap": {"mof": 39.49, "recall": 20.32, "edit": 12.73},
}
EXPECTED_IDS: Mapping[str, tuple[str, ...]] = {
    "mocap": tuple(MOCAP_SEGMENTS),
    "actrectut": ACTRECTUT_IDS,
    "pamap2": PAMAP2_IDS,
    "opportunity": OPPORTUNITY_IDS,
    "usc_had": USC_HAD_IDS,
}
EXPECTED_FRAMES: Mapping[str, Mapping[str, int]] = {  # where we have counted each recording
    "mocap": {id: segments[-1][0] for id, segments in MOCAP_SEGMENTS.items()},
    "actrectut": dict(zip(ACTRECTUT_IDS, (30_880, 32_192, 69_784, 67_837), strict=True)),
    "opportunity": dict(  # of the official files, by files_summary.csv of github.com/DhruvikaRajput/Opportunity_HAR
        zip(
            OPPORTUNITY_IDS,
            (
                *(51_116, 32_224, 33_273, 32_955, 30_127, 54_966, 42_797, 30_182, 34_232, 32_748, 31_826, 53_398),
                *(37_223, 27_825, 26_717, 27_681, 26_495, 70_928, 41_588, 27_737, 25_132, 22_230, 30_527, 45_460),
            ),
            strict=True,
        )
    ),
    "openpack": {"U0102-S0500": 55_272, "U0209-S0500": 46_800},
    "usc_had": {
        **dict(zip(USC_HAD_IDS[:7], (195_374, 172_128, 136_100, 158_967, 139_880, 158_777, 134_645), strict=True)),
        **dict(zip(USC_HAD_IDS[7:], (206_851, 260_767, 249_336, 263_037, 269_187, 256_411, 210_030), strict=True)),
    },
    "hugadb": {"various_01_00": 3_142},
}
ROUNDING = 0.0051  # of a published value with two decimals
RATE_TOLERANCE = 0.05  # clocks drift, and 30.3 Hz is printed as 30: another rate differs by more


@dataclass(frozen=True)
class Counts:
    """What is in a copy: frames, channels and rate of each recording, and the classes of all."""

    frames: Mapping[str, int]
    channels: Mapping[str, int]
    annotations: Mapping[str, Annotation]
    unreadable: Mapping[str, str] = field(default_factory=dict)  # recordings, and why each cannot be read
    rates: Mapping[str, float | None] = field(default_factory=dict)
    paths: Mapping[str, Path] = field(default_factory=dict)
    are_published: Mapping[Path, bool] = field(default_factory=dict)  # of files whose checksum is known

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
    frames, channels, annotations, unreadable, rates, paths = {}, {}, {}, {}, {}, {}
    offer = None if copy.listing is None else offers()[copy.listing.name]
    are_published: dict[Path, bool] = {}
    for done, (id, path) in enumerate(zip(copy.ids, copy.paths, strict=True)):
        progress(f"reading {copy.name}", done, len(copy.paths))
        are_published |= {} if offer is None else _are_published(offer, path)
        try:
            recording, annotation = copy.read(path)
        except InputError as error:
            unreadable[id] = str(error)
            continue
        frames[recording.id], channels[recording.id] = recording.n_frames, recording.n_channels
        rates[recording.id], paths[recording.id] = recording.rate, path
        if annotation is not None:
            annotations[recording.id] = annotation
    return Counts(frames, channels, annotations, unreadable, rates, paths, are_published)


def _are_published(offer: Offer, path: Path) -> dict[Path, bool]:
    """Of a recording's files whose checksum is known, whether they have it."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    known = {file: checksum.split(":") for file in files if (checksum := offer.checksum_of(file)) and file.is_file()}
    return {file: digest_of(file, kind) == expected for file, (kind, expected) in known.items()}


def check_counts(listing: Listing, counts: Counts) -> list[Check]:
    """Recordings, frames, channels, rate and classes against the catalogue; a copy may hold more than a sample."""
    more = listing.source != "paper" and len(counts.frames) > listing.n_recordings  # what was counted was a sample
    n_found = len(counts.frames) + len(counts.unreadable)

    def number(what: str, expected: int, found: int) -> Check:
        agrees = found >= expected if more else found == expected
        return Check(what, f"{'>= ' if more else ''}{expected:,}", f"{found:,}", agrees)

    readable = [Check("readable", f"{n_found:,}", f"{len(counts.frames):,}", False)] if counts.unreadable else []
    return [
        number("recordings", listing.n_recordings, n_found),
        *readable,
        number("annotated", listing.n_recordings, len(counts.annotations)),
        number("frames", listing.n_frames, sum(counts.frames.values())),
        _check_channels(listing, counts),
        *_check_rate(listing, counts),
        number("classes", listing.n_classes, counts.n_classes),
        *_check_files(counts),
    ]


def _check_files(counts: Counts) -> list[Check]:
    """None where no checksum is known."""
    n_known, n_same = len(counts.are_published), sum(counts.are_published.values())
    return [Check("as published", f"{n_known:,} files", f"{n_same:,} files", n_same == n_known)] if n_known else []


def _check_channels(listing: Listing, counts: Counts) -> Check:
    widths = sorted(set(counts.channels.values()))
    found = " and ".join(str(width) for width in widths) or "-"
    return Check("channels", str(listing.n_channels), found, widths == [listing.n_channels])


def _check_rate(listing: Listing, counts: Counts) -> list[Check]:
    """None where the catalogue or the copy has no rate."""
    rates = sorted({rate for rate in counts.rates.values() if rate is not None})
    if listing.rate is None or not rates:
        return []
    found = " and ".join(f"{rate:g} Hz" for rate in (rates if len(rates) < 3 else (rates[0], rates[-1])))
    return [Check("rate", f"{listing.rate:g} Hz", found, all(_is_near(rate, listing.rate) for rate in rates))]


def _is_near(rate: float, expected: float) -> bool:
    return abs(rate - expected) <= RATE_TOLERANCE * expected


def differences(listing: Listing, counts: Counts) -> list[str]:
    """A line for each recording that is missing, not expected, unreadable, or differs from what is expected of it."""
    missing, more = other_recordings(listing, counts)
    lines = [f"missing: recording {id}" for id in missing]
    lines += [f"not expected: {counts.paths.get(id, id)}" for id in more]
    lines += [f"cannot be read: {why}" for why in counts.unreadable.values()]
    changed = [file for file, is_same in counts.are_published.items() if not is_same]
    lines += [f"{file}: its checksum is not that of the published file" for file in changed]
    expected_frames = EXPECTED_FRAMES.get(listing.name, {})
    for id, n_frames in counts.frames.items():
        wanted, rate = expected_frames.get(id, n_frames), counts.rates.get(id)
        odd = []
        if n_frames != wanted:
            odd.append(f"{n_frames:,} frames, expected {wanted:,}")
        if counts.channels[id] != listing.n_channels:
            odd.append(f"{counted(counts.channels[id], 'channel')}, expected {listing.n_channels}")
        if rate is not None and listing.rate is not None and not _is_near(rate, listing.rate):
            odd.append(f"{rate:g} Hz, expected {listing.rate:g} Hz")
        if id not in counts.annotations:
            odd.append("no annotation, expected a class for each frame")
        lines += [f"{counts.paths.get(id, id)}: {fault}" for fault in odd]
    return lines


def what_to_do(listing: Listing, data_dir: Path) -> str:
    offer, folder = offers()[listing.name], next(iter(folders_of(listing, data_dir)), data_dir)
    if offer.by_hand:
        return f"to get it again, {offer.by_hand} (page: {offer.page})"
    return f"to get it again, move {folder} away and run: rondo datasets download {listing.name} --data {data_dir}"


def other_recordings(listing: Listing, counts: Counts) -> tuple[list[str], list[str]]:
    """Recordings that are missing, and those that are there beside them, where we know which there should be."""
    found = [*counts.frames, *counts.unreadable]
    every = EXPECTED_IDS.get(listing.name, ())
    missing = [id for id in every or EXPECTED_FRAMES.get(listing.name, ()) if id not in found]
    return missing, [id for id in found if every and id not in every]


def check_constant(name: str, scores: Mapping[str, float]) -> list[Check]:
    """Scores of a constant prediction against those that are known; none where none is known."""
    return [
        Check(f"constant {score}", f"{value:.2f}", f"{scores[score]:.2f}", abs(scores[score] - value) <= ROUNDING)
        for score, value in CONSTANT_SCORES.get(name, {}).items()
    ]
