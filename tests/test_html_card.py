"""What a notebook shows: small, escaped, and true."""

from __future__ import annotations

import re
from copy import copy
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from rondo.data.recording import Recording
from rondo.model.folder import config_of
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.wording import MOST_ROWS, card
from tests.cli.running import waves

EVIL = "<script>alert('x')</script> & \"co\""


class _Page(HTMLParser):
    """Tags in their order, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.n_rows = 0
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert tag in {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}
        self.open.append(tag)
        self.n_rows += tag == "tr"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def model() -> Rondo:
    settings = {"evidence.surrogates": 0, "motifs.method": "none"}
    return Rondo(window=50, settings=settings).fit(Recording(waves(), id="day1"))


def test_names_cannot_break_out(model: Rondo) -> None:
    recording = Recording(waves(), rate=50, channels=(EVIL, "b"), id=EVIL, notes=(EVIL,))
    page = _Page(recording._repr_html_())
    assert page.words.count(EVIL) == 1 and f"Recording {EVIL}" in page.words
    _Page(card(EVIL, {EVIL: EVIL}, [EVIL], [[EVIL]]))
    named = copy(model).name("unit:0", "<reach>")
    for it in (named, named.predict(Recording(waves(), id="day1"))[0]):
        assert "u0 <reach>" in _Page(it._repr_html_()).words


def test_a_model_shows_what_it_found_and_what_was_set(model: Rondo, tmp_path: Path) -> None:
    assert any("not fitted" in word for word in _Page(Rondo()._repr_html_()).words)
    words = set(_Page(model._repr_html_()).words)
    assert {"fitted on: 'day1'", "recurs: not tested", "u0"} <= words and "m0" not in words
    model.save(tmp_path / "model")
    loaded = Rondo.load(tmp_path / "model")
    made = repr(loaded).partition(" <")[0]
    assert "'evidence': {'surrogates': 0}" in made and "concentration" not in made  # only what somebody has changed
    assert config_of(eval(made, {"Rondo": Rondo})) == config_of(loaded)


def test_a_labelling_shows_what_occurs(model: Rondo) -> None:
    labelling = label_one(model, Recording(waves(), id="day1"))
    n_units = np.unique(labelling.units).size
    page = _Page(labelling._repr_html_())
    assert page.n_rows == 1 + min(n_units, MOST_ROWS)
    unit = int(np.bincount(labelling.units).argmax())
    assert f"{(labelling.units == unit).mean():.1%}" in page.words
    composed = _Page(replace(labelling, motifs=labelling.motifs // 2)._repr_html_()).words
    found = next(word for word in composed if word.startswith("found: "))
    assert {"m0", "u0"} <= set(composed) and re.findall(r"\d+", found) == [f"{(n_units + 1) // 2}", f"{n_units}"]
    nothing = replace(labelling, units=np.full(1_500, -1, np.int32), motifs=np.full(1_500, -1, np.int32))
    assert _Page(nothing._repr_html_()).n_rows == 0
