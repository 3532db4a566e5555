"""Options that several commands share, and how they become a configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rondo.config.schema import RondoConfig
    from rondo.report.contents import TruthFile

METHODS = (
    "rondo", "autoplait", "ticc", "time2state", "e2usd", "compile", "clap", "denstream", "dbstream", "hmm", "kmeans",
    "hdbscan", "clock",
)  # fmt: skip
ENCODERS = ("summary_stats", "ts2vec", "time_mae", "mantis")


def completing(*values: str) -> Callable[[str], list[str]]:
    """What the shell offers after Tab, for `typer.Option(autocompletion=…)`.

    >>> completing("auto", "cpu", "cuda")("c")
    ['cpu', 'cuda']
    """
    return lambda incomplete: [value for value in values if value.startswith(incomplete)]


Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to write; it must not hold a run yet.")]
Json = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON object on stdout, nothing else.")]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", help="Same input, seed and settings, same output; 0 if not given."),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help="auto (default), cpu or cuda.",
        autocompletion=completing("auto", "cpu", "cuda"),
    ),
]
Recordings = Annotated[
    list[Path],
    typer.Argument(
        metavar="RECORDING", help="Files (csv, tsv, txt, jsonl, parquet, npz, npy, h5, edf, c3d, xdf), or folders."
    ),
]
Window = Annotated[
    str | None,
    typer.Option("--window", metavar="LENGTH", help="auto (default), frames (256) or a time (2s, 500ms)."),
]
Step = Annotated[
    str | None,
    typer.Option("--step", metavar="LENGTH", help="auto (default: a quarter of the window), frames or a time."),
]


def _hertz(text: str) -> float:
    """A rate as people write it, "50" or "50Hz"."""
    try:
        return float(text.strip().lower().removesuffix("hz"))
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a number; give the frames per second, as --rate 50") from None


Rate = Annotated[
    float | None,
    typer.Option("--rate", metavar="HZ", help="Rows per second, for files without a clock.", parser=_hertz),
]
Key = Annotated[str | None, typer.Option("--key", metavar="NAME", help="Array in .npz or .h5 files, X if not given.")]
TruthLane = Annotated[
    Path | None,
    typer.Option("--truth", metavar="TRUTH", help="Annotations, as for evaluate, drawn as a lane of their own."),
]
TruthKey = Annotated[str | None, typer.Option("--key", metavar="NAME", help="Array, column or tier of the truth.")]
TruthRate = Annotated[
    float | None, typer.Option("--rate", metavar="HZ", help="For annotations in seconds, where RUN has no rate.")
]
LabelColumns = Annotated[
    list[str] | None,
    typer.Option("--label-column", metavar="NAME", help="A column that is no channel, as labels; may be repeated."),
]
Preset = Annotated[
    str,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="default (ours) or paper (as published).",
        autocompletion=completing("default", "paper"),
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="TOML file of settings; `rondo config init` writes one."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="One setting, e.g. --set units.dimension=3; may be repeated."),
]


def help_without_command(context: typer.Context) -> None:
    """A bare `rondo` or `rondo config` shows what could follow; typer's own way differs between versions."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


def truth_file(truth: Path | None, key: str | None, rate: float | None) -> TruthFile | None:
    """What TruthLane, TruthKey and TruthRate say together."""
    from rondo.errors import SettingError
    from rondo.report.contents import TruthFile

    if truth is None and (key is not None or rate is not None):
        raise SettingError("--key and --rate are about --truth; give it as well")
    return None if truth is None else TruthFile(truth, key, rate)


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
    from rondo.config.overrides import parse_override
    from rondo.config.schema import resolve

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
