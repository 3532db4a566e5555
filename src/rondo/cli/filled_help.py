"""Help whose words registries know: found when it is shown, because looking for them imports what declares them.

A text says `{encoders}` where the encoders belong; the words for each such place stand in `WORDS`,
to which commands of other packages add theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand


def _encoders() -> str:
    from rondo.config.settings import RondoConfig
    from rondo.registry import ENCODERS

    usual = RondoConfig().encoder.name
    return "; ".join(f"{n}: {encoder.help}{' (default)' if n == usual else ''}" for n, encoder in ENCODERS.items())


def _export_formats() -> str:
    from rondo.report.export import export_formats

    return ", ".join(f"{name} ({each.program})" for name, each in export_formats().items())


def _formats_in_files() -> str:
    from rondo.report.export import export_formats

    return " and ".join(name for name, each in export_formats().items() if each.one_per_recording)


def _annotation_suffixes() -> str:
    from rondo.annotations.formats import suffixes_of_spans

    return " ".join(suffixes_of_spans())


def _recording_suffixes() -> str:
    from rondo.files.read import suffixes

    return " ".join(suffixes())


def _suffixes_with_keys() -> str:
    from rondo.files.read import suffixes

    return " ".join(suffixes(with_key=True))


WORDS: dict[str, Callable[[], str]] = {
    "{encoders}": _encoders,
    "{export_formats}": _export_formats,
    "{formats_in_files}": _formats_in_files,
    "{annotation_suffixes}": _annotation_suffixes,
    "{recording_suffixes}": _recording_suffixes,
    "{suffixes_with_keys}": _suffixes_with_keys,
}


def filled(text: str) -> str:
    """The text with words in the places of `WORDS`."""
    for place, words in WORDS.items():
        if place in text:
            text = text.replace(place, words())
    return text


class FilledHelp(TyperCommand):
    """A command that fills its help before it shows it."""

    def format_help(self, *arguments: Any) -> None:
        parameters: list[Any] = self.params
        for parameter in parameters:
            parameter.help = filled(parameter.help or "")
        super().format_help(*arguments)
