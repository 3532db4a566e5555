"""Options that several commands share, how they become settings, and help whose words registries know.

A help text says `{encoders}` where the encoders belong. Such words are looked up when help is shown, because that
imports what declares them; commands of other packages add theirs to `WORDS`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from rondo.cli.terminal import print
from rondo.errors import OutputError, SettingError

if TYPE_CHECKING:
    from rondo.config.settings import RondoConfig
    from rondo.report.contents import TruthFile
    from rondo.units.vocabulary import Level


def argument(metavar: str, help: str) -> Any:
    return typer.Argument(metavar=metavar, help=help)


_HEADINGS = {
    "How files are read": "--rate --key --label-column --split-by --session --keep-column --pivot --pose --body",
    "Scale": "--window --step --motif-window --fast --motifs",
    "Method": "--method --states --encoder --preset --config --set --seed --device",
    "Many recordings": "--group-by --engine --workers --ray-address",
}
_HEADING_OF = {flag: heading for heading, flags in _HEADINGS.items() for flag in flags.split()}


def option(flag: str, metavar: str, help: str, complete: Callable[[str], list[str]] | None = None, **more: Any) -> Any:
    """An option under its heading in the help of every command; what has none stands under "Options"."""
    heading = _HEADING_OF.get(flag)
    return typer.Option(flag, metavar=metavar, help=help, autocompletion=complete, rich_help_panel=heading, **more)


def switch(flag: str, help: str) -> Any:
    """An option without a value, likewise."""
    return typer.Option(flag, metavar="", help=help, rich_help_panel=_HEADING_OF.get(flag))


_MOST_PLACES = 1000  # runs of one recording in one folder
Run = Annotated[Path, argument("RUN", "A folder that discover, label or stream wrote.")]
FittedModel = Annotated[Path, argument("MODEL", "A model folder, or the run folder that holds it.")]
EditedModel = Annotated[Path, argument("MODEL", "A run folder, or a model folder.")]
EditedStream = Annotated[
    Path | None, option("--stream", "DIR", "The --out of a stream: what it has learned since can be named too.")
]


def completing(*values: str) -> Callable[[str], list[str]]:
    """What the shell offers after Tab, for `typer.Option(autocompletion=…)`.

    >>> completing("auto", "cpu", "cuda")("c")
    ['cpu', 'cuda']
    """
    return completing_from(lambda: values)


def completing_from(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """`completing` with names that are looked up when the shell asks."""
    return lambda incomplete: [name for name in names() if name.startswith(incomplete)]


def _encoders() -> Iterable[str]:
    from rondo.registry import ENCODERS

    return ENCODERS


def overrides(settings: list[str] | None, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The settings that --set gives, then those that have an option; None where the option was not given."""
    from rondo.config.overrides import parse_override

    chosen = dict(parse_override(text) for text in settings or [])
    return chosen | {name: value for name, value in (options or {}).items() if value is not None}


Out = Annotated[Path, option("--out", "DIR", "Folder to write, or URL of one in a bucket; it must not hold a run yet.")]
RunPlace = Annotated[
    Path | None,
    option(
        "--out",
        "DIR",
        "Folder to write, or URL of one in a bucket; it must hold no run, except this one, unfinished. Without it, "
        "RECORDING-rondo here, or RECORDING-rondo-2 and so on where that holds a run.",
    ),
]
Json = Annotated[bool, switch("--json", "Print one JSON object on stdout, nothing else.")]
Seed = Annotated[int | None, option("--seed", "N", "Same input, seed and settings, same output; 0 if not given.")]
Device = Annotated[
    str | None, option("--device", "NAME", "auto (default), cpu or cuda.", completing("auto", "cpu", "cuda"))
]
Recordings = Annotated[
    list[Path],
    argument(
        "RECORDING",
        "Files ({recording_suffixes}), folders, patterns in quotes ('days/*.csv'), or URLs of these in a bucket.",
    ),
]
Groups = Annotated[
    str | None, option("--group-by", "NAME", "Which recordings belong together: of one person, machine or day.")
]
EngineName = Annotated[
    str | None,
    option(
        "--engine",
        "NAME",
        "Read file by file, in local processes (local), in this one (serial) or on a cluster (ray).",
        completing("local", "serial", "ray"),
    ),
]
Workers = Annotated[
    int | None, option("--workers", "N", "Files at a time; as many as there are cores if not given.", min=1)
]
RayAddress = Annotated[str | None, option("--ray-address", "ADDRESS", "A Ray cluster that runs, for --engine ray.")]
EncoderName = Annotated[str | None, option("--encoder", "NAME", "{encoders}.", completing_from(_encoders))]
Window = Annotated[
    str | None, option("--window", "LENGTH", "auto (default), frames (256) or a time (500ms, 2s, 15min, 2h, 1d, 1w).")
]
MotifWindow = Annotated[
    str | None, option("--motif-window", "LENGTH", "Of the longer motifs: auto (default), frames or a time.")
]
Step = Annotated[str | None, option("--step", "LENGTH", "auto (default: a quarter of the window), frames or a time.")]


def _hertz(text: str) -> float:
    """A rate as people write it, "50" or "50Hz"."""
    try:
        return float(text.strip().lower().removesuffix("hz"))
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a number; give the frames per second, as --rate 50") from None


Rate = Annotated[float | None, option("--rate", "HZ", "Rows per second, for files without a clock.", parser=_hertz)]
Key = Annotated[str | None, option("--key", "NAME", "Array, stream or sheet in {suffixes_with_keys} files.")]
TruthLane = Annotated[
    Path | None, option("--truth", "TRUTH", "Annotations, as for evaluate, drawn as a lane of their own.")
]
TruthKey = Annotated[str | None, option("--key", "NAME", "Array, column or tier of the truth.")]
TruthRate = Annotated[float | None, option("--rate", "HZ", "For annotations in seconds, where RUN has no rate.")]
LabelColumns = Annotated[
    list[str] | None, option("--label-column", "NAME", "A column that is no channel, as labels; may be repeated.")
]
SplitBy = Annotated[
    str | None,
    option(
        "--split-by",
        "COLUMN",
        "A column that tells the recordings in one table apart, as a subject; "
        "the clock's column cuts where it goes back.",
    ),
]
Pivot = Annotated[
    str | None,
    option(
        "--pivot",
        "COLUMN",
        "A column of sensor names, as a tag, where each row holds one reading: each name becomes a channel. Tables "
        "with columns such as timestamp, tag, value are known without it.",
    ),
]
OneSession = Annotated[
    bool,
    switch(
        "--session",
        "Each folder is one recording: its tables, merged by their clocks. Empatica E4, phyphox and Sensor Logger "
        "are known without it.",
    ),
]
KeepColumns = Annotated[
    list[str] | None,
    option(
        "--keep-column", "NAME", "A column that is a channel as it is, though it looks like labels, a counter or codes."
    ),
]


_OF_FILES: dict[str, tuple[Any, Any]] = {
    "rate": (Rate, None),
    "key": (Key, None),
    "label_column": (LabelColumns, None),
    "split_by": (SplitBy, None),
    "pivot": (Pivot, None),
    "session": (OneSession, False),
    "keep_column": (KeepColumns, None),
}


def takes_reading(before: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that say how files are read; it gets them as one argument `reading`.

    `before` is the parameter in front of which they stand in its help.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(**given: Any) -> None:
            from rondo.files.reading import Reading

            options = {name: given.pop(name) for name in _OF_FILES}
            leave_out, keep = options.pop("label_column") or (), options.pop("keep_column") or ()
            command(reading=Reading(**options, leave_out=leave_out, keep=keep), **given)

        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command, eval_str=True, locals={"Reading": object}).parameters.values():
            if parameter.name == before:
                parameters += [
                    inspect.Parameter(name, parameter.kind, default=default, annotation=annotation)
                    for name, (annotation, default) in _OF_FILES.items()
                ]
            parameters += [] if parameter.name == "reading" else [parameter]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return decorated


Preset = Annotated[
    str,
    option(
        "--preset",
        "NAME",
        "default (ours), paper (as published) or paper-fast (the same with a variational mixture). "
        "Windows stay automatic: --window and --step give the paper's.",
        completing("default", "paper", "paper-fast"),
    ),
]
ConfigFile = Annotated[
    Path | None, option("--config", "FILE", "TOML file of settings; `rondo config init` writes one.")
]
Settings = Annotated[
    list[str] | None, option("--set", "NAME=VALUE", "One setting, e.g. --set units.dimension=3; may be repeated.")
]


def help_without_command(context: typer.Context) -> None:
    """A bare `rondo` or `rondo config` shows what could follow; typer's own way differs between versions."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


def truth_file(truth: Path | None, key: str | None, rate: float | None) -> TruthFile | None:
    """What TruthLane, TruthKey and TruthRate say together."""
    from rondo.report.contents import TruthFile

    if truth is None and (key is not None or rate is not None):
        raise SettingError("--key and --rate are about --truth; give it as well")
    return None if truth is None else TruthFile(truth, key, rate)


def run_place(out: Path | None, recordings: Sequence[Path]) -> Path:
    """The folder of a run: `out`, or the first free one that is called after the first recording."""
    from rondo.files.reading import id_of
    from rondo.many.unfinished import check_place

    if out is not None:
        return out
    first = str(recordings[0])
    is_pattern = any(sign in Path(first).name for sign in "*?[")
    name = id_of(Path(first).parent.resolve() if is_pattern else first)
    for number in range(1, _MOST_PLACES):
        place = Path(f"{name}-rondo{f'-{number}' if number > 1 else ''}")
        with suppress(OutputError):
            check_place(place)
            return place
    raise SettingError(f"there are runs from {name}-rondo to {place}; give --out")


def resolve_settings(
    preset: str, file: Path | None, settings: list[str] | None, options: Mapping[str, Any] | None = None
) -> RondoConfig:
    """Preset, then file, then --set, then the settings that have an option."""
    from rondo.config.settings import resolve

    return resolve(preset, file, overrides(settings, options))


def checked_level(level: str) -> Level:
    """What --level chooses."""
    if level not in ("unit", "motif"):
        raise SettingError(f"--level is unit or motif, got '{level}'")
    return "unit" if level == "unit" else "motif"


# ---------------------------------------------------------------- words that registries know


def _encoders_with_help() -> str:
    from rondo.config.settings import RondoConfig
    from rondo.registry import ENCODERS

    usual = RondoConfig().encoder.name
    return "; ".join(f"{n}: {encoder.help}{' (default)' if n == usual else ''}" for n, encoder in ENCODERS.items())


def _export_formats() -> str:
    from rondo.report.export import export_formats

    return ", ".join(f"{name} ({each.program})" for name, each in export_formats().items())


def _formats_in_files() -> str:
    from rondo.report.export import export_formats

    *others, last = (name for name, each in export_formats().items() if each.one_per_recording)
    return f"{', '.join(others)} and {last}"


def _annotation_suffixes() -> str:
    from rondo.annotations.formats import suffixes_of_spans

    return " ".join(suffixes_of_spans())


def _recording_suffixes(with_key: bool = False) -> str:
    from rondo.files.read import suffixes

    return " ".join(suffixes(with_key=with_key))


WORDS: dict[str, Callable[[], str]] = {
    "{encoders}": _encoders_with_help,
    "{export_formats}": _export_formats,
    "{formats_in_files}": _formats_in_files,
    "{annotation_suffixes}": _annotation_suffixes,
    "{recording_suffixes}": _recording_suffixes,
    "{suffixes_with_keys}": lambda: _recording_suffixes(with_key=True),
}


def filled(text: str) -> str:
    """The text with the words of `WORDS` filled in."""
    for mark, words in WORDS.items():
        if mark in text:
            text = text.replace(mark, words())
    return text


class FilledHelp(TyperCommand):
    """A command that fills its help before it shows it."""

    def format_help(self, *arguments: Any) -> None:
        parameters: list[Any] = self.params
        for parameter in parameters:
            parameter.help = filled(parameter.help or "")
        super().format_help(*arguments)
