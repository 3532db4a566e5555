"""Result.plot and Result.plot_entry: what is in the figures, and that bad wishes are refused in one line."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import rondo
from rondo.data.recording import Recording
from rondo.errors import MissingExtraError, RecordingError, RondoWarning, SettingError
from rondo.evaluation import scored
from rondo.plot.recording import MOST_FIGURES, Cutout, figures_of
from rondo.report.lanes import look_of
from rondo.result import Result, make_result
from tests.report.by_hand import STEP, UNITS, labelling_of, result_by_hand
from tests.report.stream_folders import write_stream_folder

NOVEMBER = 1794774665.25


def words_of(figure: Any) -> list[str]:
    """Titles, names at the left, names in blocks, and the key."""
    texts = [*figure.texts, *(text for key in figure.legends for text in key.get_texts())]
    for axis in figure.axes:
        texts += [*axis.texts, *axis.get_yticklabels(), axis.yaxis.label, axis.xaxis.label]
    return [text.get_text() for text in texts]


def colours_of(axis: Any) -> list[str]:
    from matplotlib.colors import to_hex

    return [to_hex(face) for bars in axis.collections for face in bars.get_facecolor()]


def written(figure: Any) -> bytes:
    page = io.BytesIO()
    figure.savefig(page, format="png", dpi=50)
    return page.getvalue()


@pytest.fixture(scope="module")
def one() -> Result:
    return result_by_hand()


def test_blocks_of_motifs_stand_above_a_row_for_each_unit(one: Result) -> None:
    figure = one.plot()
    *signals, motifs, units = figure.axes  # type: ignore[union-attr]
    assert len(signals) == 2
    assert [text.get_text() for text in motifs.texts] == ["m0", "m1"]
    assert colours_of(motifs) == [look_of("motif", 0).colour, look_of("motif", 1).colour]
    assert [text.get_text() for text in units.get_yticklabels()] == ["u3", "u2", "u1", "u0"]  # from the bottom up
    expected = [look_of("unit", unit).colour for unit in (3, 2, 1, 0) for _ in range(UNITS.count(unit))]
    assert [it for it in colours_of(units) if it in expected] == expected
    edges = units.collections[-1].get_segments()
    assert [float(line[0][0]) for line in edges] == [0.0, 4.0, 8.0]  # where blocks begin and end, in seconds
    assert {"2 motifs", "4 units"} <= set(re.findall(r"\d+ \w+", "\n".join(words_of(figure))))
    npt.assert_allclose(units.get_xlim(), (0, 8))


def test_a_stretch_of_some_channels_and_one_level(one: Result) -> None:
    figure = one.plot(start="2s", end=300, channels=["y"], level="unit")
    signal, units = figure.axes  # type: ignore[union-attr]
    npt.assert_allclose(units.get_xlim(), (2, 6))
    assert "y" in words_of(figure) and "x" not in words_of(figure)
    assert not [text for text in words_of(figure) if text.startswith("m0")]
    npt.assert_allclose(signal.lines[0].get_xdata()[[0, -1]], (2, 6 - 1 / 50))
    assert len(one.plot(level="motif").axes) == 3  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "wish",
    [
        {"start": "soon"},
        {"start": 300, "end": 100},
        {"start": 400},
        {"channels": ["z"]},
        {"channels": [2]},
        {"level": "units"},
    ],
)
def test_what_cannot_be_drawn_is_refused(one: Result, wish: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        one.plot(**wish)
    with pytest.raises(RecordingError):
        one.plot("day9")


@pytest.mark.parametrize(("n_units", "unit", "end"), [(8, "s", 8), (1200, "min", 20), (12_000, "h", 10 / 3)])
def test_time_is_counted_in_the_unit_that_people_say(n_units: int, unit: str, end: float) -> None:
    tracks = {"units": (0, 1) * (n_units // 2), "motifs": (0,) * n_units}
    axis = result_by_hand(channels=("x",), **tracks).plot().axes[-1]  # type: ignore[arg-type,union-attr]
    assert axis.get_xlabel() == unit
    npt.assert_allclose(axis.get_xlim(), (0, end))


def test_a_recording_without_a_clock_counts_frames() -> None:
    result = result_by_hand(rate=None)
    figure = result.plot()
    assert "frame" in words_of(figure) and figure.axes[-1].get_xlim() == (0, 400)  # type: ignore[union-attr]
    with pytest.raises(SettingError):
        result.plot(start="2s")


def test_dates_are_written_by_matplotlib(one: Result) -> None:
    from matplotlib.dates import ConciseDateFormatter

    dated = result_by_hand(timestamps_s=NOVEMBER + np.arange(400) / 50)
    axis = dated.plot().axes[-1]  # type: ignore[union-attr]
    assert isinstance(axis.xaxis.get_major_formatter(), ConciseDateFormatter)
    assert written(dated.plot(end="2s"))


def test_hours_without_data_take_no_room() -> None:
    times = NOVEMBER + np.arange(400) / 50
    times[200:] += 6 * 3600
    figure = result_by_hand(timestamps_s=times).plot()
    axis = figure.axes[-1]  # type: ignore[union-attr]
    assert axis.get_xlim() == (0, 400)
    assert [line.get_xdata()[0] for line in axis.lines] == [200]
    labels = [text.get_text() for text in axis.get_xticklabels()]
    assert labels[0].startswith("20:31:") and labels[-1].startswith("02:31:")
    assert "15 Nov 2026 to 16 Nov 2026" in words_of(figure)


def test_motifs_too_narrow_for_their_name_stand_in_a_key() -> None:
    assert not result_by_hand().plot().legends  # type: ignore[union-attr]
    narrow = result_by_hand(units=(0, 1, 2, 1) * 60, motifs=(0, 0, 1, 1) * 60).plot()
    assert [text.get_text() for text in narrow.legends[0].get_texts()] == ["m0", "m1"]  # type: ignore[union-attr]


def test_more_units_than_rows_share_the_last_row() -> None:
    many = tuple(range(30))
    figure = result_by_hand(units=many, motifs=many).plot()
    assert "7 more" in words_of(figure)
    assert len(figure.axes) == 3  # type: ignore[union-attr]  # no motif is longer than a unit: no blocks


def test_what_is_short_can_still_be_seen() -> None:
    long = result_by_hand(units=(0, *(1,) * 3000, 2, 0), motifs=(0, *(1,) * 3000, 2, 0))
    units: Any = long.plot().axes[-1]  # type: ignore[union-attr]
    figure = units.figure
    figure.set_dpi(100)
    widths = [path.get_extents(bars.get_transform()).width for bars in units.collections for path in bars.get_paths()]
    assert min(widths) > 0.8  # pixels; one of 3,000 parts would have a quarter of one


def test_figures_of_hundreds_of_recordings_are_the_first_ones() -> None:
    few, many = result_by_hand(("a", "b")), result_by_hand(tuple(f"r{i}" for i in range(MOST_FIGURES + 3)))
    assert len(few.plot()) == 2  # type: ignore[arg-type]
    with pytest.warns(RondoWarning, match=r"12 of 15 .* result\.plot\('r12'\)"):
        assert len(many.plot()) == MOST_FIGURES  # type: ignore[arg-type]
    assert any(word.startswith("r14: ") for word in words_of(many.plot("r14")))


def test_truth_has_the_colour_of_what_was_found_there(one: Result) -> None:
    true = np.repeat(np.array([7, 5, 7, 5, 1, 0, 1, 0], np.int32), STEP)  # other numbers, the same stretches
    result = scored(one, {"day1": (true, np.repeat(np.array([3, -1], np.int32), 200))})
    *_, motifs, units = result.plot().axes  # type: ignore[union-attr]
    assert "true motifs" in [text.get_text() for text in motifs.get_yticklabels()] and colours_of(motifs) == [
        look_of("motif", 0).colour
    ]
    assert colours_of(units) == [look_of("unit", unit).colour for unit in UNITS]
    assert [text.get_text() for text in units.texts][:2] == ["7", "5"]


def test_streams_baselines_and_silence_are_drawn_too(tmp_path: Path) -> None:
    stream = Result.load(write_stream_folder(tmp_path / "stream"))
    assert "u0" in words_of(stream.plot())
    clock = rondo.discover(np.sin(np.arange(600) / 9), "clock", rate=50)
    assert written(clock.plot())
    silent = Recording(np.where(np.arange(100) < 50, np.nan, 1.0)[:, None], 50, id="silent")
    nothing = np.full(100, -1, np.int32)
    result = make_result("by hand", [silent], [labelling_of(silent, nothing, nothing)])
    assert "silent: 0 units found" in "\n".join(words_of(result.plot(end=40)))


def test_a_notebook_draws_a_figure_and_a_list_of_them(one: Result, tmp_path: Path) -> None:
    """IPython asks for these two, whether pyplot has been told to draw or not."""
    figure = one.plot()
    assert figure._repr_png_().startswith(b"\x89PNG") and repr(figure).startswith("<Figure size")  # type: ignore[union-attr]
    drawn = figures_of(one, Cutout(), None, False)
    assert drawn._repr_html_().count("<img src=") == len(drawn) == 1


def test_without_matplotlib_one_line_says_what_to_install(one: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"plot_entry needs .*'matplotlib'.*pip install 'rondo-ts\[plot\]'"):
        one.plot_entry("u0")
    with pytest.raises(MissingExtraError, match=r"Result.plot needs .*pip install 'rondo-ts\[plot\]'"):
        one.plot()


def test_an_entry_shows_its_occurrences_mean_and_band(one: Result) -> None:
    figure = one.plot_entry("unit:1")
    assert "u1: 2 occurrences, 25 %" in "\n".join([text.get_text() for text in figure.texts])
    *channels, durations, when = figure.axes
    assert len(channels) == 2 and len(durations.patches) == 1 and len(when.patches) == 48
    *occurrences, mean = channels[0].lines
    assert len(occurrences) == 2
    npt.assert_allclose(mean.get_ydata(), np.mean([line.get_ydata() for line in occurrences], axis=0), atol=0.05)
    assert channels[-1].get_xlabel() == "s from the start of each occurrence"
    assert written(one.plot_entry("m1", dark=True, figsize=(4, 3)))


def test_an_entry_that_is_not_there_is_refused(one: Result) -> None:
    with pytest.raises(SettingError):
        one.plot_entry("u9")
    with pytest.raises(SettingError):
        one.plot_entry("reach")
