"""What is fitted once on a data set before any window is cut: channels, scaling, PCA.

Gaps and irregular time are mended per recording, in `rondo.data.signal`; here its signals are scaled, each by its own
statistics or all by those of the data set, and projected onto axes that all recordings share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rondo.config.settings import PreprocessConfig
from rondo.data.body import BodyFrame, mean_body
from rondo.data.known_channels import KnownChannel, KnownValues, SoundBounds
from rondo.data.moments import ChannelMoments, Matrix, Vector, with_silent
from rondo.data.preparation import RowPlan, max_gap_frames
from rondo.data.recording import BLOCK, Recording, Values
from rondo.data.relations import ChannelFill, ChannelRelations
from rondo.data.resample import resample_signal
from rondo.data.signal import Signal as Signal
from rondo.data.signal import chosen_channels, fitting, plan_of, refuse_shape, shortened
from rondo.data.signal import regularise as regularise
from rondo.data.sound import mended
from rondo.data.survey import Survey, survey_of
from rondo.errors import RecordingError, SettingError
from rondo.wording import counted, noun

# Ours: of rows in which a channel may be silent. Predicting channels on ActRecTut and planted recordings was better on
# average than leaving them out while they were silent for at most a fifth of the rows, level at 30 % and worse from
# 40 % on (docs/results/units.md has other sets): what is predicted then looks unlike what was measured, and both become
# units of their own.
LARGEST_SHARE = 1 / 4


class Typical(NamedTuple):
    """Statistics that are typical of one fitted recording; new ones are read by them (`rondo.data.own_scaling`)."""

    mean: Vector  # (n_channels,), mean of the means
    scale: Vector  # (n_channels,), root mean square of the deviations; 0 marks a constant channel
    spread: Vector  # (n_dims,), how much the logarithm of the deviation in a window varies

    @classmethod
    def of(cls, each: Sequence[ChannelMoments], spread: Vector, config: PreprocessConfig) -> Typical:
        """Of recordings with these moments; every recording counts alike."""
        known = [own for own in each if own.count]
        means = np.mean([own.mean for own in known], axis=0)
        variances = np.mean([own.squares / own.count for own in known], axis=0)
        offset = np.mean([own.offset + 0 * own.mean for own in known], axis=0)
        return cls(*mean_and_scale(ChannelMoments(1, means, variances, offset), config, "all recordings"), spread)


class UsedChannels(NamedTuple):
    """The channels of a data set that are used, and those that were left out."""

    names: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    def settings(self, config: PreprocessConfig) -> PreprocessConfig:
        """Those of a data set, which name the channels where some were left out, as a person would."""
        return config.model_copy(update={"channels": self.names}) if self.left_out else config


def used_channels(channels: tuple[str, ...], surveys: Sequence[Survey], config: PreprocessConfig) -> UsedChannels:
    """Leave out channels that are silent for too long, by what surveys in all channels say.

    A channel that `preprocess.channels` names is kept, whatever it lacks, and none is left out where nothing would
    remain. One that a recording lacks from beginning to end does not count there: nothing in that recording differs.
    """
    if config.channels or config.dropouts == "cut":
        return UsedChannels(channels)
    lacking = []
    for c, name in enumerate(channels):
        having = [survey for survey in surveys if c not in survey.silent]
        n_filled = sum(survey.n_filled[c] for survey in having if survey.n_filled)
        if not having or n_filled / sum(survey.n_rows for survey in having) > LARGEST_SHARE:
            lacking.append(name)
    used = tuple(name for name in channels if name not in lacking)
    return UsedChannels(used, tuple(lacking)) if used else UsedChannels(channels)


@dataclass(frozen=True, eq=False)
class Preprocessor:
    """Everything that was fitted once on a data set; the same for every recording that comes later."""

    config: PreprocessConfig
    channels: tuple[str, ...]
    mean: Vector  # (n_channels,), over all recordings; for streams only when statistics are per recording
    scale: Vector  # (n_channels,), likewise; 0 marks a constant channel
    components: Matrix  # (n_components, n_channels); empty without PCA
    spacing: tuple[int, ...] = ()  # frames between two values of each slow sensor, 0 for others; for streams only
    known: KnownValues | None = None  # codes of missing values and range of each channel; None in older models
    relations: ChannelRelations | None = None  # of the channels, over all recordings; None: nothing is predicted
    left_out: tuple[str, ...] = ()  # channels of the recordings that were silent for too long
    typical: Typical | None = None  # for recordings to come; None in older models, and where nothing is chosen
    offsets: tuple[float, ...] = ()  # of streams: what is subtracted before their values are rounded; empty: none
    bounds: SoundBounds | None = None  # of streams: beyond them a value is none; None in models of earlier versions
    body: BodyFrame | None = None  # that rows of points become before all else; None: rows are channels

    @classmethod
    def fit(cls, recordings: Sequence[Recording], config: PreprocessConfig) -> Preprocessor:
        """Learn scaling and PCA from recordings that have the same channels, with one signal in memory at a time."""
        return cls.of_surveys(*surveys_of(recordings, config), config)

    @classmethod
    def of_surveys(cls, channels: UsedChannels, surveys: Sequence[Survey], config: PreprocessConfig) -> Preprocessor:
        """Learn scaling and PCA from what surveys of all recordings say about these channels."""
        n_channels, config = len(channels.names), channels.settings(config)
        # A channel that is slow in any recording may be as slow in a stream.
        spacing = tuple(max(channel) for channel in zip(*(survey.spacing for survey in surveys), strict=True))
        as_they_are = (np.zeros(n_channels), np.ones(n_channels), np.zeros((0, n_channels)))
        body = mean_body([survey.body for survey in surveys if survey.body is not None])
        fitted = cls(config, channels.names, *as_they_are, spacing, left_out=channels.left_out, body=body)
        found = [survey.known for survey in surveys if survey.known is not None]
        if found and len(found) == len(surveys):
            fitted = replace(fitted, known=KnownValues.joined(found))
            if still_rows := [survey.still_rows for survey in surveys if survey.still_rows]:
                fitted = replace(fitted, bounds=SoundBounds.of(KnownValues.joined(found), still_rows))
        related = [survey.relations for survey in surveys if survey.relations is not None]
        if related:
            fitted = replace(fitted, relations=ChannelRelations.joined(related, n_channels))
        each = with_silent([survey.moments for survey in surveys], [survey.silent for survey in surveys])
        if config.scaling != "none":
            of = f"recording '{surveys[0].id}'" if len(surveys) == 1 else f"all {len(surveys)} recordings"
            joined = ChannelMoments.joined(each, n_channels, products=bool(config.pca_components))
            mean, scale = mean_and_scale(joined, config, of)
            fitted = replace(fitted, mean=mean, scale=scale, offsets=joined.offsets)
        if config.pca_components:
            if config.scaling != "none":
                by = [(fitted.mean, fitted.scale)] * len(each)
                if config.statistics == "recording":
                    by = [mean_and_scale(moments, config, "") for moments in each]
                each = [part.scaled(mean, _reciprocal(scale)) for part, (mean, scale) in zip(each, by, strict=True)]
            joined = ChannelMoments.joined(each, n_channels, products=True)
            # Leading eigenvectors of the covariance of all usable frames, signs fixed so that results repeat.
            axes = np.linalg.eigh(joined.scatter / joined.count)[1][:, ::-1][:, : config.pca_components].T
            signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
            fitted = replace(fitted, components=np.asarray(axes * signs[:, None]))
        return fitted

    def apply(self, recording: Recording, rate: float | None = None) -> Signal:
        """The recording as the model sees it, at another rate (Hz) if one is given."""
        signal = self.regular(recording)
        return self.seen(signal if rate is None else resample_signal(signal, rate))

    def regular(self, recording: Recording) -> Signal:
        """The channels of the model on a regular grid, not yet scaled."""
        lacking = [name for name in self.left_out if name in recording.channels]
        given = fitting(recording, self.channels, self.config)
        chosen = mended(given, self.channels, self.config).recording
        if lacking:  # notes say why
            chosen = replace(chosen, notes=mended(given, (*self.channels, *lacking), self.config).recording.notes)
            chosen = chosen.noted(
                f"{counted(len(lacking), 'channel')} left out, silent for more than a quarter of the rows that were "
                f"learned from: {shortened(lacking)}; to keep {noun(len(lacking), 'it', 'them')}, name all channels to "
                "use (preprocess.channels)"
            )
        plan = plan_of(chosen, self.channels, self.config)
        if plan.relations is not None and self.fills_by_all:
            plan = replace(plan, relations=self.relations)
        return regularise(chosen, self.channels, self.config, plan)

    def seen(self, signal: Signal, moments: ChannelMoments | None = None, *, typical: Typical | None = None) -> Signal:
        """A regular signal as the model sees it; `moments`: of the whole recording, where this is a part of it.

        `typical`: scaled by these statistics and not by its own.
        """
        mean, scale, is_scaled = self.mean, self.scale, self.config.scaling != "none"
        if typical is not None:
            mean, scale = typical.mean, typical.scale
        elif is_scaled and self.config.statistics == "recording":
            used = ChannelMoments.of(signal) if moments is None else moments
            mean, scale = mean_and_scale(used, self.config, f"recording '{signal.id}'")
            if signal.silent and self.relations is not None:  # such channels lie where they do in the others
                mean, scale, lacking = mean.copy(), scale.copy(), list(signal.silent)
                mean[lacking], known = self.relations.mean[lacking], self.relations.scale[lacking]
                scale[lacking] = np.where(known > 0, scale.max(), 0.0) if self.config.scaling == "global" else known
        signal = self._heard(signal, mean, scale)
        if is_scaled:
            still = [name for name, width in zip(signal.channels, scale, strict=True) if width == 0]
            notes = (f"constant, so of no use: {shortened(still)}",) if still else ()
            values = scaled_by(signal.values, without(mean, signal.offsets), scale)
            signal = replace(signal, values=values, notes=signal.notes + notes, offsets=())
        if not self.components.size:
            return signal
        names = tuple(f"pc{i}" for i in range(self.components.shape[0]))
        return replace(signal, values=onto_axes(signal.values, self.components), channels=names)

    def row_plan(self, rate: float | None) -> RowPlan:
        """Of a stream, which nobody can look at as a whole: slow sensors are those of the recordings fitted on."""
        spacing = self.spacing or (0,) * len(self.channels)
        max_gap, relations = max_gap_frames(rate, self.config), self.relations
        return RowPlan(rate, max_gap, spacing, None, relations, self.channels, self.offsets, self.bounds)

    def seen_by_model(self, values: Values) -> Values:
        """Frames of a stream, scaled by the statistics of the model and projected; an array of its own."""
        return self.seen_by(values, self.mean, self.scale)

    def seen_by(self, values: Values, mean: Vector, scale: Vector) -> Values:
        """Frames, scaled by these statistics and projected; an array of its own."""
        is_scaled = self.config.scaling != "none"
        scaled = scaled_by(values, without(mean, self.offsets), scale) if is_scaled else values.copy()
        return onto_axes(scaled, self.components) if self.components.size else scaled

    @property
    def known_channels(self) -> tuple[KnownChannel, ...]:
        """The channels for readers of files, each with the numbers that stand for no value in it."""
        numbers = [None] * len(self.channels) if self.known is None else self.known.missing_numbers()
        codes_of = dict(zip(self.channels, numbers, strict=True))
        return tuple(KnownChannel(name, codes_of.get(name)) for name in self.row_channels)

    @property
    def row_channels(self) -> tuple[str, ...]:
        """What a row of a stream holds: the channels; of a body its points, and the channels that are no part of it."""
        if self.body is None:
            return self.channels
        own = {*self.body.channels, *self.body.sources}
        return (*self.body.sources, *(name for name in self.channels if name not in own))

    @property
    def fills_by_all(self) -> bool:
        """Whether dropouts are filled by the relations of all recordings, as in a stream: where scaling is theirs."""
        return self.config.statistics == "dataset" and self.relations is not None

    @property
    def n_dims(self) -> int:
        """Channels of a window as the model sees it."""
        return len(self.components) or len(self.channels)

    def _heard(self, signal: Signal, mean: Vector, scale: Vector) -> Signal:
        """With channels that are silent in this recording predicted, where others tell how; `mean`, `scale`: of it."""
        lacking = [c for c in signal.silent if self.relations is not None and self.relations.scale[c] > 0]
        if not lacking or self.relations is None or self.fills_by_all:
            return signal
        by_channel = self.config.scaling == "channel"  # else no scale of each channel in this recording is at hand
        relations = replace(self.relations, mean=mean, scale=scale) if by_channel else self.relations
        relations = relations.without(signal.offsets)
        values = signal.values.copy()
        gone = np.zeros(values.shape[1], np.bool_)
        gone[lacking] = True
        fill = ChannelFill(relations)
        for start in range(0, len(values), BLOCK):
            block = values[start : start + BLOCK]
            fill.fill(block, np.broadcast_to(gone, block.shape))
        return replace(signal, values=values)


def surveys_of(
    recordings: Sequence[Recording], config: PreprocessConfig, kept: dict[str, Signal] | None = None
) -> tuple[UsedChannels, list[Survey]]:
    """The channels of a data set and a survey of each of its recordings; what cannot belong to one is refused.

    `kept` gets the regular signal of each recording by its id; without it one signal is in memory at a time.
    """
    channels = chosen_channels(recordings[0], config)
    for recording in recordings:
        fitting(recording, channels, config)
    refuse_shape(max(recordings, key=lambda recording: recording.n_frames), channels)
    refuse_too_many_axes(len(channels), config)
    surveys = _surveys(recordings, channels, config, kept)
    used = used_channels(channels, surveys, config)
    if used.left_out:
        refuse_too_many_axes(len(used.names), config)
        surveys = _surveys(recordings, used.names, used.settings(config), kept)
    return used, surveys


def _surveys(
    recordings: Sequence[Recording], channels: tuple[str, ...], config: PreprocessConfig, kept: dict[str, Signal] | None
) -> list[Survey]:
    surveys = []
    for recording in recordings:
        survey, signal = survey_of(recording, channels, config)
        surveys.append(survey)
        if kept is not None:
            kept[recording.id] = signal
    return surveys


def refuse_too_many_axes(n_channels: int, config: PreprocessConfig) -> None:
    """There are no more axes than channels."""
    if config.pca_components > n_channels:
        raise SettingError(
            f"preprocess.pca_components = {config.pca_components}, but there are only {n_channels} channels; "
            "choose fewer"
        )


def _reciprocal(scale: Vector) -> Vector:
    """1 / scale, and 0 of a constant channel."""
    return np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)


def scaled_by(values: Values, mean: Vector, scale: Vector) -> Values:
    """(value - mean) / scale, and 0 of a constant channel; in float64, as a mean may dwarf its spread."""
    factor, scaled = _reciprocal(scale), np.empty(values.shape, np.float32)
    for start in range(0, len(values), BLOCK):
        block = slice(start, start + BLOCK)
        scaled[block] = (values[block] - mean) * factor
    return scaled


def without(mean: Vector, offsets: Sequence[float]) -> Vector:
    """The mean of values from which offsets were subtracted."""
    return mean - np.array(offsets) if offsets else mean


def onto_axes(values: Values, components: Matrix) -> Values:
    """Coordinates (n_frames, n_components), summed channel by channel: a matrix product rounds as chunks are long."""
    axes = components.astype(np.float32).astype(np.float64)
    found = np.empty((len(values), len(axes)), np.float32)
    for start in range(0, len(values), BLOCK):
        block = values[start : start + BLOCK].astype(np.float64)
        summed = np.zeros((len(block), len(axes)))
        for c in range(block.shape[1]):
            summed += block[:, c, None] * axes[:, c]
        found[start : start + BLOCK] = summed
    return found


def mean_and_scale(moments: ChannelMoments, config: PreprocessConfig, of: str) -> tuple[Vector, Vector]:
    """Mean and scale of each channel over all usable frames; scale 0 marks a constant channel.

    channel: its standard deviation. global: one scale, the root mean square of those deviations that are not 0.
    """
    mean, scale = moments.mean, np.sqrt(moments.squares / moments.count)
    # A spread of fewer than some ten roundings of float32 cannot be told from a constant.
    scale[scale <= np.maximum(1e-6 * np.abs(mean - moments.offset), np.finfo(np.float32).tiny)] = 0.0
    if not scale.any():
        raise RecordingError(f"{of}: every channel is constant, nothing can recur; check the file and its columns")
    if config.scaling == "global":
        scale = np.where(scale > 0, np.sqrt((scale[scale > 0] ** 2).mean()), 0.0)
    return mean, scale
