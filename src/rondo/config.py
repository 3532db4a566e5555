"""Every setting of Rondo: one frozen model per stage, each default with the place it comes from.

`paper` means the published hyper-parameter table or the section named; `ours` names the measurement that chose it.
A stage that can be done in several ways (encoder, units, motifs) is a tagged union: a setting of a way that is not
chosen cannot be written, so no setting silently does nothing. Unknown keys are refused with "did you mean".

>>> config = resolve(overrides={"units.dimension": 3, "seed": 7})
>>> config.units.dimension, config.seed
(3, 7)
>>> resolve(overrides={"units.dimention": 3})
Traceback (most recent call last):
    ...
rondo.errors.SettingError: unknown setting 'units.dimention'; did you mean 'units.dimension'?
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from rondo.errors import SettingError

T = TypeVar("T")


def _setting(default: T, source: str, **constraints: Any) -> T:
    """A default together with where it comes from; `rondo config show` prints both."""
    field: T = Field(default=default, description=source, **constraints)
    return field


# ---------------------------------------------------------------- durations

_SECONDS = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(s|ms|min)\s*$")
_UNIT_S = {"s": 1.0, "ms": 1e-3, "min": 60.0}


def _checked_duration(value: int | str) -> int | str:
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    if isinstance(value, int):
        if value < 1:
            raise ValueError(f"a duration must be at least 1 frame, got {value}")
    elif value != "auto" and not _SECONDS.match(value):
        raise ValueError(f"a duration is a number of frames (256), seconds ('2s', '500ms') or 'auto', got '{value}'")
    return value


Duration = Annotated[int | str, AfterValidator(_checked_duration)]


def to_frames(duration: int | str, rate: float | None, setting: str) -> int:
    """Frames of a duration that is not 'auto'; seconds need a sampling rate.

    >>> to_frames("2s", 50.0, "windows.length"), to_frames(256, None, "windows.length")
    (100, 256)
    """
    if isinstance(duration, int):
        return duration
    match = _SECONDS.match(duration)
    if match is None:
        raise SettingError(f"{setting} = '{duration}' has no length in frames; give frames (256) or seconds ('2s')")
    if rate is None:
        raise SettingError(
            f"{setting} = '{duration}' is in seconds but the sampling rate is unknown; give --rate HZ, or frames instead"
        )
    frames = round(float(match.group(1)) * _UNIT_S[match.group(2)] * rate)
    if frames < 1:
        raise SettingError(f"{setting} = '{duration}' is shorter than one frame at {rate:g} Hz; give a longer duration")
    return frames


# ---------------------------------------------------------------- the stages


class _Stage(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WindowsConfig(_Stage):
    """STREAM -> WINDOWS."""

    length: Duration = _setting("auto", "ours: suggested from the data; the paper sets it per data set (Table preproc)")
    step: Duration = _setting("auto", "ours: a quarter of the window; the paper sets it per data set (Table preproc)")
    projection: Literal["vote", "centre", "start"] = _setting(
        "vote", "ours: oracle windows reach MoF 98.7 on MoCap with vote, 89.8 with start (docs/windows.md)"
    )


class PreprocessConfig(_Stage):
    """Gaps, scaling and channels, before any window is cut."""

    channels: tuple[str, ...] = _setting((), "all channels; the paper selects some per data set (Table preproc)")
    scaling: Literal["channel", "global", "none"] = _setting(
        "channel", "paper: app. Time-MAE standardises each channel; unstated for the other encoders"
    )
    statistics: Literal["recording", "dataset"] = _setting(
        "recording", "paper: app. baselines standardise within each recording"
    )
    pca_components: int = _setting(0, "0 = off; paper: Table preproc uses PCA for high-dimensional sets", ge=0)
    missing: Literal["interpolate", "refuse"] = _setting("interpolate", "ours: the paper does not say")
    max_gap: Duration = _setting(
        "auto", "ours: 0.5 s, or 25 frames where the rate is unknown; longer gaps are boundaries no window crosses"
    )


class SummaryStatsConfig(_Stage):
    """Training-free window statistics."""

    name: Literal["summary_stats"] = "summary_stats"
    correlation_floor: float = _setting(0.1, "ours: keeps silent channels quiet in the correlations", gt=0)
    clip: float = _setting(5.0, "ours: standardised statistics beyond this many deviations are cut", gt=0)


class TS2VecConfig(_Stage):
    """TS2Vec, trained per recording."""

    name: Literal["ts2vec"] = "ts2vec"
    output_dim: int = _setting(128, "paper: app. TS2Vec", ge=1)
    batch_size: int = _setting(64, "paper: app. TS2Vec", ge=2)
    iterations: int = _setting(100, "paper: app. TS2Vec", ge=0)


class TimeMAEConfig(_Stage):
    """Time-MAE, trained per recording."""

    name: Literal["time_mae"] = "time_mae"
    output_dim: int = _setting(64, "paper: app. Time-MAE", ge=1)
    patch_frames: int = _setting(2, "paper: app. Time-MAE", ge=1)
    encoder_layers: int = _setting(4, "paper: app. Time-MAE", ge=1)
    regressor_layers: int = _setting(2, "paper: app. Time-MAE", ge=1)
    dropout: float = _setting(0.1, "paper: app. Time-MAE", ge=0, lt=1)
    batch_size: int = _setting(64, "paper: app. Time-MAE", ge=2)
    epochs: int = _setting(10, "paper: app. Time-MAE", ge=0)


class MantisConfig(_Stage):
    """MantisV2, pretrained and frozen."""

    name: Literal["mantis"] = "mantis"
    output_dim: int = _setting(512, "paper: app. MantisV2", ge=1)
    input_frames: int = _setting(512, "paper: app. MantisV2, windows resized linearly", ge=1)
    layer_index: int = _setting(2, "paper: app. MantisV2, return_transf_layer=2", ge=0)


class MixtureConfig(_Stage):
    """The Dirichlet-process mixture ("DeepDPM" in the paper's table)."""

    covariance: Literal["full", "diagonal", "spherical"] = _setting("full", "ours: on a 4-d slow projection (docs/units.md)")
    latent_dim: int = _setting(0, "ours: 0 = no autoencoder in front; paper: Table DeepDPM has 32", ge=0)
    autoencoder_epochs: int = _setting(10, "paper: Table DeepDPM", ge=1)
    concentration: float = _setting(1.0, "paper: Table DeepDPM", gt=0)
    component_cap: int = _setting(20, "ours: no effect above it on the slow projection; paper: 30 units / 36 motifs", ge=1)
    min_weight: float = _setting(0.01, "paper: Table DeepDPM", ge=0, lt=1)
    max_iterations: int = _setting(500, "ours: the bound is flat long before", ge=1)
    tolerance: float = _setting(1e-6, "ours: change of the bound per window at which fitting stops", gt=0)


class SlowUnitsConfig(_Stage):
    """Units in a ridge-regularised slow projection: closed form, no training."""

    method: Literal["slow"] = "slow"
    pca_dim: int = _setting(30, "ours: recurrence study, step 2", ge=1)
    dimension: int = _setting(4, "ours: recurrence study; 3 favours few long units, 8 favours MoF and F1@50", ge=1)
    ridge: float = _setting(0.1, "ours: recurrence study; without it some direction is slow by accident", ge=0)
    mixture: MixtureConfig = MixtureConfig()
    transition_scale: float = _setting(2.0, "paper: Table UnitAlign, Viterbi transition scale", ge=0)


class UnitAlignConfig(_Stage):
    """UnitAlign as published."""

    method: Literal["unit_align"] = "unit_align"
    bottleneck_dim: int = _setting(256, "paper: Table UnitAlign", ge=1)
    output_dim: int = _setting(128, "paper: Table UnitAlign", ge=1)
    alpha: float = _setting(1.0, "ours: the paper gives no value; 0.1 was slower and no better", gt=0)
    init_epochs: int = _setting(20, "paper: Table UnitAlign", ge=0)
    init_geometry_weight: float = _setting(0.2, "paper: Table UnitAlign", ge=0)
    init_vic_weight: float = _setting(0.05, "paper: Table UnitAlign", ge=0)
    refine_epochs: int = _setting(3, "paper: Table UnitAlign", ge=0)
    max_rounds: int = _setting(20, "paper: Table UnitAlign", ge=0)
    contrast_weight: float = _setting(1.0, "paper: Table UnitAlign", ge=0)
    variance_weight: float = _setting(1.0, "paper: Table UnitAlign", ge=0)
    covariance_weight: float = _setting(0.04, "paper: Table UnitAlign", ge=0)
    geometry_weight: float = _setting(0.25, "paper: Table UnitAlign", ge=0)
    temperature: float = _setting(0.1, "paper: Table UnitAlign", gt=0)
    stable_ari: float = _setting(0.995, "paper: Table UnitAlign", gt=0, le=1)
    patience: int = _setting(2, "paper: Table UnitAlign", ge=1)
    mixture: MixtureConfig = MixtureConfig(covariance="diagonal", latent_dim=32, component_cap=30)
    transition_scale: float = _setting(2.0, "paper: Table UnitAlign", ge=0)


class AcceptanceConfig(_Stage):
    """Which windows and subsequences an entry accepts."""

    radius_quantile: float = _setting(0.95, "paper: Table Motif discovery, distance threshold P95", gt=0, le=1)
    posterior_quantile: float = _setting(0.05, "paper: Table Motif discovery, posterior threshold P5", ge=0, lt=1)


class ContextMotifsConfig(_Stage):
    """Motifs as what the units around a window have in common: a first, training-free motif stage."""

    method: Literal["context"] = "context"
    context_windows: int = _setting(10, "ours: the longest length of the paper's Table MotifFormer", ge=1)
    dimension: int = _setting(4, "ours: as for units", ge=1)
    ridge: float = _setting(0.1, "ours: as for units", ge=0)
    mixture: MixtureConfig = MixtureConfig()
    transition_scale: float = _setting(2.0, "ours: as for units", ge=0)


class MotifFormerConfig(_Stage):
    """MotifFormer as published."""

    method: Literal["motif_former"] = "motif_former"
    lengths: tuple[int, ...] = _setting(tuple(range(2, 11)), "paper: Table MotifFormer, 2-10 windows")
    layers: int = _setting(1, "paper: Table MotifFormer", ge=1)
    model_dim: int = _setting(128, "paper: Table MotifFormer", ge=1)
    heads: int = _setting(4, "paper: Table MotifFormer", ge=1)
    epochs: int = _setting(20, "paper: Table MotifFormer", ge=0)
    mask_probability: float = _setting(0.15, "paper: Table MotifFormer", ge=0, lt=1)
    drop_probability: float = _setting(0.10, "paper: Table MotifFormer", ge=0, lt=1)
    reconstruction_weight: float = _setting(0.1, "paper: Table MotifFormer", ge=0)
    view_weight: float = _setting(1.0, "paper: Table MotifFormer", ge=0)
    cross_weight: float = _setting(0.5, "paper: Table MotifFormer", ge=0)
    pseudo_weight: float = _setting(0.5, "paper: Table MotifFormer", ge=0)
    variance_weight: float = _setting(0.01, "paper: Table MotifFormer", ge=0)
    temperature: float = _setting(0.1, "paper: Table MotifFormer", gt=0)
    claim_share: float = _setting(0.10, "paper: Table Motif discovery, strongest 10 %", gt=0, le=1)
    link: Literal["none", "overlap", "descriptor"] = _setting("none", "paper: silent; none matches its SegRatio")
    mixture: MixtureConfig = MixtureConfig(covariance="diagonal", latent_dim=32, component_cap=36)
    acceptance: AcceptanceConfig = AcceptanceConfig()


class NoMotifsConfig(_Stage):
    """Ablation "w/o MotifFormer": every unit is its own motif."""

    method: Literal["none"] = "none"


class ContinualConfig(_Stage):
    """How vocabularies refine and grow while a stream goes on."""

    min_support: int = _setting(8, "paper: Table Continual update, max(8, Q0.25)", ge=1)
    support_quantile: float = _setting(0.25, "paper: Table Continual update", ge=0, le=1)
    merge_radius_factor: float = _setting(1.25, "paper: Table Continual update", gt=0)
    micro_cluster_quantile: float = _setting(0.95, "paper: Table Continual update, bootstrap NN-distance P95", gt=0, le=1)


EncoderConfig = Annotated[
    SummaryStatsConfig | TS2VecConfig | TimeMAEConfig | MantisConfig, Field(discriminator="name")
]
UnitsConfig = Annotated[SlowUnitsConfig | UnitAlignConfig, Field(discriminator="method")]
MotifsConfig = Annotated[ContextMotifsConfig | MotifFormerConfig | NoMotifsConfig, Field(discriminator="method")]


class RondoConfig(_Stage):
    """All stages in the order of the flow."""

    seed: int = _setting(0, "one seed, passed down explicitly", ge=0)
    device: Literal["auto", "cpu", "cuda"] = _setting("auto", "cuda where torch finds one")
    windows: WindowsConfig = WindowsConfig()
    preprocess: PreprocessConfig = PreprocessConfig()
    encoder: EncoderConfig = SummaryStatsConfig()
    units: UnitsConfig = SlowUnitsConfig()
    motifs: MotifsConfig = ContextMotifsConfig()
    continual: ContinualConfig = ContinualConfig()


# ---------------------------------------------------------------- presets, overrides, files

PRESETS: Mapping[str, RondoConfig] = {
    "default": RondoConfig(),
    "paper": RondoConfig(
        windows=WindowsConfig(projection="start"),
        encoder=TS2VecConfig(),
        units=UnitAlignConfig(),
        motifs=MotifFormerConfig(),
    ),
}
"""`default` is what we recommend; `paper` is what was published."""

_TAGS = {"encoder": "name", "units": "method", "motifs": "method"}


def resolve(
    preset: str = "default", file: Path | None = None, overrides: Mapping[str, Any] | None = None
) -> RondoConfig:
    """The preset, changed by a TOML file, changed by dotted overrides ("units.dimension": 3)."""
    if preset not in PRESETS:
        raise SettingError(f"unknown preset '{preset}'; expected {_listed(PRESETS)}")
    settings = PRESETS[preset].model_dump()
    if file is not None:
        settings = _merged(settings, _read_toml(file))
    for path, value in (overrides or {}).items():
        settings = _merged(settings, _nested(path, value))
    try:
        return RondoConfig.model_validate(settings)
    except ValidationError as error:
        where = f"{file}: " if file is not None else ""
        raise SettingError(where + _one_line(error)) from None


def parse_override(text: str) -> tuple[str, Any]:
    """One `--set units.alpha=1.0`; values are TOML, bare words are strings.

    >>> parse_override("units.method=slow"), parse_override("motifs.lengths=[2, 3]")
    (('units.method', 'slow'), ('motifs.lengths', [2, 3]))
    """
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise SettingError(f"--set expects section.name=value, got '{text}'")
    try:
        return path.strip(), tomllib.loads(f"value = {value.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        return path.strip(), value.strip()


def to_toml(config: RondoConfig) -> str:
    """The configuration as TOML, each setting followed by its source."""
    return "\n".join(_toml_lines(config, "")) + "\n"


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{path}: cannot read the configuration ({error.strerror}); check --config") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path}: not a TOML file ({error}); `rondo config init` writes one to start from") from None


def _nested(path: str, value: Any) -> dict[str, Any]:
    for name in reversed(path.split(".")):
        value = {name: value}
    nested: dict[str, Any] = value
    return nested


def _merged(base: Mapping[str, Any], change: Mapping[str, Any], section: str = "") -> dict[str, Any]:
    """`base` with `change` laid over it; choosing another way of a stage drops the settings of the old way."""
    tag = _TAGS.get(section)
    if tag is not None and change.get(tag, base.get(tag)) != base.get(tag):
        base = {}
    merged = dict(base)
    for name, value in change.items():
        old = merged.get(name)
        merged[name] = _merged(old, value, name) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _one_line(error: ValidationError) -> str:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    if path and path[0] in _TAGS and len(path) > 1:
        del path[1]  # pydantic names the chosen way of the stage here; users never write it
    name = ".".join(path)
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, list(_setting_names(error, path)), n=1, cutoff=0.6)
        return f"unknown setting '{name}'" + (f"; did you mean '{near[0]}'?" if near else "; see `rondo config show`")
    if first["type"] == "union_tag_invalid":
        tag = first["ctx"]["discriminator"].strip("'")
        return f"{name}.{tag} must be one of {first['ctx']['expected_tags']}, got '{first['ctx']['tag']}'"
    reason = first["msg"].removeprefix("Value error, ")
    return f"setting '{name}': {reason[0].lower()}{reason[1:]}, got {first['input']!r}"


def _setting_names(error: ValidationError, path: list[str]) -> Iterator[str]:
    """Dotted names that would have been valid where the unknown one was written."""
    section = path[0]
    models: list[type[BaseModel]] = [RondoConfig]
    if len(path) > 1 and section in RondoConfig.model_fields:
        annotation = RondoConfig.model_fields[section].annotation
        ways = [annotation] if isinstance(annotation, type) else list(get_args(annotation))
        models = [way for way in ways if isinstance(way, type) and issubclass(way, BaseModel)]
    prefix = f"{section}." if models != [RondoConfig] else ""
    for model in models:
        for name, field in model.model_fields.items():
            yield prefix + name
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                yield from (f"{prefix}{name}.{inner}" for inner in field.annotation.model_fields)


def _toml_lines(stage: BaseModel, prefix: str) -> Iterator[str]:
    sections: list[tuple[str, BaseModel]] = []
    for name, field in type(stage).model_fields.items():
        value = getattr(stage, name)
        if isinstance(value, BaseModel):
            sections.append((name, value))
            continue
        line = f"{name} = {_toml_value(value)}"
        yield f"{line:<32}  # {field.description}" if field.description else line
    for name, section in sections:
        yield ""
        about = (type(section).__doc__ or "").strip().splitlines()[0]
        yield f"[{prefix}{name}]  # {about}"
        yield from _toml_lines(section, f"{prefix}{name}.")


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_toml_value(item) for item in value) + "]"
    return repr(value)


def _listed(names: Mapping[str, Any]) -> str:
    return " or ".join(f"'{name}'" for name in names)
