"""AutoPlait: regimes, each a hidden Markov model, are split while that shortens the description of a recording.

Y. Matsubara, Y. Sakurai, C. Faloutsos, "AutoPlait: Automatic Mining of Co-evolving Time Sequences", SIGMOD 2014.
Own code after the paper and the released C code (18 June 2014, as in github.com/Lab-ANT/Time2State at fccb11c),
whose constants stand in the settings below and at the top of the files:

    autoplait         what is done with the whole recording: regimes are split until no split pays
    autoplait_split   one regime becomes two: seeds, models and cut points in turn
    autoplait_pairs   the search of seeds: all pairs of one-state regimes at once
    autoplait_noise   pieces that are too cheap to be segments
    autoplait_cost    bits
    autoplait_hmm     models and their fit
    autoplait_paths   the best path through states

Given the same random draws, it gives the segments of that code: on eight of the nine MoCap recordings to the frame, on
the ninth with one cut point one frame off. What differs from that code, and why:

- Draws come from one generator. The released code has a fixed seed, and its result is one of many: on MoCap it scores a
  frame accuracy of 90.27 with that seed and 91.32 with the next, ours 92.48 +- 0.69 over seeds 0 to 4.
- The model with the best number of states is kept, where the released code fits it again with other draws.
- A segment of one frame between two of the other regime belongs to one regime, not to both.
- Nothing crosses a gap: spans are the first segments, and seeds end where spans do.
- Where states never become dearer, 16 are taken; the released code then reads a variable that was never set.
- Frames outside `spans` are OTHER; all others have a regime.

It cannot read another recording: regimes are found in the one whose description they shorten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from pydantic import Field

from rondo.data.labels import OTHER, Labels
from rondo.data.signal import Signal
from rondo.data.windows import Span
from rondo.errors import RecordingError
from rondo.wording import Progress, silent
from rondo_bench.baselines.autoplait_cost import Regime, cheapest, total_cost
from rondo_bench.baselines.autoplait_paths import Floats
from rondo_bench.baselines.autoplait_split import Economy, split
from rondo_bench.baselines.base import BaselineSettings
from rondo_bench.baselines.method import BaselineMethod

_SHORTEST_SEED = 2  # frames: one alone has no variance


class AutoPlaitConfig(BaselineSettings):
    """Settings of AutoPlait, which its authors call free of parameters; `original` is the released code."""

    seed_share: float = Field(0.1, description="original: LM, length of a seed as a share of the recording", gt=0, lt=1)
    n_seeds: int = Field(10, description="original: NSAMPLE, seeds that are tried in pairs", ge=2)
    split_share: float = Field(0.03, description="original: REGIME_R, of a regime's bits, what a split must save", ge=0)
    noise_share: float = Field(0.03, description="original: SEGMENT_R, of all bits, what is surely noise", ge=0)
    max_states: int = Field(16, description="original: MAXK, states of a regime", ge=1, le=100)
    float_bits: int = Field(32, description="original: FB, bits for one number of a model", ge=1)


@dataclass(frozen=True)
class AutoPlait:
    """The method with its settings."""

    config: AutoPlaitConfig = field(default_factory=AutoPlaitConfig)

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        """The regime of each frame."""
        _refuse_short(signal, self.config.seed_share)
        labels = np.full(signal.n_frames, OTHER, dtype=np.int32)
        for number, regime in enumerate(regimes_of(standardised(signal), signal.spans, self.config, rng, progress)):
            for start, stop in regime.segments:
                labels[start:stop] = number
        return labels


def estimated_seconds(n_frames: int, n_channels: int, config: AutoPlaitConfig) -> float:
    """Seconds on one core where there are about eight regimes to find; a recording that has one takes a tenth.

    Fitted to what was measured: 10,617 frames of MoCap with 4 channels take 6 s, and planted streams of
    10,000 frames with 9 channels 10 s, 100,000 with 4 channels 71 s, with 9 more than 150 s. Of more than ten channels
    densities are at their floor, and there is little to split.
    """
    return 2.5e-4 * n_frames * min(n_channels, 10)


def regimes_of(
    values: Floats, spans: Sequence[Span], config: AutoPlaitConfig, rng: np.random.Generator, progress: Progress
) -> list[Regime]:
    """Split regimes, the newest first, while two cost less than one by a share of what it costs."""
    economy = Economy(**config.model_dump(include=set(Economy.__dataclass_fields__)))
    n_usable = sum(stop - start for start, stop in spans)
    candidates = [cheapest(values, spans, config.max_states, config.float_bits, rng)]
    final: list[Regime] = []

    def tick() -> None:
        progress("splitting regimes", sum(stop - start for r in final for start, stop in r.segments), n_usable)

    while candidates:
        total = total_cost([*final, *candidates], config.float_bits)
        regime = candidates.pop()
        halves = split(values, spans, regime, total, economy, rng, tick)
        if halves and sum(half.cost for half in halves) + config.split_share * regime.cost < regime.cost:
            candidates.extend(halves)
        else:
            final.append(regime)
            tick()
    return final


def standardised(signal: Signal) -> Floats:
    """Each channel with the mean 0 and the deviation 1 over the frames that may be used; a constant one is 0.

    The released code does so whatever it is given, so also with principal components.
    """
    usable = np.concatenate([signal.values[start:stop] for start, stop in signal.spans]).astype(np.float64)
    mean, deviation = usable.mean(axis=0), usable.std(axis=0)
    constant = deviation <= np.maximum(1e-6 * np.abs(mean), float(np.finfo(np.float32).tiny))
    if constant.all():
        raise RecordingError(
            f"recording '{signal.id}': all values are the same, nothing can recur; check the file and its columns"
        )
    values: Floats = np.where(constant, 0.0, (signal.values - mean) / np.where(constant, 1.0, deviation))
    return values


def _refuse_short(signal: Signal, seed_share: float) -> None:
    n_usable = sum(stop - start for start, stop in signal.spans)
    if math.ceil(n_usable * seed_share) < _SHORTEST_SEED:
        raise RecordingError(
            f"recording '{signal.id}': autoplait begins with seeds of {seed_share:g} of all frames, and a seed takes "
            f"{_SHORTEST_SEED} frames or more, but {n_usable} frames can be used; choose a larger seed_share"
        )


METHOD = BaselineMethod("autoplait", AutoPlait, "AutoPlait: regimes by minimum description length, no settings needed")
