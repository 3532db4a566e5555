"""How long a fit will take and how much memory it needs, said before it starts.

A linear model of what was measured on one core of a machine that others used too (docs/results/evidence.md):

    seconds = once + Σ over recordings of their own vocabularies ( evidence + a · windows + encoder + units + motifs )

It is right within a factor of two or so on machines of today; a GPU is faster by an unknown factor, and cores beyond
the first help little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rondo.config.settings import RondoConfig, network_in
from rondo.data.recording import Recording
from rondo.data.signal import Signal
from rondo.data.window_lengths import choose_scales, compares_scales
from rondo.encoders.base import declared_encoder
from rondo.wording import estimate_in_words

WORTH_SAYING_S = 60.0

IMPORTS_S = 2.0
_FIT_S = 0.6  # of each vocabulary, whatever its size
_EVIDENCE_PER_CHANNEL_S, _MOST_CHANNELS_TESTED = 0.03, 10
_PER_WINDOW_S = 4.4e-4  # statistics, slow units, contexts, phrases, reading
_UNIT_ALIGN_PER_WINDOW_S = 0.011
_MOTIF_FORMER_S, _MOTIF_FORMER_PER_WINDOW_S, _MOTIF_FORMER_FIRST_S = 32.0, 0.0045, 0.044  # grows slower when long
_BASE_MB = 260.0
_TORCH_MB = 200.0  # where a network brings it
_MB_PER_WINDOW = 2.5e-3
_MB_PER_VALUE = 18e-6
_GLIMPSE = 1 << 15  # frames that tell how fast a signal is


@dataclass(frozen=True)
class Cost:
    """What a fit will cost, about; `seconds` is None where a part of it was never measured."""

    seconds: float | None
    megabytes: float
    unknown: str = ""  # the part that was never measured

    def sentence(self) -> str:
        """For people: about 5 min on one core and 1.2 GB of memory."""
        memory = f"{self.megabytes / 1000:.1f} GB of memory"
        if self.seconds is None:
            return f"an unknown time ({self.unknown} was not measured) and about {memory}"
        return f"about {estimate_in_words(self.seconds)} on one core and {memory}"


def cost_of_fit(
    config: RondoConfig,
    n_frames: Sequence[int],
    n_channels: int,
    window_length_frames: int,
    step_frames: int,
) -> Cost:
    """Of `Rondo(...).fit` on recordings of so many frames."""
    n_windows = sum(max(0, frames - window_length_frames) // step_frames + 1 for frames in n_frames)
    inputs = config.preprocess.pca_components or len(config.preprocess.channels) or n_channels
    encoder = declared_encoder(config.encoder.name)
    encoding = encoder.cost(config.encoder, n_windows, window_length_frames)
    memory = _BASE_MB + (_TORCH_MB if network_in(config) else 0.0) + encoding.megabytes
    memory += _MB_PER_WINDOW * n_windows + _MB_PER_VALUE * sum(n_frames) * n_channels
    if encoding.seconds is None:
        return Cost(None, memory, f"the encoder {encoder.name}")
    n_scales = config.windows.scales if compares_scales(config) else 1
    seconds = IMPORTS_S + n_scales * (_FIT_S + encoding.seconds + _PER_WINDOW_S * n_windows)
    if config.evidence.surrogates:
        seconds += _EVIDENCE_PER_CHANNEL_S * min(inputs, _MOST_CHANNELS_TESTED)
    if config.units.method != "slow":
        seconds += _UNIT_ALIGN_PER_WINDOW_S * n_windows
    if config.motifs.method == "motif_former":
        whole = _MOTIF_FORMER_S + _MOTIF_FORMER_PER_WINDOW_S * n_windows
        seconds += min(whole, _MOTIF_FORMER_FIRST_S * n_windows)
    return Cost(seconds, memory)


def expected_window_and_step(config: RondoConfig, recordings: Sequence[Recording]) -> tuple[int, int]:
    """Window and step as a fit will choose them, about: gaps are not looked for, and only the longest is looked at."""
    longest = max(recordings, key=lambda recording: recording.n_frames)
    seen = longest.values[:_GLIMPSE].astype(np.float64)
    is_there = np.isfinite(seen)
    n_there = np.maximum(1, is_there.sum(axis=0))
    centred = np.where(is_there, seen - np.where(is_there, seen, 0.0).sum(axis=0) / n_there, 0.0)
    spread = np.sqrt((centred**2).sum(axis=0) / n_there)
    scaled = (centred / np.where(spread > 0, spread, 1.0)).astype(np.float32)
    spans = ((0, longest.n_frames),)
    signal = Signal(longest.id, scaled, longest.rate, longest.channels, spans, longest.n_frames)
    scales = choose_scales([signal], config)
    return scales.unit_frames, scales.step_frames
