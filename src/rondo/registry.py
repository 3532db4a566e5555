"""Parts that are found by name: encoders, unit and motif stages, mixtures, continual rules, presets, file formats.

A part declares itself by one value at the top of a module. A registry looks for values of one type in the modules of
its table; another distribution adds its own by an entry point, whose value is the declaration:

    [project.entry-points."rondo.encoders"]
    spectrum = "my_package.spectrum:ENCODER"

Nothing is imported before the first lookup, so that the registry may stand below everything it looks into. The stages
of the default chain are declared in `rondo/model/stages.py`, those of the RONDO paper in `rondo/paper/stages.py`.
Neither file imports what it declares until a stage is used, so that torch is loaded only for a network.

All settings are frozen, take no unknown keys, and name the source of each default.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import EntryPoints, entry_points
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from rondo.errors import RondoWarning
from rondo.wording import did_you_mean, one_of

if TYPE_CHECKING:
    from rondo.arrays import Tensors
    from rondo.config.settings import RondoConfig
    from rondo.continual.reading import Reader
    from rondo.encoders.base import Encoder, EncoderCost
    from rondo.motifs.base import Motifs
    from rondo.motifs.discover import MotifInput
    from rondo.units.fit import Latents, UnitInput
    from rondo.units.mixture import FittedMixture
    from rondo.units.model import UnitProjection

T = TypeVar("T")


class StageSettings(BaseModel):
    """Settings of one stage."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())  # model_dim

    def network(self) -> str | None:
        """The setting that asks for a network, as 'name = value'; None where none does."""
        return None


class EncoderSettings(StageSettings):
    """Settings of an encoder; a subclass gives `name` its only value, by which it is chosen."""

    name: str = ""


def setting(default: T, source: str, **constraints: Any) -> T:
    """A default together with where it comes from; `rondo config show` prints both."""
    field: T = Field(default=default, description=source, **constraints)
    return field


# ---------------------------------------------------------------- what a part declares


class Declaration(Protocol):
    """What a registry needs to know of a part: its name, and its position in lists."""

    @property
    def name(self) -> str: ...

    @property
    def order(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One way to run a stage that has several; the default of `name` (or `method`) in its settings is its name."""

    tag: ClassVar[str] = "name"  # the setting that chooses a stage
    settings: type[StageSettings]
    help: str
    order: int = 100
    needs: str | None = None  # "torch" where it trains or runs a network (extra `nets`)

    @property
    def name(self) -> str:
        return str(self.settings.model_fields[self.tag].default)


S = TypeVar("S", bound=EncoderSettings)


@dataclass(frozen=True, kw_only=True)
class DeclaredEncoder(Stage, Generic[S]):
    """The declaration of an encoder: one value at the top of one module.

    The module is imported whenever a configuration is made; a large library belongs into `build`.
    """

    build: Callable[[S, int, str], Encoder]  # from settings, a seed and a device ("cpu", "cuda")
    cost: Callable[[S, int, int], EncoderCost]  # from settings, the number of windows and their length in frames
    scaling: Literal["channel", "none"] | None = None  # `preprocess.scaling` with it, where none is given


def _no_notes(fitted: Any, settings: Any) -> list[str]:
    return []


@dataclass(frozen=True, kw_only=True)
class UnitStage(Stage):
    """Representations -> latents, to which the mixture of units is fitted.

    `restore` gives back the projection and refuses tensors that do not fit; `notes` names each limit of ours that
    applied in training.
    """

    tag: ClassVar[str] = "method"
    fit: Callable[[UnitInput, Any], Latents]
    restore: Callable[[Tensors, Any], UnitProjection]
    notes: Callable[[Any, Any], list[str]] = _no_notes


@dataclass(frozen=True, kw_only=True)
class MotifStage(Stage):
    """Unit timelines -> motifs; `restore` refuses tensors that do not fit, `notes` as in `UnitStage`."""

    tag: ClassVar[str] = "method"
    fit: Callable[[MotifInput, Any], Motifs]
    restore: Callable[[Tensors, Any], Motifs]
    notes: Callable[[Any, Any], list[str]] = _no_notes


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """A kind of mixture: latents, settings, rng, observations per window, device, first components -> FittedMixture."""

    name: str
    fit: Callable[..., FittedMixture]
    order: int = 100
    needs: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A continual rule: `begin(units, motifs, config, grid, aligned)` gives the reader of a stream that learns."""

    name: str
    begin: Callable[..., Reader]
    order: int = 100


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A complete configuration under one name."""

    name: str
    make: Callable[[], RondoConfig]
    order: int = 100


def lazily(target: str) -> Callable[..., Any]:
    """The function 'module:name', imported when it is called."""
    module, _, path = target.partition(":")

    def call(*args: Any, **kwargs: Any) -> Any:
        return attrgetter(path)(importlib.import_module(module))(*args, **kwargs)

    return call


# ---------------------------------------------------------------- finding parts

D = TypeVar("D", bound=Declaration)


class Registry(Mapping[str, D], Generic[D]):
    """Every declaration of one type by its name, in the order of lists."""

    def __init__(self, kind: type[D], packages: tuple[str, ...], group: str) -> None:
        """Search modules, and packages but not those inside them; other distributions declare in the `group`."""
        self.kind, self.packages, self.group = kind, packages, group

    def __getitem__(self, name: str) -> D:
        return self._declared[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)

    @cached_property
    def _declared(self) -> dict[str, D]:
        parts: list[tuple[str, D]] = []
        for package in self.packages:
            path = getattr(importlib.import_module(package), "__path__", None)
            names = [package]
            if path is not None:
                names = sorted(f"{package}.{module.name}" for module in pkgutil.iter_modules(path) if not module.ispkg)
            for name in names:
                values = vars(importlib.import_module(name)).values()
                parts += [(name, value) for value in values if isinstance(value, self.kind)]
        declared: dict[str, D] = {}
        for place, part in (*parts, *self._in_entry_points()):
            if declared.setdefault(part.name, part) is not part:
                _warn(f"{place}: there is a '{part.name}' of {self.group} already; this one is not used, rename it")
        return dict(sorted(declared.items(), key=lambda item: (item[1].order, item[0])))

    def _in_entry_points(self) -> Iterator[tuple[str, D]]:
        """A distribution that is broken is named and left out; the others stay."""
        for point in sorted(_installed(tuple(sys.path)).select(group=self.group)):
            place = f"entry point {self.group}: {point.name} = {point.value}"
            try:
                value = point.load()
            except Exception as error:  # noqa: BLE001  # whatever the code of others raises while it is imported
                _warn(f"{place}: cannot be loaded ({type(error).__name__}: {error}); update or remove that package")
                continue
            if not isinstance(value, self.kind):
                _warn(f"{place}: expected a {self.kind.__name__}, found {type(value).__name__}; it is not used")
                continue
            yield place, value


@lru_cache(maxsize=1)
def _installed(path: tuple[str, ...]) -> EntryPoints:
    """What all distributions on a path declare: every look at them reads a file of each."""
    return entry_points()  # type: ignore[return-value, unused-ignore]


def _warn(message: str) -> None:
    warnings.warn(" ".join(message.split()), RondoWarning, stacklevel=2)


_STAGES = ("rondo.model.stages", "rondo.paper.stages")
ENCODERS: Registry[DeclaredEncoder[Any]] = Registry(
    DeclaredEncoder, ("rondo.encoders", "rondo.paper.stages"), "rondo.encoders"
)
UNITS = Registry(UnitStage, _STAGES, "rondo.units")
MOTIFS = Registry(MotifStage, _STAGES, "rondo.motifs")
MIXTURES = Registry(Mixture, _STAGES, "rondo.mixtures")
RULES = Registry(Rule, _STAGES, "rondo.rules")
PRESETS = Registry(Preset, _STAGES, "rondo.presets")


# ---------------------------------------------------------------- parts in a configuration


@dataclass(frozen=True)
class OneOf:
    """Marks a section of a configuration that a registry offers several stages for."""

    registry: Registry[Any]

    @property
    def tag(self) -> str:
        """The setting that chooses a stage."""
        return str(self.registry.kind.tag)

    def choices(self) -> Mapping[str, type[StageSettings]]:
        """The settings of each stage, by its name."""
        return {name: stage.settings for name, stage in self.registry.items()}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._as_settings, handler(source))

    def _as_settings(self, value: Any) -> Any:
        """Plain values as the settings of the stage that they name; anything else is left to pydantic."""
        if not isinstance(value, Mapping):
            return value
        choices = self.choices()
        chosen = value.get(self.tag)
        if not isinstance(chosen, str) or chosen not in choices:
            hint = did_you_mean(str(chosen), choices, "perhaps the package that has it is not installed")
            raise ValueError(f"must have {self.tag} = {one_of(choices)}; {hint}")
        return choices[chosen].model_validate(value)


@dataclass(frozen=True)
class NameIn:
    """Marks a setting whose value is the name of a part in a registry."""

    registry: Registry[Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._known, handler(source))

    def _known(self, value: str) -> str:
        if value not in self.registry:
            raise ValueError(f"must be {one_of(self.registry)}")
        return value
