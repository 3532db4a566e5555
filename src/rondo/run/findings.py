"""What a run found, in sentences: how much, what recurs, whether the model fits, what was merged by hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rondo.evidence.verdicts import Entries, Evidence
from rondo.run.headline import by_chance, recurrence_in_words
from rondo.run.summary import FitSummary, Profile, RunSummary
from rondo.wording import counted

NOTHING_SHARED = "Each recording was learned separately: no two recordings share a unit."
FLAT = "No composition of units into longer motifs recurs here"
FEW_PHRASES = "Some orders of units recur, but not so clearly that labels show them"
NOT_ASKED = "Motifs were not looked for (motifs.method = 'none')"
_OWN_MOTIF = ": every unit is its own motif"
_MOST_FITS = 50  # recordings with a sentence each on their fit
_MOST_PLACES = 4  # units that a sentence names
_MOST_COPIES = 3  # pairs that a sentence names
NOT_TESTED = "Recurrence was not tested"


def fit_sentence(recording: str, fit: FitSummary, fitted: Profile) -> str:
    """The verdict on one recording, with the figures it rests on beside those of the fitted recordings.

    >>> fitted = Profile(share_accepted=0.95, distance_quantiles={"0.5": 0.5})
    >>> own = FitSummary(verdict="fits", n_units=7, n_units_of_model=9, share_accepted=0.9,
    ...                  distance_quantiles={"0.5": 0.6})
    >>> fit_sentence("two", own, fitted)
    'two: the model fits: 90 % of windows accepted (fitted: 95 %), median distance 0.60 (0.50), 7 of 9 units'
    """
    share, fitted_share = (f"{100 * each.share_accepted:.0f} %" for each in (fit, fitted))
    medians = [each.distance_quantiles.get("0.5") for each in (fit, fitted)]
    median, fitted_median = ("unknown" if median is None else f"{median:.2f}" for median in medians)
    # noise can lie well within the unit that stands for rest
    one = ": one unit covers all of it" if fit.n_units == 1 < fit.n_units_of_model else ""
    return (
        f"{recording}: the model {fit.verdict}: {share} of windows accepted (fitted: {fitted_share}), "
        f"median distance {median} ({fitted_median}), {fit.n_units} of {fit.n_units_of_model} units{one}"
    )


def shared_ids_sentence(shared: Mapping[str, Any]) -> str:
    """Which ids may not mean the same in all groups.

    >>> shared_ids_sentence({"n_shared": 7, "n_alike": 6, "doubts": [[3, "a", "b", 5]]})
    'An id may not mean the same in all groups: 6 of 7 shared units look alike in all; u3 of a looks more like u5 of b.'
    """
    named = [f"u{id} of {group} looks more like u{like} of {other}" for id, group, other, like in shared["doubts"]]
    alike = f"{shared['n_alike']} of {counted(shared['n_shared'], 'shared unit')} look alike in all"
    return f"An id may not mean the same in all groups: {alike}; {', '.join(named)}."


def fit_sentences(summary: RunSummary) -> list[str]:
    """The verdict on each recording; of many only how many have which."""
    if summary.fitted is None:
        return []
    fits = [(one.id, one.fit) for one in summary.recordings if one.fit is not None]
    if len(fits) <= _MOST_FITS:
        return [fit_sentence(id, fit, summary.fitted) for id, fit in fits]
    counts = Counter(fit.verdict for _, fit in fits)
    each = [f"{verdict} {n:,}" for verdict, n in counts.most_common()]
    return [f"Of {len(fits):,} recordings, the model {', '.join(each)}."]


def failed_sentence(summary: RunSummary) -> str:
    """How many files have no labels, and why the first has none."""
    first, n_files = summary.failed[0], len(summary.failed) + len(summary.recordings)
    return f"{len(summary.failed):,} of {n_files:,} files failed: {first.file}: {first.why}"


def unfit_notes(summary: RunSummary) -> list[str]:
    """What to say about recordings that the model does not fit; of many, about the first."""
    unfit = [one for one in summary.recordings if one.fit is not None and one.fit.verdict == "does not fit"]
    told = [
        f"{one.id}: only {100 * one.share_accepted:.0f} % of its windows lie near any unit of the model; it may not "
        "fit this recording"
        for one in unfit[:_MOST_FITS]
    ]
    left = len(unfit) - len(told)
    return [*told, f"and so do {left:,} more recordings"] if left else told


def composition_sentence(was_asked: bool, motifs_are_units: bool, has_phrases: bool = False) -> str:
    """What there is to say where labels show no composition of units; `has_phrases`: some were found all the same."""
    head = NOT_ASKED if not was_asked else FEW_PHRASES if has_phrases else FLAT
    return f"{head}{_OWN_MOTIF if motifs_are_units else ''}."


def phrase_sentence(begins: str, n_phrases: int, commonest: str, n_occurrences: int) -> str:
    """Sequences of units that come back in order."""
    if n_phrases == 1:
        return f"{begins}one sequence of units comes back in its order: {commonest}, {n_occurrences} times."
    several = counted(n_phrases, "sequence of units", "sequences of units")
    return f"{begins}{several} come back in their order; the commonest, {commonest}, occurs {n_occurrences} times."


def moved_sentence(provenance: dict[str, Any]) -> str:
    """How far `adapt` has moved the units.

    >>> moved_sentence({"units_moved_by_radii": {"0": 0.2, "1": 1.5, "2": 0.0}})
    'The units were moved to these recordings: 2 of 3, u1 furthest, by 1.5 radii; 1 left what it was (look at it).'
    """
    moved: dict[str, float] = provenance["units_moved_by_radii"]
    if not any(moved.values()):
        return "The units were to be moved to these recordings, but none occurs in them."
    furthest = max(moved, key=lambda id: moved[id])
    n_moved, n_left = sum(radii > 0 for radii in moved.values()), sum(radii > 1 for radii in moved.values())
    left = (
        f"; {n_left} left what {'it was (look at it)' if n_left == 1 else 'they were (look at them)'}" if n_left else ""
    )
    return (
        f"The units were moved to these recordings: {n_moved} of {len(moved)}, "
        f"u{furthest} furthest, by {moved[furthest]:.1f} radii{left}."
    )


def grown_sentence(new_units: Sequence[int]) -> str:
    """What a stream has added to the vocabulary that recordings were read with."""
    added = f"added {', '.join(f'u{unit}' for unit in new_units)}" if new_units else "added no unit"
    return f"Read again with what the stream has learned, which has {added}; what is new was not tested."


def sample_sentence(n_frames: int, of: int) -> str:
    """That a vocabulary was learned from a part of the recordings only."""
    share = f"{100 * n_frames / of:.2g} % of the frames"
    return f"The vocabulary was learned from a fair sample, {share}; all of them are labelled."


def copies_sentence(copies: Mapping[str, str]) -> str:
    """Recordings with the values of another one.

    >>> copies_sentence({"b": "a", "d": "c"})
    '2 recordings hold the same values as others (b = a, d = c): each was learned from once.'
    """
    pairs = [f"{copy} = {original}" for copy, original in copies.items()]
    more = f" and {len(pairs) - _MOST_COPIES:,} more" if len(pairs) > _MOST_COPIES else ""
    hold = f"{counted(len(pairs), 'recording')} {'holds' if len(pairs) == 1 else 'hold'}"
    others = "another" if len(pairs) == 1 else "others"
    return f"{hold} the same values as {others} ({', '.join(pairs[:_MOST_COPIES])}{more}): each was learned from once."


def recurrence_sentence(evidence: Evidence, kinds: Mapping[int, str], is_foreign: bool = False) -> str:
    """How many entries come back; `kinds`: of motifs, `is_foreign`: in other recordings than these.

    Motifs that are one unit are not counted twice, and contexts that occur once are sections.
    """
    if math.isnan(evidence.p):
        return f"{NOT_TESTED}."
    where = "Where the model was fitted: " if is_foreign else ""
    if not evidence.recurs:
        words = by_chance(evidence.p)
        return f"{where}{words if where else words.capitalize()}."
    groups: dict[str, list[str]] = {"phrase": [], "context": []}
    for id, entry in {**evidence.motifs, **evidence.unshown}.items():
        if (kind := kinds.get(id, "unit")) != "unit" and (kind, entry.verdict) != ("context", "occurs once"):
            groups.setdefault(kind, []).append(entry.verdict)
    groups["unit"] = [entry.verdict for entry in evidence.units.values()]
    parts = [recurrence_in_words(own, kind) for kind, own in groups.items() if own]
    told = "; ".join(main.removesuffix(",") + rest.replace("; ", ", ") for main, rest in parts)
    return f"{where}{told} (p = {evidence.p:.2g} for the whole, not for each entry)."


def place_sentence(units: Entries) -> str:
    """Where most recordings have the same unit at the same place; "" where there is no such unit."""
    kinds = ("start", "place", "end")  # as a recording goes
    placed = [(id, entry.reason) for id, entry in units.items() if entry.reason.kind in kinds]
    common = [(id, reason) for id, reason in placed if 2 * reason.figure >= reason.of]
    common = sorted(common, key=lambda own: -own[1].figure)[:_MOST_PLACES]
    told = [f"u{id} {reason.in_words()}" for id, reason in sorted(common, key=lambda own: kinds.index(own[1].kind))]
    return f"Over the recordings: {', '.join(told)}." if told else ""
