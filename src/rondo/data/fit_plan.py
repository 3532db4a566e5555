"""FitPlan: what is decided about a data set before anything is learned, from surveys of its recordings alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rondo.config.schema import RondoConfig
from rondo.data.fair_sample import fair_sample, most_frames, stretch_frames
from rondo.data.left_out import UsedChannels
from rondo.data.preprocess import Preprocessor
from rondo.data.recording import Recording
from rondo.data.scales import WindowScales, choose_scales
from rondo.data.survey import Survey, sizes_of
from rondo.data.windows import Span


@dataclass(frozen=True)
class FitPlan:
    """How recordings are prepared, how long windows are, and which stretches of each are learned from."""

    surveys: tuple[Survey, ...]
    preprocessor: Preprocessor
    scales: WindowScales
    stretches: tuple[tuple[Span, ...], ...]  # of each recording
    n_sound: int  # frames of all recordings that the stretches were drawn from

    @property
    def rate(self) -> float | None:
        return self.surveys[0].rate

    @property
    def n_learned_from(self) -> int:
        """Of these, the frames that are learned from."""
        return sum(stop - start for own in self.stretches for start, stop in own)


def plan_fit(
    channels: UsedChannels,
    surveys: Sequence[Survey],
    config: RondoConfig,
    read: Callable[[str], Recording],
    rng: np.random.Generator,
) -> FitPlan:
    """Decide from surveys; `read` gives a recording by its id, where only its period can tell the length of windows.

    `rng` draws the sample, and nothing where all recordings are learned from.
    """
    preprocessor = Preprocessor.of_surveys(channels, surveys, config.preprocess)
    n_dims = preprocessor.n_dims
    sizes = sizes_of(surveys, n_dims, lambda id: preprocessor.apply(read(id)).period_frames)
    scales = choose_scales(sizes, config)
    most = most_frames(n_dims, scales.step_frames)
    sound = _sound_spans(surveys, scales.motif_frames)
    stretches = fair_sample(sound, stretch_frames(scales.motif_frames, most), most, rng)
    return FitPlan(tuple(surveys), preprocessor, scales, tuple(stretches), _n_frames(sound))


def _sound_spans(surveys: Sequence[Survey], window_frames: int) -> list[tuple[Span, ...]]:
    """Of each recording what is not poor; all of it where less than half is left that holds such windows."""
    sound = [survey.sound for survey in surveys]
    n_held = sum(stop - start for own in sound for start, stop in own if stop - start >= window_frames)
    every = [survey.spans for survey in surveys]
    return sound if 2 * n_held >= _n_frames(every) else every


def _n_frames(spans_of_each: Sequence[Sequence[Span]]) -> int:
    return sum(stop - start for spans in spans_of_each for start, stop in spans)
