"""Where a row was made: said in the row, and never averaged over silently."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rondo_bench.experiments.devices import device_in_use, lines_of, versions_in_use
from rondo_bench.experiments.inputs import config_of
from rondo_bench.experiments.rows import FILE, read_rows, to_csv
from rondo_bench.experiments.spec import SetSpec, read_data_sets, read_experiment
from rondo_bench.experiments.summary import summarise
from tests.bench.experiments.made_rows import row

GPU = "NVIDIA H200"


def settings(method: str) -> dict[str, object]:
    return config_of(read_experiment("static").methods[method], "mocap", SetSpec(), "static")[0]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: GPU)


@pytest.mark.usefixtures("gpu")
def test_the_device_is_that_of_the_networks() -> None:
    assert device_in_use("auto", settings("rondo-paper")) == GPU
    assert device_in_use("cpu", settings("rondo-paper")) == "cpu"
    assert {device_in_use("auto", settings(name)) for name in ("rondo", "time2state", "clock")} == {"cpu"}
    assert device_in_use("auto", {"stored": "clap"}) == ""


def test_torch_is_a_version_of_methods_with_networks_only() -> None:
    assert versions_in_use(settings("rondo"))["numpy"] == np.__version__
    with_torch = {
        name for name in ("rondo", "ticc", "time2state", "rondo-paper") if "torch" in versions_in_use(settings(name))
    }
    assert with_torch == {"time2state", "rondo-paper"}


def test_device_and_versions_are_kept_in_json_and_csv(tmp_path: Path) -> None:
    made = row("one", "ticc", 50.0, device=GPU, versions={"numpy": "2.1.0", "torch": "2.9.0+cpu"})
    (tmp_path / FILE).write_text(made.to_json() + "\n")
    assert read_rows(tmp_path) == [made]
    (tmp_path / "rows.csv").write_text(to_csv([made]))
    (read,) = read_rows(tmp_path / "rows.csv")
    assert (read.device, read.versions, read.scores) == (made.device, made.versions, made.scores)


def test_rows_from_before_there_was_a_device_are_read(tmp_path: Path) -> None:
    old = json.loads(row("one", "rondo", 50.0).to_json())
    del old["device"]
    configs = [{}, {"device": "cpu"}, {"device": "cuda"}, {"baseline": "ticc"}, {"pieces": 20}]
    lines = [json.dumps(old | {"seed": seed, "config": config}) + "\n" for seed, config in enumerate(configs)]
    (tmp_path / FILE).write_text("".join(lines))
    assert [own.device for own in read_rows(tmp_path)] == ["", "cpu", "", "cpu", "cpu"]
    text = to_csv([row("one", "rondo", 50.0)])
    assert ",device,status" in text
    (tmp_path / "rows.csv").write_text(text.replace(",device,status", ",status").replace(",,ok", ",ok"))
    assert read_rows(tmp_path / "rows.csv")[0].device == ""


def test_each_device_has_a_line_and_one_that_reached_fewer_recordings_none() -> None:
    names = ("one", "two")
    on_cpu = [row(name, "rondo", 50.0, device="cpu") for name in names]
    on_gpu = [row(name, "rondo", 70.0, seed=1, device=GPU) for name in names]
    assert lines_of("rondo", on_cpu) == ({"rondo": on_cpu}, [])
    lines, (note,) = lines_of("rondo", on_cpu + on_gpu)
    assert lines == {"rondo (CPU)": on_cpu, "rondo (H200)": on_gpu}
    assert "CPU (2" in note and "H200 (2" in note
    lines, (note,) = lines_of("rondo", on_cpu + on_gpu[:1])
    assert list(lines) == ["rondo (CPU)"] and note.endswith("H200")


def test_a_table_never_averages_over_devices() -> None:
    rows = [row(name, "rondo-paper", 50.0, seed=seed, device="cpu") for name in ("one", "two") for seed in (0, 1)]
    rows += [row(name, "rondo-paper", 70.0, seed=2, device=GPU) for name in ("one", "two")]
    rows += [row(name, "ticc", 60.0, device="cpu") for name in ("one", "two")]
    (section,) = summarise(rows, read_experiment("static"), read_data_sets()).sections
    found = {line.title: (line.cells["ari"].mean, line.n_seeds) for line in section.lines}
    titled = read_experiment("static").methods["rondo-paper"].title
    assert found == {f"{titled} (CPU)": (50.0, 2), f"{titled} (H200)": (70.0, 1), "TICC": (60.0, 1)}
    assert sum(bool(line.published) for line in section.lines if line.title != "TICC") == 1
    (note,) = (note for note in section.notes if note.startswith("rondo-paper"))
    assert "CPU (2" in note and "H200 (2" in note
