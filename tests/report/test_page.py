"""The page of a run: its words in one golden file, its data complete, escaped, light and self-contained."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest

from rondo.analysis.usage import MOST_COMPARED, Difference
from rondo.errors import OutputError
from rondo.report.contents import PAGE_BYTES
from rondo.report.lanes import timeline
from rondo.report.render import content_policy, render
from rondo.report.tables import MAX_ENTRIES_SHOWN
from rondo.run.decisions import COLUMNS
from rondo.run.overview import overview_path
from tests.report.on_folders import compare, summarize, write_report
from tests.report.run_folders import add_fit, edit_summary, write_run_folder
from tests.report.stream_folders import EVENTS, write_stream_folder
from tests.run.stored import write_overview

GOLDEN = Path(__file__).parents[1] / "golden" / "pages.json"
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


def read(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def grouped(folder: Path, groups: tuple[str, ...] = ("s<1>", "s<1>", "s2")) -> Path:
    """A run of recordings in groups."""
    ids = tuple(f"r{i:02}" for i in range(len(groups)))
    write_run_folder(folder, recording_ids=ids, n_frames=2000, with_truth=False)
    recordings = zip(read(folder)["recordings"], groups, strict=True)
    edit_summary(folder, recordings=[it | {"group": group} for it, group in recordings])
    return folder


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run_folder(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def demo_page(demo: Path) -> str:
    return render(summarize(demo))


def scored(folder: Path) -> dict[str, Any]:
    return summarize(write_run_folder(folder, n_frames=2000))


def applied(folder: Path) -> dict[str, Any]:
    add_fit(
        write_run_folder(folder, recording_ids=("a", "b"), n_frames=1000, rate=None), "fits in part", "does not fit"
    )
    return summarize(folder)


def streamed(folder: Path) -> dict[str, Any]:
    return summarize(write_stream_folder(folder / "live", events=EVENTS))


def compared(folder: Path) -> dict[str, Any]:
    first, second = folder / "first", folder / "second"
    return compare(write_run_folder(first, n_frames=2000), write_run_folder(second, n_frames=2000, unit_length=60))


def plain(value: Any) -> Any:
    """Without packed signals, long columns, and digits that another machine may round otherwise."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [*map(plain, value[:5]), *([f"… {len(value)} in all"] if len(value) > 5 else [])]
    if isinstance(value, float):
        return float(f"{value:.4g}")
    is_packed = isinstance(value, str) and len(value) > 60 and " " not in value
    return "…" if is_packed else value


@pytest.mark.parametrize("make", [scored, applied, streamed, compared])
def test_what_a_page_says(
    make: Callable[[Path], dict[str, Any]], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """After a change of words: pytest --update-golden, and look at the difference."""
    summary = make(tmp_path)
    assert json.loads(json.dumps(summary, allow_nan=False)) == json.loads(json.dumps(summary))
    lines = [" ".join(line.split()) for line in Tags(render(summary)).text.splitlines()]
    page = {"text": [line for line in lines if line]} | ({"summary": plain(summary)} if make is scored else {})
    page = json.loads(json.dumps(page))
    golden = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    if request.config.getoption("--update-golden"):
        golden[make.__name__] = page
        GOLDEN.parent.mkdir(exist_ok=True)
        text = json.dumps(golden, indent=1, ensure_ascii=False, sort_keys=True)
        GOLDEN.write_text(text + "\n", encoding="utf-8")
    assert page == golden[make.__name__]


def test_motifs_that_are_units_are_shown_once(tmp_path: Path) -> None:
    folder = grouped(tmp_path / "run")
    edit_summary(folder, motifs_are_units=True)
    summary = summarize(folder)
    assert "motifs" not in summary["finding"]
    assert [row["name"] for row in summary["groups"]["rows"]] == ["u0", "u1", "u2", "u3", "u4"]
    page = render(summary)
    assert "lane of their own" in page and '"kind":"motif"' not in page


def test_lanes_hold_the_segments_of_their_recording_frame_by_frame(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, recording_ids=("a", "b"))
    table = pl.read_parquet(folder / "segments.parquet")
    for recording in summarize(folder)["recordings"]:
        rows = table.filter((pl.col("recording") == recording["id"]) & (pl.col("level") == "unit"))
        lane = recording["lanes"][0]
        assert (lane["start_frames"], lane["end_frames"]) == (
            rows["start_frame"].to_list(),
            rows["end_frame"].to_list(),
        )
        assert lane["names"] == ["OTHER" if id == -1 else f"u{id}" for id in rows["id"]]
        for lane, packed in zip(recording["lanes"], timeline(recording)["lanes"], strict=True):
            columns = ("starts", "ends", "entry", "sequence")
            starts, ends, entry, sequence = (np.frombuffer(base64.b64decode(packed[it]), "<i4") for it in columns)
            assert (starts.tolist(), ends.tolist()) == (lane["start_frames"], lane["end_frames"])
            assert [packed["entries"][i]["name"] for i in entry] == lane["names"]
            assert [packed["entries"][i]["colour"] for i in entry] == lane["colours"]
            assert [packed["sequences"][i] for i in sequence] == lane["units"]
            scores = np.frombuffer(base64.b64decode(packed["scores"]), "<f4")
            npt.assert_allclose(scores, np.array(lane["scores"], dtype=float), rtol=1e-6)


def test_gaps_are_missing_and_channels_without_values_have_no_ends(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, channels=("a", "b"), n_frames=800)
    signal = summarize(folder)["recordings"][0]["signal"]
    codes = np.frombuffer(base64.b64decode(signal["coarse"]["data"]), np.uint8).reshape(2, 800)
    npt.assert_array_equal(codes == 255, np.tile((np.arange(800) >= 400) & (np.arange(800) < 440), (2, 1)))
    write_overview(overview_path(folder, "day1"), np.full((800, 2), np.nan), ("a", "b"))
    assert summarize(folder)["recordings"][0]["signal"]["ends"] == [None, None]


@pytest.mark.parametrize("rate", [50.0, None])
def test_exemplars_lead_to_their_place_in_the_timeline(tmp_path: Path, rate: float | None) -> None:
    ids = tuple(f"r{i:02}" for i in range(13))
    folder = write_run_folder(tmp_path, recording_ids=ids, n_frames=2000, rate=rate)
    for row, entry in zip(summarize(folder)["entries"]["unit"], read(folder)["units"], strict=True):
        for shown, exemplar in zip(row["exemplars"], entry["exemplars"], strict=True):
            start, stop = exemplar["start_frame"], exemplar["end_frame"]
            assert shown["timeline"] == ids.index(exemplar["recording"])
            assert (shown["from"], shown["to"]) == (max(0, 2 * start - stop), min(2000, 2 * stop - start))


def test_of_very_many_entries_those_with_most_time_are_shown(tmp_path: Path, demo_page: str) -> None:
    folder = write_run_folder(tmp_path)
    entry = read(folder)["units"][0]
    edit_summary(folder, units=[entry | {"id": i, "share": (i * 7919 % 1000) / 1000} for i in range(1000)])
    summary = summarize(folder)
    assert summary["n_entries"] == {"unit": 1000, "motif": 3}
    shown = [int(row["name"][1:]) for row in summary["entries"]["unit"]]
    assert shown == [i for i in range(1000) if i * 7919 % 1000 >= 1000 - MAX_ENTRIES_SHOWN]
    assert len(render(summary)) < len(demo_page) + 300_000


def test_an_empty_vocabulary_makes_a_page(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, with_truth=False)
    pl.read_parquet(folder / "segments.parquet").clear().write_parquet(folder / "segments.parquet")
    edit_summary(folder, units=[], motifs=[])
    assert Tags(render(summarize(folder))).text.count("None found.") == 1


def test_groups_have_a_cell_for_every_entry_and_intervals_where_there_is_spread(tmp_path: Path) -> None:
    table = summarize(grouped(tmp_path / "run"))["groups"]
    assert table["names"] == [{"name": "s2", "n_recordings": 1}, {"name": "s<1>", "n_recordings": 2}]
    assert [row["name"] for row in table["rows"]] == ["u0", "u1", "u2", "u3", "u4", "m0", "m1", "m2"]
    assert all(row["cells"][0]["interval"] == "" and "–" in row["cells"][1]["interval"] for row in table["rows"])
    assert not any(row["differences"] for row in table["rows"])
    assert summarize(grouped(tmp_path / "one", ("s1", "s1")))["groups"] is None


def test_of_many_groups_the_largest_are_shown_and_none_compared(tmp_path: Path) -> None:
    names = tuple(f"g{i:02}" for i in range(MOST_COMPARED + 2))
    table = summarize(grouped(tmp_path / "run", (*names, "g00")))["groups"]
    assert len(table["names"]) == MOST_COMPARED and table["names"][0] == {"name": "g00", "n_recordings": 2}
    assert table["n_left_out"] == 2 and str(MOST_COMPARED + 2) in table["notes"][-1]


def test_differences_are_marked_with_their_p(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Difference("unit", 3, ("s2", "s<1>"), -0.2, 0.012), Difference("unit", 1, ("s2", "s<1>"), 0.3, 0.2)]
    monkeypatch.setattr("rondo.report.tables.differences", lambda rows: found)
    summary = summarize(grouped(tmp_path / "run"))
    marked = {row["name"]: row["differences"] for row in summary["groups"]["rows"] if row["differences"]}
    assert marked == {"u3": ["more in s<1> than in s2 (p = 0.012)"]}
    assert "than in s2 (p = 0.012)" in render(summary)


def test_decisions_that_speak_for_no_frame_and_half_written_lines_change_nothing(tmp_path: Path) -> None:
    plain, folder = (write_stream_folder(tmp_path / name / "live") for name in ("plain", "odd"))
    path = folder / "labels.csv"
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    cells = [line.split(",") for line in lines]
    empty = [",".join([start, start, second, second, "9", "9", "0.5", "0.5"]) for start, _, second, *_ in cells]
    mixed = [line for pair in zip(empty, lines, strict=True) for line in pair]
    path.write_text("\n".join([header, *mixed]) + "\n1000,10", encoding="utf-8")
    with (folder / "events.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"kind":"pro')
    assert summarize(folder) == summarize(plain)


@pytest.mark.parametrize("kept", [0, 11, len(",".join(COLUMNS)) + 1, len(",".join(COLUMNS)) + 20])
def test_a_stream_that_has_just_begun_has_a_page(tmp_path: Path, kept: int) -> None:
    """Between two instants of writing: no header yet, half of it, the header alone, half of the first decision."""
    folder = write_stream_folder(tmp_path / "live")
    path = folder / "labels.csv"
    path.write_bytes(path.read_bytes()[:kept])
    (folder / "events.jsonl").unlink()
    page = render(summarize(folder), live="now")
    assert "0 units occur" in page and "state.json" in page


def test_motifs_of_a_stream_are_units_until_one_of_them_is_not(tmp_path: Path) -> None:
    folder = write_stream_folder(tmp_path / "live", n_decisions=0, events=())
    path = folder / "labels.csv"
    header = path.read_text(encoding="utf-8")
    labels = [(0, 4), (0, 4), (1, 7), (-1, -1), (0, 4), (1, 4)]  # the last is u1 in another motif
    lines = [f"{50 * i},{50 * i + 50},{i},{i + 1},{u},{m},0.5,0.5\n" for i, (u, m) in enumerate(labels)]
    for n, are_units in ((2, False), (5, True), (6, False)):
        path.write_text(header + "".join(lines[:n]), encoding="utf-8")
        assert summarize(folder)["motifs_are_units"] == are_units


def test_the_scores_of_decisions_lie_on_their_frames_and_other_tables_are_refused(tmp_path: Path) -> None:
    folder = write_stream_folder(tmp_path / "live", n_decisions=10)
    scores = summarize(folder)["recordings"][0]["scores"]
    codes = np.frombuffer(base64.b64decode(scores["coarse"]["data"]), np.uint8).reshape(2, 500)
    expected = np.repeat([0.25, 0.25, 0.25, 0.25, 0.0] * 2, 50)  # every fifth decision is OTHER
    npt.assert_allclose(codes / 254, [np.full(500, 0.5), expected], atol=1 / 254)
    (folder / "labels.csv").write_text("start_frame\nx\n", encoding="utf-8")
    with pytest.raises(OutputError, match=r"^[^\n]*labels\.csv[^\n]*$"):
        summarize(folder)


def test_nothing_is_loaded_from_elsewhere_and_only_its_scripts_may_run(demo_page: str) -> None:
    tags = Tags(demo_page).tags
    assert not [tag for tag, attrs in tags if {"src", "href", "srcset", "action", "data"} & attrs.keys()]
    assert not [tag for tag, _ in tags if tag in ("link", "iframe", "object", "embed", "base")]
    style = "".join(re.findall(r"<style>(.*?)</style>", demo_page, re.DOTALL))
    assert style and "@import" not in style and "url(" not in style
    (policy,) = [attrs["content"] for _, attrs in tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    scripts = re.findall(r"<script>(.*?)</script>", demo_page, re.DOTALL)
    assert len(scripts) == 1 and policy == content_policy(scripts, live=False, media=False)
    assert policy.startswith("default-src 'none'; ") and "'self'" not in policy and "unsafe-eval" not in policy
    names = [tag if tag != "meta" else next(iter(attrs)) for tag, attrs in tags]
    assert names.index("charset") + 1 == names.index("http-equiv")  # before anything that it is about


def test_a_page_from_a_disk_knows_of_no_server_and_a_served_one_of_its_own(demo: Path) -> None:
    summary = summarize(demo)
    known = re.compile(r'id="server-data">(.*?)</script>')
    assert json.loads(known.findall(render(summary))[0]) == {}
    server = {"token": "</script>", "edits": True, "media": {"url": "media"}}
    served = render(summary, live="now", server=server)
    assert json.loads(known.findall(served)[0]) == server
    (policy,) = [attrs["content"] for _, attrs in Tags(served).tags if "http-equiv" in attrs]
    assert all(f"{rule} 'self'" in str(policy) for rule in ("media-src", "connect-src"))


def test_strings_from_files_stay_text(tmp_path: Path) -> None:
    name = NASTY.replace("/", "∕")  # a recording id is a file name as well
    folder = write_run_folder(tmp_path, recording_ids=(name,), channels=("</script><img>", "b"))
    edit_summary(folder, method=NASTY)
    summary = summarize(folder)
    summary["notes"][0]["what"] = NASTY
    summary["entries"]["motif"][0]["parts"] = [{"text": NASTY, "colour": "", "pattern": ""}]
    page = Tags(render(summary))
    assert "img" not in [tag for tag, _ in page.tags]
    assert page.text.count(NASTY) == 6  # first sentence, provenance, two score rows, note, composition
    assert name in page.text


@pytest.mark.parametrize(("n_recordings", "is_sheet"), [(12, False), (14, True)])
def test_more_than_twelve_recordings_are_a_sheet(tmp_path: Path, n_recordings: int, is_sheet: bool) -> None:
    ids = tuple(f"r{i}" for i in range(n_recordings))
    channels = tuple("abcdefghijklmn")
    page = render(summarize(write_run_folder(tmp_path, recording_ids=ids, channels=channels, n_frames=500)))
    assert page.count('<section class="recording"') == n_recordings
    assert page.count('<section class="recording" hidden') == (n_recordings if is_sheet else 0)
    assert ('id="sheet"' in page, 'id="choose-recordings"' in page) == (is_sheet, not is_sheet)
    assert page.count(" checked>") == (12 if is_sheet else 24)  # channels, and recordings without a sheet


def test_a_report_is_replaced_whole_or_stays(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path)
    before = {path.name for path in folder.iterdir()}
    (folder / "report.html").write_text("old")
    assert write_report(folder).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert {path.name for path in folder.iterdir()} == before | {"report.html"}
    (folder / "report.html").unlink()
    (folder / "report.html").mkdir()
    with pytest.raises(OutputError):
        write_report(folder)
    assert {path.name for path in folder.iterdir()} == before | {"report.html"}


@pytest.mark.slow
def test_a_thousand_recordings_make_a_light_page(tmp_path: Path) -> None:
    ids = tuple(f"r{i:04}" for i in range(1_000))
    folder = write_run_folder(tmp_path, recording_ids=ids, n_frames=2_000, channels=tuple("abcdef"), with_truth=False)
    path = write_report(folder)
    assert path.stat().st_size < PAGE_BYTES
    assert path.read_text(encoding="utf-8").count('<section class="recording"') == 1_000


SEGMENT = {"recording": ["day1"], "level": ["unit"], "id": [0], "start_frame": [0], "end_frame": [5], "score": [0.5]}


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"schema": 1}, "schema"),
        ({"recordings": [{"id": "../../elsewhere"}]}, r"recordings\.0\.id"),
        ({"units": "many"}, "units"),
        ({"recordings": []}, "recordings"),
        ({"seed": None}, "seed"),
        ({"units": [{"id": 1, "n_occurrences": 3, "share": 40.0}]}, "units.0.share"),
    ],
)
def test_a_wrong_summary_is_refused_by_its_key(tmp_path: Path, changes: dict[str, Any], key: str) -> None:
    folder = write_run_folder(tmp_path)
    edit_summary(folder, **changes)
    with pytest.raises(OutputError, match=rf"^.*summary\.json: {key}[^\n]*$"):
        summarize(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"recording": ["day2"]},
        {"level": ["states"]},
        {"end_frame": [6001]},
        {"start_frame": [5]},
        {"id": [None]},
        {"id": ["walk"]},
        {"level": None},
    ],
)
def test_segments_that_do_not_fit_are_refused_in_one_line(tmp_path: Path, changes: dict[str, Any]) -> None:
    folder = write_run_folder(tmp_path)
    columns = {name: column for name, column in (SEGMENT | changes).items() if column is not None}
    pl.DataFrame(columns).write_parquet(folder / "segments.parquet")
    with pytest.raises(OutputError, match=r"^[^\n]*segments\.parquet[^\n]*$"):
        summarize(folder)


@pytest.mark.parametrize("name", ["summary.json", "segments.parquet", "truth.parquet", "overview/day1.npz"])
@pytest.mark.parametrize("damage", ["missing", "empty", "binary", "half", "folder", "other"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str, damage: str) -> None:
    folder = write_run_folder(tmp_path)
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage == "other":  # of another recording
        other = write_run_folder(tmp_path / "other", n_frames=500, channels=("a",))
        path.write_bytes((other / name).read_bytes() if "overview" in name else b"[]")
    elif damage != "missing":
        path.write_bytes({"empty": b"", "binary": bytes(range(256)), "half": content[: len(content) // 2]}[damage])
    if (name, damage) == ("truth.parquet", "missing"):
        assert len(summarize(folder)["recordings"][0]["lanes"]) == 2
        return
    with pytest.raises(OutputError, match=rf"^[^\n]*{re.escape(Path(name).name)}[^\n]*$"):
        summarize(folder)
