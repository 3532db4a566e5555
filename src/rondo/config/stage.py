"""What every model of settings shares: frozen, no unknown keys, each default with where it comes from."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")


class StageSettings(BaseModel):
    """Settings of one stage."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def setting(default: T, source: str, **constraints: Any) -> T:
    """A default together with where it comes from; `rondo config show` prints both."""
    field: T = Field(default=default, description=source, **constraints)
    return field
