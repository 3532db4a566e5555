"""Models whose checksums are right and one tensor is wrong: refused when loaded, or of use; never another exception."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from rondo.errors import RondoError
from rondo.model.rondo import Rondo
from tests.cli.running import waves
from tests.fuzz.folders import copied, seal

pytestmark = pytest.mark.filterwarnings("ignore")
TENSORS = "tensors.safetensors"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sealed") / "model"
    Rondo(window=40, step=20, settings={"evidence": {"surrogates": 0}}, device="cpu").fit(waves(900)).save(folder)
    return folder


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
        if name.endswith("supports"):
            wrong = with_value(model, tmp_path / "wrong", name, value)
            with pytest.raises(RondoError, match="support"):
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
