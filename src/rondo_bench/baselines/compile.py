"""CompILE: a recurrent network cuts sequences into segments, a Dirichlet-process mixture clusters their latents.

T. Kipf, Y. Li, H. Dai, V. Zambaldi, A. Sanchez-Gonzalez, E. Grefenstette, P. Kohli, P. Battaglia, "CompILE:
Compositional Imitation Learning and Execution", ICML 2019. Network and loss follow the released toy
example (github.com/tkipf/compile, MIT, commit b88b174), which takes symbols. The RONDO paper adapts it: a linear map in
place of the embedding, squared error in place of cross-entropy, sequences of 2,000 frames, eight segments each, every
channel standardised within its recording, and one mixture of the segments' latents over the whole data set, so that
recordings given together (`fit_predict_many`) share network and mixture. What the paper leaves open, and our choice
(none by scores):

- Inputs are standardised once more, after any PCA: the paper calls principal components "input channels" too.
- A step is one mini-batch, as in the released code; 512 sequences hold all of MoCap (38) and ActRecTut (102).
- The squared error is summed over channels, as the log likelihood of a Gaussian is.
- Weights of both divergences 0.1, and the prior of the first boundary Poisson(3): released code. On sequences of 2,000
  frames that prior asks for a boundary within the first ten or so; `prior_rate` can change it.
- The last sequence of a recording or of a stretch between gaps may be shorter. Frames that only fill it up can hold no
  boundary and have no share in the loss. A single frame at the end joins the sequence before it; a stretch of one frame
  is OTHER.
- A segment whose boundary lies before that of the one before it is empty, as in the released evaluation, and takes no
  part in the mixture. The last frame of a sequence, where the last boundary always lies, goes with the frame before it.
- The mixture is that of Time2State, whose clustering the paper follows: 20 components, concentration 1000.

Two runs on MoCap gave MoF 67.8 and 60.7 (paper 66.5), five on ActRecTut 56.6 (paper 45.7, not reproduced). MoF says
little here: with states drawn at random for the segments of one run it is 68.4 and 54.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Values
from rondo.data.signal import Signal
from rondo.data.windows import Span
from rondo.errors import RecordingError
from rondo.wording import Progress, silent
from rondo_bench.baselines.baseline import BaselineMethod, BaselineSettings
from rondo_bench.baselines.window_states import Components, fitted_components

if TYPE_CHECKING:
    from rondo_bench.baselines.compile_net import CompileNet

_NAME = "compile"


class CompileConfig(BaselineSettings):
    """Settings of CompILE; `original` is the released code."""

    sequence_length: int = Field(2000, description="paper: Table hparams, frames", ge=2)
    n_segments: int = Field(8, description="paper: Table hparams, per sequence; original: 3", ge=2)
    hidden_dim: int = Field(64, description="paper: Table hparams, and original", ge=1)
    latent_dim: int = Field(32, description="paper: Table hparams, and original", ge=1)
    n_steps: int = Field(100, description="paper: Table hparams, and original", ge=0)
    learning_rate: float = Field(1e-3, description="paper: Table hparams; original: 1e-2, or this where unstable", gt=0)
    batch_size: int = Field(512, description="original: sequences per step; the paper does not say", ge=1)
    prior_rate: float = Field(3.0, description="original: of the Poisson prior of the first boundary, in frames", gt=0)
    component_cap: int = Field(20, description="original: of Time2State, whose clustering the paper follows", ge=1)
    concentration: float = Field(1e3, description="original: of Time2State, alpha", gt=0)


@dataclass(frozen=True)
class Compile:
    config: CompileConfig = field(default_factory=CompileConfig)

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        """One state for each frame, from a network and a mixture of this recording alone."""
        return self.fit(signal, rng, progress).predict(signal)

    def fit_predict_many(
        self, signals: Sequence[Signal], rng: np.random.Generator, progress: Progress = silent
    ) -> list[Labels]:
        """One state for each frame of each recording, from one network and one mixture of all of them."""
        learned = self.fit_many(signals, rng, progress)
        return [learned.predict(signal) for signal in signals]

    def fit(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> FittedCompile:
        return self.fit_many([signal], rng, progress)

    def fit_many(
        self, signals: Sequence[Signal], rng: np.random.Generator, progress: Progress = silent
    ) -> FittedCompile:
        """What is learned from all of these signals together."""
        from rondo_bench.baselines.compile_net import trained  # brings torch, which takes seconds to import

        config = self.config
        for signal in signals:
            longest = max(stop - start for start, stop in signal.spans)
            if longest < config.n_segments:
                raise RecordingError(
                    f"recording '{signal.id}': {_NAME} cuts a sequence into up to {config.n_segments} segments, but "
                    f"the longest unbroken stretch has {longest} frames; give a longer recording or set fewer "
                    "n_segments"
                )
        sequences = [sequences_of(signal, config.sequence_length) for signal in signals]
        network_seed, mixture_seed = rng.integers(2**31, size=2).tolist()
        net = trained([values for _, each in sequences for values in each], config, network_seed, progress)
        latents = np.concatenate([_segments(net, spans, values)[1] for spans, values in sequences])
        components = fitted_components(latents, config.component_cap, config.concentration, mixture_seed, _NAME)
        components = components.in_order(components.states_of(latents))
        progress("mixture", 1, 1)
        return FittedCompile(net, components, config.sequence_length)


@dataclass(frozen=True, eq=False)
class FittedCompile:
    """What was learned: a network that cuts and encodes sequences, and the components of its latents."""

    net: CompileNet
    components: Components
    sequence_length: int

    def predict(self, signal: Signal) -> Labels:
        """One state for each frame; OTHER in gaps and in stretches of one frame."""
        segments, latents = _segments(self.net, *sequences_of(signal, self.sequence_length))
        labels = np.full(signal.n_frames, OTHER, dtype=np.int32)
        for (start, stop), state in zip(segments, self.components.states_of(latents).tolist(), strict=True):
            labels[start:stop] = state
        return labels


def estimated_seconds(n_frames: int, n_channels: int, config: CompileConfig) -> float:
    """Seconds on one core, whatever the number of channels: training reads each frame once per segment and step.

    Measured at 10,000 and 100,000 frames, on a busy machine: some 8 µs for a frame
    at hidden_dim 64; and 0.02 s for the calls, from recordings of 500 frames.
    """
    batch_frames = min(n_frames, config.batch_size * config.sequence_length)
    per_frame = 8e-6 * (0.3 + 0.7 * config.hidden_dim / 64) ** 2
    return 2.0 + config.n_segments * config.n_steps * (0.02 + per_frame * batch_frames)


def sequences_of(signal: Signal, length: int) -> tuple[list[Span], list[Values]]:
    """Where each sequence lies, and its values, standardised; stretches of one frame hold none."""
    values = standardised(signal)
    spans = []
    for start, stop in signal.spans:
        cuts = list(range(start, stop - 1, length))  # a single frame at the end joins the sequence before it
        spans += list(pairwise([*cuts, stop])) if cuts else []
    return spans, [values[start:stop] for start, stop in spans]


def standardised(signal: Signal) -> Values:
    """Each channel with mean 0 and deviation 1 over the frames that may be used; 0 in constant channels."""
    usable = np.concatenate([signal.values[start:stop] for start, stop in signal.spans]).astype(np.float64)
    mean, deviation = usable.mean(axis=0), usable.std(axis=0)
    still = deviation <= np.maximum(1e-6 * np.abs(mean), np.finfo(np.float32).tiny)
    if still.all():
        raise RecordingError(
            f"recording '{signal.id}': every channel is constant, nothing can recur; check the file and its columns"
        )
    factor = np.where(still, 0.0, 1 / np.where(still, 1.0, deviation))
    return np.asarray((signal.values - mean) * factor, dtype=np.float32)


def _segments(net: CompileNet, spans: list[Span], sequences: list[Values]) -> tuple[list[Span], NDArray[np.float64]]:
    """Where the segments that have any frames lie, and their latents (n_segments, latent_dim)."""
    from rondo_bench.baselines.compile_net import read

    ends, latents = read(net, sequences)
    starts = np.column_stack([np.zeros(len(ends), dtype=np.int64), ends[:, :-1]])
    offsets = np.array([start for start, _ in spans])[:, None]
    some = ends > starts
    segments = zip((starts + offsets)[some].tolist(), (ends + offsets)[some].tolist(), strict=True)
    return list(segments), latents[some]


METHOD = BaselineMethod(
    "compile", Compile, "CompILE: segments and their types by a variational network", is_network=True
)
