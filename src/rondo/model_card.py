"""What a fitted model shows of itself in a notebook: what it was fitted on, what it found, whether that recurs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rondo.data.as_recordings import in_hertz
from rondo.data.signal import shortened
from rondo.evidence.verdicts import Entries, Evidence
from rondo.html_card import card
from rondo.vocabulary.names import EntryId
from rondo.vocabulary.vocabulary import Level
from rondo.wording import found_in_words

if TYPE_CHECKING:
    from rondo.model import Rondo


def model_card(model: Rondo) -> str:
    """HTML of a fitted model; motifs that are the units under other ids are not listed again."""
    units, motifs, evidence = model.unit_model_, model.motif_model_, model.evidence_
    found = found_in_words(len(units.ids), len(motifs.ids), motifs_are_units=not motifs.composed)
    facts = {
        "fitted on": shortened([recording["id"] for recording in model.provenance_["recordings"]]),
        "channels": shortened(model.preprocessor_.channels),
        "window, step": f"{model.window_length_frames_}, {model.step_frames_} frames at {in_hertz(model.rate_)}",
        "found": found,
        "recurs": _in_words(evidence),
    }
    if not motifs.composed:
        listed = [(_shown(model, "unit", id), _verdict(evidence.units, id)) for id in units.ids]
        return card(repr(model), facts, ("unit", "evidence"), listed)
    rows = [(_shown(model, "motif", id), motifs.composition(id), _verdict(evidence.motifs, id)) for id in motifs.ids]
    return card(repr(model), facts, ("motif", "made of", "evidence"), rows)


def _shown(model: Rondo, level: Level, id: int) -> str:
    return f"{EntryId(level, id).short} {model.edits_.name(level, id)}".rstrip()


def _verdict(entries: Entries, id: int) -> str:
    return entries[id].verdict if id in entries else "not tested"


def _in_words(evidence: Evidence) -> str:
    if math.isnan(evidence.p):
        return "not tested"
    return f"{'yes' if evidence.recurs else 'not shown'} (p = {evidence.p:.2g})"
