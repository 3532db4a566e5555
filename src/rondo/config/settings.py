"""Every setting of Rondo: one frozen model per stage, each default with the place it comes from.

`paper` means the published hyper-parameter table or the section named; `ours` names the measurement that
chose it. A registry (`rondo.registry`) offers several stages for encoder, units and motifs: a setting of a stage that
is not chosen cannot be written, so no setting silently does nothing. The settings of encoders stand with the encoders
(`rondo.encoders`), those of the paper's stages in `rondo.paper.settings`. Unknown keys are refused with "did you mean";
how that is done, and TOML, stand in `rondo.config.overrides`.

>>> config = resolve(overrides={"units.dimension": 3, "seed": 7})
>>> config.units.dimension, config.seed
(3, 7)
>>> resolve(overrides={"units.dimention": 3})
Traceback (most recent call last):
    ...
rondo.errors.SettingError: unknown setting 'units.dimention'; did you mean 'units.dimension'?
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SerializeAsAny

from rondo import registry
from rondo.config.overrides import changed
from rondo.config.overrides import parse_override as parse_override
from rondo.config.overrides import to_toml as to_toml
from rondo.errors import SettingError
from rondo.registry import (
    ENCODERS,
    MIXTURES,
    MOTIFS,
    RULES,
    UNITS,
    EncoderSettings,
    NameIn,
    OneOf,
    StageSettings,
    setting,
)
from rondo.wording import SECONDS_IN, one_of, pace_in_words

FRAMES = re.compile(r"\s*(\d{1,12})\s*", re.ASCII)
SECONDS = re.compile(rf"\s*(\d{{1,9}}(?:\.\d{{1,9}})?)\s*({'|'.join(SECONDS_IN)})\s*", re.ASCII)
_MOST_FRAMES = 10**12
_TIMES_MORE = 3  # a planted program of 36 states (tests/test_attempts.py) has 19 units without it, more than 30 with it


def _checked_duration(value: Any) -> int | str:
    """Frames as an int, anything else that is a duration as it was written."""
    if isinstance(value, str) and (frames := FRAMES.fullmatch(value)):
        value = int(frames[1])
    if isinstance(value, Integral) and not isinstance(value, bool):
        n_frames = int(value)
        if not 1 <= n_frames <= _MOST_FRAMES:
            raise ValueError("must be at least 1 frame" if n_frames < 1 else "must be at most 10^12 frames")
        return n_frames
    if isinstance(value, str) and (value == "auto" or SECONDS.fullmatch(value)):
        return value
    raise ValueError("must be a number of frames (256), a time ('2s', '500ms', '1.5min', '2h', '1d', '1w') or 'auto'")


Duration = Annotated[int | str, BeforeValidator(_checked_duration)]


def to_frames(duration: int | str, rate: float | None, setting: str) -> int:
    """Frames of a duration that is not 'auto'; seconds need a sampling rate.

    >>> to_frames("2s", 50.0, "windows.length"), to_frames(256, None, "windows.length")
    (100, 256)
    """
    try:
        checked = _checked_duration(duration)
    except ValueError as error:
        raise SettingError(f"setting {setting!r} {error}, got {duration!r}") from None
    if isinstance(checked, int):
        return checked
    match = SECONDS.fullmatch(checked)
    if match is None:
        raise SettingError(f"{setting} = {duration!r} has no length in frames; give frames (256) or seconds ('2s')")
    if rate is None:
        raise SettingError(
            f"{setting} = {duration!r} is a time but the sampling rate is unknown; give --rate HZ, or frames instead"
        )
    frames = round(float(match[1]) * SECONDS_IN[match[2]] * rate)
    if frames < 1:
        one = f"one frame ({pace_in_words(rate)})"
        raise SettingError(f"{setting} = {duration!r} is shorter than {one}; give a longer duration")
    return frames


class WindowsConfig(StageSettings):
    """STREAM -> WINDOWS."""

    length: Duration = setting(
        "auto",
        "ours: 1.5 s; without a rate a typical period, 20 for 1 to 3 channels; paper: per data set (Table preproc)",
    )
    step: Duration = setting("auto", "ours: a quarter of the window; the paper sets it per data set (Table preproc)")
    scales: Literal[1, 4] = setting(
        4, "ours: where all lengths are auto, the best agreed of 4 unit windows (docs/method.md); 1 = the suggested"
    )
    projection: Literal["aligned", "vote", "centre", "start"] = setting(
        "aligned",
        "ours: better than vote on most sets (docs/results/units.md); paper: not stated, `start` in its presets",
    )


class PreprocessConfig(StageSettings):
    """Gaps, scaling and channels, before any window is cut."""

    channels: tuple[str, ...] = setting((), "ours: all channels; paper: some per data set (Table preproc)")
    scaling: Literal["channel", "global", "none"] = setting(
        "channel", "paper: app. Time-MAE standardises each channel; unstated for the other encoders"
    )
    statistics: Literal["recording", "dataset"] = setting(
        "recording", "paper: app. baselines standardise within each recording"
    )
    pca_components: int = setting(0, "ours: 0 = off; paper: Table preproc uses PCA for high-dimensional sets", ge=0)
    max_gap: Duration = setting(
        "auto",
        "ours: 0.5 s, or 25 frames where the rate is unknown; longer gaps are boundaries no window crosses",
    )
    dropouts: Literal["fill", "cut"] = setting(
        "fill",
        "ours: predict channels that are silent for longer from the others (data/relations.py), leave out those silent "
        "for over a quarter of the rows (data/left_out.py); cut: a boundary",
    )
    pose: Literal["centred", "arena", "both"] = setting(
        "centred", "ours: points of a pose in the frame of the body (data/body.py); of the arena; both. docs/animals.md"
    )
    body: tuple[str, ...] = setting((), "ours: origin and tip of the frame; none given: chosen by the data")


class MixtureConfig(StageSettings):
    """The Dirichlet-process mixture ("DeepDPM" in the paper's table)."""

    kind: Annotated[str, NameIn(MIXTURES)] = setting(
        "dp_gaussian",
        "ours: trains no network; paper: deep_dpm",
    )
    covariance: Literal["full", "diagonal"] = setting("full", "ours: recurrence study, on the slow projection")
    latent_dim: int = setting(0, "ours: 0 = no autoencoder in front; paper: Table DeepDPM has 32", ge=0)
    autoencoder_epochs: int = setting(10, "paper: Table DeepDPM", ge=1)
    autoencoder_least_steps: int = setting(
        40, "ours: of few windows 10 epochs are 10 steps, which leave most variance unexplained; paper: 0", ge=0
    )
    concentration: float = setting(1.0, "paper: Table DeepDPM", gt=0)
    component_cap: int = setting(
        20,
        "ours: slightly better than 30 (docs/results/units.md), 60 where 20 are too few; paper: 30 units / 36 motifs",
        ge=1,
    )
    min_weight: float = setting(0.01, "paper: Table DeepDPM", ge=0, lt=1)
    max_iterations: int = setting(500, "ours: the bound is flat long before", ge=1)
    tolerance: float = setting(1e-6, "ours: change of the bound per window at which fitting stops", gt=0)


class UnitSettings(StageSettings):
    """Settings of a unit stage; a subclass gives `method` its only value, by which it is chosen."""

    method: str = ""
    if TYPE_CHECKING:  # every subclass has these, in the order and with the defaults of its table
        mixture: MixtureConfig
        transition_scale: Literal["auto"] | float
        merge: bool

    def shortest_run(self, step_share: float) -> float:
        """Windows that a unit usually lasts at least; a step is `step_share` window lengths. Paper: no such rule."""
        return 0.0

    def observations(self, step_share: float) -> float:
        """Observations that one window counts as. Paper: every window counts."""
        return 1.0

    def most_units(self) -> int:
        """How many units there may be where all components of a first mixture are units. Paper: no more."""
        return self.mixture.component_cap

    def network(self) -> str | None:
        return f"mixture.kind = '{self.mixture.kind}'" if MIXTURES[self.mixture.kind].needs else None

    def refuse_idle(self) -> None:
        """Refuse settings that contradict each other."""


class SlowUnitsConfig(UnitSettings):
    """Units in a ridge-regularised slow projection: closed form, no training."""

    method: Literal["slow"] = "slow"
    pca_dim: int = setting(30, "ours: recurrence study, step 2", ge=1)
    dimension: Literal["auto"] | Annotated[int, Field(ge=1)] = setting(
        "auto",
        "ours: the directions, 3 (of shapes 5) to 8, that stay correlated for a window length (docs/results/units.md)",
    )
    ridge: float = setting(0.1, "ours: recurrence study; without it some direction is slow by accident", ge=0)
    persistence: float = setting(
        1.0,
        "ours: a unit that usually lasts less than this many window lengths is a passage between units",
        ge=0,
    )
    mixture: MixtureConfig = MixtureConfig()
    transition_scale: Literal["auto"] | Annotated[float, Field(ge=0)] = setting(
        "auto",
        "paper: Table UnitAlign, 2 typical steps; ours: 4 for shapes and for units that groups share (docs/method.md)",
    )
    merge: bool = setting(False, "ours: whether units that are confused with each other are one (docs/method.md)")
    places: bool = setting(
        True, "ours: whether each group of recordings has a place of its own for the units they share (docs/many.md)"
    )

    def shortest_run(self, step_share: float) -> float:
        return self.persistence / step_share

    def most_units(self) -> int:
        own, default = self.mixture.component_cap, MixtureConfig().component_cap
        return _TIMES_MORE * own if own == default else own

    def observations(self, step_share: float) -> float:
        return step_share  # the frames it adds (docs/results/units.md)

    def refuse_idle(self) -> None:
        if self.mixture.latent_dim:
            raise SettingError(
                "units.mixture.latent_dim has no effect with units.method = 'slow', which has no autoencoder; "
                "leave it at 0, or use units.method = 'unit_align'"
            )


class AcceptanceConfig(StageSettings):
    """Which windows and subsequences an entry accepts."""

    radius_quantile: float = setting(0.95, "paper: Table Motif discovery, distance threshold P95", gt=0, le=1)
    posterior_quantile: float = setting(0.05, "paper: Table Motif discovery, posterior threshold P5", ge=0, lt=1)


class MotifSettings(StageSettings):
    """Settings of a motif stage; a subclass gives `method` its only value, by which it is chosen."""

    method: str = ""

    def in_windows(self, step_frames: int, rate: float | None) -> Self:
        """The same settings with every length in windows."""
        return self


class ComposedMotifsConfig(MotifSettings):
    """Contexts, in which the same units keep coming, and phrases, whose units come in order."""

    method: Literal["composed"] = "composed"
    window: Duration = setting(
        "auto", "ours: of contexts; from the typical period and the length of the recording (docs/method.md)"
    )
    shuffles: int = setting(99, "ours: p of a phrase is at least 1 / (1 + shuffles)", ge=19)
    significance: float = setting(0.05, "ours: the usual one; family-wise, over all phrases of a recording", gt=0, lt=1)
    phrase_distance: float = setting(
        0.25,
        "ours: phrases further apart (1 - 2 common units in order / all units) are different motifs",
        ge=0,
        le=1,
    )


class NoMotifsConfig(MotifSettings):
    """Ablation "w/o MotifFormer": every unit is its own motif."""

    method: Literal["none"] = "none"


def _enough_surrogates(n: int) -> int:
    if 0 < n < 5:
        raise ValueError("must be 0 (not tested) or at least 5: fewer do not tell how much surrogates vary")
    return n


class EvidenceConfig(StageSettings):
    """Whether what was found recurs."""

    surrogates: Annotated[int, AfterValidator(_enough_surrogates)] = setting(
        99, "ours: the most of each kind, where p is near the level; 7 let the seed decide. 0 = not tested", ge=0
    )


class ContinualConfig(StageSettings):
    """How vocabularies refine and grow while a stream goes on."""

    rule: Annotated[str, NameIn(RULES)] = setting(
        "exemplars", "ours: the nearest exemplar; paper: published, radius and posterior in the latents"
    )
    min_support: int = setting(8, "paper: Table Continual update, max(8, Q0.25)", ge=1)
    support_quantile: float = setting(0.25, "paper: Table Continual update", ge=0, le=1)
    merge_radius_factor: float = setting(1.25, "paper: Table Continual update", gt=0)
    min_regions: int = setting(3, "ours: visits that lie apart; the paper says 'multiple temporal regions'", ge=1)
    min_extent: int = setting(20, "ours: windows from first to last; the paper says 'sufficient temporal extent'", ge=1)
    apart: int = setting(10, "ours: windows between two visits, the longest motif of the paper", ge=1)
    half_life: float = setting(
        1.0, "ours: of the support of a micro-cluster, in lengths of what the model was fitted on", gt=0
    )
    transition_scale: float = setting(
        1.0, "ours: price of a change in typical steps; 0.5 and 2 are worse on ActRecTut and OpenPack", ge=0
    )
    lag: int = setting(
        16,
        "ours: windows that a frozen stream, or the published rule, looks ahead; frozen, 99.6 % of rows as in `label`",
        ge=0,
    )


EncoderConfig = Annotated[EncoderSettings, SerializeAsAny(), OneOf(ENCODERS)]
UnitsConfig = Annotated[UnitSettings, SerializeAsAny(), OneOf(UNITS)]
MotifsConfig = Annotated[MotifSettings, SerializeAsAny(), OneOf(MOTIFS)]


def _default_encoder() -> EncoderSettings:
    encoder: EncoderSettings = ENCODERS["summary_stats"].settings()  # type: ignore[assignment]
    return encoder


class RondoConfig(StageSettings):
    """All stages in the order of the flow."""

    seed: int = setting(0, "ours: one seed, passed down explicitly", ge=0, lt=2**32)
    device: Literal["auto", "cpu", "cuda"] = setting("auto", "ours: of networks only; cuda where torch finds one")
    windows: WindowsConfig = WindowsConfig()
    preprocess: PreprocessConfig = PreprocessConfig()
    encoder: EncoderConfig = Field(default_factory=_default_encoder)
    units: UnitsConfig = SlowUnitsConfig()
    motifs: MotifsConfig = ComposedMotifsConfig()
    evidence: EvidenceConfig = EvidenceConfig()
    continual: ContinualConfig = ContinualConfig()


def network_in(config: RondoConfig) -> str | None:
    """The first setting, in the order of the flow, that asks for a network; None where the chain is without one.

    >>> network_in(RondoConfig()), network_in(PRESETS["paper"])
    (None, "encoder.name = 'ts2vec'")
    """
    sections: dict[str, tuple[StageSettings, registry.Stage]] = {
        "encoder": (config.encoder, ENCODERS[config.encoder.name]),
        "units": (config.units, UNITS[config.units.method]),
        "motifs": (config.motifs, MOTIFS[config.motifs.method]),
    }
    for section, (settings, stage) in sections.items():
        asked = f"{stage.tag} = '{stage.name}'" if stage.needs else settings.network()
        if asked is not None:
            return f"{section}.{asked}"
    return None


class _Presets(Mapping[str, RondoConfig]):
    """Made when they are asked for: the registry imports the modules that declare them, which import this one."""

    def __getitem__(self, name: str) -> RondoConfig:
        return registry.PRESETS[name].make()

    def __iter__(self) -> Iterator[str]:
        return iter(registry.PRESETS)

    def __len__(self) -> int:
        return len(registry.PRESETS)


PRESETS: Mapping[str, RondoConfig] = _Presets()
"""`default` is what we recommend. `paper` is what was published. `paper-fast` has a variational Dirichlet-process
mixture instead of DeepDPM, to which the component cap and the least weight of the paper's table apply, and samples the
items of an epoch of MotifFormer. Windows are automatic in all: the paper's are per data set
(`rondo bench show data_sets`)."""


def resolve(
    preset: str = "default", file: Path | None = None, overrides: Mapping[str, Any] | None = None
) -> RondoConfig:
    """The preset, changed by a TOML file, changed by dotted overrides ("units.dimension": 3).

    An encoder may ask for channels as they are; what is given comes first.

    >>> resolve(overrides={"encoder.name": "mantis"}).preprocess.scaling
    'none'
    """
    if str(preset) not in PRESETS:
        raise SettingError(f"unknown preset {preset!r}; expected {one_of(PRESETS)}")
    base = PRESETS[preset]
    config = changed(base, file, overrides)
    if (scaling := ENCODERS[config.encoder.name].scaling) is None:
        return config
    preprocess = base.preprocess.model_copy(update={"scaling": scaling})
    return changed(base.model_copy(update={"preprocess": preprocess}), file, overrides)
