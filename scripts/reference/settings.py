"""Every setting with its default, what it may be, and where the default comes from."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from rondo.config.overrides import choices_of
from rondo.config.settings import PRESETS, PreprocessConfig, RondoConfig
from rondo.registry import NameIn
from rondo_bench.baselines.baseline import baseline_names, build_baseline
from scripts.reference.markup import cell, code, page, table


def settings_page() -> str:
    listed: set[type[BaseModel]] = {PreprocessConfig}
    return page(
        "# Settings",
        "Every setting, its default, and where the default comes from: *paper* is the RONDO paper, with the table or "
        "appendix; *ours* names the measurement or the reason. `rondo config show` prints the same as TOML.",
        "```\nrondo discover walk.csv --out run --set units.dimension=3 --set windows.length=2s\n"
        "rondo config init rondo.toml            # all of them in a file, for --config\n```",
        'In Python: `Rondo(window="2s", settings={"units.dimension": 3})`. A setting of a way that is not chosen is '
        "refused, and so is a name that does not exist.",
        "Lengths (`windows.length`, `windows.step`, `preprocess.max_gap`) are frames (`256`), times (`2s`, `500ms`, "
        "`1.5min`) or `auto`.",
        _settings_table(RondoConfig(), ""),
        *_sections(RondoConfig(), listed),
        "## Presets",
        "`--preset paper` is the paper's static method. It differs from `default` in:",
        "\n".join(f"- `{name} = {value}`" for name, value in _paper_changes()),
        "and the settings that belong to these ways, as above.",
        "## Baselines",
        "With `rondo discover --method NAME` these take the place of those above; *original* is the code that the "
        "authors of a method have released. See [other methods](../benchmark.md#other-methods).",
        *_baselines(listed),
    )


def _baselines(listed: set[type[BaseModel]]) -> Iterator[str]:
    for name in baseline_names():
        yield f"### {name}"
        yield from _tables(build_baseline(name).config, "", listed)


def _sections(config: BaseModel, listed: set[type[BaseModel]]) -> Iterator[str]:
    for name, field in type(config).model_fields.items():
        tag, ways = choices_of(field)
        for chosen, way in ways.items():
            yield f"## {name}" + (f": {tag} = {chosen}" if tag else "")
            yield inspect.cleandoc(way.__doc__ or "")
            if tag and isinstance(getattr(config, name), way):
                yield f"The default of `{name}.{tag}`."
            yield from _tables(way(), f"{name}.", listed)


def _tables(section: BaseModel, prefix: str, listed: set[type[BaseModel]]) -> Iterator[str]:
    """The settings of a section; a section within it in full the first time, then only where its defaults differ."""
    if any(field.description for field in type(section).model_fields.values()):
        yield _settings_table(section, prefix)
    for name, inner in section:
        if not isinstance(inner, BaseModel):
            continue
        if type(inner) not in listed:
            listed.add(type(inner))
            about = inspect.cleandoc(type(inner).__doc__ or "").rstrip(".")
            yield f"`{prefix}{name}` is {about[:1].lower()}{about[1:]}:"
            yield from _tables(inner, f"{prefix}{name}.", listed)
            continue
        usual = type(inner)()
        changes = [f"`{key} = {_value(value)}`" for key, value in inner if value != getattr(usual, key)]
        differing = f", with {', '.join(changes)}" if changes else ""
        yield f"`{prefix}{name}` has the settings listed above{differing}."


def _settings_table(section: BaseModel, prefix: str) -> str:
    fields = type(section).model_fields
    rows = [
        (code(prefix + name), code(_value(getattr(section, name))), _allowed(field), _source(field.description))
        for name, field in fields.items()
        if field.description
    ]
    return table(("setting", "default", "may be", "source of the default"), rows)


def _source(description: str) -> str:
    return re.sub(r"docs/((?:\w+/)*\w+\.md)", r"[\1](../\1)", cell(description))


def _value(value: Any) -> str:
    return json.dumps(value, default=str) if not isinstance(value, float) else f"{value:g}"


def _allowed(field: FieldInfo) -> str:
    for mark in field.metadata:
        if isinstance(mark, NameIn):
            return ", ".join(map(code, mark.registry))
    if get_origin(field.annotation) is Literal:
        return ", ".join(code(str(value)) for value in get_args(field.annotation))
    if field.annotation is bool:
        return "`true`, `false`"
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "&lt;"}
    bounds = [
        f"{signs[kind]} {getattr(limit, kind)}" for limit in field.metadata for kind in signs if hasattr(limit, kind)
    ]
    return ", ".join(bounds)


def _paper_changes() -> Iterator[tuple[str, str]]:
    for name in RondoConfig.model_fields:
        ours, papers = getattr(PRESETS["default"], name), getattr(PRESETS["paper"], name)
        if ours == papers:
            continue
        tag, _ = choices_of(RondoConfig.model_fields[name])
        for key, value in papers:
            if key == tag if tag else value != getattr(ours, key):
                yield f"{name}.{key}", _value(value)
