"""The finding of a run in one sentence: the heading of its page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rondo.report.tables import percent
from rondo.times import duration_in_words
from rondo.wording import counted, noun

if TYPE_CHECKING:
    from rondo.run.summary import EntrySummary, RecordingSummary, RunSummary


def finding(run: RunSummary) -> str:
    """How much recurs, in how much data: '5 units and 3 motifs recur in 2 min of 6 channels; 12 % OTHER'.

    Of recordings that a model was applied to, how much occurs: recurrence was tested where it was fitted.
    """
    levels = {"unit": run.units} if run.motifs_are_units else {"unit": run.units, "motif": run.shown_motifs}
    entries = [entry for own in levels.values() for entry in own]
    n_frames = sum(recording.n_frames for recording in run.recordings)
    share = sum(recording.share_other * recording.n_frames for recording in run.recordings) / max(1, n_frames)
    where = f"{_extent_of(run.recordings)}; {percent(share)} OTHER"
    is_tested = run.kind == "discover" and bool(entries) and all(_is_tested(entry) for entry in entries)
    if is_tested and any(_recurs(entry) for entry in entries):
        found = " and ".join(_recurring(own, name) for name, own in levels.items() if own)
        return f"{found} {'recurs' if len(entries) == 1 else 'recur'} in {where}"
    found = " and ".join(counted(len(own), name) for name, own in levels.items())
    if run.kind != "discover":
        return f"{found} {'occurs' if len(entries) == 1 else 'occur'} in {where}"
    unshown = ", not shown to recur," if is_tested else ""
    return f"{found} found{unshown} in {where}"


def agreement_finding(agreement: Mapping[str, Any]) -> str:
    """The same of two runs side by side."""
    scores = ", ".join(f"{one['level']}s {one['scores']['ari']:.0f}" for one in agreement["levels"])
    names = " and ".join(agreement["names"])
    return f"{names} agree in {counted(agreement['n_recordings'], 'recording')}: ARI of {scores} (100 is the same)"


def _is_tested(entry: EntrySummary) -> bool:
    return entry.evidence is not None and entry.evidence.verdict != "not tested"


def _recurs(entry: EntrySummary) -> bool:
    return entry.evidence is not None and entry.evidence.verdict == "recurs"


def _recurring(entries: Sequence[EntrySummary], name: str) -> str:
    n = sum(_recurs(entry) for entry in entries)
    return counted(n, name) if n == len(entries) else f"{n:,} of {counted(len(entries), name)}"


def _extent_of(recordings: Sequence[RecordingSummary]) -> str:
    seconds = [one.duration_s for one in recordings if one.duration_s is not None]
    n_frames = sum(one.n_frames for one in recordings)
    length = duration_in_words(sum(seconds)) if len(seconds) == len(recordings) else f"{n_frames:,} frames"
    channels = _range_of(len(one.channels) for one in recordings)
    extent = f"{length} of {channels} {noun(1 if channels == '1' else 2, 'channel')}"
    return extent if len(recordings) == 1 else f"{counted(len(recordings), 'recording')} ({extent})"


def _range_of(values: Iterable[int]) -> str:
    lowest, *between = sorted(set(values))
    return f"{lowest}" if not between else f"{lowest} to {between[-1]}"
