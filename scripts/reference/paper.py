"""Sections of docs/paper.md: published values next to ours, departures, and readings of what the paper leaves open.

What the paper states and how it is read stands in `paper.toml`; values and sources are those of the preset `paper`.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rondo.config.constants import learner_constants
from rondo.config.settings import PRESETS, resolve
from scripts.reference.markup import code, table
from scripts.reference.settings import shown

FACTS = tomllib.loads(Path(__file__).with_name("paper.toml").read_text(encoding="utf-8"))
_SECTIONS = ("encoder", "units", "motifs", "continual")  # of which the paper's chain consists


def hyper_parameters() -> str:
    rows = [
        (row["component"], row["setting"], row["value"], ", ".join(_values(row)), _verdict(row))
        for row in FACTS["published"]
    ]
    return table(("component", "setting", "paper", "preset `paper`", "equal"), rows)


def departures() -> str:
    rows = [
        (row["point"], row["paper"], _with_values(row, row["reason"]), row["effect"])
        for row in FACTS["departure"]
        if not row["settings"] or differing(row["settings"], row.get("encoder"))
    ]
    return table(("point", "paper", "here, and why", "measured effect"), rows)


def readings() -> str:
    rows = [(row["point"], _with_values(row, row["reading"]), row.get("effect", "")) for row in FACTS["reading"]]
    return table(("left open", "reading", "F1@50 under other readings, MoCap / ActRecTut"), rows)


def differing(published: Mapping[str, Any], encoder: str | None = None) -> list[str]:
    """The settings whose values are not the published ones."""
    return [name for name, value in published.items() if _plain(value_of(name, encoder)) != value]


def value_of(name: str, encoder: str | None = None) -> Any:
    """The value in the preset `paper`, or with another encoder; of a constant, as it stands in its module.

    >>> value_of("units.bottleneck_dim"), value_of("encoder.epochs", "time_mae")
    (256, 10)
    """
    if name.startswith("rondo."):
        return _constant(name)
    config: Any = resolve("paper", overrides={"encoder.name": encoder} if encoder else {})
    for part in name.split("."):
        config = getattr(config, part)
    return config


def unlisted() -> list[str]:
    """Settings of the paper's chain whose source begins with `ours` and that no row of `paper.toml` names."""
    named = {name.partition(".")[2] for rows in FACTS.values() for row in rows for name in row.get("settings", ())}
    return [
        name
        for section in _SECTIONS
        for name, source in _described(getattr(PRESETS["paper"], section), f"{section}.")
        if source.startswith("ours: ") and name.partition(".")[2] not in named
    ]


def _described(section: BaseModel, prefix: str) -> Iterator[tuple[str, str]]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            yield from _described(value, f"{prefix}{name}.")
        elif field.description:
            yield prefix + name, field.description


def _values(row: Mapping[str, Any]) -> list[str]:
    """Code of `name = value`, the names of constants without their package."""
    return [
        code(f"{name.removeprefix('rondo.paper.')} = {shown(value_of(name, row.get('encoder')))}")
        for name in row.get("settings", ())
    ]


def _with_values(row: Mapping[str, Any], text: str) -> str:
    values = ", ".join(_values(row))
    return f"{values}. {text}" if values else text


def _verdict(row: Mapping[str, Any]) -> str:
    return "[no](#departures)" if differing(row["settings"], row.get("encoder")) else "yes"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _constant(dotted: str) -> Any:
    for constant in learner_constants(("paper", "units")):
        names = [f"{constant.module}.{name}" for name in constant.name.split(", ")]
        if dotted in names:
            value = ast.literal_eval(constant.value)
            return value[names.index(dotted)] if len(names) > 1 else value
    raise KeyError(dotted)
