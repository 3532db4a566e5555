"""Every command with its options, their defaults and an example, from the typer application."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from rondo.cli.main import app
from rondo.cli.options import filled
from scripts.reference.markup import cell, code, page, table


def commands_page() -> str:
    root = typer.main.get_command(app)
    example, exit_codes = (root.epilog or "").split("\n\n")
    return page(
        "# Commands",
        f"{root.help}",
        f"```\n{example.removeprefix('Example: ')}\n```",
        "`rondo COMMAND --help` prints what stands here. Options of `rondo` itself stand before or after the command.",
        _options_table(root),
        "## Exit codes",
        re.sub(r"(?:^|; )(\d+) ", r"\n- `\1` ", exit_codes.removeprefix("Exit codes: ")).strip(),
        *_command_blocks(root, "rondo"),
    )


def _command_blocks(group: Any, path: str, heading: str = "##") -> Iterator[str]:
    for name, command in group.commands.items():
        paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
        yield f"{heading} {path} {name}"
        yield from (part for part in paragraphs if not part.startswith("Example: "))
        yield from (
            f"```\n{part.removeprefix('Example: ')}\n```" for part in paragraphs if part.startswith("Example: ")
        )
        if command.params:
            yield _options_table(command)
        if hasattr(command, "commands"):
            yield from _command_blocks(command, f"{path} {name}", heading + "#")


def _options_table(command: Any) -> str:
    rows = []
    command.get_params(typer.Context(command))  # some take their help from what is installed
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            name = parameter.metavar + (" …" if parameter.nargs == -1 else "")
        else:
            name = " ".join([", ".join(parameter.opts), parameter.metavar or ""]).strip()
        rows.append((code(name), cell(filled(parameter.help or "")), _default(parameter)))
    return table(("argument or option", "what it is", "if not given"), rows)


def _default(parameter: Any) -> str:
    if parameter.required:
        return "must be given"
    variable = f"the variable `{parameter.envvar}`" if parameter.envvar else ""
    given = "" if parameter.default in (None, False, "") else code(str(parameter.default))
    return variable or given
