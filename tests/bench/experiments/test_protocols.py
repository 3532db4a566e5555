"""What each protocol does with recordings, beside the same done by hand with the library."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.testing as npt
import pytest

from rondo.config.settings import PreprocessConfig
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.errors import AnnotationError, RecordingError
from rondo.many.engine import Done
from rondo.metrics.scores import evaluate
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import plant
from rondo_bench.baselines.baseline import build_baseline, discover, in_order_of_appearance
from rondo_bench.data_sets.read import DataSet
from rondo_bench.experiments.inputs import read_some, recording_ids
from rondo_bench.experiments.protocols import Track, follow, labels_of, laid_together, learned
from rondo_bench.experiments.run import rows_of, work
from rondo_bench.experiments.spec import SetSpec, read_data_sets, read_experiment
from rondo_bench.experiments.tasks import Choice, Task, plan
from rondo_bench.metrics.published import stage_scores
from tests.cli.running import waves

WALKS = SetSpec(window=60, step=20, subject="^([a-z]+)")
ON_ONE_AXIS = WALKS.model_copy(update={"pca": {"*": 1}})


def task_of(walks: Path, out: Path, experiment: str, method: str, of_set: SetSpec = WALKS, index: int = 0) -> Task:
    sets = {**read_data_sets(), "walks": of_set}
    chosen = Choice((str(walks),), (method,), seeds=1)
    return plan(read_experiment(experiment), sets, chosen, None, out, "cpu").tasks[index]


def all_of(walks: Path) -> DataSet:
    return read_some(str(walks), None, recording_ids(str(walks), None), WALKS)


def test_shared_axes_are_those_of_the_whole_set(walks: Path, tmp_path: Path) -> None:
    task = task_of(walks, tmp_path, "static", "kmeans", ON_ONE_AXIS)
    data = all_of(walks)
    (found,) = labels_of(task, data.recordings[:1])
    settings = {"windows.length": 60, "windows.step": 20, "preprocess.pca_components": 1}
    expected = discover(data.recordings, build_baseline("kmeans", settings))
    npt.assert_array_equal(found, expected[0].labelling.units)
    assert len(list((tmp_path / "axes").iterdir())) == 1


def test_a_recording_without_classes_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "bare.npz", X=waves(100))
    with pytest.raises(AnnotationError, match=r"'bare' .*no annotation"):
        read_some(str(tmp_path), None, ("bare",), WALKS)


def test_the_first_fifth_is_fitted_and_the_rest_is_followed() -> None:
    recording = plant(n_frames=6_000, seed=2).recording
    settings = {"evidence.surrogates": 0}
    followed = follow(Rondo(75, 18, settings=settings, device="cpu"), recording, "unit")
    first = Recording(recording.values[:1200], recording.rate, recording.channels, recording.id)
    model = Rondo(75, 18, settings=settings, device="cpu").fit(first)
    npt.assert_array_equal(followed.labels[:1200], model.predict(first).units)
    expected = np.full(6_000, -1)
    stream = model.stream()
    reports = [stream.feed(piece) for piece in np.array_split(recording.values[1200 - 75 :], 7)] + [stream.finish()]
    for decision in (decision for report in reports for decision in report.decisions):
        expected[decision.start_frame + 1125 : decision.stop_frame + 1125] = decision.unit
    decided = np.flatnonzero(expected[1200:] != -1) + 1200
    assert decided.size > 3_000
    npt.assert_array_equal(followed.labels[decided], expected[decided])


def test_a_channel_that_is_silent_in_the_first_fifth_is_left_out_of_the_rest() -> None:
    recording = plant(n_frames=3_000, seed=2).recording
    values = np.array(recording.values)
    values[:400, 2] = np.nan
    heard = [0, 1, 3, 4, 5]
    every, fewer = (
        follow(
            Rondo(75, 18, settings={"evidence.surrogates": 0}, device="cpu"),
            Recording(values[:, used], recording.rate, [f"sensor{channel}" for channel in used], recording.id),
            "unit",
        )
        for used in (list(range(6)), heard)
    )
    npt.assert_array_equal(every.labels, fewer.labels)


def test_continual_scores_are_those_of_the_metrics(
    walks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = all_of(walks).annotations["ann_1"].classes
    labels = np.where(np.arange(truth.size) < 500, truth, 7).astype(np.int32)
    tracks = {"ann_1": Track(labels, {"promoted": 0.0})}
    monkeypatch.setattr("rondo_bench.experiments.run.tracks_of", lambda task, data: tracks)
    (own,) = work(task_of(walks, tmp_path, "continual", "denstream"))
    expected = stage_scores(truth, labels) | {"promoted": 0}
    assert {name: own.scores[name] for name in expected} == expected
    assert expected["forgetting"] != 0


@pytest.mark.parametrize("method", [pytest.param("rondo", marks=pytest.mark.slow), "rondo-fit"])
def test_rondo_is_learned_on_the_source_and_read_on_the_target(
    walks: Path, tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(walks, tmp_path, "transfer", method)
    assert (task.source, task.recordings) == ("ann", ("bob_1",))
    one, two, target = all_of(walks).recordings
    model = Rondo(settings={"evidence.surrogates": 0}, device="cpu").fit([one, two])
    refitted: list[str] = []
    real = Rondo.fit_motifs

    def fit_motifs(self: Rondo, recordings: list[Recording]) -> Rondo:
        refitted.extend(recording.id for recording in recordings)
        return real(self, recordings)

    monkeypatch.setattr(Rondo, "fit_motifs", fit_motifs)
    found = learned(task, [one, two])(target)
    assert refitted == (["bob_1"] if method == "rondo-fit" else [])
    expected = real(model, [target]) if method == "rondo-fit" else model
    npt.assert_array_equal(found, expected.predict(target).motifs)


def test_every_target_is_adapted_to_from_the_source(
    walks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(walks, tmp_path, "transfer", "rondo-adapt")
    source, *targets = all_of(walks).recordings
    began_with: list[object] = []
    real = Rondo.adapt

    def adapt(self: Rondo, recordings: list[Recording]) -> Rondo:
        began_with.append(self.unit_model_)
        return real(self, recordings)

    monkeypatch.setattr(Rondo, "adapt", adapt)
    read = learned(task, [source])
    found = [read(target) for target in targets]
    assert began_with == [began_with[0]] * len(targets)
    model = Rondo(settings={"evidence.surrogates": 0}, device="cpu").fit([source])
    npt.assert_array_equal(found[0], real(model, targets[0]).predict(targets[0]).motifs)


def test_a_baseline_learns_from_one_source_as_from_a_recording(walks: Path, tmp_path: Path) -> None:
    task = task_of(walks, tmp_path, "transfer", "e2usd", index=1)
    quick = task.method.model_copy(update={"settings": {"n_steps": 1, "component_cap": 3}})
    task = replace(task, learned_from=("bob_1",), method=quick)
    *targets, source = all_of(walks).recordings
    read = learned(task, [source])
    found = [read(target) for target in targets]
    baseline = build_baseline("e2usd", {"windows.length": 60, "windows.step": 20, "n_steps": 1, "component_cap": 3})
    preprocessor = Preprocessor.fit([source], baseline.config.preprocess)
    fitted = baseline.fit(preprocessor.apply(source), np.random.default_rng(0))  # type: ignore[attr-defined]
    for labels, target in zip(found, targets, strict=True):
        npt.assert_array_equal(labels, in_order_of_appearance(fitted.predict(preprocessor.apply(target))))


@pytest.mark.slow
def test_a_target_that_cannot_be_read_is_a_failed_row_of_its_own(walks: Path, tmp_path: Path) -> None:
    folder = tmp_path / "walks"
    shutil.copytree(walks, folder)
    (folder / "cid_1.npz").write_bytes(b"PK, and no more")
    np.savez(folder / "dan_1.npz", X=waves(300, 5), y=np.zeros(300, int))  # other channels
    for method in ("rondo", "time2state"):
        tasks = [task_of(folder, tmp_path, "transfer", method, index=index) for index in (0, 2)]
        of_ann, of_cid = tasks
        assert (of_ann.source, of_cid.source) == ("ann", "cid")
        done = Done(0, work(of_ann), None, 1.0, 1.0, 1.0)
        rows = {row.key.recording: row for row in rows_of(of_ann, done)}
        assert {id: row.status for id, row in rows.items()} == {"bob_1": "ok", "cid_1": "failed", "dan_1": "failed"}
        assert "cid_1.npz" in rows["cid_1"].error and rows["bob_1"].seconds > 0
    with pytest.raises(RecordingError, match=r"cid_1.npz"):
        work(of_cid)


def test_no_span_crosses_a_seam() -> None:
    values = waves(300, 2)
    values[50:120] = np.nan
    recordings = [Recording(values, 50.0, id="gap"), Recording(waves(200, 2), 50.0, id="whole")]
    fitted = Preprocessor.fit(recordings, PreprocessConfig())
    signals = [fitted.apply(recording) for recording in recordings]
    together = laid_together(signals)
    assert together.spans == ((0, 50), (120, 300), (300, 500))
    npt.assert_array_equal(together.values[300:], signals[1].values)
    assert together.n_rows == together.n_frames == 500


def test_purity_is_the_mof_of_a_level(walks: Path, tmp_path: Path) -> None:
    (own,) = work(task_of(walks, tmp_path, "qualitative", "rondo"))
    recording, truth = all_of(walks).recordings[0], all_of(walks).annotations["ann_1"].classes
    model = Rondo(settings={"evidence.surrogates": 0}, device="cpu").fit(recording)
    labelling = label_one(model, recording)
    units = evaluate({"ann_1": (truth, labelling.units)}).average
    assert own.scores["unit_purity"] == units.mof
    assert own.scores["motif_purity"] == own.scores["mof"]
    assert own.scores["n_units"] == units.n_clusters
    assert own.scores["persistence"] is not None and 50 < own.scores["persistence"] <= 100
    assert set(own.details) == {"truth", "labels", "units", "classes"}


def test_a_joined_method_gives_the_rows_that_are_asked_for(
    walks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(walks, tmp_path, "static", "compile")
    given: list[int] = []

    def counted(task: Task, recordings: tuple[Recording, ...]) -> list[np.ndarray]:  # type: ignore[type-arg]
        given.append(len(recordings))
        return [np.zeros(recording.n_frames, np.int32) for recording in recordings]

    monkeypatch.setattr("rondo_bench.experiments.protocols.labels_of", counted)
    rows = work(task.only(task.keys[1:2]))
    assert [own.key.recording for own in rows] == ["ann_2"]
    assert given == [3]
    watch = SimpleNamespace(seconds=9.0, cpu_seconds=6.0)
    monkeypatch.setattr("rondo_bench.experiments.run.Stopwatch", lambda: watch)
    assert [(own.seconds, own.cpu_seconds) for own in work(task)] == [pytest.approx((3.0, 2.0))] * 3  # by frames
