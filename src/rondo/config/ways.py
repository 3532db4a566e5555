"""Ways of doing a stage that are found, not listed: today those of the encoder (`rondo.encoders`, one file each).

A configuration knows of a way only its settings. They are looked up when a configuration is made, never while modules
are imported: the file that declares a way may import every part of Rondo below it, this one included.

All settings are frozen, take no unknown keys, and name where each default comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from rondo.registry import Registry
from rondo.wording import did_you_mean, one_of

T = TypeVar("T")


class StageSettings(BaseModel):
    """Settings of one stage."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def setting(default: T, source: str, **constraints: Any) -> T:
    """A default together with where it comes from; `rondo config show` prints both."""
    field: T = Field(default=default, description=source, **constraints)
    return field


class EncoderSettings(StageSettings):
    """Settings of an encoder; a subclass gives `name` its only value, by which it is chosen."""

    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way of doing a stage.

    Parameters
    ----------
    settings
        Its settings; the default of their `name` is the name of the way.
    help
        A few words for people who choose.
    order
        Its place in lists.
    is_network
        Whether it needs torch (the extra `nets`) and runs on a GPU where there is one.
    """

    settings: type[EncoderSettings]
    help: str
    order: int = 100
    is_network: bool = False

    @property
    def name(self) -> str:
        return str(self.settings.model_fields["name"].default)


ENCODERS: Registry[Way] = Registry(Way, ("rondo.encoders", "rondo.paper.encoders"), "rondo.encoders")


@dataclass(frozen=True)
class Found:
    """Marks the field of a section whose ways a registry finds; `tag` is the setting that chooses one."""

    registry: Registry[Way]
    tag: str = "name"

    def ways(self) -> Mapping[str, type[BaseModel]]:
        """The settings of each way, by its name."""
        return {name: way.settings for name, way in self.registry.items()}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._as_settings, handler(source))

    def _as_settings(self, value: Any) -> Any:
        """Plain values as the settings of the way that they name; anything else is left to pydantic."""
        if not isinstance(value, Mapping):
            return value
        ways = self.ways()
        chosen = value.get(self.tag)
        if not isinstance(chosen, str) or chosen not in ways:
            hint = did_you_mean(str(chosen), ways, "perhaps the package that has it is not installed")
            raise ValueError(f"must have {self.tag} = {one_of(ways)}; {hint}")
        return ways[chosen].model_validate(value)
