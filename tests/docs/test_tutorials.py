"""The pages for readers who type along: every command and every piece of Python in them is run, in order.

Pages on made-up data are compared with what they show. Tutorials on public recordings are run on a small planted
stand-in, for the commands; and all pages in full, for the figures, where the recordings are (`pytest -m data`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rondo.config.settings import PRESETS, EvidenceConfig
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant_subjects
from tests.cli.conftest import here as here
from tests.cli.running import call
from tests.docs.executed_pages import LANGUAGES, ROOT, blocks_of, run_page

DOCS = ROOT / "docs"
ON_MADE_UP_DATA = ["start.md", "recipes.md", "tutorials/live_stream.md", "report.md", "judging.md", "coarseness.md",
                   "plants.md"]  # fmt: skip
ON_PUBLIC_DATA = ["tutorials/wearable.md", "tutorials/motion_capture.md"]
WITHOUT_FIGURES = ["index.md", "benchmark.md", "comparison.md", "limits.md", "method.md", "paper.md", "../README.md"]
PAGES = [*ON_MADE_UP_DATA, *ON_PUBLIC_DATA, *WITHOUT_FIGURES]
MARK = re.compile(r"((not run|run in full only): \w.*|exit code \d+)?")
STREAMS = DOCS / "streams.md"
MOST_NOT_RUN = 2  # of a page: an installation, a package index, a download, a browser, a GPU


pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("bash", "cmp", "timeout"))), reason="the pages use bash, cmp and timeout"
)


@pytest.mark.slow
@pytest.mark.parametrize("page", ON_MADE_UP_DATA)
def test_a_page_does_what_it_says(page: str) -> None:
    run_page(DOCS / page, compared=True)


@pytest.mark.slow
@pytest.mark.parametrize("page", [*ON_PUBLIC_DATA, "benchmark.md"])
def test_the_commands_of_a_tutorial_run(page: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    untested = EvidenceConfig(surrogates=0)  # half of the time of a fit, and no figure is looked at here
    quick = {name: preset.model_copy(update={"evidence": untested}) for name, preset in PRESETS.items()}
    monkeypatch.setattr("rondo.config.settings.PRESETS", quick)
    _write_stand_in(here / "data" / "USC-HAD", "subject", StreamPlan(rate=100), n_frames=7_000)
    _write_stand_in(here / "data" / "MoCap", "amc_86_", StreamPlan(n_channels=4), n_frames=3_000)
    run_page(DOCS / page, compared=page == "benchmark.md")


@pytest.mark.slow
def test_the_commands_of_the_readme_run(here: Path) -> None:
    parts = plant_subjects(StreamPlan(), 2, n_frames=6_000, seed=5)
    (here / "study").mkdir()
    for name, part in {"walk": 0, "day2": 1, "day3": 1, "study/a": 0, "study/b": 1}.items():
        columns = {f"acc{i}": channel.round(3) for i, channel in enumerate(parts[part].recording.values.T)}
        pl.DataFrame({"time": np.arange(6_000) / 50} | columns).write_csv(f"{name}.csv")
    pl.DataFrame({"label": parts[0].motif_truth}).write_csv("truth.csv")
    run_page(ROOT / "README.md", compared=True)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("page", ["start.md", "index.md", "tutorials/live_stream.md", *ON_PUBLIC_DATA])
def test_the_figures_of_a_page_are_those_of_the_recordings(page: str, here: Path, data_dir: Path) -> None:
    (here / "data").symlink_to(data_dir.resolve())
    run_page(DOCS / page, compared=True, in_full=True)


def test_the_demo_runs(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the page it takes too long for every day."""
    monkeypatch.setattr("rondo.cli.demo.N_FRAMES", 4_000)
    assert call("demo").out.endswith("report:  rondo-demo/report.html\n")
    assert (here / "rondo-demo" / "report.html").is_file()


def test_what_is_not_run_is_rare_and_says_why_and_pictures_are_there_and_small() -> None:
    for page in PAGES:
        blocks = blocks_of(DOCS / page)
        assert {block.language for block in blocks} <= set(LANGUAGES), "a block without a known language is never run"
        assert [block.where for block in blocks if not MARK.fullmatch(block.mark)] == []
        assert sum(block.mark.startswith("not run") for block in blocks) <= MOST_NOT_RUN
        for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", (DOCS / page).read_text()):
            assert ((DOCS / page).parent / name).stat().st_size < 150_000, name


@pytest.mark.parametrize(("page", "least"), [("method.md", 30), ("paper.md", 20)])
def test_files_that_the_page_names_are_there(page: str, least: int) -> None:
    named = re.findall(r"`((?:src/)?[a-z_]+(?:/[a-z_0-9]+)+\.py)`", (DOCS / page).read_text())
    assert len(named) >= least
    folders = (ROOT, ROOT / "src" / "rondo")
    assert [name for name in named if not any((folder / name).is_file() for folder in folders)] == []


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.skipif(
    not all(map(shutil.which, ("mosquitto", "mosquitto_pub", "bash", "cmp", "timeout"))),
    reason="the walk-through needs mosquitto and its clients",
)
def test_the_walk_through_runs(here: Path) -> None:
    pytest.importorskip("paho.mqtt")
    try:
        run_page(STREAMS, compared=True)
    finally:
        for name in ("stream.pid", "broker.pid"):
            if (here / name).exists():
                _end(int((here / name).read_text()))


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def test_every_guarantee_names_tests_that_are_there() -> None:
    table = STREAMS.read_text().partition("## Sources and their guarantees")[2]
    rows = [
        line
        for line in table.partition('"Labelled once"')[0].splitlines()
        if line.startswith("| ") and "---" not in line
    ]
    assert len(rows) == 8, "a header and seven sources"
    for row in rows[1:]:
        named = re.findall(r"`((?:tests/\w+/)?test_\w+\.py)`", row)
        assert named, row
        for name in named:
            assert list(ROOT.glob(f"**/{Path(name).name}")), name


def _write_stand_in(folder: Path, stem: str, plan: StreamPlan, n_frames: int) -> None:
    """A data set in our stored form, planted: recordings 01 and 02 with classes that have names."""
    folder.mkdir(parents=True)
    for number, stream in enumerate(plant_subjects(plan, 2, n_frames=n_frames, seed=5), start=1):
        np.savez(folder / f"{stem}{number:02d}.npz", X=stream.recording.values, y=stream.unit_truth + 1)
    (folder / "meta.json").write_text(json.dumps({"classes": ["rest", *(f"class {i}" for i in range(8))]}))
