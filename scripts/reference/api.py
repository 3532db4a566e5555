"""The names that other programs may use, with signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from scripts.reference.markup import cell, code, page, table

MODULES: dict[str, tuple[str, str]] = {  # names to document, and an introduction
    "rondo": ("discover label read evaluate Reading Result Rondo Recording Labelling", ""),
    "rondo.metrics": (
        "Scores ScoreRow",
        "What `evaluate` returns. See [scores](../judging.md).",
    ),
    "rondo.model.parts": (
        "StreamPart StreamParts",
        "What `Rondo.stream` returns. See [streams](../streams.md).",
    ),
    "rondo.continual.stream": ("StreamReport", "What `Rondo.partial_fit` returns."),
    "rondo.continual.reading": ("Decision", ""),
    "rondo.continual.journal": ("Event", ""),
}


def api_page() -> str:
    return page(
        "# Python",
        "The public names are those of `rondo`: `discover`, `label`, `read`, `evaluate`, `Result`, `Rondo`, "
        "`Reading`, `Recording`, `Labelling`, `errors` and `__version__`, with the types that they return. Pages of "
        "this documentation also use `rondo.metrics`, `rondo.synthetic` and `rondo.edit`, which may move before "
        "version 1.0; `help(rondo.metrics)` prints their docstrings. Everything else is internal. The examples "
        "run as they stand, one after the other.",
        "```python\n>>> import numpy as np\n\n```",
        *(
            block
            for module, (names, about) in MODULES.items()
            for block in _module_blocks(module, names.split(), about)
        ),
        "## Errors",
        inspect.getdoc(import_module("rondo.errors")) or "",
    )


def _module_blocks(module: str, names: list[str], about: str) -> Iterator[str]:
    yield f"## Module {module}"
    if about:
        yield about
    yield f"```python\n>>> from {module} import {', '.join(names)}\n\n```"
    for name in names:
        thing = getattr(import_module(module), name)
        yield f"### {name}"
        yield _signature(name, thing)
        yield _prose(thing)
        if inspect.isclass(thing):
            yield from _learned_block(thing)
            yield from _member_blocks(name, thing)


def _learned_block(thing: type) -> Iterator[str]:
    learned = {name: kind for name, kind in inspect.get_annotations(thing).items() if name.endswith("_")}
    if learned:
        comments = _comments(thing)
        rows = [(code(name), code(kind), cell(comments.get(name, ""))) for name, kind in learned.items()]
        yield "What is learned:"
        yield table(("attribute", "type", ""), rows)


def _comments(thing: Callable[..., Any]) -> dict[str, str]:
    """What the source says beside a field of a class."""
    found = (
        re.finditer(r"^    (\w+): [^#\n]*?  # (.*)$", inspect.getsource(thing), re.M) if inspect.isclass(thing) else ()
    )
    return {line[1]: line[2] for line in found}


def _member_blocks(owner: str, thing: type) -> Iterator[str]:
    """Public methods and properties with a docstring, in the order of the source."""
    for name, member in vars(thing).items():
        if name.startswith("_"):
            continue
        call = inspect.unwrap(getattr(member, "__func__", member))
        wrapped = getattr(member, "fget", None) or getattr(member, "func", None)  # a property, cached or not
        if wrapped is not None and (doc := inspect.getdoc(wrapped)):
            yield f"#### {owner}.{name}"
            yield f"A property, `{inspect.signature(wrapped).return_annotation}`. {_fenced(doc)}"
        elif inspect.isfunction(call) and inspect.getdoc(call):
            yield f"#### {owner}.{name}"
            yield _signature(f"{owner}.{name}", call)
            yield _prose(call)


def _signature(name: str, thing: Callable[..., Any]) -> str:
    if getattr(thing, "_is_protocol", False):
        return f"```python\nclass {name}(Protocol)\n```"
    signature = inspect.signature(thing)
    parts, star = [], False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
        star = star or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        parts.append(_parameter(parameter))
    gives = "" if inspect.isclass(thing) else f" -> {signature.return_annotation}"
    line = f"{name}({', '.join(parts)}){gives}"
    comments = _comments(thing)
    if len(line) > 100 or comments:
        lines = [f"    {part},  # {comments.get(part.partition(':')[0], '')}".removesuffix("  # ") for part in parts]
        line = "\n".join([f"{name}(", *lines, f"){gives}"])
    return f"```python\n{line}\n```"


def _parameter(parameter: inspect.Parameter) -> str:
    sign = (
        "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    )
    kind = getattr(parameter.annotation, "__forward_arg__", parameter.annotation)  # a NamedTuple keeps references
    if parameter.default is parameter.empty:
        return f"{sign}{parameter.name}: {kind}"
    default = repr(parameter.default)
    return f"{sign}{parameter.name}: {kind} = {'…' if default.startswith('<') or len(default) > 40 else default}"


def _prose(thing: Any) -> str:
    return _fenced(inspect.getdoc(thing) or "")


def _fenced(doc: str) -> str:
    """A docstring as Markdown: its examples become code, its sections lists."""
    examples = r"(?:^>>> .*\n?(?:^.+\n?)*\n*)+"
    listed = re.sub(r"^(\w+)\n-{3,}\n((?:.+\n?)+)", _section, doc, flags=re.M)
    return re.sub(examples, lambda found: f"```python\n{found[0].rstrip()}\n\n```\n\n", listed, flags=re.M).strip()


def _section(found: re.Match[str]) -> str:
    """Parameters, Returns, Raises in numpydoc form, `name : type` and an indented text, as a list; Examples as is."""
    title, body = found[1], found[2]
    if title == "Examples":
        return f"{title}:\n\n{body}"
    items = re.findall(r"^(\S.*)\n((?:[ ]+.*\n?)*)", body.rstrip() + "\n", re.M)
    return f"{title}:\n\n" + "\n".join(f"- {_item(head)}: {' '.join(text.split())}" for head, text in items) + "\n"


def _item(head: str) -> str:
    """`name : type` or a type alone, as Markdown."""
    name, _, kind = head.partition(" : ")
    return f"`{name}` ({kind})" if kind else f"`{name}`"
