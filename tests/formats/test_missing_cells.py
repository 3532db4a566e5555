"""Which cells are missing follows from the model alone: cell by cell, the same for a stored file and a stream."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest

from rondo.data.known_channels import CODES, FILLS, KnownChannel, KnownValues
from rondo.data.recording import Recording
from rondo.files.missing import MissingCells
from rondo.files.read import signals_only
from rondo.files.reading import Reading
from rondo.model.parts import rows_of
from rondo.model.rondo import Rondo

RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=400).astype(np.float32)


@pytest.mark.parametrize(
    ("low", "high", "found", "elsewhere", "missing", "values"),
    [
        (-500, 500, (-200.0,), (), {-200.0}, set()),  # what was found is missing wherever it lies
        (2, 1500, (), (), set(), {-200.0}),  # 0.13 of the width away
        (2, 1500, (), (-200.0,), {-200.0}, set()),  # a code of another channel need not be so far
        (-190, 1500, (), (-200.0,), set(), {-200.0}),
        (-1000, 0, (), (), set(), {-200.0, -999.0}),
        (-1, 1, (), (), set(FILLS.tolist()), set()),  # fill values: a thousand widths away
        (-2000, 2000, (), (), set(), {-32768.0, 65535.0}),  # the ends of a sensor of 16 bits
        (-100, 100, (), (), {code for code in CODES.tolist() if abs(code) > 300}, {-200.0, 200.0}),
        (0, 0, (-200.0,), (-999.0,), {-200.0}, {-999.0}),  # a channel that never moved
    ],
)
def test_numbers_that_are_missing(
    low: float, high: float, found: tuple[float, ...], elsewhere: tuple[float, ...], missing: set[float],
    values: set[float],
) -> None:  # fmt: skip
    numbers = set(KnownValues((low, 0.0), (high, 1.0), (found, elsewhere)).missing_numbers()[0])
    assert missing <= numbers and not values & numbers


def test_cells_one_by_one_and_all_at_once() -> None:
    cells = MissingCells.of([KnownChannel("a", (-200.0,)), KnownChannel("nose.x"), KnownChannel("nose.y", (9999.0,))])
    assert cells.beside == ("nose.likelihood", "nose.score")
    values = np.stack([NOISE, NOISE, NOISE], axis=1)
    values[3:9, 0], values[20, 1], values[21, 2], values[30, 0] = -200, -200, 9999, np.nan
    beside = np.full((len(values), 2), np.nan, np.float32)
    beside[:, 0] = 0.99
    beside[40:45, 0], beside[50, 0], beside[51, 0] = 0.2, 70, -3  # what is no likelihood says nothing
    whole, counts = cells.read(values, beside)
    expected = values.copy()
    expected[3:9, 0] = expected[21, 2] = expected[40:45, 1:] = np.nan
    npt.assert_array_equal(whole, expected)
    assert counts.tolist() == [6, 5, 6]
    assert values[20, 1] == -200  # another channel's code; and nothing was written into what was given
    parts = [cells.read(values[row : row + 1], beside[row : row + 1]) for row in range(len(values))]
    npt.assert_array_equal(np.concatenate([part for part, _ in parts]), expected)
    assert sum(n for _, n in parts).tolist() == [6, 5, 6]
    clean = values[60:90]
    assert cells.read(clean)[0] is clean


def test_columns_to_keep_are_taken_as_they_are() -> None:
    known = [KnownChannel("a", (-200.0,)), KnownChannel("nose.x"), KnownChannel("nose.y")]
    kept = MissingCells.of(known, {"a", "nose.likelihood"})
    assert (kept.numbers, kept.beside) == (((), (), ()), ("nose.score",))


# ------------------------------------------------------------ stored recordings


def recording(**columns: np.ndarray) -> Recording:
    return Recording(np.stack(list(columns.values()), axis=1), rate=50, channels=list(columns))


def test_a_recording_is_read_by_the_model_and_not_by_what_else_it_holds() -> None:
    one = NOISE.copy()
    one[7] = -200  # a single one: in no file would it be found
    other = np.where(np.arange(400) % 10 == 0, np.float32(-77.5), NOISE)
    known = Reading(known=[KnownChannel("a", (-200.0,)), KnownChannel("b", (-200.0,))])
    found = signals_only(recording(a=one, b=other), known)
    assert np.flatnonzero(np.isnan(found.values[:, 0])).tolist() == [7]
    assert not np.isnan(found.values[:, 1]).any()
    assert "1 value of -200 in 'a'" in found.notes[0]
    kept = signals_only(
        recording(a=one, b=other), Reading(keep=["a"], known=[KnownChannel("a", (-200.0,)), KnownChannel("b", ())])
    )
    assert not np.isnan(kept.values).any()


def test_a_code_that_the_model_does_not_know_is_said() -> None:
    column = np.where(np.arange(400) % 10 == 0, np.float32(-99), 5 * NOISE)
    found = signals_only(recording(a=NOISE, b=column), Reading(known=[KnownChannel("a", ()), KnownChannel("b", ())]))
    assert not np.isnan(found.values).any()
    assert "40 values of -99 in 'b'" in found.notes[-1]


def test_a_channel_of_the_model_stays_however_little_is_left_of_it() -> None:
    column = np.where(np.arange(400) % 10 > 0, np.float32(-200), NOISE)
    known = (KnownChannel("a", (-200.0,)), KnownChannel("b", (-200.0,)))
    assert signals_only(recording(a=NOISE, b=column), Reading(known=known)).channels == ("a", "b")
    older = Reading(known=[KnownChannel("a"), KnownChannel("b")])  # of a model that knows the names alone
    assert signals_only(recording(a=NOISE, b=column), older).channels == ("a", "b")


def test_channels_without_names_go_by_position() -> None:
    column = NOISE.copy()
    column[5] = -200
    found = signals_only(
        recording(ch0=NOISE, ch1=column), Reading(known=[KnownChannel("x", ()), KnownChannel("y", (-200.0,))])
    )
    assert np.argwhere(np.isnan(found.values)).tolist() == [[5, 1]]


def test_points_are_masked_cell_by_cell_and_stay() -> None:
    path = np.cumsum(RNG.normal(size=(400, 2)), axis=0).astype(np.float32)
    sure = np.where(np.arange(400) < 300, np.float32(0.1), np.float32(0.9))  # seldom seen
    sure[399] = 55  # and, by this one value, no likelihood as a whole
    known = Reading(known=[KnownChannel(name, ()) for name in ("p.x", "p.y", "q.x", "q.y")])
    columns = {"p.x": path[:, 0], "p.y": path[:, 1], "p.likelihood": sure, "q.x": path[:, 1], "q.y": path[:, 0]}
    found = signals_only(recording(**columns), known)
    assert found.channels == ("p.x", "p.y", "q.x", "q.y")
    assert np.isnan(found.values[:, :2]).all(axis=1).tolist() == (sure < 0.6).tolist()
    assert not np.isnan(found.values[:, 2:]).any()


# ------------------------------------------------------------ what a model keeps


@pytest.fixture(scope="module")
def fitted() -> Rondo:
    rng = np.random.default_rng(3)
    values = np.sin(np.arange(900)[:, None] / [5, 9]) + 0.1 * rng.normal(size=(900, 2))
    values[::50, 0] = -200
    table = Recording(values, rate=50, channels=("a", "b"))
    settings = {"evidence": {"surrogates": 0}}
    return Rondo(window=40, step=20, settings=settings, device="cpu").fit(signals_only(table, Reading()))


def test_codes_and_ranges_are_kept_with_the_model(fitted: Rondo, tmp_path: object) -> None:
    known = fitted.preprocessor_.known
    assert known is not None
    assert known.codes == ((-200.0,), ())
    assert -2 < known.low[0] < -0.9
    fitted.save(f"{tmp_path}/model")
    again = Rondo.load(f"{tmp_path}/model").preprocessor_
    assert again.known == known
    assert [name.missing for name in again.known_channels] == [
        name.missing for name in fitted.preprocessor_.known_channels
    ]
    assert -200.0 in (again.known_channels[1].missing or ())


def test_arrays_are_taken_as_they_are_by_predict_and_stream_alike(fitted: Rondo) -> None:
    rng = np.random.default_rng(4)
    values = (np.sin(np.arange(600)[:, None] / [5, 9]) + 0.1 * rng.normal(size=(600, 2))).astype(np.float32)
    values[300, 1] = -999
    assert "read as missing" not in " ".join(fitted.predict(Recording(values, rate=50, channels=("a", "b")))[0].notes)
    assert np.array_equal(rows_of(fitted, values)[0], values)
    table = recording(a=values[:, 0], b=values[:, 1])
    assert np.array_equal(rows_of(fitted, table)[0], values)


def test_tables_are_read_by_the_model_in_chunks_of_any_size(fitted: Rondo) -> None:
    import polars as pl

    values = RNG.normal(size=(60, 2)).astype(np.float32)
    values[7, 0], values[9, 1] = -200, -999
    frame = pl.DataFrame({"a": values[:, 0], "b": values[:, 1]})
    chunks = [rows_of(fitted, frame[start : start + 10])[0] for start in range(0, 60, 10)]
    found = np.concatenate(chunks)
    assert np.argwhere(np.isnan(found)).tolist() == [[7, 0], [9, 1]]
    labelled = fitted.predict(pl.concat([frame] * 10), rate=50)[0]
    assert "10 values of -200 in 'a'" in " ".join(labelled.notes)
