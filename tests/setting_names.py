"""What several tests of settings need: the ways of each stage, and every single setting by its dotted name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from rondo.config.settings import RondoConfig, resolve
from rondo.registry import ENCODERS

WAYS = {
    "encoder.name": tuple(ENCODERS),
    "units.method": ("slow", "unit_align", "direct"),
    "motifs.method": ("composed", "motif_former", "none"),
}


def leaves(stage: BaseModel, prefix: str = "") -> Iterator[tuple[str, FieldInfo, Any]]:
    """Dotted name, declaration and value of every single setting."""
    for name, field in type(stage).model_fields.items():
        value = getattr(stage, name)
        if isinstance(value, BaseModel):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, field, value


def every_way() -> Iterator[RondoConfig]:
    """Configurations that together hold every setting there is."""
    for tag, ways in WAYS.items():
        for way in ways:
            yield resolve(overrides={tag: way})
