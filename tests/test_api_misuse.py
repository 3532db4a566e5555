"""Calls with what cannot be meant: each is a RondoError of one line, none a bare error of Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rondo
from rondo import edit
from rondo.errors import RondoError
from rondo.result import Result
from tests.cli.running import waves

VALUES = waves(1500)
SETTINGS = {"evidence.surrogates": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("misuse")
    rondo.discover(VALUES, rate=50, window=40, settings=SETTINGS).save(made / "run")
    np.savez(made / "x.npz", X=VALUES)
    return made


def discover(**options: Any) -> object:
    return rondo.discover(VALUES, **({"rate": 50, "window": 40, "settings": SETTINGS} | options))


Call = Callable[[Any, Result, Path], object]
PLACES: dict[str, Call] = {
    "discover": lambda bad, result, folder: rondo.discover(bad, rate=50),
    "read": lambda bad, result, folder: rondo.read(bad),
    "label, model": lambda bad, result, folder: rondo.label(bad, VALUES, rate=50),
    "label, data": lambda bad, result, folder: rondo.label(folder / "run", bad, rate=50),
    "load": lambda bad, result, folder: Result.load(bad),
    "load a model": lambda bad, result, folder: rondo.Rondo.load(bad),
    "save": lambda bad, result, folder: result.save(bad),
    "save a model": lambda bad, result, folder: result.model.save(bad),
    "report": lambda bad, result, folder: result.report(bad),
    "export": lambda bad, result, folder: result.export("csv", bad),
    "out": lambda bad, result, folder: discover(out=0 if bad is None else bad),
    "edits": lambda bad, result, folder: edit.edits_in(bad),
    "apply edits": lambda bad, result, folder: edit.apply_edits(bad, []),
    "apply a file": lambda bad, result, folder: edit.apply_file(folder / "run", bad),
    "evaluate": lambda bad, result, folder: rondo.evaluate(result.units, bad),
}
NO_PATHS: dict[str, Any] = {
    "None": None, "number": 3, "bytes": b"x.csv", "object": object(), "set": {1}, "zero byte": "a\0b", "True": True,
}  # fmt: skip


@pytest.mark.parametrize("bad", NO_PATHS)
@pytest.mark.parametrize("place", PLACES)
def test_no_path(folder: Path, place: str, bad: str) -> None:
    with pytest.raises(RondoError) as caught:
        PLACES[place](NO_PATHS[bad], Result.load(folder / "run"), folder)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


ARGUMENTS: dict[str, tuple[Call, list[Any]]] = {
    "rate": (lambda bad, result, folder: discover(rate=bad), [True, 0, "fast", [], np.True_]),
    "rate of a reading": (lambda bad, result, folder: discover(rate=None, reading=rondo.Reading(rate=bad)), [True, -1]),
    "window": (lambda bad, result, folder: discover(window=bad), [True, 0, object(), "long", []]),
    "method": (lambda bad, result, folder: discover(method=bad), [None, True, {}, {1}, "ronndo"]),
    "preset": (lambda bad, result, folder: discover(preset=bad), [True, {1}, "defalt"]),
    "settings": (lambda bad, result, folder: discover(settings=bad), [True, 3, {1}, (None,), {"windows": 1}]),
    "group_by": (lambda bad, result, folder: discover(group_by=bad), [True, 3, ["day"], {1}]),
    "reading": (lambda bad, result, folder: discover(reading=bad), [True, 3, "X", {"rate": 50}]),
    "seed": (lambda bad, result, folder: discover(seed=bad), [True, "x", 1.5]),
    "workers": (lambda bad, result, folder: rondo.discover([folder / "x.npz"], workers=bad, out=folder / "out"),
                [0, -3, True, 1.5, "two"]),
    "engine": (lambda bad, result, folder: rondo.discover([folder / "x.npz"], engine=bad, out=folder / "out"),
               [True, 3, "lokal"]),
    "level": (lambda bad, result, folder: rondo.evaluate(result.units, result, level=bad), [None, "", "units", [], 1]),
    "recording": (lambda bad, result, folder: result[bad], [None, True, 1, -2, 0.0, "day2", ("recording",), [0]]),
    "plotted recording": (lambda bad, result, folder: result.plot(bad), [True, 7, "day2", []]),
    "plotted entry": (lambda bad, result, folder: result.plot_entry(bad), [None, 3, "unit", [], "unit:99"]),
    "format": (lambda bad, result, folder: result.export(bad, folder / "x.csv"), [None, True, {}, "cvs"]),
    "usage": (lambda bad, result, folder: result.usage(bad), [True, 3, ["day"]]),
    "per": (lambda bad, result, folder: result.usage(per=bad), [None, "day", []]),
    "name": (lambda bad, result, folder: result.model.name(bad, "x"), [None, 3, ("unit", 0)]),
    "merge": (lambda bad, result, folder: result.model.merge(bad, "u1"), [None, 3, [], {"u0"}]),
    "rows": (lambda bad, result, folder: list(result.model.stream(bad)), [True, 3, object(), "rows.csv"]),
    "channels": (lambda bad, result, folder: rondo.Recording(VALUES, 50, bad), [True, 3, ["a"], ["a", "a"]]),
    "leave_out": (lambda bad, result, folder: rondo.Reading(leave_out=bad), [True, 3]),
    "rows of text": (lambda bad, result, folder: rondo.read(bad, rate=50), [[["a"], ["b"]], [[1, 2], [3]]]),
    "progress": (lambda bad, result, folder: discover(progress=bad), [3, "x", ["print"]]),
    "settings of a model": (lambda bad, result, folder: rondo.Rondo(settings=bad).fit(VALUES, rate=50),
                            [True, 3, ("seed",), "x"]),
    "settings of label": (lambda bad, result, folder: rondo.label(result.model, VALUES, settings=bad), [3, ["seed"]]),
    "rule": (lambda bad, result, folder: result.model.stream(rule=bad), [3, ["exemplars"], {"x": 1}]),
    "new name": (lambda bad, result, folder: result.model.name("u0", bad), [None, 3, b"x", ["x"]]),
    "edits to show": (lambda bad, result, folder: result.edited(bad), [3, [], "edits.json"]),
    "compare": (lambda bad, result, folder: result.report(folder / "x.html", compare=bad), [3, "run"]),
    "drawn recordings": (lambda bad, result, folder: result.report(folder / "x.html", recordings=bad), [3, "day2"]),
    "drawn channels": (lambda bad, result, folder: result.report(folder / "x.html", channels=bad), [3, "nope"]),
    "truth of a report": (lambda bad, result, folder: result.report(folder / "x.html", truth=bad), [3, b"x", ["x"]]),
    "truth of a plot": (lambda bad, result, folder: result.plot(truth=bad), [3, b"x", ["x"]]),
    "start": (lambda bad, result, folder: result.plot(start=bad), [1.5, b"x", [], float("nan")]),
    "plotted channels": (lambda bad, result, folder: result.plot(channels=bad), [3, "x", [None], [99]]),
    "no UTF-8": (lambda bad, result, folder: discover(out=bad), ["\ud800"]),
    "Series": (lambda bad, result, folder: rondo.read(bad), [pl.Series("x", ["a", "b"])]),
}  # fmt: skip
BAD = [(place, number) for place, (_, all_bad) in ARGUMENTS.items() for number in range(len(all_bad))]


@pytest.mark.parametrize(("place", "number"), BAD)
def test_no_such_argument(folder: Path, place: str, number: int) -> None:
    call, all_bad = ARGUMENTS[place]
    with pytest.raises(RondoError) as caught:
        call(all_bad[number], Result.load(folder / "run"), folder)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500
    assert not (folder / "out").exists()
