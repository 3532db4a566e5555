"""What every encoder does, whatever it is: each check is a function that takes a built encoder.

`windows_of` makes windows from values; the checks use small planted signals of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.testing as npt
from numpy.typing import ArrayLike, NDArray

from rondo.checks.rounding import assert_equal_but_for_rounding
from rondo.checks.running import run_checks
from rondo.data.recording import Values
from rondo.data.windows import Span, WindowGrid, Windows
from rondo.encoders.base import DeclaredEncoder, Encoder
from rondo.registry import EncoderSettings

Check = Callable[[Encoder], None]


def windows_of(values: ArrayLike, length: int = 16, step: int = 4, spans: Sequence[Span] | None = None) -> Windows:
    single = np.asarray(values, dtype=np.float32)
    frames = tuple(spans) if spans is not None else ((0, single.shape[0]),)
    return Windows(single, WindowGrid(length, step, single.shape[0], frames))


def planted(n_frames: int = 300, n_channels: int = 3, seed: int = 0) -> NDArray[np.float32]:
    """Channels that oscillate, jump and are noisy, each in its own way."""
    rng = np.random.default_rng(seed)
    time = np.arange(n_frames)[:, None]
    rate = rng.uniform(0.02, 0.5, n_channels)
    levels = np.repeat(rng.normal(size=(n_frames // 25 + 1, n_channels)), 25, axis=0)[:n_frames]
    noise = rng.normal(size=(n_frames, n_channels)) * rng.uniform(0.05, 0.5, n_channels)
    return (np.sin(rate * time) + levels + noise).astype(np.float32)


@dataclass(frozen=True, eq=False)
class BatchesOf(Windows):
    """Windows that come in batches of a given size, whatever size is asked for."""

    size: int = 1

    def batches(self, windows_per_batch: int = 256) -> Iterator[Values]:
        return super().batches(self.size)


def input_is_not_mutated(encoder: Encoder) -> None:
    windows = windows_of(planted())
    before = windows.values.copy()
    encoder.fit([windows]).encode(windows)
    npt.assert_array_equal(windows.values, before)


def read_only_input_is_taken(encoder: Encoder) -> None:
    values = planted()
    values.flags.writeable = False
    windows = windows_of(values)
    assert np.isfinite(encoder.fit([windows]).encode(windows)).all()


def fitting_twice_gives_the_same(encoder: Encoder) -> None:
    windows = windows_of(planted())
    once, again = encoder.fit([windows]).encode(windows), encoder.fit([windows]).encode(windows)
    npt.assert_array_equal(once, again)


def representations_are_single_precision_rows(encoder: Encoder) -> None:
    windows = windows_of(planted())
    encoded = encoder.fit([windows]).encode(windows)
    assert encoded.dtype == np.float32
    assert encoded.ndim == 2
    assert encoded.shape[0] == len(windows)


def batch_size_does_not_matter(encoder: Encoder) -> None:
    for n_channels in (1, 3, 40):
        windows = windows_of(planted(1200, n_channels))
        fitted = encoder.fit([windows])
        whole = fitted.encode(windows)
        for size in (1, 7, 256):
            piecewise = BatchesOf(windows.values, windows.grid, size)
            assert_equal_but_for_rounding(fitted.encode(piecewise), whole, err_msg=f"{n_channels=} {size=}")
            npt.assert_allclose(encoder.fit([piecewise]).encode(windows), whole, rtol=1e-5, atol=1e-5)


def part_of_a_grid_is_part_of_the_encoding(encoder: Encoder) -> None:
    values = planted(400)
    windows = windows_of(values)
    fitted = encoder.fit([windows])
    whole = fitted.encode(windows)
    first, stop = 7, 31
    grid = windows.grid
    frames = slice(first * grid.step_frames, (stop - 1) * grid.step_frames + grid.length_frames)
    assert_equal_but_for_rounding(fitted.encode(windows_of(values[frames])), whole[first:stop])
    assert_equal_but_for_rounding(fitted.encode(windows_of(values, step=8)), whole[::2])


def equal_windows_get_equal_representations(encoder: Encoder) -> None:
    piece = planted(64)
    windows = windows_of(np.concatenate([piece, planted(64, seed=1), piece]), length=16, step=16)
    encoded = encoder.fit([windows]).encode(windows)
    assert_equal_but_for_rounding(encoded[:4], encoded[-4:])


def frames_outside_all_spans_are_not_seen(encoder: Encoder) -> None:
    for n_channels in (3, 40):
        values = planted(300, n_channels)
        holed = values.copy()
        holed[120:150] = np.nan
        spans = ((0, 120), (150, 300))
        whole, gap = windows_of(values, spans=spans), windows_of(holed, spans=spans)
        npt.assert_array_equal(encoder.fit([gap]).encode(gap), encoder.fit([whole]).encode(whole))


def many_recordings_are_one(encoder: Encoder) -> None:
    """Fitting on two recordings is fitting on one with a gap between them."""
    values = planted(400)
    joined = encoder.fit([windows_of(values, spans=((0, 200), (200, 400)))])
    apart = encoder.fit([windows_of(values[:200]), windows_of(values[200:])])
    windows = windows_of(values)
    npt.assert_allclose(apart.encode(windows), joined.encode(windows), rtol=1e-5, atol=1e-5)


def recordings_without_a_window_do_no_harm(encoder: Encoder) -> None:
    windows, empty = windows_of(planted()), windows_of(planted(5))
    fitted = encoder.fit([empty, windows])
    encoded = fitted.encode(windows)
    npt.assert_array_equal(encoded, encoder.fit([windows]).encode(windows))
    assert fitted.encode(empty).shape == (0, encoded.shape[1])


def odd_shapes_give_finite_representations(encoder: Encoder) -> None:
    cases = {
        "one window": windows_of(planted(16)),
        "one window, one channel": windows_of(planted(16, 1)),
        "one channel": windows_of(planted(300, 1)),
        "two channels": windows_of(planted(300, 2)),
        "32 channels": windows_of(planted(300, 32)),
        "33 channels": windows_of(planted(300, 33)),
        "40 channels": windows_of(planted(300, 40)),
        "40 channels, one window": windows_of(planted(16, 40)),
        "windows of one frame": windows_of(planted(50), length=1, step=1),
        "windows of two frames": windows_of(planted(50), length=2, step=1),
        "40 channels, windows of one frame": windows_of(planted(50, 40), length=1, step=1),
        "constant": windows_of(np.full((100, 3), 0.1)),
        "silent": windows_of(np.zeros((100, 3))),
        "constant, 40 channels": windows_of(np.full((100, 40), 0.1)),
        "one constant channel": windows_of(np.column_stack([planted(100), np.full(100, 1e4)])),
        "tiny": windows_of(planted() * 1e-20),
        "large": windows_of(planted() * 1e12),
        "offset": windows_of(planted() + 1e6),
    }
    for name, windows in cases.items():
        encoded = encoder.fit([windows]).encode(windows)
        assert encoded.shape[0] == len(windows), name
        assert np.isfinite(encoded).all(), name


def a_constant_signal_has_one_representation(encoder: Encoder) -> None:
    windows = windows_of(np.full((200, 3), 0.1))
    encoded = encoder.fit([windows]).encode(windows)
    assert_equal_but_for_rounding(encoded, np.repeat(encoded[:1], len(windows), axis=0))


def unseen_extremes_are_finite(encoder: Encoder) -> None:
    quiet, loud = windows_of(np.full((100, 3), 0.1)), windows_of(planted() * 1e9)
    for seen, new in ((quiet, loud), (loud, quiet)):
        assert np.isfinite(encoder.fit([seen]).encode(new)).all()


def restored_is_identical(encoder: Encoder) -> None:
    for n_channels in (1, 3, 40):
        windows = windows_of(planted(300, n_channels))
        fitted = encoder.fit([windows])
        tensors = {name: np.array(tensor) for name, tensor in fitted.tensors().items()}
        restored = encoder.restore(tensors)
        npt.assert_array_equal(restored.encode(windows), fitted.encode(windows))
        assert restored.tensors().keys() == tensors.keys()
        for name, tensor in restored.tensors().items():
            npt.assert_array_equal(tensor, tensors[name], err_msg=name)


ENCODER_CHECKS: tuple[Check, ...] = (
    input_is_not_mutated,
    read_only_input_is_taken,
    fitting_twice_gives_the_same,
    representations_are_single_precision_rows,
    batch_size_does_not_matter,
    part_of_a_grid_is_part_of_the_encoding,
    equal_windows_get_equal_representations,
    frames_outside_all_spans_are_not_seen,
    many_recordings_are_one,
    recordings_without_a_window_do_no_harm,
    odd_shapes_give_finite_representations,
    a_constant_signal_has_one_representation,
    unseen_extremes_are_finite,
    restored_is_identical,
)


def check_encoder(declared: DeclaredEncoder[Any], settings: EncoderSettings | None = None) -> None:
    """Run `ENCODER_CHECKS` on an encoder with these settings, or its defaults; settings make a network quick.

    >>> from rondo.encoders.summary_stats import ENCODER
    >>> check_encoder(ENCODER)
    """
    chosen: Any = declared.settings() if settings is None else settings
    assert chosen.name == declared.name, "the settings have the name of the encoder"
    run_checks(ENCODER_CHECKS, declared.build(chosen, 0, "cpu"), declared.name)
