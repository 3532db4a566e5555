"""The paper's stages, as the registry finds them; each is imported, and torch with it, when it is used."""

from __future__ import annotations

from typing import Any

from rondo.config.settings import ContinualConfig, RondoConfig, WindowsConfig
from rondo.encoders.base import EncoderCost
from rondo.paper.settings import (
    DirectUnitsConfig,
    MantisConfig,
    MotifFormerConfig,
    TimeMAEConfig,
    TS2VecConfig,
    UnitAlignConfig,
)
from rondo.registry import DeclaredEncoder, Mixture, MotifStage, Preset, Rule, UnitStage, lazily

# Seconds and megabytes, measured on one core; a trained frame is one frame of one window in one step or epoch.
_TS2VEC_S_PER_TRAINED_FRAME = 5e-5
_TS2VEC_S_PER_READ_FRAME = 1.8e-5  # measured on one core
_TS2VEC_MB_PER_FRAME = 5.5  # of a window, for a batch in training
_TIME_MAE_S_PER_TRAINED_FRAME = 2.9e-5  # measured on one core
_TIME_MAE_MB_PER_FRAME = 1.4  # of a window, for a batch in training
_MANTIS_MB_PER_FRAME = 2.0  # of a window; its time was never measured


def _ts2vec_cost(config: TS2VecConfig, n_windows: int, length: int) -> EncoderCost:
    trained = config.iterations * min(config.batch_size, n_windows) * length
    seconds = _TS2VEC_S_PER_TRAINED_FRAME * trained + _TS2VEC_S_PER_READ_FRAME * n_windows * length
    return EncoderCost(seconds, _TS2VEC_MB_PER_FRAME * length)


_mantis = lazily("rondo.paper.mantis:Mantis")

TS2VEC = DeclaredEncoder(
    settings=TS2VecConfig,
    help="a network trained on the recordings, as in the paper",
    order=1,
    needs="torch",
    build=lazily("rondo.paper.ts2vec:TS2Vec"),
    cost=_ts2vec_cost,
)
TIME_MAE = DeclaredEncoder(
    settings=TimeMAEConfig,
    help="a masked autoencoder trained on the recordings",
    order=2,
    needs="torch",
    build=lazily("rondo.paper.time_mae:TimeMAE"),
    cost=lambda config, n_windows, length: EncoderCost(
        _TIME_MAE_S_PER_TRAINED_FRAME * config.epochs * n_windows * length, _TIME_MAE_MB_PER_FRAME * length
    ),
)
MANTIS: DeclaredEncoder[MantisConfig] = DeclaredEncoder(
    settings=MantisConfig,
    help="MantisV2, pretrained and frozen (needs its published weights)",
    order=3,
    needs="torch",
    build=lambda config, seed, device: _mantis(config, device),
    scaling="none",  # paper: app. MantisV2, no external normalisation
    cost=lambda config, n_windows, length: EncoderCost(None, _MANTIS_MB_PER_FRAME * length),
)


def _notes_on_units(projection: Any, config: UnitAlignConfig | DirectUnitsConfig) -> list[str]:
    mixture, n_epochs = config.mixture, projection.autoencoder.n_epochs if projection.autoencoder else 0
    if n_epochs <= mixture.autoencoder_epochs:
        return []
    return [
        f"units: the autoencoder was trained for {n_epochs} epochs instead of {mixture.autoencoder_epochs}, to "
        f"make {mixture.autoencoder_least_steps} steps (units.mixture.autoencoder_least_steps)"
    ]


UNIT_ALIGN = UnitStage(
    settings=UnitAlignConfig,
    help="UnitAlign, as in the paper",
    order=1,
    needs="torch",
    fit=lazily("rondo.paper.unit_align:fit_latents"),
    restore=lazily("rondo.paper.unit_align:UnitAlignment.restore"),
    notes=_notes_on_units,
)
DIRECT = UnitStage(
    settings=DirectUnitsConfig,
    help="the encoder's own space, the ablation w/o UnitAlign",
    order=2,
    fit=lazily("rondo.paper.ablations:fit_latents"),
    restore=lazily("rondo.paper.ablations:DirectProjection.restore"),
    notes=_notes_on_units,
)
DEEP_DPM = Mixture(name="deep_dpm", order=1, needs="torch", fit=lazily("rondo.paper.deep_dpm:fit_deep_dpm"))


def _notes_on_motifs(motifs: Any, config: MotifFormerConfig) -> list[str]:
    n_items = motifs.former.n_items
    if not 0 < config.items_per_epoch < n_items:
        return []
    return [
        f"motifs: each epoch of MotifFormer saw a sample of {config.items_per_epoch:,} of {n_items:,} "
        "distinct items (motifs.items_per_epoch)"
    ]


MOTIF_FORMER = MotifStage(
    settings=MotifFormerConfig,
    help="MotifFormer, as in the paper",
    order=1,
    needs="torch",
    fit=lazily("rondo.paper.motifs:fit_motifs"),
    restore=lazily("rondo.paper.motifs:FormerMotifs.restore"),
    notes=_notes_on_motifs,
)
PUBLISHED = Rule(name="published", order=1, begin=lazily("rondo.paper.continual:PublishedReader.begin"))


def _as_published(kind: str, items_per_epoch: int) -> RondoConfig:
    """The paper's chain with one or the other mixture in units and motifs."""
    units, motifs = UnitAlignConfig(), MotifFormerConfig(items_per_epoch=items_per_epoch)
    return RondoConfig(
        windows=WindowsConfig(projection="start"),
        encoder=TS2VecConfig(),
        units=units.model_copy(update={"mixture": units.mixture.model_copy(update={"kind": kind})}),
        motifs=motifs.model_copy(update={"mixture": motifs.mixture.model_copy(update={"kind": kind})}),
        continual=ContinualConfig(rule="published"),
    )


PAPER = Preset(name="paper", order=1, make=lambda: _as_published("deep_dpm", items_per_epoch=0))
PAPER_FAST = Preset(name="paper-fast", order=2, make=lambda: _as_published("dp_gaussian", items_per_epoch=4096))
