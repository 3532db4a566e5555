"""Figures that show themselves in a notebook, whatever backend it has, and also where several are the value of a cell.

A notebook draws the figures of pyplot. Those of Rondo are not pyplot's, so that none stays in memory.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable

from matplotlib import figure


class Figure(figure.Figure):
    """A matplotlib figure; the last value of a cell of a notebook is drawn."""

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()


class Figures(list[Figure]):
    """Several figures, drawn one below the other."""

    def __init__(self, figures: Iterable[Figure]) -> None:
        super().__init__(figures)

    def _repr_html_(self) -> str:
        pictures = (base64.b64encode(one._repr_png_()).decode("ascii") for one in self)
        return "".join(f'<div><img src="data:image/png;base64,{picture}"></div>' for picture in pictures)
