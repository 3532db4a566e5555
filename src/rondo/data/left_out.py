"""Channels that are silent for too long to be of use: left out of the whole data set, and always named.

A channel that is silent for a while is predicted from the others (`rondo.data.relations`). Where that would be a large
part of a recording, what is predicted looks unlike what was measured, and both become units of their own. It is better
to do without the channel. One that `preprocess.channels` names is kept, whatever it lacks.

A channel that a recording lacks from beginning to end does not count there: then nothing in that recording differs.

Why a quarter: on ActRecTut and planted recordings, predicting channels was better on average than leaving them out
while they were silent for at most a fifth of the rows, level at 30 % and worse from 40 % on. Other sets are in
docs/results/units.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rondo.config.schema import PreprocessConfig
from rondo.data.signal import shortened
from rondo.data.survey import Survey
from rondo.wording import counted, noun

LARGEST_SHARE = 1 / 4  # ours: of rows


class UsedChannels(NamedTuple):
    """The channels of a data set that are used, and those that were left out."""

    names: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    def settings(self, config: PreprocessConfig) -> PreprocessConfig:
        """Those of a data set, which name the channels where some were left out, as a person would."""
        return config.model_copy(update={"channels": self.names}) if self.left_out else config


def used_channels(channels: tuple[str, ...], surveys: Sequence[Survey], config: PreprocessConfig) -> UsedChannels:
    """What surveys in all channels say; none is left out where nothing would remain."""
    if config.channels or config.dropouts == "cut":
        return UsedChannels(channels)
    lacking = tuple(name for c, name in enumerate(channels) if _share_predicted(c, surveys) > LARGEST_SHARE)
    used = tuple(name for name in channels if name not in lacking)
    return UsedChannels(used, lacking) if used else UsedChannels(channels)


def _share_predicted(c: int, surveys: Sequence[Survey]) -> float:
    """Of the rows of all recordings that have any value of a channel; 1 where none has."""
    having = [survey for survey in surveys if c not in survey.silent]
    n_filled = sum(survey.n_filled[c] for survey in having if survey.n_filled)
    return n_filled / sum(survey.n_rows for survey in having) if having else 1.0


def left_out_note(names: Sequence[str]) -> str:
    """For every recording that has such channels."""
    it = noun(len(names), "it", "them")
    return (
        f"{counted(len(names), 'channel')} left out, silent for more than a quarter of the rows that were learned "
        f"from: {shortened(names)}; to keep {it}, name all channels to use (preprocess.channels)"
    )
