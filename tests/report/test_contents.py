"""A page holds all that fits, in a stated number of bytes, and says what it left out and how to get it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rondo.errors import OutputError, SettingError
from rondo.report.contents import Wish, contents_of
from rondo.report.lanes import timeline
from rondo.result import Result
from rondo.run.data import overview_bytes
from rondo.run.overview import overview_path
from rondo.run.segments import counts_in, read_segments
from rondo.run.summary import RunSummary, read_summary
from tests.report.on_folders import summarize
from tests.report.run_folders import write_run_folder

IDS = tuple(f"day{i}" for i in range(6))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run_folder(
        tmp_path_factory.mktemp("run"), recording_ids=IDS, channels=("x", "y", "z"), n_frames=3000, with_truth=False
    )


def read(folder: Path) -> tuple[RunSummary, list[dict[str, int]]]:
    run = read_summary(folder)
    return run, [counts_in(read_segments(folder / "segments.parquet", run))]


def test_recordings_that_do_not_fit_are_named_with_the_way_to_get_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rondo.report.contents.PAGE_BYTES", 820_000 + 8_000)
    contents = contents_of(*read(folder))
    n_inside = len(contents.recordings)
    assert 1 <= n_inside < 6
    words = contents.left_out[0]
    assert words.startswith(f"{n_inside} of 6 recordings are inside this page")
    assert f"--recordings {','.join(IDS[n_inside : n_inside + 2])}" in words
    asked = contents_of(*read(folder), Wish(recordings=(IDS[5],)))
    assert [it.id for it in asked.recordings] == [IDS[5]]


def test_where_signals_do_not_fit_lanes_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rondo.report.contents.PAGE_BYTES", 820_000 + 20_000)
    summary = summarize(folder)
    drawn = [bool(recording["signal"]["channels"]) for recording in summary["recordings"]]
    assert len(drawn) == 6 and drawn[0] and not drawn[-1]
    assert all(recording["lanes"][0]["names"] for recording in summary["recordings"])
    assert f"{drawn.count(False)} recordings are not inside" in summary["left_out"][0]
    assert f"--recordings {IDS[drawn.count(True)]}," in summary["left_out"][0]


def test_channels_can_be_chosen(folder: Path) -> None:
    summary = summarize(folder, Wish(channels=("z", "x")))
    assert summary["recordings"][0]["signal"]["channels"] == ["x", "z"]
    assert "2 of 3 channels are inside" in summary["left_out"][0]


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (Wish(recordings=("dayy1",)), "--recordings: the run has no 'dayy1'; did you mean 'day1'?"),
        (Wish(channels=("pressure",)), "--channels: the run has no 'pressure'; there are x, y, z"),
    ],
)
def test_an_unknown_name_is_refused(folder: Path, wish: Wish, message: str) -> None:
    with pytest.raises(SettingError, match=message.replace("?", r"\?")):
        summarize(folder, wish)


@pytest.mark.slow
def test_a_page_of_many_recordings_keeps_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise hardly shrinks: 20 recordings of 10,000 frames and 12 channels are 2.4 MB before they become text."""
    ids = tuple(f"r{i:02}" for i in range(20))
    channels = tuple(f"c{i}" for i in range(12))
    run = write_run_folder(tmp_path, recording_ids=ids, channels=channels, n_frames=10_000, with_truth=False)
    weights = []
    for room in (1_000_000, 2_000_000):
        monkeypatch.setattr("rondo.report.contents.PAGE_BYTES", 820_000 + room)
        summary = summarize(run)
        weights.append(sum(len(json.dumps(timeline(recording))) for recording in summary["recordings"]))
        assert 0.4 * room < weights[-1] < room
        assert len(summary["recordings"]) == 20


def test_overviews_are_read_when_asked_for_and_few_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_run_folder(tmp_path, recording_ids=IDS[:4], n_frames=500, with_truth=False)
    overview_path(folder, IDS[3]).write_bytes(b"")
    overviews = Result.load(folder).run.overviews
    assert tuple(overviews) == IDS[:4]
    first, second = overviews[IDS[0]], overviews[IDS[1]]
    assert overviews[IDS[0]] is first and overviews[IDS[1]] is second
    monkeypatch.setattr("rondo.arrays._MOST_HELD", 2 * overview_bytes(first))
    assert overviews[IDS[2]] is overviews[IDS[2]]
    assert overviews[IDS[1]] is second and overviews[IDS[0]] is not first
    with pytest.raises(OutputError, match=IDS[3]):
        overviews[IDS[3]]
