"""How settings are changed, refused and written: dotted overrides, TOML, and messages that say what to do.

Which settings there are stands in `rondo.config.settings`; nothing here knows one by name. A *section* is a model
within a model. Where a registry offers several stages for it, their settings are its *choices*, and its tag
(`encoder.name`, `units.method`) chooses one.
"""

from __future__ import annotations

import json
import reprlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from rondo.errors import SettingError
from rondo.registry import OneOf
from rondo.wording import near_match, one_of

Model = TypeVar("Model", bound=BaseModel)


def changed(config: Model, file: Path | None = None, overrides: Mapping[str, Any] | None = None) -> Model:
    """`config`, changed by a TOML file, changed by dotted overrides ("units.dimension": 3) in any order."""
    if file is not None:
        try:
            config = _with(config, _read_toml(file))
        except SettingError as error:
            raise SettingError(f"{file}: {error}") from None
    return _with(config, _nested(overrides or {}))


def parse_override(text: str) -> tuple[str, Any]:
    """One `--set units.alpha=1.0`; values are TOML, bare words are strings.

    >>> parse_override("units.method=slow"), parse_override("motifs.lengths=[2, 3]")
    (('units.method', 'slow'), ('motifs.lengths', [2, 3]))
    """
    path, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not path:
        raise SettingError(f"--set expects section.name=value, got {text!r}")
    try:
        parsed = tomllib.loads(f"value = {value}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return path, value
    return path, parsed["value"] if len(parsed) == 1 else value


def to_toml(config: BaseModel) -> str:
    """The configuration as TOML, each setting followed by its source.

    Own code and not `tomli-w`, which writes no comments: the sources beside the values are what the file is for.
    """
    return "\n".join(_toml_lines(config, "")) + "\n"


def changes_from(base: BaseModel, config: BaseModel) -> dict[str, Any]:
    """What `changed` makes `config` of `base` with: settings that differ, all of a section with another choice."""
    found: dict[str, Any] = {}
    for name in type(config).model_fields:
        before, value = getattr(base, name), getattr(config, name)
        if value == before:
            continue
        if isinstance(value, BaseModel):
            found[name] = changes_from(before, value) if type(before) is type(value) else value.model_dump()
        else:
            found[name] = value
    return found


class _Section(NamedTuple):
    """A section while it is being changed: its name, its settings, and what else could be chosen for it."""

    prefix: str
    model: type[BaseModel]
    tag: str | None = None
    choices: Mapping[str, type[BaseModel]] = {}


def _with(config: Model, change: Mapping[str, Any]) -> Model:
    settings = _merged(_Section("", type(config)), config.model_dump(), change)
    try:
        return type(config).model_validate(settings)
    except ValidationError as error:
        raise SettingError(_bad_value(error, settings)) from None


def _merged(section: _Section, base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `change` laid over it; names that the section does not have are refused."""
    merged = dict(base)
    fields = section.model.model_fields
    for name, value in sorted(change.items(), key=lambda item: item[0] not in fields):  # choices first
        field, full_name = fields.get(name), section.prefix + name
        if field is None:
            raise SettingError(_unknown(section, name, merged))
        tag, choices = choices_of(field)
        if not choices:
            _refuse_misplaced(full_name, field, value)
            merged[name] = value
            continue
        if not isinstance(value, Mapping):
            inner = next(iter(choices.values())).model_fields
            raise SettingError(
                f"{full_name!r} is a section, got {reprlib.repr(value)}; set one of its settings, "
                f"as in {full_name}.{tag or next(iter(inner))}"
            )
        before, chosen = merged[name], ""
        if tag is not None:
            chosen = value.get(tag, before[tag])
            if not isinstance(chosen, str) or chosen not in choices:
                near = near_match(str(chosen), choices)
                hint = f"; did you mean {near!r}?" if near else ""
                raise SettingError(f"{full_name}.{tag} must be {one_of(choices)}, got {reprlib.repr(chosen)}{hint}")
            if chosen != before[tag]:  # another choice starts from its own defaults: the old values mean nothing there
                before = choices[chosen]().model_dump()
        merged[name] = _merged(_Section(f"{full_name}.", choices[chosen], tag, choices), before, value)
    return merged


def choices_of(field: FieldInfo) -> tuple[str | None, Mapping[str, type[BaseModel]]]:
    """The tag and the models of a section; no models where the field is a single setting."""
    for mark in field.metadata:
        if isinstance(mark, OneOf):
            return mark.tag, mark.choices()
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
        return None, {"": field.annotation}
    return None, {}


def _nested(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names as sections within sections, all in one: what is chosen must not depend on the order."""
    nested: dict[str, Any] = {}
    for path, value in overrides.items():
        *sections, name = path.split(".")
        inside = nested
        for section in sections:
            inside = inside.setdefault(section, {})
            if not isinstance(inside, dict):
                raise SettingError(f"{path!r} and another override set the same thing; leave one out")
        if name in inside:
            raise SettingError(f"{path!r} and another override set the same thing; leave one out")
        inside[name] = dict(value) if isinstance(value, Mapping) else value
    return nested


def _read_toml(path: Path) -> dict[str, Any]:
    from rondo.store.reading import MOST_JSON_BYTES, read_regular  # brings numpy, which help does not need

    try:
        return tomllib.loads(read_regular(path, MOST_JSON_BYTES).decode("utf-8"))
    except OSError as error:
        raise SettingError(f"cannot read the configuration ({error.strerror}); check --config") from None
    except RecursionError:
        raise SettingError(
            "not a configuration: its values are nested too deeply; `rondo config init` writes one"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"not a TOML file ({error}); `rondo config init` writes one to start from") from None


# ---------------------------------------------------------------- refusing


def _refuse_misplaced(name: str, field: FieldInfo, value: Any) -> None:
    """What pydantic would say badly, or not at all: it takes True for the number 1."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{name}.{key}" for key in value) or name
        raise SettingError(f"{name!r} is one setting, not a section; {reprlib.repr(inner)} cannot be set")
    if isinstance(value, bool) and field.annotation is not bool:
        raise SettingError(f"setting {name!r} is not a switch, got {str(value).lower()}; see `rondo config show`")


def _unknown(section: _Section, name: str, settings: Mapping[str, Any]) -> str:
    """`settings` of the section as they stand, so that only those of the stages chosen are suggested."""
    full_name = section.prefix + name
    if elsewhere := [choice for choice, model in section.choices.items() if name in model.model_fields]:
        tag = f"{section.prefix}{section.tag}"
        chosen = section.model.model_fields[str(section.tag)].default
        return (
            f"setting {full_name!r} belongs to {tag} = {one_of(elsewhere)} "
            f"and has no effect with {chosen!r}; leave it out or change {tag}"
        )
    near = _nearest(name, list(_names(settings)))
    hint = f"did you mean '{section.prefix}{near}'?" if near else "see `rondo config show`"
    return f"unknown setting {full_name!r}; {hint}"


def _nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name that was probably meant: spelt alike, or of the same words, perhaps a section deeper."""
    alike = near_match(name, [each for each in known if "." not in each])
    if alike:
        return alike
    words = set(name.split("_"))
    for each in known:
        own = set(each.rpartition(".")[2].split("_"))
        if words <= own or own <= words:
            return each
    return None


def _names(settings: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Dotted names within a section, its own before those of the sections inside it."""
    yield from (prefix + name for name in settings)
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _names(value, f"{prefix}{name}.")


def _bad_value(error: ValidationError, settings: Mapping[str, Any]) -> str:
    """The first complaint of pydantic in our words; its path also names the class, which users never write."""
    first = error.errors(include_url=False)[0]
    name, value = "", settings
    for part in first["loc"]:
        if isinstance(part, int):
            name += f"[{part}]"
        elif isinstance(value, Mapping) and part in value:
            name, value = f"{name}.{part}" if name else part, value[part]
    reason = first["msg"].removeprefix("Value error, ").replace("Input should", "must").replace("tuple", "list")
    return f"setting {name!r} {reason}, got {reprlib.repr(first['input'])}"


# ---------------------------------------------------------------- writing


def _toml_lines(stage: BaseModel, prefix: str, choice: str = "") -> Iterator[str]:
    """`choice` says, beside the tag of a stage, what else could be chosen."""
    sections: list[tuple[str, str, BaseModel]] = []
    for name, field in type(stage).model_fields.items():
        value = getattr(stage, name)
        if isinstance(value, BaseModel):
            tag, choices = choices_of(field)
            sections.append((name, f"one of {', '.join(choices)}" if tag else "", value))
            continue
        line, about = f"{name} = {_toml_value(value)}", field.description or choice
        yield f"{line:<32}  # {about}" if about else line
    for name, listed, section in sections:
        yield ""
        about = (type(section).__doc__ or "").strip().splitlines()[0]
        yield f"[{prefix}{name}]  # {about}"
        yield from _toml_lines(section, f"{prefix}{name}.", listed)


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):  # JSON escapes all that TOML wants escaped, but for the delete character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_toml_value(item) for item in value) + "]"
    return repr(value)
