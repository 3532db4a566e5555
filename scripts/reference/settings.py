"""Every setting with its default, what it may be, and where the default comes from."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator
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
        "`default` has the defaults above. `--preset paper` is [the paper's chain](../paper.md). It chooses these "
        "ways, and these values where they differ from the defaults listed above for these ways:",
        _listed(_changes(PRESETS["paper"])),
        *_variants(),
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
        changes = [f"`{key} = {shown(value)}`" for key, value in inner if value != getattr(usual, key)]
        differing = f", with {', '.join(changes)}" if changes else ""
        yield f"`{prefix}{name}` has the settings listed above{differing}."


def _settings_table(section: BaseModel, prefix: str) -> str:
    fields = type(section).model_fields
    rows = [
        (code(prefix + name), code(shown(getattr(section, name))), _allowed(field), source_of(field.description))
        for name, field in fields.items()
        if field.description
    ]
    return table(("setting", "default", "may be", "source of the default"), rows)


def source_of(description: str) -> str:
    return re.sub(r"docs/((?:\w+/)*\w+\.md)", r"[\1](../\1)", cell(description))


def shown(value: Any) -> str:
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


def _variants() -> Iterator[str]:
    """The other presets, each by what it changes in `paper`."""
    paper = dict(_flat(PRESETS["paper"], ""))
    for name in PRESETS:
        if name not in ("default", "paper"):
            yield f"`--preset {name}` is `paper` with:"
            yield _listed((key, value) for key, value in _flat(PRESETS[name], "") if paper.get(key) != value)


def _listed(changes: Iterable[tuple[str, Any]]) -> str:
    return "\n".join(f"- `{name} = {shown(value)}`" for name, value in changes)


def _changes(preset: RondoConfig) -> Iterator[tuple[str, Any]]:
    """The ways a preset chooses, and what in it differs from the defaults of these ways."""
    usual = RondoConfig()
    for name, field in RondoConfig.model_fields.items():
        section, (tag, _) = getattr(preset, name), choices_of(field)
        if not isinstance(section, BaseModel):
            continue
        if tag and getattr(section, tag) != getattr(getattr(usual, name), tag):
            yield f"{name}.{tag}", getattr(section, tag)
        defaults = dict(_flat(type(section)(), f"{name}."))
        yield from ((key, value) for key, value in _flat(section, f"{name}.") if defaults[key] != value)


def _flat(section: BaseModel, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in section:
        if isinstance(value, BaseModel):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
