"""The first line of a run: how many entries of each kind there are, and how many of them come back.

The page, the command line, a notebook, `repr` and summary.json use the same sentence. The kind of entry that it is
about covers most of the time in what comes back. A context that occurs once is a *section*: it stays in the labels, but
never stands for what comes back.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rondo.evidence.verdicts import comes_back
from rondo.wording import counted, duration_in_words, found_in_words, noun, number_in_words, percent

if TYPE_CHECKING:
    from rondo.run.summary import EntrySummary, RecordingSummary, RunSummary

_MOST = 0.5  # of the time in what comes back, which a kind must cover to stand for it; by hand: most of it
LEAST_OTHER = 0.005  # of the time: less is not worth a word on the first line
_RARE, _RARE_SHARE, _MOST_RARE = 2, 0.05, 2  # visits and share of time of what is worth a look; how many are named
_REST = {
    "occurs once": ("occurs once", "occur once"),
    "blurred": ("is hard to tell from another", "are hard to tell from others"),
    "not shown": ("is not shown to come back", "are not shown to come back"),
    "not tested": ("is not tested", "are not tested"),
}


def headline(run: RunSummary) -> str:
    """'5 phrases and 3 sections made of 8 units; 5 phrases come back, 4 of them clearly, in 21 days of 6 channels'."""
    kinds, where = kinds_of(run), f"in {extent_in_words(run)}"
    found = found_in_words({name: len(own) for name, own in kinds.items()})
    kind = headline_kind(
        {name: returning_share(own) for name, own in kinds.items()}, next(iter(motifs_by_kind(run)), "")
    )
    verdicts = [verdict_of(entry) for entry in kinds[kind]]
    if run.kind != "discover":
        return f"{occurring(run)} {where}{_other(run)}{_fit(run)}"
    if run.evidence is None or not verdicts or set(verdicts) <= {"", "not tested"}:
        return f"{found} found {where}{_other(run)}"
    if not run.evidence.recurs:
        return f"{found} found {where}, but {by_chance(run.evidence.p)}{_other(run)}"
    main, rest = recurrence_in_words(verdicts, kind, about=("occurs once",))
    made_of = f"{found}; " if len([own for own in kinds.values() if own]) > 1 else ""
    return f"{made_of}{main} {where}{rest}{_rare(kinds[kind], kind)}{_other(run)}"


def occurring(run: RunSummary) -> str:
    """'5 phrases made of 8 units occur'."""
    counts = {name: len(own) for name, own in kinds_of(run).items()}
    n = sum(counts.values()) - counts["unit"] or counts["unit"]
    return f"{found_in_words(counts)} {'occurs' if n == 1 else 'occur'}"


def by_chance(p: float) -> str:
    """Why nothing is claimed of any entry."""
    return f"slow random change would look the same (p = {p:.2g})"


def kinds_of(run: RunSummary) -> dict[str, tuple[EntrySummary, ...]]:
    """Units, and motifs of several units by what they are called; motifs that are one unit are not counted twice."""
    motifs = run.unshown_motifs if run.motifs_are_units else run.motifs
    names = [name_of_kind(entry) for entry in motifs]
    called = [name for name in ("phrase", "context", "section", "motif") if name in names]
    return {
        **{name: tuple(one for one, own in zip(motifs, names, strict=True) if own == name) for name in called},
        "unit": run.units,
    }


def name_of_kind(motif: EntrySummary) -> str:
    """What a motif is called: a context that occurs once is a section, what was merged by hand is a 'motif'.

    'motif' also where the method knows no kinds.
    """
    if motif.kind == "context" and verdict_of(motif) == "occurs once":
        return "section"
    return "motif" if motif.kind == "unit" and motif.absorbed else motif.kind or "motif"


def verdict_of(entry: EntrySummary) -> str:
    """The verdict on an entry; "" where the method has no test."""
    return "" if entry.evidence is None else entry.evidence.verdict


def returning_share(entries: Iterable[EntrySummary]) -> float:
    """The share of time in those of these entries that come back."""
    return sum(entry.share for entry in entries if comes_back(verdict_of(entry)))


def leading_kind(shares: Mapping[str, float], labelled: str) -> str:
    """The kind of motif that a page shows first; `shares`: of the time in motifs that come back, by kind.

    It is the kind that labels show, unless its motifs that come back cover less than half of what those of another do.

    >>> leading_kind({"context": 0.9, "phrase": 0.6}, "phrase"), leading_kind({"context": 0, "phrase": 0.2}, "context")
    ('phrase', 'phrase')
    """
    best = max(shares, key=lambda kind: shares[kind], default=labelled)
    return labelled if shares.get(labelled, 0.0) >= _MOST * shares.get(best, 0.0) else best


def headline_kind(shares: Mapping[str, float], leading: str) -> str:
    """The kind of entry that the headline is about: motifs where they cover most of what comes back, else units.

    >>> headline_kind({"phrase": 0.6, "unit": 0.9}, "phrase"), headline_kind({"phrase": 0.2, "unit": 0.9}, "phrase")
    ('phrase', 'unit')
    """
    share = shares.get(leading, 0.0)
    return leading if share > 0 and share >= _MOST * shares["unit"] else "unit"


def motifs_by_kind(run: RunSummary) -> dict[str, tuple[EntrySummary, ...]]:
    """The motifs of each lane that a page can show, the leading kind first: phrases, contexts with sections.

    'motif': the method knows no kinds, or every motif is one unit. Units between phrases are in their lane.
    """
    of_labels = {motif.kind for motif in run.shown_motifs}
    labelled = next((kind for kind in ("phrase", "context") if kind in of_labels), "motif")
    lanes = {labelled: run.shown_motifs} if run.shown_motifs else {}
    for motif in run.unshown_motifs:
        lanes[motif.kind] = (*lanes.get(motif.kind, ()), motif)
    composed = {kind: [one for one in own if one.kind != "unit"] for kind, own in lanes.items()}
    first = leading_kind({kind: returning_share(own) for kind, own in composed.items()}, labelled)
    if first == labelled and not composed.get(labelled):  # labels show units, and there is something to look at
        first = next((kind for kind, own in composed.items() if own), first)
    return {kind: lanes[kind] for kind in sorted(lanes, key=lambda kind: kind != first)}


def heading_of(kind: str, entries: Iterable[EntrySummary]) -> str:
    """The heading of a table of motifs of one kind: 'Phrases', 'Contexts and sections'."""
    names = {name_of_kind(entry) for entry in entries}
    called = [f"{name}s" for name in ("context", "section") if name in names] if kind == "context" else [f"{kind}s"]
    return " and ".join(called).capitalize()


def recurrence_in_words(verdicts: Sequence[str], kind: str, about: Container[str] = _REST) -> tuple[str, str]:
    """How many entries of a kind come back, how clearly, and how many have another verdict, of those it is `about`.

    >>> recurrence_in_words(["recurs clearly"] * 5 + ["recurs faintly"] * 2, "unit")
    ('7 units come back, 5 of them clearly,', '')
    >>> recurrence_in_words(["recurs clearly", "occurs once", "blurred"], "phrase")
    ('1 of 3 phrases comes back clearly', '; 1 occurs once, 1 is hard to tell from another')
    """
    n, n_clear = sum(map(comes_back, verdicts)), verdicts.count("recurs clearly")
    rest = [
        f"{m:,} {words[m != 1]}"
        for verdict, words in _REST.items()
        if verdict in about and (m := verdicts.count(verdict))
    ]
    tail = f"; {', '.join(rest)}" if rest else ""
    if not n:
        none = (
            f"none of {counted(len(verdicts), kind)} comes back" if verdicts[1:] else f"the {kind} does not come back"
        )
        return none, tail
    graded = " clearly" if n_clear == n else f", {n_clear:,} of them clearly," if n_clear else " faintly"
    several = counted(n, kind) if n == len(verdicts) else f"{n:,} of {counted(len(verdicts), kind)}"
    return f"{several} {'comes' if n == 1 else 'come'} back{graded}", tail


def _rare(entries: Iterable[EntrySummary], kind: str) -> str:
    """The entries that come back, but only just: '; u3 is rare: twice, 12 s in all: look at both'."""
    rare = [
        one
        for one in entries
        if one.evidence is not None and one.evidence.comes_back and one.evidence.n_visits == _RARE
        if one.n_occurrences == _RARE and one.share <= _RARE_SHARE
    ]
    words = []
    for one in rare[:_MOST_RARE]:
        in_all = f"{_RARE * one.mean_duration_frames:,.0f} frames"
        if one.mean_duration_s is not None:
            in_all = duration_in_words(_RARE * one.mean_duration_s)
        words.append(f"{'u' if kind == 'unit' else 'm'}{one.id} is rare: {number_in_words(_RARE)}, {in_all} in all")
    return f"; {', '.join(words)}: look at {'both' if len(words) == 1 else 'them'}" if words else ""


# ---------------------------------------------------------------- how much data


def extent_in_words(run: RunSummary) -> str:
    """'7 days of 6 channels', '12 recordings (35 min of 3 channels)'."""
    length, channels = length_and_channels(run.recordings)
    extent = f"{length} of {channels}"
    return extent if len(run.recordings) == 1 else f"{counted(len(run.recordings), 'recording')} ({extent})"


def length_and_channels(recordings: Sequence[RecordingSummary]) -> tuple[str, str]:
    """How long recordings are together, and how many channels they have."""
    seconds = [recording.duration_s for recording in recordings if recording.duration_s is not None]
    n_frames = sum(recording.n_frames for recording in recordings)
    length = duration_in_words(sum(seconds)) if len(seconds) == len(recordings) else f"{n_frames:,} frames"
    n_channels = range_in_words((len(recording.channels) for recording in recordings), "d")
    return length, f"{n_channels} {noun(1 if n_channels == '1' else 2, 'channel')}"


def range_in_words(values: Iterable[float], form: str) -> str:
    """One value, or the lowest and the highest."""
    lowest, *rest = sorted(set(values))
    return f"{lowest:{form}}" if not rest else f"{lowest:{form}} to {rest[-1]:{form}}"


def share_other(recordings: Sequence[RecordingSummary]) -> float:
    """The share of all frames without a label."""
    n_frames = sum(recording.n_frames for recording in recordings)
    return sum(recording.share_other * recording.n_frames for recording in recordings) / max(1, n_frames)


def _other(run: RunSummary) -> str:
    return other_in_words(share_other(run.recordings))


def other_in_words(share: float) -> str:
    """The end of a first line: '; 12 % OTHER', or nothing where there is hardly any."""
    return f"; {percent(share)} OTHER" if share >= LEAST_OTHER else ""


def _fit(run: RunSummary) -> str:
    """Whether the model fits recordings, or a stream, that it was not fitted on."""
    if run.stream is not None and run.stream.fit:
        return f"; the model {run.stream.fit}"
    verdicts = [one.fit.verdict for one in run.recordings if one.fit is not None]
    if len(set(verdicts)) == 1:
        return f"; the model {verdicts[0]}"
    return f"; the model fits {verdicts.count('fits')} of {len(verdicts)}" if verdicts else ""
