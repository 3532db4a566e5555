"""Where training did otherwise than the settings of the paper say: each such limit of ours, named when it applied."""

from __future__ import annotations

from rondo.config.settings import MotifFormerConfig, RondoConfig
from rondo.motifs.base import Motifs
from rondo.units.model import UnitModel


def training_notes(units: UnitModel, motifs: Motifs, config: RondoConfig) -> tuple[str, ...]:
    """Of a model that was just fitted; none where nothing is trained, or no limit applied."""
    notes = []
    mixture, n_epochs = config.units.mixture, units.projection.autoencoder_epochs
    if n_epochs > mixture.autoencoder_epochs:
        notes.append(
            f"units: the autoencoder was trained for {n_epochs} epochs instead of {mixture.autoencoder_epochs}, to "
            f"make {mixture.autoencoder_least_steps} steps (units.mixture.autoencoder_least_steps)"
        )
    if isinstance(config.motifs, MotifFormerConfig):
        from rondo.paper.motifs import FormerMotifs  # brings torch, which has just trained it

        n_items = motifs.former.n_items if isinstance(motifs, FormerMotifs) else 0
        if 0 < config.motifs.items_per_epoch < n_items:
            notes.append(
                f"motifs: each epoch of MotifFormer saw a sample of {config.motifs.items_per_epoch:,} of {n_items:,} "
                "distinct items (motifs.items_per_epoch)"
            )
    return tuple(notes)
