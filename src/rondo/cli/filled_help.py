"""Help whose words registries know: found when it is shown, because looking for them imports what declares them.

A text says `{encoders}` where the encoders belong; the words for each such place stand in `WORDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from typer.core import TyperCommand


def _encoders() -> str:
    from rondo.config.schema import RondoConfig
    from rondo.config.ways import ENCODERS

    usual = RondoConfig().encoder.name
    return "; ".join(f"{n}: {way.help}{' (default)' if n == usual else ''}" for n, way in ENCODERS.items())


WORDS: Mapping[str, Callable[[], str]] = {"{encoders}": _encoders}


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
