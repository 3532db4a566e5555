"""A run with its words: a sentence for each entry, and the list of stretches unlike the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rondo.analysis.claims import claims_of, in_a_sentence
from rondo.analysis.rare import rare_in
from rondo.run.segments import LEVELS

if TYPE_CHECKING:
    from rondo.run.data import RunData
    from rondo.run.summary import EntrySummary, RunSummary


def described(run: RunData, before: RunSummary | None = None) -> RunData:
    """The run with both. `before`: as it was described under other edits; signals are read if frames changed since.

    What was never described stays so: a stream, and a run of 0.2.0.
    """
    summary = run.summary
    if before is None:
        texts = {key: in_a_sentence(claims) for key, claims in claims_of(run).items()}
        return replace(run, summary=_told(summary, texts).model_copy(update={"rare": rare_in(run)}))
    texts = {(level, one.id): one.description for level, one in _entries(before)}
    if any(texts.values()) and _counts(before) != _counts(summary):
        return described(run)
    return replace(run, summary=_told(summary, texts).model_copy(update={"rare": before.rare}))


def _told(summary: RunSummary, texts: dict[tuple[str, int], str]) -> RunSummary:
    entries: dict[str, list[EntrySummary]] = {f"{level}s": [] for level in LEVELS}
    for level, one in _entries(summary):
        entries[f"{level}s"].append(one.model_copy(update={"description": texts.get((level, one.id), "")}))
    return summary.model_copy(update={name: tuple(own) for name, own in entries.items()})


def _entries(summary: RunSummary) -> list[tuple[str, EntrySummary]]:
    return [*(("unit", one) for one in summary.units), *(("motif", one) for one in summary.motifs)]


def _counts(summary: RunSummary) -> list[Any]:
    """What differs where frames have other labels."""
    return [(level, one.id, one.absorbed, one.n_occurrences, one.share) for level, one in _entries(summary)]
