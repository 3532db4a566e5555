"""The page: self-contained, escaped, light; its data first, its words after."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import OutputError
from rondo.report.contents import PAGE_BYTES
from rondo.report.lanes import timeline
from rondo.report.render import content_policy, render
from rondo.run.overview import overview_path, write_overview
from tests.report.on_folders import summarize, write_report
from tests.report.run_folders import add_fit, edit_summary, write_run_folder

NASTY = "</script><img src=x onerror=alert(1)> & \"q\" 'p' $$x$$"


class Tags(HTMLParser):
    """All tags with their attributes, and the text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem is None:
            self.text += data


@pytest.fixture(scope="module")
def demo_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_report(write_run_folder(tmp_path_factory.mktemp("demo"))).read_text(encoding="utf-8")


def test_nothing_is_loaded_from_elsewhere(demo_page: str) -> None:
    tags = Tags(demo_page).tags
    assert not [tag for tag, attrs in tags if {"src", "href", "srcset", "action", "data"} & attrs.keys()]
    assert not [tag for tag, _ in tags if tag in ("link", "iframe", "object", "embed", "base")]
    style = "".join(re.findall(r"<style>(.*?)</style>", demo_page, re.DOTALL))
    assert style
    assert "@import" not in style
    assert "url(" not in style


def test_the_page_has_its_parts_in_order(demo_page: str) -> None:
    page = Tags(demo_page)
    assert ("html", {"lang": "en"}) in page.tags
    assert "<title>Rondo report</title>" in demo_page
    parts = [
        "5 units and 3 motifs found in 2 min of 6 channels",
        "day1",
        "How it composes",
        "Vocabulary",
        "ARI",
        "MoF",
        "clock (control)",
        "ignores\nthe data",
        "interpolated",
        "Method",
        "How to read this page",
    ]
    positions = [page.text.index(part) for part in parts]
    assert positions == sorted(positions)


def test_claims_come_before_the_papers_scores(demo_page: str) -> None:
    scores = demo_page[demo_page.index("Scores against the truth") :]
    headings = re.findall(r"<th[^>]*>([^<]*)</th>", scores)[:10]
    assert headings == [
        "Level", "Labels from", "ARI", "AMI", "One-to-one", "MoF", "Recall", "F1@50", "Edit", "SegRatio",
    ]  # fmt: skip


def test_strings_from_files_stay_text(tmp_path: Path) -> None:
    name = NASTY.replace("/", "∕")  # a recording id is a file name as well
    folder = write_run_folder(tmp_path, recording_ids=(name,), channels=("</script><img>", "b"))
    edit_summary(folder, method=NASTY)
    summary = summarize(folder)
    summary["notes"][0]["text"] = NASTY
    summary["entries"]["motif"][0]["parts"] = [{"text": NASTY, "colour": "", "pattern": ""}]
    page = Tags(render(summary))
    assert "img" not in [tag for tag, _ in page.tags]
    assert page.text.count(NASTY) == 6  # first sentence, provenance, two score rows, note, composition
    assert name in page.text


@pytest.mark.parametrize(("n_recordings", "hidden"), [(12, 0), (14, 14)])
def test_more_than_twelve_recordings_are_a_sheet_from_which_each_is_opened(
    tmp_path: Path, n_recordings: int, hidden: int
) -> None:
    ids = tuple(f"r{i}" for i in range(n_recordings))
    page = render(summarize(write_run_folder(tmp_path, recording_ids=ids, channels=tuple("ab"), n_frames=500)))
    assert page.count('<section class="recording"') == n_recordings
    assert page.count('<section class="recording" hidden') == hidden
    assert ('id="sheet"' in page) == (hidden > 0)
    assert ('id="choose-recordings"' in page) == (hidden == 0)


def test_channels_that_are_not_drawn_at_first_can_be_chosen_and_what_is_left_out_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = tuple(f"r{i}" for i in range(14))
    folder = write_run_folder(tmp_path, recording_ids=ids, channels=tuple("abcdefghijklmn"), n_frames=500)
    page = render(summarize(folder))
    assert page.count('type="checkbox"') == 14
    assert page.count(" checked>") == 12
    assert "inside this page" not in page
    monkeypatch.setattr("rondo.report.contents.PAGE_BYTES", 830_000)
    text = " ".join(Tags(render(summarize(folder))).text.split())
    assert "of 14 recordings are inside this page, for a page is kept under 0 MB; the others by name: rondo" in text


def test_a_note_on_many_recordings_names_the_first_of_them(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, recording_ids=tuple(f"r{i:02}" for i in range(12)), n_frames=800)
    recordings = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["recordings"]
    for number, recording in enumerate(recordings):
        recording["notes"] = ["a column was left out"] if number else []
    edit_summary(folder, recordings=recordings)
    page = " ".join(render(summarize(folder)).split())
    assert "(r01, r02, r03, r04, r05, r06, r07, r08 and 3 more)" in page


def test_a_timeline_holds_its_segments_frame_by_frame(tmp_path: Path) -> None:
    for rate in (50.0, None):
        recording = summarize(write_run_folder(tmp_path / str(rate), rate=rate))["recordings"][0]
        data = timeline(recording)
        assert data["n_frames"] == 6000
        assert data["frame_s"] == (None if rate is None else 0.02)
        for lane, told in zip(recording["lanes"], data["lanes"], strict=True):
            starts, ends, entry, sequence = (
                np.frombuffer(base64.b64decode(told[name]), "<i4") for name in ("starts", "ends", "entry", "sequence")
            )
            assert starts.tolist() == lane["start_frames"]
            assert ends.tolist() == lane["end_frames"]
            assert [told["entries"][i]["name"] for i in entry] == lane["names"]
            assert [told["entries"][i]["colour"] for i in entry] == lane["colours"]
            assert [told["sequences"][i] for i in sequence] == lane["units"]
            scores = np.frombuffer(base64.b64decode(told["scores"]), "<f4")
            npt.assert_allclose(scores, np.array(lane["scores"], dtype=float), rtol=1e-6)


def test_channels_without_values_are_said_to_have_none(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, channels=("a", "b"))
    write_overview(overview_path(folder, "day1"), np.full((6000, 2), np.nan), ("a", "b"))
    assert summarize(folder)["recordings"][0]["signal"]["ends"] == [None, None]


def test_entries_without_evidence_are_greyed_and_there(demo_page: str) -> None:
    rows = re.findall(
        r'<tr( class="unproven")?>\s*<td class="word id">.*?</span><button[^>]*>(\w+)</button></td>', demo_page
    )
    units = [(name, bool(marked)) for marked, name in rows if name.startswith("u")]
    assert units == [("u0", False), ("u1", True), ("u2", True), ("u3", False), ("u4", False)]
    assert demo_page.count('<th class="word">Recurs?</th>') == 2


def test_without_evidence_nothing_is_said_about_it(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path)
    stored = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    for level in ("units", "motifs"):
        edit_summary(folder, **{level: [{k: v for k, v in row.items() if k != "evidence"} for row in stored[level]]})
    page = render(summarize(folder))
    assert "Recurs?" not in Tags(page).text
    assert "surrogates" not in Tags(page).text


def test_whether_the_model_fits_is_said_where_it_was_only_applied(tmp_path: Path, demo_page: str) -> None:
    assert "Does the model fit?" not in demo_page
    folder = write_run_folder(tmp_path, recording_ids=("a", "b"))
    add_fit(folder, "fits in part", "does not fit")
    page = render(summarize(folder))
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", page[page.index("Does the model fit?") :])
    quantiles = ["0.20", "0.30", "0.50", "0.70", "1.00"]
    assert cells[:9] == ["where it was fitted", "", "95 %", "", *quantiles]
    assert cells[9:18] == ["a", "fits in part", "95 %", "3 of 5", *quantiles]
    assert "A model fits where at least 80 %" in Tags(page).text
    header = page[: page.index("</header>")]
    assert "The model does not fit b" in header  # before anything that was found is believed
    assert "The model does not fit" not in demo_page


def test_very_many_entries_make_a_light_page(tmp_path: Path, demo_page: str) -> None:
    folder = write_run_folder(tmp_path)
    one = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["units"][0]
    edit_summary(folder, units=[one | {"id": i} for i in range(5000)])
    page = render(summarize(folder))
    assert "The 200 of 5000 that take up most of the time" in Tags(page).text
    assert len(page) < len(demo_page) + 300_000


def test_an_empty_vocabulary_makes_a_page(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, with_truth=False)
    import polars as pl

    pl.read_parquet(folder / "segments.parquet").clear().write_parquet(folder / "segments.parquet")
    edit_summary(folder, units=[], motifs=[])
    text = Tags(render(summarize(folder))).text
    assert "found 0 units and 0 motifs" in text
    assert text.count("None found.") == 2


def test_report_is_replaced_whole_and_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path)
    before = {path.name for path in folder.iterdir()}
    (folder / "report.html").write_text("old")
    assert write_report(folder) == folder / "report.html"
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert {path.name for path in folder.iterdir()} == before | {"report.html"}


def test_a_report_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path)
    (folder / "report.html").mkdir()
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(OutputError, match="cannot be written"):
        write_report(folder)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_importing_the_report_loads_neither_polars_nor_jinja() -> None:
    heavy = "('polars', 'jinja2', 'pydantic')"
    code = f"import sys, rondo.report; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_million_frames_make_a_light_page_quickly(tmp_path: Path) -> None:
    channels = tuple(f"c{i}" for i in range(12))
    folder = write_run_folder(tmp_path, n_frames=1_000_000, channels=channels, unit_length=35, with_truth=False)
    import polars as pl

    units = pl.read_parquet(folder / "segments.parquet").filter(pl.col("level") == "unit")
    assert units.height > 19_000
    pl.concat([units, units.with_columns(level=pl.lit("motif"))]).write_parquet(folder / "segments.parquet")
    started = time.process_time()  # of this process: a machine that others use is no fault of the page
    path = write_report(folder)
    assert time.process_time() - started < 60  # 2 s when measured; one Python step per frame would take many minutes
    assert path.stat().st_size < PAGE_BYTES


def test_only_the_scripts_of_the_page_may_run_and_none_may_ask_anyone(demo_page: str) -> None:
    tags = Tags(demo_page).tags
    (policy,) = [attrs["content"] for tag, attrs in tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    scripts = re.findall(r"<script>(.*?)</script>", demo_page, re.DOTALL)
    assert len(scripts) == 1
    assert policy == content_policy(scripts, live=False, media=False)
    assert policy.startswith("default-src 'none'; ") and "'self'" not in policy and "unsafe-eval" not in policy
    names = [tag if tag != "meta" else next(iter(attrs)) for tag, attrs in tags]
    assert names.index("charset") + 1 == names.index("http-equiv")  # before anything that it is about


def test_a_page_from_a_disk_knows_of_no_server_and_a_served_one_of_its_own(tmp_path: Path) -> None:
    summary = summarize(write_run_folder(tmp_path, n_frames=1_000))
    known = re.compile(r'id="server-data">(.*?)</script>')
    assert json.loads(known.findall(render(summary))[0]) == {}
    served = render(summary, live="now", server={"token": "</script>", "edits": True, "media": {"url": "media"}})
    assert json.loads(known.findall(served)[0]) == {"token": "</script>", "edits": True, "media": {"url": "media"}}
    policies = [attrs["content"] for _, attrs in Tags(served).tags if "http-equiv" in attrs]
    assert all(f"{rule} 'self'" in policies[0] for rule in ("media-src", "connect-src"))


@pytest.mark.slow
def test_a_thousand_recordings_make_a_light_page(tmp_path: Path) -> None:
    ids = tuple(f"r{i:04}" for i in range(1_000))
    folder = write_run_folder(tmp_path, recording_ids=ids, n_frames=2_000, channels=tuple("abcdef"), with_truth=False)
    path = write_report(folder)
    assert path.stat().st_size < PAGE_BYTES
    assert path.read_text(encoding="utf-8").count('<section class="recording"') == 1_000
