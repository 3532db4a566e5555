"""A baseline as a model folder: what it holds, what it refuses, and the ids of its states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.data.signal import Signal
from rondo.errors import ModelError
from rondo.model.rondo import Rondo
from rondo.store import model_file
from rondo_bench.baselines.base import ReadingBaseline, build_baseline
from rondo_bench.baselines.discovery import discover, joined, labelling_of
from rondo_bench.baselines.saved_baseline import KeptBaseline
from tests.bench.baselines.test_contracts import READERS, TINY
from tests.cli.running import waves


def kept_from(name: str, recording: Recording) -> KeptBaseline:
    (found,) = discover([recording], name, build_baseline(name, TINY[name]), seed=3)
    assert found.kept is not None
    return found.kept


@pytest.mark.parametrize("name", READERS)
def test_a_model_that_was_saved_reads_the_same_to_the_bit(name: str, tmp_path: Path) -> None:
    kept = kept_from(name, Recording(waves(600), id="x", rate=50.0))
    kept.save(tmp_path / "model")
    again = KeptBaseline.load(tmp_path / "model")
    assert (again.name, again.rate, again.provenance["seed"]) == (name, 50.0, 3)
    assert isinstance(again.baseline, ReadingBaseline)
    assert again.baseline.config == kept.baseline.config
    other = Recording(waves(200, seed=4), id="y", rate=50.0)
    npt.assert_array_equal(again.labels(again.prepare(other)), kept.labels(kept.prepare(other)))
    again.save(tmp_path / "copy")
    for file in ("manifest.json", "tensors.safetensors"):
        assert (tmp_path / "copy" / file).read_bytes() == (tmp_path / "model" / file).read_bytes()


def test_states_unknown_where_it_was_learned_come_last() -> None:
    kept = kept_from("kmeans", Recording(waves(), id="x"))
    assert sorted(kept.order.tolist()) == [0, 1, 2, 3]
    assert kept.named(np.array([kept.order[1], 5, 7, OTHER, kept.order[0]])).tolist() == [1, 9, 11, OTHER, 0]


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_model_is_refused(name: str, tmp_path: Path) -> None:
    kept_from(name, Recording(waves(600), id="x")).save(tmp_path)
    stored = model_file.load(tmp_path)
    for missing in stored.tensors:
        rest = {other: tensor for other, tensor in stored.tensors.items() if other != missing}
        model_file.save(tmp_path, model_file.Artifact(stored.config, stored.provenance, rest))
        with pytest.raises(ModelError, match="fit together") as caught:
            KeptBaseline.load(tmp_path)
        assert "\n" not in str(caught.value)


def test_a_model_of_another_method_is_refused(tmp_path: Path) -> None:
    kept_from("kmeans", Recording(waves(), id="x")).save(tmp_path)
    stored = model_file.load(tmp_path)
    for name in ("hdbscan", "ticc", "no method"):
        config = stored.config | {"method": name}
        model_file.save(tmp_path, model_file.Artifact(config, stored.provenance, stored.tensors))
        with pytest.raises(ModelError, match="fit together"):
            KeptBaseline.load(tmp_path)
    Rondo(window=50, settings={"evidence.surrogates": 0}).fit(waves()).save(tmp_path / "rondo")
    with pytest.raises(ModelError, match=r"a model of Rondo.*Rondo\.load"):
        KeptBaseline.load(tmp_path / "rondo")


def test_states_that_recordings_share_are_numbered_over_all_of_them() -> None:
    signals = [Signal(id, np.zeros((3, 1), np.float32), None, ("a",), ((0, 3),), 3) for id in ("p", "q")]
    tracks = joined(signals, [np.int32([7, 7, 2]), np.int32([2, OTHER, 5])])
    assert [track.tolist() for track in tracks] == [[0, 0, 1], [1, OTHER, 2]]


def test_no_segment_crosses_a_gap() -> None:
    recording = Recording(np.zeros((6, 1), np.float32), id="p", rate=10.0)
    signal = Signal("p", recording.values, 10.0, ("a",), ((0, 2), (2, 5)), 6, notes=("one jump",))
    labelling = labelling_of(recording, signal, np.int32([4, 4, 4, 1, 1, OTHER]))
    units = labelling.table.filter(labelling.table["level"] == "unit")
    assert units.select("id", "start_frame", "end_frame").rows() == [(4, 0, 2), (4, 2, 3), (1, 3, 5)]
    assert (labelling.notes, labelling.share_other) == (("one jump",), pytest.approx(1 / 6))
    assert units["score"].to_list() == [1.0, 1.0, 1.0]
