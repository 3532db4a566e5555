"""Options that several commands share, and how they become a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rondo.config import RondoConfig

Out = Annotated[Path, typer.Option("--out", help="Folder to write; it must not hold a run yet.")]
Json = Annotated[bool, typer.Option("--json", help="Print a machine-readable summary on stdout.")]
Seed = Annotated[int, typer.Option("--seed", help="Same input, seed and settings give the same output.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
Rate = Annotated[float | None, typer.Option("--rate", help="Sampling rate in Hz, for files that do not tell.")]
Key = Annotated[str | None, typer.Option("--key", help="Name of the array in .npz or .h5 files (default X).")]
LabelColumns = Annotated[
    list[str] | None, typer.Option("--label-column", help="A column to leave out; may be repeated.")
]
Preset = Annotated[str, typer.Option("--preset", help="default (ours) or paper (as published).")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="TOML file of settings; see `rondo config init`.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="One setting, e.g. --set units.dimension=3; may be repeated."),
]


def resolve_settings(
    preset: str,
    file: Path | None,
    settings: list[str] | None,
    *,
    window: str | None = None,
    step: str | None = None,
    encoder: str | None = None,
    seed: int | None = None,
    device: str | None = None,
) -> RondoConfig:
    """Preset, then file, then --set, then the options that have a name of their own."""
    from rondo.config import resolve
    from rondo.settings import parse_override

    overrides = dict(parse_override(text) for text in settings or [])
    named = {
        "windows.length": window,
        "windows.step": step,
        "encoder.name": encoder,
        "seed": seed,
        "device": device,
    }
    overrides |= {name: value for name, value in named.items() if value is not None}
    return resolve(preset, file, overrides)
