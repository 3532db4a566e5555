"""The stages of the default chain, as the registry finds them; each is imported when it is used."""

from __future__ import annotations

from rondo.config.settings import ComposedMotifsConfig, NoMotifsConfig, RondoConfig, SlowUnitsConfig
from rondo.registry import Mixture, MotifStage, Preset, Rule, UnitStage, lazily

SLOW = UnitStage(
    settings=SlowUnitsConfig,
    help="slow directions of the representations, in closed form",
    order=0,
    fit=lazily("rondo.units.fit:fit_slow_latents"),
    restore=lazily("rondo.units.slow:SlowProjection.restore"),
)
COMPOSED = MotifStage(
    settings=ComposedMotifsConfig,
    help="contexts and phrases",
    order=0,
    fit=lazily("rondo.motifs.discover:fit_composed"),
    restore=lazily("rondo.motifs.composed:ComposedMotifs.restore"),
)
NONE = MotifStage(
    settings=NoMotifsConfig,
    help="every unit is its own motif",
    order=2,
    fit=lazily("rondo.motifs.discover:fit_none"),
    restore=lazily("rondo.motifs.model:MotifModel.restore"),
)
DP_GAUSSIAN = Mixture(name="dp_gaussian", order=0, fit=lazily("rondo.units.mixture:fit_mixture"))
EXEMPLARS = Rule(name="exemplars", order=0, begin=lazily("rondo.continual.updater:Updater"))
DEFAULT = Preset(name="default", order=0, make=RondoConfig)
