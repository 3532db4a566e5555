"""`rondo config`: every setting, its value and where it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rondo.cli import options
from rondo.cli.terminal import print, print_json
from rondo.errors import OutputError

app = typer.Typer(help="Show all settings, or write a file to start from.")
app.callback(invoke_without_command=True)(options.help_without_command)


@app.command()
def show(
    preset: options.Preset = "default",
    config: options.ConfigFile = None,
    set_: options.Settings = None,
    json: options.Json = False,
) -> None:
    """Print every setting as TOML, each with the source of its default.

    Example: rondo config show --preset paper
    """
    from rondo.config.overrides import to_toml

    settings = options.resolve_settings(preset, config, set_)
    if json:
        print_json(settings.model_dump(mode="json"))
    else:
        print(to_toml(settings), end="")


@app.command()
def init(
    path: Annotated[Path, options.argument("FILE", "File to write; it must not exist yet.")] = Path("rondo.toml"),
    preset: options.Preset = "default",
    set_: options.Settings = None,
) -> None:
    """Write all settings to a TOML file for `rondo discover --config`.

    Example: rondo config init rondo.toml --set units.dimension=3
    """
    from rondo.config.overrides import to_toml
    from rondo.store.folder import whole_files

    text = to_toml(options.resolve_settings(preset, None, set_))
    if not path.absolute().parent.is_dir():
        raise OutputError(f"{path}: cannot be written, there is no such folder; choose another place")
    whole_files({path: text.encode()}, "choose another place")
    print(f"wrote {path}")


@app.command()
def constants(json: options.Json = False) -> None:
    """Print every constant of the learners that is no setting, with its source.

    Example: rondo config constants
    """
    from rondo.config.constants import learner_constants

    found = learner_constants()
    if json:
        print_json([constant._asdict() for constant in found])
        return
    for constant in found:
        place = f"{constant.module}:{constant.line}"
        print(f"{place:<34} {constant.name} = {constant.value}  # {constant.source or 'no source written'}")
    print(f"{len(found)} constants, {sum(not constant.source for constant in found)} without a source")
