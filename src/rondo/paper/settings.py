"""The paper's hyper-parameter tables: every setting of its encoders, UnitAlign, MotifFormer, and the ablations.

`paper` in the source of a default means the published table or appendix named; `ours` says what the paper leaves open.
The table of the continual update is `ContinualConfig` (`rondo.config.settings`): the default chain has it too.
"""

from __future__ import annotations

from numbers import Integral
from typing import Annotated, Any, Literal

from pydantic import PlainSerializer, PlainValidator

from rondo.config.settings import FRAMES as WINDOWS
from rondo.config.settings import SECONDS, AcceptanceConfig, MixtureConfig, MotifSettings, UnitSettings, to_frames
from rondo.errors import SettingError
from rondo.registry import MIXTURES, EncoderSettings, NameIn, setting

# ---------------------------------------------------------------- encoders (app. encoders)


class TS2VecConfig(EncoderSettings):
    """TS2Vec, trained per recording."""

    name: Literal["ts2vec"] = "ts2vec"
    output_dim: int = setting(128, "paper: app. TS2Vec", ge=1)
    batch_size: int = setting(64, "paper: app. TS2Vec", ge=2)
    iterations: int = setting(100, "paper: app. TS2Vec", ge=0)
    hidden_dim: int = setting(64, "paper: app. encoders, default of the official implementation", ge=1)
    depth: int = setting(10, "paper: app. encoders, default of the official implementation", ge=1)
    learning_rate: float = setting(1e-3, "paper: app. encoders, default of the official implementation", gt=0)
    fit_share: float = setting(
        1.0, "ours: share of the stream, from its start, that training may see; 1 = all", gt=0, le=1
    )


class TimeMAEConfig(EncoderSettings):
    """Time-MAE, trained per recording."""

    name: Literal["time_mae"] = "time_mae"
    output_dim: int = setting(64, "paper: app. Time-MAE; four heads share it", ge=1, multiple_of=4)
    patch_frames: int = setting(2, "paper: app. Time-MAE", ge=1)
    encoder_layers: int = setting(4, "paper: app. Time-MAE", ge=1)
    regressor_layers: int = setting(2, "paper: app. Time-MAE", ge=1)
    dropout: float = setting(0.1, "paper: app. Time-MAE", ge=0, lt=1)
    batch_size: int = setting(64, "paper: app. Time-MAE", ge=2)
    epochs: int = setting(10, "paper: app. Time-MAE", ge=0)
    learning_rate: float = setting(1e-3, "paper: app. encoders, default of the official implementation", gt=0)
    fit_share: float = setting(
        1.0, "ours: share of the stream, from its start, that training may see; 1 = all", gt=0, le=1
    )


class MantisConfig(EncoderSettings):
    """MantisV2, pretrained and frozen."""

    name: Literal["mantis"] = "mantis"
    weights: str = setting(
        "", "ours: folder with config.json and model.safetensors of Hugging Face paris-noah/MantisV2; never downloaded"
    )
    input_frames: int = setting(512, "paper: app. MantisV2, windows resized linearly", ge=2)
    layer_index: int = setting(2, "paper: app. MantisV2, return_transf_layer=2", ge=0)


# ---------------------------------------------------------------- units (Table UnitAlign)


class PublishedMixtureConfig(MixtureConfig):
    """The mixture of the paper's chain."""

    kind: Annotated[str, NameIn(MIXTURES)] = setting(
        "dp_gaussian", "paper: DeepDPM (deep_dpm), with settings that only a variational mixture (dp_gaussian) has"
    )
    covariance: Literal["full", "diagonal"] = setting("diagonal", "ours: full ones are far worse (docs/paper.md)")
    latent_dim: int = setting(32, "paper: Table DeepDPM", ge=0)
    component_cap: int = setting(30, "paper: Table DeepDPM, 30 units / 36 motifs", ge=1)


class UnitAlignConfig(UnitSettings):
    """UnitAlign as published."""

    method: Literal["unit_align"] = "unit_align"
    bottleneck_dim: int = setting(256, "paper: Table UnitAlign", ge=1)
    output_dim: int = setting(128, "paper: Table UnitAlign", ge=1)
    alpha: float = setting(1.0, "ours: the paper gives no value; 0.1 was slower and no better", gt=0)
    standardise: bool = setting(True, "ours: each dimension of the representations, for the adaptor and L_geom")
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
    mixture: PublishedMixtureConfig = PublishedMixtureConfig()
    transition_scale: float = setting(2.0, "paper: Table UnitAlign", ge=0)
    merge: bool = setting(False, "ours: whether units that are confused with each other are one; not in the paper")


class DirectUnitsConfig(UnitSettings):
    """Ablation "w/o UnitAlign": the mixture on the encoder's own space, standardised."""

    method: Literal["direct"] = "direct"
    mixture: PublishedMixtureConfig = PublishedMixtureConfig()
    transition_scale: float = setting(2.0, "paper: Table UnitAlign", ge=0)
    merge: bool = setting(False, "ours: whether units that are confused with each other are one; not in the paper")

    def network(self) -> str | None:
        latent_dim = self.mixture.latent_dim  # of an autoencoder
        return f"mixture.latent_dim = {latent_dim}" if latent_dim else super().network()


# ---------------------------------------------------------------- motifs (Tables MotifFormer, Motif discovery)


def _checked_motif_length(value: Any) -> int | str:
    """Windows as an int, a time as it was written."""
    if isinstance(value, str) and (windows := WINDOWS.fullmatch(value)):
        value = int(windows[1])
    if isinstance(value, Integral) and not isinstance(value, bool):
        if value < 2:
            raise ValueError("must be greater than or equal to 2")
        return int(value)
    if isinstance(value, str) and SECONDS.fullmatch(value):
        return value
    raise ValueError("must be a number of windows (2 or more) or a time ('3s', '500ms', '1.5min', '2h', '1d', '1w')")


# An int to those who read it: `MotifFormerConfig.in_windows` turns times into windows before any does.
MotifLength = Annotated[int, PlainValidator(_checked_motif_length), PlainSerializer(lambda length: length)]


class MotifFormerConfig(MotifSettings):
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
        0, "paper: Table MotifFormer, all of them (0); ours: else the most distinct items, drawn for each epoch", ge=0
    )
    mask_probability: float = setting(0.15, "paper: Table MotifFormer", ge=0, lt=1)
    drop_probability: float = setting(0.10, "paper: Table MotifFormer", ge=0, lt=1)
    reconstruction_weight: float = setting(0.1, "paper: Table MotifFormer", ge=0)
    view_weight: float = setting(1.0, "paper: Table MotifFormer", ge=0)
    cross_weight: float = setting(0.5, "paper: Table MotifFormer", ge=0)
    pseudo_weight: float = setting(0.5, "paper: Table MotifFormer", ge=0)
    variance_weight: float = setting(0.01, "paper: Table MotifFormer", ge=0)
    temperature: float = setting(0.1, "paper: Table MotifFormer", gt=0)
    length_bonus: float = setting(
        0.02, "ours: of each further length of a motif; the paper leaves b(n) open (docs/paper.md)", ge=0
    )
    claim_share: float = setting(0.10, "paper: Table Motif discovery, strongest 10 %", gt=0, le=1)
    claim_of: Literal["candidates", "windows"] = setting(
        "candidates", "ours: what claim_share is a share of; the paper leaves it open (docs/paper.md)"
    )
    full_weight: bool = setting(
        False, "ours: whether weights of each length add up to its number of candidates (docs/paper.md)"
    )
    link: Literal["none", "overlap", "descriptor"] = setting(
        "overlap", "ours: when motifs of two lengths are one; the paper leaves it open (docs/paper.md)"
    )
    mixture: PublishedMixtureConfig = PublishedMixtureConfig(component_cap=36)
    acceptance: AcceptanceConfig = AcceptanceConfig()

    def in_windows(self, step_frames: int, rate: float | None) -> MotifFormerConfig:
        """The same settings with every length in windows: a time is as many windows as begin within it.

        >>> MotifFormerConfig(lengths=(2, "3s")).in_windows(step_frames=25, rate=50.0).lengths
        (2, 6)
        """
        return self.model_copy(
            update={"lengths": tuple(_windows_of(length, step_frames, rate) for length in self.lengths)}
        )


def _windows_of(length: int | str, step_frames: int, rate: float | None) -> int:
    if isinstance(length, int):
        return length
    n_windows = round(to_frames(length, rate, "motifs.lengths") / step_frames)
    if n_windows < 2:
        raise SettingError(
            f"motifs.lengths = {length!r} is shorter than 2 windows, which begin every {step_frames} frames at "
            f"{rate:g} Hz; give a longer time or a shorter windows.step"
        )
    return n_windows
