"""What a notebook shows: small, escaped, and true."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from rondo.data.recording import Recording
from rondo.editing.edits import Edits
from rondo.html_card import MOST_ROWS, card
from rondo.model.folder import config_of
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.run.labelling import Labelling
from rondo.wording import counted
from tests.cli.running import waves
from tests.motifs.planted_contexts import LENGTH, planted


class _Page(HTMLParser):
    """Tags in their order, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.n_rows = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert tag in {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}
        self.open.append(tag)
        self.n_rows += tag == "tr"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def shown(html: str) -> _Page:
    page = _Page(html)
    assert page.open == []
    return page


EVIL = "<script>alert('x')</script> & \"co\""


def test_names_cannot_break_out() -> None:
    recording = Recording(waves(), rate=50, channels=(EVIL, "b"), id=EVIL, notes=(EVIL,))
    page = shown(recording._repr_html_())
    assert page.words.count(EVIL) == 1  # the channel
    assert f"Recording {EVIL}" in page.words
    shown(card(EVIL, {EVIL: EVIL}, [EVIL], [[EVIL]]))


def test_a_recording_tells_size_rate_and_range() -> None:
    values = waves(n_channels=3)
    values[:150, 1] = np.nan
    page = shown(Recording(values, rate=50)._repr_html_())
    assert {"frames: 1,500", "rate: 50 Hz", "10.0%", f"{values[:, 0].min():.4g}"} <= set(page.words)
    assert "rate: unknown" in shown(Recording(values)._repr_html_()).words


def test_a_silent_channel_and_many_channels() -> None:
    values = np.tile(waves(n_channels=1), (1, 40))
    values[:, 3] = np.nan
    page = shown(Recording(values)._repr_html_())
    assert page.n_rows == 1 + MOST_ROWS
    assert f"and {40 - MOST_ROWS} more" in page.words
    assert "nan" in page.words


@pytest.fixture(scope="module")
def model() -> Rondo:
    settings = {"evidence.surrogates": 0, "motifs.method": "none"}
    return Rondo(window=50, settings=settings).fit(Recording(waves(), id="day1"))


def test_a_model_tells_whether_it_is_fitted(model: Rondo) -> None:
    assert any("not fitted" in word for word in shown(Rondo()._repr_html_()).words)
    page = shown(model._repr_html_())
    assert any(f"found: {len(model.unit_model_.ids)} units;" in word for word in page.words)
    assert {"fitted on: 'day1'", "recurs: not tested", "u0"} <= set(page.words)
    assert "m0" not in page.words
    assert any(word.startswith("window, step: 50, 12 frames") for word in page.words)


@pytest.mark.parametrize("kind", ["phrase", "context"])
def test_a_model_with_longer_motifs_tells_what_they_are_made_of(kind: str) -> None:
    """The waves come in a fixed order again and again."""
    values, window = (waves(9_000), 50) if kind == "phrase" else (planted(12_000)[0], LENGTH)
    model = Rondo(window=window, settings={"evidence.surrogates": 0}).fit(Recording(values, id="day1"))
    assert model.motif_model_.composed and model.motif_model_.shown == kind
    page = shown(model._repr_html_())
    n_units, n_motifs = len(model.unit_model_.ids), len(model.motif_model_.ids)
    assert f"found: {n_units} units and {counted(n_motifs, 'motif')}" in page.words
    assert {"motif", "made of", "evidence", "m0", model.motif_model_.composition(0)} <= set(page.words)


def test_a_model_that_was_loaded_tells_only_what_was_set(model: Rondo, tmp_path: Path) -> None:
    """It knows all of its settings; those that nobody has changed would bury the others."""
    model.save(tmp_path / "model")
    loaded = Rondo.load(tmp_path / "model")
    assert len(repr(loaded)) < 200
    assert "'evidence': {'surrogates': 0}" in repr(loaded) and "concentration" not in repr(loaded)
    made, _, found = repr(loaded).partition(" <")
    assert found == f"fitted: {len(model.units_)} units in 1 recording>"
    again = eval(made, {"Rondo": Rondo})  # and it can be typed in again
    assert repr(again) == made
    assert config_of(again) == config_of(loaded)


def test_names_that_people_gave_are_shown(model: Rondo) -> None:
    named = model.name("unit:0", "<reach>")
    labelling = label_one(named, Recording(waves(), id="day1"))
    for it in (named, labelling):
        assert "u0 <reach>" in shown(it._repr_html_()).words
    model.edits_ = Edits()


def test_a_labelling_tells_what_occurs(model: Rondo) -> None:
    labelling = label_one(model, Recording(waves(), id="day1"))
    n_units = np.unique(labelling.units).size
    told = f"{n_units} units; no motif is longer than a unit"
    assert repr(labelling) == f"Labelling('day1', 1500 frames: {told}; 0% OTHER)"
    page = shown(labelling._repr_html_())
    assert f"found: {told}" in page.words and any(f"the {MOST_ROWS} that" in word for word in page.words)
    assert page.n_rows == 1 + min(n_units, MOST_ROWS)
    composed = shown(replace(labelling, motifs=labelling.motifs // 2)._repr_html_())
    assert {"m0", "u0"} <= set(composed.words) and any(f"the {MOST_ROWS // 2} that" in word for word in composed.words)
    assert f"found: {n_units} units and {(n_units + 1) // 2} motifs" in composed.words
    unit = int(np.bincount(labelling.units).argmax())
    assert f"{(labelling.units == unit).mean():.1%}" in page.words
    assert any(re.fullmatch(r"\d+ frames", word) for word in page.words)  # no rate, no seconds


def test_nothing_but_other() -> None:
    none, zeros = np.full(10, -1, np.int32), np.zeros(10, np.float32)
    labelling = Labelling("x", none, none, zeros, zeros, None, None, np.zeros(0, np.int64), 0.0)
    assert "Labelling('x', 10 frames: 0 units and 0" in repr(labelling)
    assert shown(labelling._repr_html_()).n_rows == 0
