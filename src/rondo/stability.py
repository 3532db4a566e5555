"""Which entries are found again when the same recordings are fitted with other seeds, or on each half of the time.

Windows and step are those of the first fit wherever they were left to Rondo. The evidence is left out where it changes
no label; contexts are shown only if they pass.

Two vocabularies are compared by what they say about the same frames. Entries are matched one to one so that the frames
on which both agree are most (Hungarian, as in `one_to_one`), and the stability of an entry is the Jaccard index of its
frames F and those G of its partner,

    J = |F ∩ G| / |F ∪ G|,     0 where it has no partner,

averaged over the other vocabularies. From 0.75 an entry counts as stable, below 0.5 as dissolved (Hennig 2007,
*Cluster-wise assessment of cluster stability*). An entry that takes most of the time overlaps with anything, so J of
the same tracks turned against each other (circular shifts) stands beside it. Stable means found again, and not true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.config.overrides import changed
from rondo.config.settings import ComposedMotifsConfig, RondoConfig
from rondo.data.labels import OTHER, Labels, runs_of
from rondo.data.recording import Recording
from rondo.errors import AnnotationError, SettingError
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_rand
from rondo.model.folder import from_config
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.wording import Progress, silent

STABLE, DISSOLVED = 0.75, 0.5
_SHIFTS = (0.23, 0.37, 0.5, 0.61, 0.79)  # of the track: far from 0, and from each other

LabelTracks = Sequence[Labels]
"""One label track for each recording."""


@dataclass(frozen=True)
class EntryStability:
    """How well one entry is found again; all from 0 to 1."""

    id: int
    share: float  # of all frames
    stability: float  # mean Jaccard index with its partners
    least: float  # with the partner that fits worst
    by_chance: float  # the same, with tracks turned against each other

    @property
    def verdict(self) -> str:
        if self.stability >= STABLE:
            return "stable"
        return "dissolved" if self.stability < DISSOLVED else "doubtful"


@dataclass(frozen=True)
class Stability:
    """One vocabulary beside others that read the same frames."""

    entries: tuple[EntryStability, ...]
    n_entries_of_others: tuple[int, ...]
    ari: tuple[float, ...]  # of every pair of vocabularies, the first with the others first; 0 to 1

    @property
    def n_stable(self) -> int:
        return sum(entry.verdict == "stable" for entry in self.entries)

    @property
    def share_stable(self) -> float:
        """Share of frames that carry a stable entry."""
        return sum(entry.share for entry in self.entries if entry.verdict == "stable")


def stability_of(tracks: LabelTracks, others: Sequence[LabelTracks]) -> Stability:
    """How well the entries of one vocabulary are found again by others; every vocabulary has read all recordings.

    >>> one = [np.array([0, 0, 0, 1, 1, 1, 2, 2], np.int32)]
    >>> other = [np.array([7, 7, 7, 5, 5, 5, 5, 5], np.int32)]
    >>> [(entry.id, round(entry.stability, 2)) for entry in stability_of(one, [other]).entries]
    [(0, 1.0), (1, 0.6), (2, 0.0)]
    """
    own, *rest = (_Track.of(each) for each in (tracks, *others))
    for track in rest:
        if track.codes.size != own.codes.size:
            raise AnnotationError(
                f"labels of {own.codes.size} and of {track.codes.size} frames; both must read the same recordings"
            )
    found = np.array([_jaccard(own, track) for track in rest])
    chance = np.array([[_jaccard(own, turned) for turned in track.turned()] for track in rest])
    counts = np.bincount(own.codes, minlength=own.ids.size)
    entries = tuple(
        EntryStability(
            int(id),
            float(counts[i] / own.codes.size),
            float(found[:, i].mean()),
            float(found[:, i].min()),
            float(chance[:, :, i].mean()),
        )
        for i, id in enumerate(own.ids)
    )
    runs = [runs_of(track.codes) for track in (own, *rest)]
    pairs = [(one, other) for i, one in enumerate(runs) for other in runs[i + 1 :]]
    ari = tuple(adjusted_rand(Overlap.of_runs(one, other)) for one, other in pairs)
    return Stability(entries, tuple(int(track.ids.size) for track in rest), ari)


@dataclass(frozen=True)
class _Track:
    """All recordings one after the other: ids in order, and the place of each frame's id among them, OTHER last."""

    ids: NDArray[np.int64]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, tracks: LabelTracks) -> _Track:
        labels = np.concatenate([np.asarray(track, np.int64) for track in tracks])
        ids = np.unique(labels[labels != OTHER])
        return cls(ids, np.where(labels == OTHER, ids.size, np.searchsorted(ids, labels)))

    def turned(self) -> list[_Track]:
        return [_Track(self.ids, np.roll(self.codes, round(share * self.codes.size))) for share in _SHIFTS]


def _jaccard(one: _Track, other: _Track) -> NDArray[np.float64]:
    """Jaccard index of each entry of `one` with its partner in `other`; OTHER is nobody's partner."""
    from scipy.optimize import linear_sum_assignment

    mine, theirs = one.ids.size, other.ids.size
    cells = np.bincount(one.codes * (theirs + 1) + other.codes, minlength=(mine + 1) * (theirs + 1))
    table = cells.reshape(mine + 1, theirs + 1)  # the last row and column are OTHER
    shared = table[:-1, :-1]
    if not shared.size:
        return np.zeros(mine)
    rows, columns = linear_sum_assignment(shared, maximize=True)
    both = shared[rows, columns]
    either = table[:-1].sum(axis=1)[rows] + table[:, :-1].sum(axis=0)[columns] - both
    found = np.zeros(mine)
    found[rows] = both / either
    return found


def as_json(stability: Stability) -> Mapping[str, object]:
    """For machines: every entry, and the whole."""
    return {
        "n_entries": len(stability.entries),
        "n_stable": stability.n_stable,
        "share_stable": stability.share_stable,
        "n_entries_of_others": list(stability.n_entries_of_others),
        "ari_mean": float(np.mean(stability.ari)),
        "ari_least": min(stability.ari),
        "entries": [asdict(entry) | {"verdict": entry.verdict} for entry in stability.entries],
    }


@dataclass(frozen=True)
class Levels:
    """Stability of the units and of the motifs of one model."""

    units: Stability
    motifs: Stability


def over_seeds(
    recordings: Sequence[Recording], config: RondoConfig, n_seeds: int, progress: Progress = silent
) -> tuple[Rondo, Levels]:
    """The model of the first seed, and how well the next seeds find its entries again."""
    if n_seeds < 2:
        raise SettingError(f"--seeds must be 2 or more, got {n_seeds}: one seed has nothing to be compared with")
    progress("seed 1", 0, n_seeds)
    first = _fitted(recordings, config)
    fixed = _fixed(config, first)
    others = []
    for number in range(1, n_seeds):
        progress(f"seed {number + 1}", number, n_seeds)
        others.append(_read(_fitted(recordings, fixed, seed=config.seed + number), recordings))
    return first, _levels(_read(first, recordings), others)


def over_halves(recordings: Sequence[Recording], model: Rondo, progress: Progress = silent) -> Levels:
    """How well the entries of a model of everything are found again by models of the first and of the second halves.

    Each recording is cut in the middle; both models then read the whole recordings.
    """
    fixed = _fixed(model.config_, model)
    readings = []
    for number, name in enumerate(("first", "second")):
        progress(f"{name} halves", number, 2)
        halves = [_half(recording, number) for recording in recordings]
        readings.append(_read(_fitted(halves, fixed), recordings))
    return _levels(_read(model, recordings), readings)


def _fixed(config: RondoConfig, model: Rondo) -> RondoConfig:
    """The same settings with the windows and the step that the model has."""
    scales = {"windows.length": model.window_length_frames_, "windows.step": model.step_frames_}
    if isinstance(config.motifs, ComposedMotifsConfig):
        scales["motifs.window"] = model.motif_window_frames_
    return changed(config, None, scales)


def _fitted(recordings: Sequence[Recording], config: RondoConfig, seed: int | None = None) -> Rondo:
    settings: dict[str, object] = {"seed": config.seed if seed is None else seed}
    if not isinstance(config.motifs, ComposedMotifsConfig):
        settings["evidence.surrogates"] = 0
    return from_config(Rondo, changed(config, None, settings)).fit(list(recordings))


def _read(model: Rondo, recordings: Sequence[Recording]) -> tuple[LabelTracks, LabelTracks]:
    labellings = [label_one(model, recording, was_fitted=True) for recording in recordings]
    return [labelling.units for labelling in labellings], [labelling.motifs for labelling in labellings]


def _levels(own: tuple[LabelTracks, LabelTracks], others: Sequence[tuple[LabelTracks, LabelTracks]]) -> Levels:
    units, motifs = (stability_of(own[level], [other[level] for other in others]) for level in (0, 1))
    return Levels(units, motifs)


def _half(recording: Recording, number: int) -> Recording:
    middle = recording.n_frames // 2
    part = slice(0, middle) if number == 0 else slice(middle, recording.n_frames)
    times = recording.timestamps_s
    return Recording(
        recording.values[part], recording.rate, recording.channels, recording.id, None if times is None else times[part]
    )
