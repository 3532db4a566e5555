"""Every setting of Rondo: one frozen model per stage, each default with the place it comes from.

`paper` means the published hyper-parameter table or the section named; `ours` names the measurement that
chose it. A stage that can be done in several ways (encoder, units, motifs) is a tagged union: a setting of a
way that is not chosen cannot be written, so no setting silently does nothing. The settings of encoders stand with the
encoders (`rondo.encoders`). Unknown keys are refused with "did you mean"; how that is done, and TOML, stand in
`rondo.config.overrides`.

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
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, PlainValidator, SerializeAsAny

from rondo.config.overrides import changed
from rondo.config.overrides import parse_override as parse_override
from rondo.config.overrides import to_toml as to_toml
from rondo.config.ways import ENCODERS, EncoderSettings, Found, StageSettings, setting
from rondo.errors import SettingError
from rondo.wording import one_of

# ---------------------------------------------------------------- durations

_FRAMES = re.compile(r"\s*(\d{1,12})\s*", re.ASCII)
_SECONDS = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(s|ms|min)\s*", re.ASCII)
_UNIT_S = {"s": 1.0, "ms": 1e-3, "min": 60.0}
_MOST_FRAMES = 10**12


def _checked_duration(value: Any) -> int | str:
    """Frames as an int, anything else that is a duration as it was written."""
    if isinstance(value, str) and (frames := _FRAMES.fullmatch(value)):
        value = int(frames[1])
    if isinstance(value, Integral) and not isinstance(value, bool):
        n_frames = int(value)
        if not 1 <= n_frames <= _MOST_FRAMES:
            raise ValueError("must be at least 1 frame" if n_frames < 1 else "must be at most 10^12 frames")
        return n_frames
    if isinstance(value, str) and (value == "auto" or _SECONDS.fullmatch(value)):
        return value
    raise ValueError("must be a number of frames (256), a time ('2s', '500ms', '1.5min') or 'auto'")


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
    match = _SECONDS.fullmatch(checked)
    if match is None:
        raise SettingError(f"{setting} = {duration!r} has no length in frames; give frames (256) or seconds ('2s')")
    if rate is None:
        raise SettingError(
            f"{setting} = {duration!r} is a time but the sampling rate is unknown; give --rate HZ, or frames instead"
        )
    frames = round(float(match[1]) * _UNIT_S[match[2]] * rate)
    if frames < 1:
        raise SettingError(f"{setting} = {duration!r} is shorter than one frame at {rate:g} Hz; give a longer duration")
    return frames


def _checked_motif_length(value: Any) -> int | str:
    """Windows as an int, a time as it was written."""
    if isinstance(value, str) and (windows := _FRAMES.fullmatch(value)):
        value = int(windows[1])
    if isinstance(value, Integral) and not isinstance(value, bool):
        if value < 2:
            raise ValueError("must be greater than or equal to 2")
        return int(value)
    if isinstance(value, str) and _SECONDS.fullmatch(value):
        return value
    raise ValueError("must be a number of windows (2 or more) or a time ('3s', '500ms', '1.5min')")


# An int to those who read it: `former.subsequences.lengths_in_windows` turns times into windows before any does.
MotifLength = Annotated[int, PlainValidator(_checked_motif_length), PlainSerializer(lambda length: length)]


# ---------------------------------------------------------------- the stages


class WindowsConfig(StageSettings):
    """STREAM -> WINDOWS."""

    length: Duration = setting(
        "auto",
        "ours: 1.5 s; without a rate a typical period, 20 for 1 to 3 channels; paper: per data set (Table preproc)",
    )
    step: Duration = setting("auto", "ours: a quarter of the window; the paper sets it per data set (Table preproc)")
    projection: Literal["aligned", "vote", "centre", "start"] = setting(
        "aligned",
        "ours: better than vote on planted and most sets (docs/results/units.md); paper: not stated; preset: start",
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


class MixtureConfig(StageSettings):
    """The Dirichlet-process mixture ("DeepDPM" in the paper's table)."""

    kind: Literal["dp_gaussian", "deep_dpm"] = setting(
        "dp_gaussian",
        "ours: every setting of the paper's DeepDPM row belongs to this kind; deep_dpm is the literal one",
    )
    covariance: Literal["full", "diagonal"] = setting("full", "ours: recurrence study, on the slow projection")
    latent_dim: int = setting(0, "ours: 0 = no autoencoder in front; paper: Table DeepDPM has 32", ge=0)
    autoencoder_epochs: int = setting(10, "paper: Table DeepDPM", ge=1)
    autoencoder_least_steps: int = setting(
        40, "ours: of few windows 10 epochs are 10 steps, which leave most variance unexplained; paper: 0", ge=0
    )
    concentration: float = setting(1.0, "paper: Table DeepDPM", gt=0)
    component_cap: int = setting(
        20, "ours: slightly better than 30 (docs/results/units.md); paper: 30 units / 36 motifs", ge=1
    )
    min_weight: float = setting(0.01, "paper: Table DeepDPM", ge=0, lt=1)
    max_iterations: int = setting(500, "ours: the bound is flat long before", ge=1)
    tolerance: float = setting(1e-6, "ours: change of the bound per window at which fitting stops", gt=0)


class SlowUnitsConfig(StageSettings):
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


class UnitAlignConfig(StageSettings):
    """UnitAlign as published."""

    method: Literal["unit_align"] = "unit_align"
    bottleneck_dim: int = setting(256, "paper: Table UnitAlign", ge=1)
    output_dim: int = setting(128, "paper: Table UnitAlign", ge=1)
    alpha: float = setting(1.0, "ours: the paper gives no value; 0.1 was slower and no better", gt=0)
    init_epochs: int = setting(20, "paper: Table UnitAlign", ge=0)
    init_geometry_weight: float = setting(0.2, "paper: Table UnitAlign", ge=0)
    init_vic_weight: float = setting(0.05, "paper: Table UnitAlign", ge=0)
    refine_epochs: int = setting(3, "paper: Table UnitAlign", ge=0)
    max_rounds: int = setting(20, "paper: Table UnitAlign", ge=0)
    contrast_weight: float = setting(1.0, "paper: Table UnitAlign", ge=0)
    variance_weight: float = setting(1.0, "paper: Table UnitAlign", ge=0)
    covariance_weight: float = setting(0.04, "paper: Table UnitAlign", ge=0)
    geometry_weight: float = setting(0.25, "paper: Table UnitAlign", ge=0)
    temperature: float = setting(0.1, "paper: Table UnitAlign", gt=0)
    stable_ari: float = setting(0.995, "paper: Table UnitAlign", gt=0, le=1)
    patience: int = setting(2, "paper: Table UnitAlign", ge=1)
    mixture: MixtureConfig = MixtureConfig(covariance="diagonal", latent_dim=32, component_cap=30)
    transition_scale: float = setting(2.0, "paper: Table UnitAlign", ge=0)
    merge: bool = setting(False, "ours: whether units that are confused with each other are one; not in the paper")


class DirectUnitsConfig(StageSettings):
    """Ablation "w/o UnitAlign": the mixture on the encoder's own space, standardised."""

    method: Literal["direct"] = "direct"
    mixture: MixtureConfig = MixtureConfig(covariance="diagonal", latent_dim=32, component_cap=30)
    transition_scale: float = setting(2.0, "paper: Table UnitAlign", ge=0)
    merge: bool = setting(False, "ours: whether units that are confused with each other are one; not in the paper")


class AcceptanceConfig(StageSettings):
    """Which windows and subsequences an entry accepts."""

    radius_quantile: float = setting(0.95, "paper: Table Motif discovery, distance threshold P95", gt=0, le=1)
    posterior_quantile: float = setting(0.05, "paper: Table Motif discovery, posterior threshold P5", ge=0, lt=1)


class ComposedMotifsConfig(StageSettings):
    """Contexts, in which the same units keep coming, and phrases, whose units come in order."""

    method: Literal["composed"] = "composed"
    window: Duration = setting(
        "auto", "ours: of contexts; a fortieth of the recording, from 1.5 to 6 s (docs/method.md)"
    )
    shuffles: int = setting(99, "ours: p of a phrase is at least 1 / (1 + shuffles)", ge=19)
    significance: float = setting(0.05, "ours: the usual one; family-wise, over all phrases of a recording", gt=0, lt=1)
    phrase_distance: float = setting(
        0.25,
        "ours: phrases further apart (1 - 2 common units in order / all units) are different motifs",
        ge=0,
        le=1,
    )


class MotifFormerConfig(StageSettings):
    """MotifFormer as published."""

    method: Literal["motif_former"] = "motif_former"
    lengths: tuple[MotifLength, ...] = setting(
        tuple(range(2, 11)), "paper: Table MotifFormer, 2-10 windows; or times ('3s')", min_length=1
    )
    layers: int = setting(1, "paper: Table MotifFormer", ge=1)
    model_dim: int = setting(128, "paper: Table MotifFormer", ge=1)
    heads: int = setting(4, "paper: Table MotifFormer", ge=1)
    epochs: int = setting(20, "paper: Table MotifFormer", ge=0)
    items_per_epoch: int = setting(
        4096, "ours: the most distinct items of an epoch, drawn again for each; paper: 0, all of them", ge=0
    )
    mask_probability: float = setting(0.15, "paper: Table MotifFormer", ge=0, lt=1)
    drop_probability: float = setting(0.10, "paper: Table MotifFormer", ge=0, lt=1)
    reconstruction_weight: float = setting(0.1, "paper: Table MotifFormer", ge=0)
    view_weight: float = setting(1.0, "paper: Table MotifFormer", ge=0)
    cross_weight: float = setting(0.5, "paper: Table MotifFormer", ge=0)
    pseudo_weight: float = setting(0.5, "paper: Table MotifFormer", ge=0)
    variance_weight: float = setting(0.01, "paper: Table MotifFormer", ge=0)
    temperature: float = setting(0.1, "paper: Table MotifFormer", gt=0)
    claim_share: float = setting(0.10, "paper: Table Motif discovery, strongest 10 %", gt=0, le=1)
    link: Literal["none", "overlap", "descriptor"] = setting(
        "overlap", "ours: half the motifs of none, higher one-to-one, the paper's columns kept (docs/results/motifs.md)"
    )
    mixture: MixtureConfig = MixtureConfig(covariance="diagonal", latent_dim=32, component_cap=36)
    acceptance: AcceptanceConfig = AcceptanceConfig()


class NoMotifsConfig(StageSettings):
    """Ablation "w/o MotifFormer": every unit is its own motif."""

    method: Literal["none"] = "none"


def _enough_surrogates(n: int) -> int:
    if 0 < n < 5:
        raise ValueError("must be 0 (not tested) or at least 5: fewer do not tell how much surrogates vary")
    return n


class EvidenceConfig(StageSettings):
    """Whether what was found recurs."""

    surrogates: Annotated[int, AfterValidator(_enough_surrogates)] = setting(
        7, "ours: the most of each kind; twice as many change few verdicts. 0 = not tested", ge=0
    )


ContinualRule = Literal["exemplars", "published"]


class ContinualConfig(StageSettings):
    """How vocabularies refine and grow while a stream goes on."""

    rule: ContinualRule = setting(
        "exemplars", "ours: nearest exemplar in the encoder's space; published: radius and posterior in the latents"
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


EncoderConfig = Annotated[EncoderSettings, SerializeAsAny(), Found(ENCODERS)]
UnitsConfig = Annotated[SlowUnitsConfig | UnitAlignConfig | DirectUnitsConfig, Field(discriminator="method")]
MotifsConfig = Annotated[ComposedMotifsConfig | MotifFormerConfig | NoMotifsConfig, Field(discriminator="method")]


class RondoConfig(StageSettings):
    """All stages in the order of the flow."""

    seed: int = setting(0, "ours: one seed, passed down explicitly", ge=0, lt=2**32)
    device: Literal["auto", "cpu", "cuda"] = setting("auto", "ours: of networks only; cuda where torch finds one")
    windows: WindowsConfig = WindowsConfig()
    preprocess: PreprocessConfig = PreprocessConfig()
    encoder: EncoderConfig = Field(default_factory=lambda: ENCODERS["summary_stats"].settings())
    units: UnitsConfig = SlowUnitsConfig()
    motifs: MotifsConfig = ComposedMotifsConfig()
    evidence: EvidenceConfig = EvidenceConfig()
    continual: ContinualConfig = ContinualConfig()


def network_in(config: RondoConfig) -> str | None:
    """The first setting, in the order of the flow, that asks for a network; None where the chain is without one.

    >>> network_in(RondoConfig()), network_in(PRESETS["paper"])
    (None, "encoder.name = 'ts2vec'")
    """
    encoder, units, motifs = config.encoder, config.units, config.motifs
    if ENCODERS[encoder.name].is_network:
        return f"encoder.name = '{encoder.name}'"
    if isinstance(units, UnitAlignConfig):
        return f"units.method = '{units.method}'"
    if isinstance(units, DirectUnitsConfig) and units.mixture.latent_dim:
        return f"units.mixture.latent_dim = {units.mixture.latent_dim}"  # of an autoencoder
    if units.mixture.kind == "deep_dpm":
        return f"units.mixture.kind = '{units.mixture.kind}'"
    if isinstance(motifs, MotifFormerConfig):
        return f"motifs.method = '{motifs.method}'"
    return None


# ---------------------------------------------------------------- presets


def _as_published(kind: Literal["dp_gaussian", "deep_dpm"]) -> RondoConfig:
    """The paper's chain with one or the other mixture in units and motifs."""
    units, motifs = UnitAlignConfig(), MotifFormerConfig()
    return RondoConfig(
        windows=WindowsConfig(projection="start"),
        encoder=ENCODERS["ts2vec"].settings(),
        units=units.model_copy(update={"mixture": units.mixture.model_copy(update={"kind": kind})}),
        motifs=motifs.model_copy(update={"mixture": motifs.mixture.model_copy(update={"kind": kind})}),
    )


class _Presets(Mapping[str, RondoConfig]):
    """Made when they are asked for: their encoders are found then, in modules that import this one."""

    _made: Mapping[str, Callable[[], RondoConfig]] = MappingProxyType(
        {
            "default": RondoConfig,
            "paper": lambda: _as_published("deep_dpm"),
            "paper-variational": lambda: _as_published("dp_gaussian"),
        }
    )

    def __getitem__(self, name: str) -> RondoConfig:
        return self._made[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


PRESETS: Mapping[str, RondoConfig] = _Presets()
"""`default` is what we recommend. `paper` is what was published, with DeepDPM. `paper-variational` has a variational
Dirichlet-process mixture instead, to which the component cap and the least weight of the paper's table apply; `paper`
is nearer to the published rows (docs/results/ablation.md). Windows are automatic in all: the paper's are per data
set (`rondo bench show data_sets`)."""


def resolve(
    preset: str = "default", file: Path | None = None, overrides: Mapping[str, Any] | None = None
) -> RondoConfig:
    """The preset, changed by a TOML file, changed by dotted overrides ("units.dimension": 3)."""
    if preset not in PRESETS:
        raise SettingError(f"unknown preset {preset!r}; expected {one_of(PRESETS)}")
    return changed(PRESETS[preset], file, overrides)
