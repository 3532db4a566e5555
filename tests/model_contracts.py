"""What a Rondo must do whatever it is made of: each contract is a function that takes the arguments to build one.

The manners are scikit-learn's, as far as they apply to recordings without labels. `tests/test_manners.py` runs every
contract over the ways of every stage.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pandas as pd
import polars as pl
import pytest
import torch
from numpy.typing import NDArray
from sklearn.base import clone

from rondo.data.recording import Recording
from rondo.errors import NotFittedError
from rondo.model.folder import config_of, from_config
from rondo.model.rondo import Rondo
from rondo.result import Result
from rondo.run.labelling import Labelling
from rondo.synthetic.streams import plant

Arguments = Mapping[str, Any]
Contract = Callable[[Arguments, Path], None]
TRACKS = ("units", "motifs", "unit_scores", "motif_scores", "breaks")


def recording() -> Recording:
    return plant(n_frames=1_800, seed=1).recording


def assert_same(some: Labelling | Result, other: Labelling | Result) -> None:
    """The same labels to the bit; a Result stands for its only recording."""
    some, other = (one[0] if isinstance(one, Result) else one for one in (some, other))
    for name in TRACKS:
        npt.assert_array_equal(getattr(some, name), getattr(other, name), err_msg=name)
    assert some.share_accepted == other.share_accepted


def folder_bytes(model: Rondo, folder: Path) -> dict[str, bytes]:
    """All that a model knows."""
    model.save(folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def arguments_are_kept_as_given(arguments: Arguments, _: Path) -> None:
    model = Rondo(**arguments)
    for name, parameter in inspect.signature(Rondo).parameters.items():
        assert getattr(model, name) is arguments.get(name, parameter.default)
    assert [name for name in vars(model) if name.endswith("_")] == []


def clones_and_parameters_go_round(arguments: Arguments, _: Path) -> None:
    model = Rondo(**arguments)
    copied = clone(model)
    assert copied is not model
    assert copied.get_params() == model.get_params()
    assert Rondo().set_params(**model.get_params()).get_params() == model.get_params()
    assert eval(repr(model), {"Rondo": Rondo}).get_params() == model.get_params()  # ours, printed a line above
    again = from_config(Rondo, config_of(model))
    assert config_of(eval(repr(again), {"Rondo": Rondo})) == config_of(model)


def unfitted_says_so(arguments: Arguments, folder: Path) -> None:
    model = Rondo(**arguments)
    for call in (model.predict, model.fit_motifs, model.adapt, lambda _: model.save(folder / "model")):
        with pytest.raises(NotFittedError, match="not fitted"):
            call(recording())
    assert not (folder / "model").exists()


def fit_and_predict_leave_all_else_alone(arguments: Arguments, folder: Path) -> None:
    """Arguments, input, the caller's random numbers; and predicting leaves the model as it was."""
    values = recording().values.copy()
    before, given = values.copy(), copy.deepcopy(dict(arguments))
    numpy_state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002 - what is guarded
    model = Rondo(**arguments)
    assert model.fit(values) is model
    learned = folder_bytes(model, folder / "before")
    labelling = model.predict(values)[0]
    npt.assert_array_equal(values, before)
    assert values.flags.writeable
    assert dict(arguments) == given == {name: model.get_params()[name] for name in given}
    npt.assert_array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert folder_bytes(model, folder / "after") == learned
    values[:] = 0.0  # no part of the caller's array is inside the model or the labelling
    assert_same(model.predict(before), labelling)


def the_same_seed_is_the_same_whatever_else_is_drawn(arguments: Arguments, folder: Path) -> None:
    """Fitting twice is fitting once, in one model or two, whatever the global generators were at."""
    once = Rondo(**arguments).fit(recording())
    learned = folder_bytes(once, folder / "once")
    np.random.seed(99)  # noqa: NPY002
    torch.manual_seed(99)
    assert folder_bytes(once.fit(recording()), folder / "again") == learned
    assert folder_bytes(clone(once).fit(recording()), folder / "clone") == learned


def saved_and_loaded_is_identical(arguments: Arguments, folder: Path) -> None:
    model = Rondo(**arguments).fit(recording())
    expected = model.predict(recording())
    model.save(folder / "model")
    loaded = Rondo.load(folder / "model")
    assert_same(loaded.predict(recording()), expected)
    assert folder_bytes(loaded, folder / "loaded") == folder_bytes(model, folder / "beside")


def a_deep_copy_is_identical(arguments: Arguments, folder: Path) -> None:
    model = Rondo(**arguments).fit(recording())
    copied = copy.deepcopy(model)
    assert_same(copied.predict(recording()), model.predict(recording()))
    assert folder_bytes(copied, folder / "copied") == folder_bytes(model, folder / "model")


def kinds_of_input_agree(arguments: Arguments, _: Path) -> None:
    values = recording().values
    columns = {f"ch{i}": values[:, i] for i in range(values.shape[1])}
    kinds: list[Any] = [
        values.astype(np.float64),
        np.asfortranarray(values),
        Recording(values.tolist()),
        pd.DataFrame(columns),
        pl.DataFrame(columns),
    ]
    model = Rondo(**arguments).fit(values)
    expected = model.predict(values)
    for kind in kinds:
        assert_same(model.predict(kind), expected)
    (alone,) = model.predict([values])
    assert_same(alone, expected)


def a_stopped_fit_leaves_no_trace(arguments: Arguments, folder: Path) -> None:
    """Ctrl-C at whatever is told as progress: a new model stays unfitted, a fitted one as it was."""
    told: list[str] = []
    fitted = Rondo(**arguments).fit(recording(), progress=lambda what, *_: told.append(what))
    learned = folder_bytes(fitted, folder / "before")
    assert {"encoder", "units", "motifs"} <= set(told)
    fresh = Rondo(**arguments)
    for stage in dict.fromkeys(what for what in told if ":" not in what):
        with pytest.raises(KeyboardInterrupt):
            fresh.fit(_other(), progress=_stop_at(stage))
        assert fresh.get_params() == Rondo(**arguments).get_params()
        assert not [name for name in vars(fresh) if name.endswith("_")]  # nothing learned
    for work in (fitted.fit, fitted.fit_motifs):
        with pytest.raises(KeyboardInterrupt):
            work(_other(), progress=_stop_at(told[-1]))
    assert folder_bytes(fitted, folder / "after") == learned


def _other() -> NDArray[np.float32]:
    return plant(n_frames=1_200, seed=2).recording.values


def _stop_at(stage: str) -> Callable[[str, int, int], None]:
    def tell(what: str, done: int, total: int) -> None:
        if what == stage:
            raise KeyboardInterrupt

    return tell


RONDO_CONTRACTS: tuple[Contract, ...] = (
    arguments_are_kept_as_given,
    clones_and_parameters_go_round,
    unfitted_says_so,
    fit_and_predict_leave_all_else_alone,
    the_same_seed_is_the_same_whatever_else_is_drawn,
    kinds_of_input_agree,
    a_stopped_fit_leaves_no_trace,
)
