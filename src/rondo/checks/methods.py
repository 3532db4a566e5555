"""What every method of `rondo discover` does, whatever it is: each check is a function that takes a `Tried`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.testing as npt
from numpy.typing import NDArray

from rondo.checks.encoders import planted
from rondo.checks.running import run_checks
from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.errors import InputError, SettingError
from rondo.methods import Method, Options
from rondo.result import Result
from rondo.wording import silent


class Tried(NamedTuple):
    """A method with settings that suit recordings of a few hundred frames."""

    method: Method
    settings: Mapping[str, Any] = {}

    def discover(self, recording: Recording, seed: int = 0) -> Result:
        configured = self.method.configure(Options(settings=self.settings))
        return self.method.discover([recording], configured, seed, silent)

    def labels(self, values: NDArray[np.float32], seed: int = 0) -> Labels:
        return self.discover(Recording(values, id="walk"), seed)["walk"].units

    def labels_or_refusal(self, values: NDArray[np.float32]) -> Labels | None:
        """A label for each frame, or one line that names the recording: nothing else may come of any recording."""
        try:
            labels = self.labels(values)
        except InputError as error:
            assert "\n" not in str(error), "an error is one line"
            assert "walk" in str(error), "an error names the recording"
            return None
        assert labels.shape == (len(values),), "one label for each frame"
        assert np.issubdtype(labels.dtype, np.integer)
        assert labels.min() >= OTHER
        return labels


Check = Callable[[Tried], None]


def every_frame_has_a_label(tried: Tried) -> None:
    for n_frames, n_channels in ((301, 1), (297, 3)):
        labels = tried.labels(planted(n_frames, n_channels))
        assert labels.shape == (n_frames,)
        assert np.issubdtype(labels.dtype, np.integer)
        assert labels.min() >= OTHER and labels.max() >= 0


def every_row_has_a_label_where_rows_are_missing(tried: Tried) -> None:
    values, times = np.delete(planted(), [100, 101, 200], axis=0), np.delete(np.arange(300.0), [100, 101, 200])
    found = tried.discover(Recording(values, id="walk", timestamps_s=times))["walk"]
    assert found.units.shape == found.motifs.shape == (297,)


def the_same_seed_gives_the_same_labels_and_all_else_is_left_alone(tried: Tried) -> None:
    """Global sources of randomness, the input and the settings."""
    torch: Any = sys.modules.get("torch")  # only where the method uses it
    values, settings = planted(300), dict(tried.settings)
    labels = tried.labels(values)
    np.random.seed(5)  # noqa: NPY002
    before = _global_numbers()
    torch_before = None if torch is None else torch.random.get_rng_state()
    npt.assert_array_equal(tried.labels(planted(300)), labels)
    npt.assert_array_equal(values, planted(300))
    assert dict(tried.settings) == settings
    npt.assert_array_equal(_global_numbers(), before)
    assert torch is None or torch.equal(torch.random.get_rng_state(), torch_before)


def _global_numbers() -> Any:
    return np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002


def a_constant_channel_does_no_harm(tried: Tried) -> None:
    values = planted(300, 4)
    values[:, 2] = 7.5
    assert tried.labels_or_refusal(values) is not None


def constant_and_short_recordings_are_labelled_or_refused(tried: Tried) -> None:
    tried.labels_or_refusal(np.full((300, 3), 0.1, dtype=np.float32))
    for n_frames in (1, 2, 6):
        tried.labels_or_refusal(planted(n_frames))


def many_channels_do_no_harm(tried: Tried) -> None:
    """More than frames in a window, so that covariances of windows are singular."""
    tried.labels_or_refusal(planted(300, 60))


def a_channel_twice_does_no_harm(tried: Tried) -> None:
    """A covariance of all frames that is singular to the last bit."""
    assert tried.labels_or_refusal(planted(300, 3)[:, [0, 1, 1, 2]]) is not None


def a_still_half_does_no_harm(tried: Tried) -> None:
    """A sensor laid aside: half of the windows are all the same, and have no spread."""
    values = planted(600, 3)
    values[300:] = values[300]
    tried.labels_or_refusal(values)


def an_unknown_setting_is_refused_in_one_line(tried: Tried) -> None:
    try:
        tried.method.configure(Options(settings={"no_such_setting": 1}))
    except SettingError as error:
        assert "\n" not in str(error), "an error is one line"
    else:
        raise AssertionError("a setting that the method does not have was accepted")


def it_says_what_it_does_and_what_it_found(tried: Tried) -> None:
    assert tried.method.help and "\n" not in tried.method.help
    result = tried.discover(Recording(planted(), id="walk"))
    assert result.method == tried.method.name
    assert {one.id for one in result.summary.units} == set(result["walk"].units.tolist()) - {OTHER}
    assert all("\n" not in finding for finding in result.findings)


def a_model_that_was_saved_reads_as_before(tried: Tried) -> None:
    result = tried.discover(Recording(planted(), id="walk"))
    if tried.method.why_no_model():
        assert result.model is None
        return
    other = Recording(planted(seed=1), id="other")
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder, "run"))
        loaded = tried.method.load(Path(folder, "run", "model"))
    for level in ("units", "motifs"):
        first, again = (getattr(model.predict(other)["other"], level) for model in (result.model, loaded))
        npt.assert_array_equal(first, again)


ALWAYS: tuple[Check, ...] = (
    every_frame_has_a_label,
    the_same_seed_gives_the_same_labels_and_all_else_is_left_alone,
    an_unknown_setting_is_refused_in_one_line,
    it_says_what_it_does_and_what_it_found,
    a_model_that_was_saved_reads_as_before,
)
AT_CORNERS: tuple[Check, ...] = (
    every_row_has_a_label_where_rows_are_missing,
    constant_and_short_recordings_are_labelled_or_refused,
    a_constant_channel_does_no_harm,
    many_channels_do_no_harm,
    a_channel_twice_does_no_harm,
    a_still_half_does_no_harm,
)
METHOD_CHECKS = (*ALWAYS, *AT_CORNERS)


def check_method(method: Method, settings: Mapping[str, Any] | None = None) -> None:
    """Run `METHOD_CHECKS` on a method, with settings that suit recordings of 300 frames.

    >>> from rondo.methods import find_method
    >>> check_method(find_method("clock"))
    """
    run_checks(METHOD_CHECKS, Tried(method, settings or {}), method.name)
