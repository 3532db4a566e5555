"""What each format demands of its files, whoever reads them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from rondo.annotations.formats import read_tracks
from rondo.errors import AnnotationError, RondoWarning
from tests.report.export.made_runs import Made, write_made_run
from tests.report.on_folders import export_run

MADE = Made([-1, 0, 0, 1, 1, 1, -1, 2, 2, 0], [-1, 3, 3, 3, 3, 3, -1, -1, 5, 5], breaks=(5,), source="a/b/day one.csv")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_made_run(tmp_path / "run", {"day1": MADE, "däy & 2": MADE})


def test_csv_and_parquet_are_the_table_of_the_run(run: Path, tmp_path: Path) -> None:
    whole = pl.read_parquet(run / "segments.parquet")
    (csv,) = export_run(run, "csv", tmp_path / "s.csv")
    (parquet,) = export_run(run, "parquet", tmp_path / "s.parquet")
    table = pl.read_parquet(parquet)
    assert table.columns == [*whole.columns, "label"]
    key = ["recording", "level", "start_frame"]
    assert table.drop("label").sort(key).equals(whole.sort(key))
    assert table["label"].to_list() == [f"{lev[0]}{i}" for lev, i in table.select("level", "id").iter_rows()]
    assert pl.read_csv(csv, schema=table.schema).fill_null("").equals(table.fill_null(""))
    (units,) = export_run(run, "csv", tmp_path / "u.csv", "unit", "day1")
    assert set(pl.read_csv(units).select("recording", "level").iter_rows()) == {("day1", "unit")}


def test_eaf_follows_the_schema_of_format_3(run: Path, tmp_path: Path) -> None:
    files = export_run(run, "eaf", tmp_path / "out")
    assert [file.name for file in files] == ["day1.eaf", "däy & 2.eaf"]
    assert files[0].read_bytes().startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n<ANNOTATION_DOCUMENT ')
    root = ElementTree.parse(files[0]).getroot()
    schema = root.attrib.pop("{http://www.w3.org/2001/XMLSchema-instance}noNamespaceSchemaLocation")
    assert schema == "http://www.mpi.nl/tools/elan/EAFv3.0.xsd"
    assert set(root.attrib) == {"AUTHOR", "DATE", "FORMAT", "VERSION"}
    assert root.get("FORMAT") == root.get("VERSION") == "3.0"
    assert datetime.fromisoformat(root.attrib["DATE"]).tzinfo is not None
    assert [child.tag for child in root] == ["HEADER", "TIME_ORDER", "TIER", "TIER", "LINGUISTIC_TYPE"]
    header, order, *tiers, kind = root
    assert header.attrib == {"MEDIA_FILE": "", "TIME_UNITS": "milliseconds"}
    slots = {slot.attrib["TIME_SLOT_ID"]: int(slot.attrib["TIME_VALUE"]) for slot in order}
    assert len(slots) == len(order) and list(slots.values()) == sorted(slots.values())
    assert min(slots.values()) >= 0
    assert kind.attrib["TIME_ALIGNABLE"] == "true" and "CONSTRAINTS" not in kind.attrib
    assert [tier.attrib["TIER_ID"] for tier in tiers] == ["unit", "motif"]
    ids = set(slots)
    for tier in tiers:
        assert tier.attrib["LINGUISTIC_TYPE_REF"] == kind.attrib["LINGUISTIC_TYPE_ID"]
        end = 0
        for annotation in tier:
            ((alignable,),) = ([*annotation],)
            assert (annotation.tag, alignable.tag) == ("ANNOTATION", "ALIGNABLE_ANNOTATION")
            assert [child.tag for child in alignable] == ["ANNOTATION_VALUE"]
            assert alignable.attrib["ANNOTATION_ID"] not in ids
            ids.add(alignable.attrib["ANNOTATION_ID"])
            start, stop = (slots[alignable.attrib[f"TIME_SLOT_REF{i}"]] for i in (1, 2))
            assert end <= start < stop  # annotations of a tier do not overlap
            end = stop
    assert all(re.fullmatch(r"[A-Za-z_][\w.-]*", id) for id in ids)  # xsd:ID
    assert header[0].text == str(len(ids) - len(slots))
    # whoever drags an edge in ELAN moves its slot: no other annotation may hang on it
    assert len(slots) == 2 * (len(ids) - len(slots))


def test_audacity_labels_are_three_cells_in_the_order_of_time(run: Path, tmp_path: Path) -> None:
    files = export_run(run, "audacity", tmp_path / "out")
    assert [file.name for file in files[:2]] == ["day1.unit.txt", "day1.motif.txt"]
    lines = files[0].read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["0.020000\t0.060000\tu0", "0.060000\t0.100000\tu1"]
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            assert re.fullmatch(r"\d+\.\d{6}\t\d+\.\d{6}\t[^\t]+", line)


def test_label_studio_regions_fit_the_configuration(run: Path, tmp_path: Path) -> None:
    tasks_file, config_file = export_run(run, "label-studio", tmp_path / "tasks.json")
    config = ElementTree.parse(config_file).getroot()
    series = config.find("TimeSeries")
    assert config.tag == "View" and series is not None
    assert "timeColumn" not in series.attrib  # so that the axis is the row number
    assert [channel.get("column") for channel in series] == ["a", "b"]
    known = {tag.attrib["name"]: {label.get("value") for label in tag} for tag in config.iterfind("TimeSeriesLabels")}
    tasks = json.loads(tasks_file.read_bytes())
    assert [task["data"]["rondo_recording"] for task in tasks] == ["day1", "däy & 2"]
    for task in tasks:
        assert series.attrib["value"] == "$csv" and task["data"]["csv"] == "day one.csv"
        (prediction,) = task["predictions"]
        assert prediction["model_version"] == "rondo 0.1.0"
        regions = prediction["result"]
        assert len({region["id"] for region in regions}) == len(regions)
        for region in regions:
            assert region["type"] == "timeserieslabels" and region["to_name"] == series.get("name")
            assert set(region["value"]["timeserieslabels"]) <= known[region["from_name"]]
            start, end = region["value"]["start"], region["value"]["end"]
            assert 0 <= start <= end < len(MADE.units)
            assert region["value"]["instant"] == (start == end)


def test_what_is_shorter_than_a_millisecond_is_left_out_and_said(tmp_path: Path) -> None:
    made = Made([0] * 4000 + [1] + [2] * 4000, [-1] * 8001, 4000.0)
    run = write_made_run(tmp_path / "run", {"day1": made})
    with pytest.warns(RondoWarning, match="'day1': 1 unit segment left"):
        (path,) = export_run(run, "eaf", tmp_path / "x.eaf", "unit")
    (track,) = read_tracks(path)
    assert [(span.start, span.stop, span.name) for span in track.spans] == [(0.0, 1.0, "u0"), (1.0, 2.0, "u2")]


def test_nwb_is_what_pynwb_reads_with_the_extension(tmp_path: Path) -> None:
    pytest.importorskip("ndx_ethogram", reason="ndx-ethogram is not installed")
    from pynwb import NWBHDF5IO

    times = 1794774665.25 + np.arange(10) / 50
    run = write_made_run(tmp_path / "run", {"day1": replace(MADE, times_s=times), "day2": MADE})
    dated, undated = export_run(run, "nwb", tmp_path / "out")
    with NWBHDF5IO(dated, "r") as file:
        session = file.read()
        assert session.session_start_time == datetime(2026, 11, 15, 20, 31, 5, 250_000, tzinfo=UTC)
        bouts = session.processing["behavior"]["unit"]
        assert (bouts.neurodata_type, bouts.labeling_method) == ("EthogramBouts", "automated")
        table, catalogue = bouts.to_dataframe(), bouts.ethogram.to_dataframe()
        assert table["label"].tolist() == ["u0", "u1", "u1", "u2", "u0"]
        assert table["start_time"].tolist() == pytest.approx([0.02, 0.06, 0.1, 0.14, 0.18], abs=1e-6)
        assert dict(zip(catalogue["behavior"], catalogue["native_code"], strict=True)) == {"u0": 0, "u1": 1, "u2": 2}
    with NWBHDF5IO(undated, "r") as file:
        assert "no dates" in file.read().session_description


def test_nwb_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    (tmp_path / "no.nwb").write_bytes(b"no such thing")
    with h5py.File(tmp_path / "short.nwb", "w") as file:
        table = file.create_group("intervals/x")
        table["start_time"], table["stop_time"], table["label"] = [0.0, 1.0], [1.0], ["a", "b"]
    for name in ("no.nwb", "short.nwb"):
        with pytest.raises(AnnotationError, match=f"{name}': not a readable NWB file"):
            read_tracks(tmp_path / name)


def test_a_workbook_has_dates_and_text_that_computes_nothing(tmp_path: Path) -> None:
    calamine, _ = pytest.importorskip("python_calamine"), pytest.importorskip("xlsxwriter")
    times = 1794774665.25 + np.arange(10) / 50
    made = replace(MADE, times_s=times, given={("unit", 0): "=1+1"})
    run = write_made_run(tmp_path / "run", {"day1": made})
    (book,) = export_run(run, "xlsx", tmp_path / "s.xlsx")
    header, *rows = calamine.load_workbook(str(book)).get_sheet_by_name("segments").to_python()
    first = dict(zip(header, next(row for row in rows if row[header.index("level")] == "unit"), strict=True))
    assert first["label"] == "=1+1"
    assert abs(first["start_time"] - datetime(2026, 11, 15, 20, 31, 5, 270_000)) < timedelta(milliseconds=1)
