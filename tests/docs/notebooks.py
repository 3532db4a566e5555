"""Notebooks run without Jupyter: code cells in order, in one namespace; what each prints, and the value it ends with.

`python -m tests.docs.notebooks docs/notebooks/*.ipynb` writes what the cells show today into the notebooks. Look at the
difference before you commit it: a figure that has changed is a finding. Lines that begin with % are for Jupyter alone.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MAGIC = re.compile(r"^(\s*)%.*$", re.MULTILINE)
_DOTS_PER_INCH = 76
_COLOURS = 64  # of a picture: more would double its size and show nothing


@dataclass(frozen=True)
class Shown:
    """What a cell has printed, and the value of its last line if that is an expression."""

    printed: str
    value: object


def cells_of(notebook: Path) -> list[dict[str, Any]]:
    """
    >>> cells_of(Path("docs/notebooks/wearable.ipynb"))[0]["cell_type"]
    'markdown'
    """
    found: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return found


def source_of(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def run_notebook(notebook: Path) -> Iterator[tuple[dict[str, Any], Shown]]:
    """Every code cell and what it shows, in the folder where we are."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(cells_of(notebook)):
        if cell["cell_type"] == "code":
            yield cell, run_cell(source_of(cell), namespace, f"{notebook.name}, cell {number}")


def run_cell(source: str, namespace: dict[str, object], where: str) -> Shown:
    """
    >>> run_cell("%pip install x\\nprint(1)\\n1 + 1", {}, "here")
    Shown(printed='1\\n', value=2)
    """
    lines = ast.parse(_MAGIC.sub(r"\1pass", source), where).body
    last = lines.pop() if lines and isinstance(lines[-1], ast.Expr) else None
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(ast.Module(lines, []), where, "exec"), namespace)
        value = None if last is None else eval(compile(ast.Expression(last.value), where, "eval"), namespace)
    return Shown(printed.getvalue(), value)


def text_of(output: dict[str, Any]) -> str:
    """What an output of a notebook says in letters."""
    return "".join(output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"])


def outputs_of(shown: Shown) -> list[dict[str, Any]]:
    """The same as a notebook keeps it, without counts and times of execution."""
    outputs: list[dict[str, Any]] = []
    if shown.printed:
        outputs.append({"name": "stdout", "output_type": "stream", "text": shown.printed.splitlines(keepends=True)})
    if shown.value is not None:
        data = {"text/plain": repr(shown.value).splitlines(keepends=True)} | _rich(shown.value)
        outputs.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _rich(value: object) -> dict[str, Any]:
    from matplotlib.figure import Figure

    if isinstance(value, Figure):
        return {"image/png": base64.b64encode(_picture(value)).decode()}
    shows_itself = getattr(value, "_repr_html_", None)
    return {} if shows_itself is None else {"text/html": shows_itself().splitlines(keepends=True)}


def _picture(figure: Any) -> bytes:
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=_DOTS_PER_INCH)
    Image.open(drawn).convert("RGB").quantize(_COLOURS).save(small, "png", optimize=True)
    return small.getvalue()


def refresh(notebook: Path) -> None:
    """Run a notebook in an empty folder and put its outputs into it."""
    found = json.loads(notebook.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        outputs = [outputs_of(shown) for _, shown in run_notebook(notebook)]
    for cell in found["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"execution_count": None, "outputs": outputs.pop(0)}
    notebook.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("Agg")
    for path in sys.argv[1:]:
        refresh(Path(path).resolve())
