"""The order in which recordings are given changes nothing: no label, no id, no verdict, no byte of the run folder."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import rondo
from rondo.cli.main import app
from rondo.data import survey
from rondo.data.recording import Recording
from rondo.many import tasks
from rondo.model.rondo import Rondo
from tests.cli.running import call, waves
from tests.many.sets import QUICK, RATE, Labeller, Pulled, assert_same_run, write_set

SERIAL = ("--engine", "serial")
SETTINGS = {"windows.step": 20}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return sorted(write_set(tmp_path_factory.mktemp("set") / "files", n_files=4).iterdir())


def ran(out: Path, *command: object) -> Path:
    done = call(*command, "--out", out)
    assert done.code == 0, done.err
    return out


@pytest.mark.parametrize("engine", [(), SERIAL])
def test_files_in_any_order_give_the_same_run(engine: tuple[str, ...], files: list[Path], tmp_path: Path) -> None:
    runs = [
        ran(tmp_path / str(number), "discover", *order, *RATE, *QUICK, *engine)
        for number, order in enumerate([files, files[::-1], [files[i] for i in (2, 0, 3, 1)]])
    ]
    for other in runs[1:]:
        assert_same_run(runs[0], other)


def test_a_sample_of_files_is_drawn_in_any_order_alike(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "MOST_VALUES", 6_000)
    one = ran(tmp_path / "one", "discover", *files, *RATE, *QUICK)
    assert "sample" in Rondo.load(one / "model").provenance_
    assert_same_run(one, ran(tmp_path / "other", "discover", *files[::-1], *RATE, *QUICK, *SERIAL))


def test_an_interrupted_run_continues_with_its_files_in_another_order(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ran(tmp_path / "whole", "discover", *files, *RATE, *QUICK)
    monkeypatch.setattr(tasks, "BATCH_FILES", 1)
    labeller = Labeller(monkeypatch, stop_after=2)
    command = ["discover", *files, *RATE, *QUICK, *SERIAL, "--out", tmp_path / "run"]
    with pytest.raises(Pulled):
        app(args=[str(word) for word in command], standalone_mode=False)
    labeller.stop_after = None
    assert_same_run(whole, ran(tmp_path / "run", "discover", *files[::-1], *RATE, *QUICK, *SERIAL))


@pytest.mark.slow
@pytest.mark.parametrize("group_by", [None, "day[01]|day[23]"])
def test_every_order_of_four_recordings_gives_the_same_labels(group_by: str | None) -> None:
    parts = [Recording(waves(600 + 60 * i, 3, seed=i), 50, id=f"day{i}") for i in range(4)]
    fits = [
        rondo.discover(list(order), window=40, settings=SETTINGS, group_by=group_by) for order in permutations(parts)
    ]
    for order, result in zip(permutations(parts), fits, strict=True):
        assert [labelling.recording_id for labelling in result] == [part.id for part in order]
        assert result.summary.units == fits[0].summary.units
        for part in parts:
            np.testing.assert_array_equal(_of(result, part.id), _of(fits[0], part.id))


def test_arrays_have_no_ids_and_are_ordered_by_their_values() -> None:
    arrays = [waves(600 + 60 * i, 3, seed=i) for i in range(4)]
    one = rondo.discover(arrays, window=40, settings=SETTINGS)
    other = rondo.discover(arrays[::-1], window=40, settings=SETTINGS)
    for before, after in zip(one, list(other)[::-1], strict=True):
        np.testing.assert_array_equal(before.units, after.units)


def test_units_move_alike_whatever_the_order() -> None:
    first, *others = [Recording(waves(600 + 60 * i, 3, seed=i), 50, id=f"day{i}") for i in range(4)]
    model = rondo.discover(first, window=40, settings=SETTINGS).model
    moved = [rondo.label(model, order, adapt=True, refit_motifs=True) for order in (others, others[::-1])]
    for recording in others:
        np.testing.assert_array_equal(_of(moved[0], recording.id), _of(moved[1], recording.id))


@pytest.mark.parametrize("engine", [(), SERIAL])
def test_a_copy_and_a_link_are_learned_from_once_and_named(
    engine: tuple[str, ...], files: list[Path], tmp_path: Path
) -> None:
    alone = ran(tmp_path / "alone", "discover", files[0], *RATE, *QUICK)
    copy, link = tmp_path / "copy.npy", tmp_path / "link.npy"
    copy.write_bytes(files[0].read_bytes())
    link.symlink_to(files[0])
    done = call("discover", files[0], link, copy, "--out", tmp_path / "all", *RATE, *QUICK, *engine)
    assert done.code == 0 and "day0 = copy" in done.out and "link = copy" in done.out
    for name in ("copy", "day0", "link"):
        labels = np.load(tmp_path / "all" / "units" / f"{name}.npy")
        np.testing.assert_array_equal(labels, np.load(alone / "units" / "day0.npy"))


def _of(result: rondo.Result, id: str) -> np.ndarray:
    return next(labelling.units for labelling in result if labelling.recording_id == id)
