"""Channels that are large beside what they vary by: the labels of the same signal without its offset, in any format."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import rondo
from rondo import Recording, Rondo
from rondo.data.precision import NumberTable, narrowed, offsets_of, too_fine
from rondo.data.resample import resample_recording
from rondo.run.overview import overview_path, read_overview
from rondo.synthetic import plant

QUICK = {"evidence.surrogates": 0}
PLANTED = plant(n_frames=4_000, seed=3)
SIGNAL = np.asarray(PLANTED.recording.values, np.float64)
RATE = PLANTED.recording.rate
NAMES = [f"c{i}" for i in range(SIGNAL.shape[1])]
Floats = NDArray[np.float64]


def labels_of(data: object, rate: float | None = RATE) -> NDArray[np.int64]:
    return rondo.discover(data, rate=rate, window="1.5s", settings=QUICK).labels["unit"].to_numpy()


@pytest.fixture(scope="module")
def clean() -> NDArray[np.int64]:
    return labels_of(SIGNAL)


@pytest.mark.parametrize(
    ("offset", "scale"),
    [(1e3, 1.0), (5.3e6, 1.0), (1e9, 1.0), (48.1374, 1e-5), (1.7e9, 0.1)],
    ids=["thousand", "northing", "billion", "latitude", "epoch"],
)
def test_an_offset_changes_no_label(clean: NDArray[np.int64], offset: float, scale: float) -> None:
    npt.assert_array_equal(labels_of(SIGNAL * scale + offset), clean)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "npz", "npy", "by column", "pandas", "polars"])
def test_an_offset_changes_no_label_in_any_format(tmp_path: Path, clean: NDArray[np.int64], kind: str) -> None:
    values = SIGNAL + 5.3e6
    table, path = pl.DataFrame(values, schema=NAMES), tmp_path / f"a.{kind}"
    if kind in ("pandas", "polars"):
        npt.assert_array_equal(labels_of(table.to_pandas() if kind == "pandas" else table), clean)
        return
    if kind == "csv":
        table.write_csv(path)
    elif kind == "jsonl":
        table.write_ndjson(path)
    elif kind == "parquet":
        table.write_parquet(path)
    elif kind == "npz":
        np.savez(path, X=values)
    else:
        path = tmp_path / "a.npy"
        np.save(path, np.asfortranarray(values) if kind == "by column" else values)
    npt.assert_array_equal(labels_of(path), clean)


def test_an_encoder_counts_beyond_what_float32_can_hold() -> None:
    counts = 2**27 + np.cumsum(np.random.default_rng(0).integers(-2, 3, (3_000, 2)), axis=0)
    found = Recording(counts, rate=50)
    npt.assert_array_equal(found.values, counts)
    assert np.abs(np.array(offsets_of(found.values)) - np.median(counts, axis=0)).max() < 1


def test_values_stay_real_wherever_they_are_shown(tmp_path: Path) -> None:
    values = SIGNAL * 1e-5 + 48.1374
    result = rondo.discover(values, rate=RATE, window="1.5s", settings=QUICK)
    result.save(tmp_path / "run")
    overview = read_overview(overview_path(tmp_path / "run", "recording"))
    npt.assert_allclose(overview.low, values.min(axis=0), rtol=0, atol=1e-12)
    known = result.model.preprocessor_.known
    assert known is not None
    npt.assert_allclose(known.high, values.max(axis=0), rtol=0, atol=1e-12)


def test_labels_and_streams_take_the_offset_of_the_model(tmp_path: Path) -> None:
    plain, far = (Rondo(window="1.5s", settings=QUICK).fit(Recording(SIGNAL + x, RATE)) for x in (0.0, 1e7))
    assert far.preprocessor_.offsets and not plain.preprocessor_.offsets
    far.save(tmp_path / "model")
    far = Rondo.load(tmp_path / "model")
    later = np.asarray(plant(n_frames=2_000, seed=4).recording.values, np.float64)

    def streamed(model: Rondo, rows: Floats, size: int) -> list[tuple[int, ...]]:
        parts = model.stream(rows[start : start + size] for start in range(0, len(rows), size))
        return [own[:5] for part in parts for own in part.decisions]

    assert streamed(plain, later, 700) == streamed(far, later + 1e7, 700) == streamed(far, later + 1e7, 90)
    units = [model.predict(Recording(later + x, RATE))[0].units for model, x in ((plain, 0.0), (far, 1e7))]
    npt.assert_array_equal(*units)


def test_a_channel_that_does_not_move_is_constant_whatever_its_offset() -> None:
    values = SIGNAL.copy()
    values[:, 1] = 5.3e6 + 0.1
    assert any(
        "constant" in note and "ch1" in note for note in rondo.discover(values, rate=RATE, settings=QUICK)[0].notes
    )


def test_what_is_too_coarse_for_its_numbers_is_named() -> None:
    values = SIGNAL.astype(np.float32)
    values[:, 1] = 5.3e6 + 0.1 * SIGNAL[:, 1]
    notes = rondo.discover(values, rate=RATE, settings=QUICK)[0].notes
    assert any("ch1" in note and "float64" in note for note in notes)


def test_missing_codes_and_junk_do_not_hide_an_offset() -> None:
    values = SIGNAL[:, :1] * 1e-5 + 48.1374
    for code, share in ((-999.0, 0.2), (1e30, 0.01), (0.0, 0.04)):
        spoilt = np.where(np.random.default_rng(0).random(values.shape) < share, code, values)
        assert too_fine(spoilt).tolist() == [True]


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint8, np.bool_])
def test_short_numbers_stay_float32(dtype: type) -> None:
    assert narrowed(np.arange(12).reshape(6, 2).astype(dtype)).dtype == np.float32


@given(
    seed=st.integers(0, 2**16),
    cuts=st.lists(st.integers(1, 299), max_size=6, unique=True),
    still=st.integers(0, 200),
)
def test_a_table_filled_in_blocks_loses_nothing(seed: int, cuts: list[int], still: int) -> None:
    rng = np.random.default_rng(seed)
    whole = rng.normal(size=(300, 3)) * [1.0, 1e-5, 1.0] + [0.0, 48.1374, 1e9]
    whole[:still, 1] = whole[still, 1]
    table, edges = NumberTable(*whole.shape), [0, *sorted(cuts), 300]
    for start, stop in itertools.pairwise(edges):
        table.write(slice(start, stop), None, whole[start:stop])
    if max(np.diff(edges)) > 20 and still < 150:
        npt.assert_array_equal(table.values, whole)
    npt.assert_allclose(table.values, whole, rtol=1e-7)


def test_resampling_keeps_the_offset() -> None:
    found = resample_recording(Recording(SIGNAL * 1e-5 + 48.1374, rate=50), 25.0)
    npt.assert_allclose(found.values.mean(axis=0), (SIGNAL * 1e-5 + 48.1374).mean(axis=0), atol=1e-6)
    assert np.ptp(found.values, axis=0).min() > 1e-5


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_what_is_masked_is_missing(dtype: type) -> None:
    values = np.round(SIGNAL * 100).astype(dtype)
    mask = np.zeros(values.shape, np.bool_)
    mask[100:104, 2] = True
    hidden = values.copy()
    hidden[mask] = 30_000
    expected = np.where(mask, np.nan, values.astype(float)).astype(np.float32)
    npt.assert_array_equal(Recording(np.ma.array(hidden, mask=mask)).values, expected)
    model = Rondo(window="1.5s", settings=QUICK).fit(Recording(values, RATE))
    parts = [list(model.stream([rows])) for rows in (np.ma.array(hidden, mask=mask), expected)]
    assert [part.decisions for part in parts[0]] == [part.decisions for part in parts[1]]
