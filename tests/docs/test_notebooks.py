"""The notebooks run from top to bottom, show what they are committed with, and are small enough to keep."""

from __future__ import annotations

import ast
import base64
import hashlib
import io
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import here as here
from tests.docs.executed_pages import ROOT, check_output
from tests.docs.links import is_elsewhere
from tests.docs.notebooks import cells_of, outputs_of, run_notebook, source_of, text_of

FOLDER = ROOT / "docs" / "notebooks"
MADE_UP = ["wearable.ipynb", "machine.ipynb", "many_people.ipynb"]
PUBLIC = "public_recording.ipynb"  # it fetches its data, so what it shows is not compared here
NOTEBOOKS = [*MADE_UP, PUBLIC]
_FIGURE = re.compile(r"<Figure size .* Axes>")


@pytest.fixture(autouse=True)
def still() -> Iterator[None]:
    """No window opens, and pyplot forgets its figures."""
    plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE_UP)
def test_a_notebook_shows_what_it_is_committed_with(name: str, here: Path) -> None:
    for cell, shown in run_notebook(FOLDER / name):
        committed, now = cell["outputs"], outputs_of(shown)
        assert [_kinds(output) for output in committed] == [_kinds(output) for output in now], source_of(cell)
        for before, after in zip(committed, now, strict=True):
            said, says = (_FIGURE.sub("<Figure>", text_of(output)) for output in (before, after))
            check_output(f"{name}: {source_of(cell)}", said, says)
    assert {path.suffix for path in here.iterdir()} >= {".html", ".csv"}, "it exports what it says"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> tuple[bytes, list[str]]:
    """A file of four channels in place of every download, and the addresses that were asked for."""
    from rondo.synthetic import StreamPlan, plant

    text, asked = io.BytesIO(), list[str]()
    np.savetxt(text, plant(StreamPlan(rate=120, n_channels=4), n_frames=4_579, seed=1).recording.values)

    def answer(address: str) -> io.BytesIO:
        asked.append(address)
        return io.BytesIO(text.getvalue())

    monkeypatch.setattr("urllib.request.urlopen", answer)
    return text.getvalue(), asked


def test_the_public_notebook_runs_on_what_it_fetches_and_refuses_another_file(
    served: tuple[bytes, list[str]], here: Path
) -> None:
    mocap = tomllib.loads((ROOT / "src/rondo_bench/data_sets/offers.toml").read_text("utf-8"))["mocap"]
    with pytest.raises(SystemExit, match="not the file"):
        list(run_notebook(FOLDER / PUBLIC))
    assert served[1] == [mocap["base"] + "amc_86_01.4d"]
    text, checksum = (FOLDER / PUBLIC).read_text("utf-8"), mocap["files"]["amc_86_01.4d"].removeprefix("sha256:")
    assert text.count(checksum) == 1
    (here / PUBLIC).write_text(text.replace(checksum, hashlib.sha256(served[0]).hexdigest()), encoding="utf-8")
    for cell, shown in run_notebook(here / PUBLIC):
        assert [_kinds(output) for output in cell["outputs"]] == [_kinds(output) for output in outputs_of(shown)]
    assert {path.name for path in here.iterdir()} >= {"report.html", "segments.csv"}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_is_a_notebook_for_colab_and_has_no_traces_of_a_run(name: str) -> None:
    notebook = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    cells = notebook["cells"]
    assert 6 <= len(cells) <= 12 and len({cell["id"] for cell in cells}) == len(cells)
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert re.search(r'^if "google\.colab" in sys\.modules:.*\n    %pip install -q "rondo-ts\[plot\]"$',
                     source_of(code[0]), re.MULTILINE)  # fmt: skip
    for cell in cells:
        assert cell["metadata"] == {} and re.fullmatch(r"[\w-]{1,64}", cell["id"])
    for cell in code:
        assert cell["execution_count"] is None
        assert all(output.get("execution_count") is None for output in cell["outputs"])
    assert not re.search(r"/home/|/root/|/tmp/|/Users/", json.dumps(notebook))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_pictures_are_small_and_nothing_in_it_runs(name: str) -> None:
    for cell in cells_of(FOLDER / name):
        for output in cell.get("outputs", []):
            data: dict[str, Any] = output.get("data", {})
            picture, html = base64.b64decode(data.get("image/png", "")), "".join(data.get("text/html", ""))
            assert len(picture) < 60_000 and len(html.encode()) < 60_000
            assert not re.search(r"<script|<iframe|javascript:", html)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_links_lead_to_files_and_lines_are_short(name: str) -> None:
    for cell in cells_of(FOLDER / name):
        source = source_of(cell)
        if cell["cell_type"] == "markdown":
            addresses = re.findall(r"\]\(([^)]+)\)", source)
            own = [it for it in addresses if not is_elsewhere(it)]
            assert [it for it in own if not (FOLDER / it.partition("#")[0]).is_file()] == []
        else:
            ast.parse(re.sub(r"^(\s*)%.*$", r"\1pass", source, flags=re.MULTILINE))
            assert max(map(len, source.splitlines())) <= 120


def test_every_notebook_is_tested_and_listed() -> None:
    assert sorted(NOTEBOOKS) == sorted(path.name for path in FOLDER.glob("*.ipynb"))
    page = (FOLDER / "notebooks.md").read_text(encoding="utf-8")
    assert [name for name in NOTEBOOKS if f"({name})" not in page] == []


def _kinds(output: dict[str, Any]) -> list[str]:
    return [output["output_type"], *sorted(output.get("data", {}))]
