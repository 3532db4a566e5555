"""Rondo at the door: manners, reproducibility, what it refuses, and how well it does on planted streams."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.errors import InputError, ModelError, RecordingError, SettingError
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.result import Result
from rondo.run.labelling import Labelling
from rondo.store import model_file
from rondo.synthetic.streams import PlantedStream, plant, structureless

QUICK: dict[str, object] = {"evidence.surrogates": 0}


@pytest.fixture(scope="module")
def stream() -> PlantedStream:
    return plant(n_frames=9_000, seed=1)


@pytest.fixture(scope="module")
def model(stream: PlantedStream) -> Rondo:
    return Rondo(seed=0).fit(stream.recording)


def assert_same(some: Labelling | Result, other: Labelling | Result) -> None:
    """The same labels to the bit; a Result stands for its only recording."""
    some, other = (one[0] if isinstance(one, Result) else one for one in (some, other))
    for name in ("units", "motifs", "unit_scores", "motif_scores"):
        npt.assert_array_equal(getattr(some, name), getattr(other, name))


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"encoder": "mantis"}, "encoder.weights"),
        ({"settings": {"units.mixture.latent_dim": 32}}, "has no effect with units.method = 'slow'"),
        ({"settings": {"units.dimention": 3}}, "did you mean 'units.dimension'"),
        ({"window": "2 parsecs"}, "number of frames"),
    ],
)
def test_what_this_version_cannot_do_is_refused(settings: dict[str, object], word: str, stream: PlantedStream) -> None:
    with pytest.raises(SettingError, match=word):
        Rondo(**settings).fit(stream.recording)  # type: ignore[arg-type]


def test_saved_and_loaded_predicts_the_same_bits(model: Rondo, stream: PlantedStream, tmp_path: Path) -> None:
    model.save(tmp_path / "a")
    again = Rondo.load(tmp_path / "a")
    assert_same(again.predict(stream.recording), model.predict(stream.recording))
    again.save(tmp_path / "b")
    for name in ("manifest.json", "tensors.safetensors"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert (again.motif_model_.shown, again.motif_model_.ids) == (model.motif_model_.shown, model.motif_model_.ids)
    assert again.motif_model_.flat.usages == model.motif_model_.flat.usages
    assert again.motif_model_.phrases.usages == model.motif_model_.phrases.usages


@pytest.mark.slow
def test_settings_that_are_no_more_are_dropped_where_they_hold_their_defaults(model: Rondo, tmp_path: Path) -> None:
    model.save(tmp_path / "new")
    stored = model_file.load(tmp_path / "new")
    used = (("interpolate", "overlap"), ("refuse", "overlap"), ("interpolate", "one"))
    for place, (missing, weight) in enumerate(used):
        config = dict(stored.config)
        config["preprocess"] = config["preprocess"] | {"missing": missing}
        config["units"] = config["units"] | {"window_weight": weight}
        model_file.save(tmp_path / f"old{place}", replace(stored, config=config))
    assert Rondo.load(tmp_path / "old0").config_ == model.config_
    for place, name in ((1, "preprocess.missing"), (2, "units.window_weight")):
        with pytest.raises(ModelError, match=f"{name}, .*no longer"):
            Rondo.load(tmp_path / f"old{place}")


@pytest.mark.promise
def test_another_process_saves_the_same_bytes(model: Rondo, tmp_path: Path) -> None:
    model.save(tmp_path / "here")
    code = (
        "from rondo import Rondo; from rondo.synthetic import plant;"
        f"Rondo(seed=0).fit(plant(n_frames=9_000, seed=1).recording).save({str(tmp_path / 'there')!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    for name in ("manifest.json", "tensors.safetensors"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


def test_channels_go_by_name_not_by_order(model: Rondo, stream: PlantedStream) -> None:
    recording = stream.recording
    turned = Recording(recording.values[:, ::-1], recording.rate, recording.channels[::-1], "turned")
    assert_same(model.predict(turned), model.predict(recording))


def test_several_recordings_share_one_vocabulary(stream: PlantedStream) -> None:
    values, channels = stream.recording.values, stream.recording.channels
    halves = [Recording(part, 50, channels, name) for name, part in zip("ab", np.split(values, 2), strict=True)]
    short = Recording(values[:40], 50, channels, "short")  # too short for one window
    labellings = Rondo(window=75, settings=QUICK).fit([*halves, short]).predict([*halves, short])
    assert [labelling.recording_id for labelling in labellings] == ["a", "b", "short"]
    assert set(labellings[0].units) & set(labellings[1].units)
    assert (labellings[2].units == OTHER).all()
    assert any("shorter than a window" in note for note in labellings[2].notes)


def test_long_gaps_are_other_and_nothing_else_is(stream: PlantedStream) -> None:
    values = stream.recording.values[:9_000].copy()
    values[3_000:3_400] = np.nan  # 8 s
    values[5_000:5_010, 1] = np.nan  # 0.2 s
    values[7_000:7_400, 2] = np.nan  # 8 s of one channel, which the others predict
    labelling = label_one(Rondo(window=75, settings=QUICK).fit(Recording(values, 50)), Recording(values, 50))
    other = np.zeros(9_000, dtype=bool)
    other[3_000:3_400] = True
    npt.assert_array_equal(labelling.units == OTHER, other)
    npt.assert_array_equal(labelling.motifs == OTHER, other)
    assert not ((labelling.segments["start_frame"] < 3_000) & (labelling.segments["end_frame"] > 3_000)).any()
    assert len(labelling.notes) == 3


def test_the_order_of_recordings_and_of_channels_changes_names_only(stream: PlantedStream) -> None:
    """Up to votes that tie, which go to the smaller id; the motif search reads the recordings in their order."""
    parts = [
        Recording(part, 50, id=name) for name, part in zip("abc", np.split(stream.recording.values, 3), strict=True)
    ]
    turned = [Recording(part.values[:, ::-1], 50, part.channels[::-1], part.id) for part in parts]
    settings = QUICK | {"motifs.method": "none"}
    labels = [
        np.concatenate([x.units for x in Rondo(window=75, settings=settings).fit(order).predict(parts)])
        for order in (parts, parts[::-1], turned)
    ]
    assert adjusted_rand_score(labels[0], labels[1]) > 0.999
    assert adjusted_rand_score(labels[0], labels[2]) > 0.999


@pytest.mark.parametrize(("window", "step"), [(100, 100), (50, 50), (1, 1)])
def test_one_window_two_windows_and_windows_of_one_frame(window: int, step: int) -> None:
    values = np.random.default_rng(0).normal(size=(100, 2))
    labelling = Rondo(window=window, step=step).fit(values).predict(values)[0]
    assert (labelling.units != OTHER).all()
    assert ((labelling.unit_scores > 0) & (labelling.unit_scores <= 1)).all()


@pytest.mark.parametrize(("n_frames", "n_channels"), [(1, 1), (2, 40), (5, 3), (20, 1), (100, 40)])
def test_tiny_recordings_end_in_a_result_or_one_clear_line(n_frames: int, n_channels: int) -> None:
    values = np.random.default_rng(0).normal(size=(n_frames, n_channels))
    try:
        labelling = Rondo().fit(values).predict(values)
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert labelling.units.shape == (n_frames,)


def test_constant_channels(stream: PlantedStream, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="every channel is constant"):
        Rondo(window=10).fit(np.ones((100, 2)))
    values = np.column_stack([stream.recording.values[:3_000], np.ones(3_000)])
    fitted = Rondo(window=75, settings=QUICK).fit(values)
    assert any("constant" in note for note in fitted.predict(values)[0].notes)
    fitted.save(tmp_path / "model")
    again = Rondo.load(tmp_path / "model")  # such a channel has no bounds, and a model keeps finite numbers only
    moving = np.column_stack([values[:, :-1], np.linspace(-1e30, 1e30, 3_000)])
    assert fitted.partial_fit(moving) == again.partial_fit(moving)
    assert not [event for event in again.stream().feed(moving).events if event.kind == "outside"]


def test_recordings_that_do_not_fit_are_refused(model: Rondo, stream: PlantedStream) -> None:
    recording = stream.recording
    with pytest.raises(RecordingError, match=r"has 25 Hz, expected 50 Hz"):
        model.predict(Recording(recording.values, 25, recording.channels))
    with pytest.raises(RecordingError, match="lacks the channel"):
        model.predict(Recording(recording.values[:, 1:], 50, recording.channels[1:]))
    with pytest.raises(RecordingError, match="25 Hz"):
        Rondo().fit([recording, Recording(recording.values, 25, recording.channels, "other")])
    with pytest.raises(RecordingError, match="id 'x'"):
        Rondo().fit([recording.renamed("x"), recording.renamed("x")])
    for nothing, says in (
        ([], "no recording"),
        ("day1.csv", r"day1\.csv"),
        ([[recording]], "list within"),
        (5, "table"),
    ):
        with pytest.raises(RecordingError, match=says):
            Rondo().fit(nothing)
    with pytest.raises(SettingError, match="longest unbroken stretch"):
        Rondo(window=20_000).fit(recording)


@pytest.mark.parametrize("seed", [0, pytest.param(3, marks=pytest.mark.slow)])
def test_planted_units_are_recovered(seed: int) -> None:
    stream = plant(n_frames=30_000, seed=seed)
    labelling = Rondo(seed=seed, settings=QUICK).fit(stream.recording).predict(stream.recording)
    assert adjusted_mutual_info_score(stream.unit_truth, labelling.units) > 0.7
    assert adjusted_mutual_info_score(stream.motif_truth, labelling.motifs) > 0.4


def test_noise_is_cut_into_units_but_not_into_motifs() -> None:
    """Autocorrelated noise has slow wanderings, which a mixture cuts; that they compose is never claimed."""
    model = Rondo(seed=0).fit(structureless(n_frames=15_000, seed=0))
    assert not model.motif_model_.composed
    assert model.motif_model_.ids == model.unit_model_.vocabulary.ids


@pytest.mark.data
def test_real_motion_capture(data_dir: Path) -> None:
    with np.load(data_dir / "MoCap" / "amc_86_02.npz") as file:
        values, truth = file["X"], file["y"]
    labelling = Rondo(window=256, step=50).fit(values).predict(values)
    assert adjusted_rand_score(truth, labelling.units) > 0.6
