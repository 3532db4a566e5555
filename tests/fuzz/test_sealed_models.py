"""Runs and models with one thing wrong, checksums right: refused when loaded, or of use; never another exception."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

import rondo
from rondo.data.recording import Recording
from rondo.edit import apply_edits
from rondo.errors import RondoError
from rondo.model.rondo import Rondo
from rondo.result import Result
from tests.cli.running import waves
from tests.fuzz.folders import copied, seal, spoil
from tests.fuzz.generators import N_CASES

pytestmark = pytest.mark.filterwarnings("ignore")
TENSORS = "tensors.safetensors"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sealed") / "run"
    quick = {"evidence.surrogates": 0, "windows.step": 20, "device": "cpu"}
    rondo.discover(Recording(waves(900), 50), window=40, settings=quick).save(folder)
    apply_edits(folder, [{"kind": "relabel", "level": "unit", "ids": [0], "spans": [["recording", 10, 20]]}])
    return folder


@pytest.fixture
def model(run: Path) -> Path:
    return run / "model"


def use_run(folder: Path) -> None:
    result = Result.load(folder)
    assert result[0].units.shape == result[0].motifs.shape
    _ = result.segments, result.findings, repr(result), result._repr_html_(), result.model


def use_model(folder: Path) -> None:
    Rondo.load(folder).predict(waves(300))


@pytest.mark.parametrize(("what", "use"), [("run", use_run), ("run/model", use_model)])
def test_folders_with_one_thing_wrong(run: Path, tmp_path: Path, what: str, use: Callable[[Path], None]) -> None:
    n_well, faults = 0, []
    for seed in range(N_CASES):
        folder, rng = copied(run.parent / what, tmp_path / "wrong"), np.random.default_rng(seed)
        done = spoil(folder, rng)
        try:
            use(folder)
            n_well += 1
        except RondoError as error:
            assert "\n" not in str(error), (seed, done)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a fault; the others are looked for too
            faults.append(f"seed {seed}, {done}: {error!r:.300}")
    assert not faults
    assert 0 < n_well < N_CASES


def with_value(model: Path, folder: Path, name: str, value: float) -> Path:
    """The model with one number all over a tensor."""
    copied(model, folder)
    tensors = load((model / TENSORS).read_bytes())
    wrong = np.full(tensors[name].shape, float(value)).astype(tensors[name].dtype)
    (folder / TENSORS).write_bytes(save({**tensors, name: wrong}))
    seal(folder)
    return folder


@pytest.mark.parametrize("value", [0, -1], ids=["zero", "negative"])
def test_supports_of_nothing_are_refused(model: Path, tmp_path: Path, value: int) -> None:
    """A stream that counted on them divided by zero."""
    for name in load((model / TENSORS).read_bytes()):
        if name.endswith(("supports", "mixes.windows")):
            wrong = with_value(model, tmp_path / "wrong", name, value)
            with pytest.raises(RondoError, match=r"support|contexts whose counts"):
                Rondo.load(wrong)


def cut(array: np.ndarray, how: str) -> np.ndarray | None:
    if how == "short":
        return np.ascontiguousarray(array[:-1])
    return None if how == "missing" else np.ascontiguousarray(array[..., :-1])


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [0, -1, 1_000_000, "missing", "short", "narrow"])
def test_every_tensor_with_one_fault(model: Path, tmp_path: Path, wrong: int | str) -> None:
    """A value or a shape; loading runs no labels first, so that what it lets through must be of use."""
    n_read = 0
    stored = load((model / TENSORS).read_bytes())
    for name, array in stored.items():
        if isinstance(wrong, int):
            folder = with_value(model, tmp_path / "wrong", name, wrong)
        else:
            folder, damaged = copied(model, tmp_path / "wrong"), cut(array, wrong)
            kept = {other: own for other, own in stored.items() if other != name}
            (folder / TENSORS).write_bytes(save(kept if damaged is None else {**kept, name: damaged}))
            seal(folder)
        try:
            restored = Rondo.load(folder)
            restored.predict(waves(300))
            list(restored.stream([waves(300)]))
            n_read += 1
        except RondoError as error:
            assert "\n" not in str(error), name
        except Exception as error:
            raise AssertionError(f"{name} = {wrong}: {error!r}") from error
    assert n_read or not isinstance(wrong, int)
