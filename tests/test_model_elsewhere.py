"""A model on recordings that it was not fitted on: other rates and channels, motifs learned again, little to learn"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from sklearn.metrics import adjusted_rand_score

from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.data.resample import resample_recording
from rondo.errors import InputError, RecordingError, SettingError
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.store import model_file
from rondo.synthetic.streams import PlantedStream, plant
from tests.test_model import assert_same


@pytest.fixture(scope="module")
def stream() -> PlantedStream:
    return plant(n_frames=15_000, seed=1)


@pytest.fixture(scope="module")
def quick(stream: PlantedStream) -> Rondo:
    """The default without its test of evidence, which takes most of the time."""
    return Rondo(window=75, motif_window=300, seed=0, settings={"evidence.surrogates": 0}).fit(stream.recording)


def reloaded(model: Rondo, folder: Path) -> Rondo:
    """A model of its own, so that fitting it again leaves the first as it is."""
    model.save(folder)
    return Rondo.load(folder)


@pytest.mark.parametrize("rate", [40.0, 100.0])
def test_another_rate_is_read_on_request_and_labels_its_own_rows(
    rate: float, quick: Rondo, stream: PlantedStream
) -> None:
    other = resample_recording(stream.recording, rate)
    with pytest.raises(RecordingError, match=r"expected 50 Hz; .*--resample, resample=True"):
        quick.predict(other)
    labelling = label_one(quick, other, resample=True)
    assert (labelling.n_frames, labelling.rate) == (other.n_frames, rate)
    assert any(f"resampled from {rate:g} to 50 Hz" in note for note in labelling.notes)
    nearest = np.minimum(np.rint(np.arange(other.n_frames) * 50 / rate).astype(int), stream.recording.n_frames - 1)
    straight = quick.predict(stream.recording)
    assert adjusted_rand_score(straight.units[nearest], labelling.units) > 0.8
    assert np.isfinite(labelling.unit_scores).all()


def test_a_gap_in_a_resampled_recording_is_other_on_its_own_rows(quick: Rondo, stream: PlantedStream) -> None:
    other = resample_recording(stream.recording, 100.0)
    values = other.values.copy()
    values[7_001:7_401] = np.nan
    labelling = label_one(quick, Recording(values, 100, other.channels), resample=True)
    lost = np.zeros(values.shape[0], dtype=bool)
    lost[7_001:7_401] = True
    npt.assert_array_equal(labelling.units == OTHER, lost)
    assert labelling.breaks.tolist() == [7_401]


def test_resampling_changes_nothing_where_rates_agree(quick: Rondo, stream: PlantedStream) -> None:
    for rate in (50.0, 50.2, None):  # within one per cent; unknown
        recording = Recording(stream.recording.values, rate, stream.recording.channels)
        assert_same(quick.predict(recording, resample=True), quick.predict(recording))


def test_extra_channels_are_left_out_and_said(quick: Rondo, stream: PlantedStream) -> None:
    recording = stream.recording
    wide = np.column_stack([np.ones(recording.n_frames), recording.values])
    labelling = label_one(quick, Recording(wide, 50, ("fan", *recording.channels)))
    assert_same(labelling, quick.predict(recording))
    assert [note for note in labelling.notes if "'fan'" in note and "left out" in note]


def test_channels_without_names_go_by_position_and_must_be_as_many(stream: PlantedStream) -> None:
    values = stream.recording.values[:3_000, :3]
    quick = {"motifs.method": "none", "evidence.surrogates": 0}
    named = Rondo(window=75, settings=quick).fit(Recording(values, channels=("x", "y", "z")))
    labelling = named.predict(values)[0]
    assert_same(labelling, named.predict(Recording(values, channels=("x", "y", "z"))))
    assert any("'x', 'y', 'z'" in note for note in labelling.notes)
    unnamed = Rondo(window=75, settings=quick).fit(values)
    for model, n_channels in ((named, 2), (named, 4), (unnamed, 4)):
        with pytest.raises(RecordingError, match=f"{n_channels} channels without names, expected 3"):
            model.predict(stream.recording.values[:3_000, :n_channels])
    with pytest.raises(RecordingError, match=r"lacks the channel 'ch2'"):
        unnamed.predict(values[:, :2])
    with pytest.raises(RecordingError, match="lacks the channel"):
        unnamed.predict(Recording(values, channels=("x", "y", "z")))
    chosen = Rondo(window=75, settings={**quick, "preprocess.channels": ("ch0", "ch2")}).fit(values)
    assert_same(chosen.predict(stream.recording.values[:3_000, :5]), chosen.predict(values))


FORMER: dict[str, object] = {
    "motifs.method": "motif_former", "motifs.lengths": (2, 4), "motifs.model_dim": 8, "motifs.heads": 2,
    "motifs.epochs": 1, "motifs.mixture": {"latent_dim": 2, "autoencoder_epochs": 1, "component_cap": 5},
    "evidence.surrogates": 0,
}  # fmt: skip


def test_motif_lengths_in_seconds_are_windows_of_the_step(stream: PlantedStream, tmp_path: Path) -> None:
    recording = Recording(stream.recording.values[:3_000], 50)
    in_seconds = Rondo(window=75, step=25, settings={**FORMER, "motifs.lengths": (2, "2s")}).fit(recording)
    in_windows = Rondo(window=75, step=25, settings=FORMER).fit(recording)
    assert_same(in_seconds.predict(recording), in_windows.predict(recording))
    in_seconds.save(tmp_path / "model")
    loaded = Rondo.load(tmp_path / "model")
    assert_same(loaded.predict(recording), in_windows.predict(recording))
    assert loaded.config_.model_dump()["motifs"]["lengths"] == (2, "2s")
    loaded.fit_motifs(recording)
    assert_same(loaded.predict(recording), in_windows.predict(recording))


def test_a_model_from_before_the_bonus_was_a_setting_keeps_its_own(stream: PlantedStream, tmp_path: Path) -> None:
    Rondo(window=75, step=25, settings=FORMER).fit(stream.recording.values[:2_000]).save(tmp_path / "model")
    stored = model_file.load(tmp_path / "model")
    del stored.config["motifs"]["length_bonus"]
    model_file.save(tmp_path / "older", stored)
    assert Rondo.load(tmp_path / "older").config_.model_dump()["motifs"]["length_bonus"] == 0.1


@pytest.mark.parametrize(
    ("lengths", "rate", "says"),
    [
        ((2, "2s"), None, "motifs.lengths = '2s'"),
        (("500ms",), 50.0, "motifs.lengths = '500ms'"),
        (("10min",), 50.0, "motifs.lengths"),
        ((), 50.0, "motifs.lengths"),
        (("2 parsecs",), 50.0, "number of windows"),
        ((1.5,), 50.0, "number of windows"),
    ],
)
def test_motif_lengths_that_cannot_be(
    lengths: tuple[object, ...], rate: float | None, says: str, stream: PlantedStream
) -> None:
    model = Rondo(window=75, step=25, settings={**FORMER, "motifs.lengths": lengths})
    with pytest.raises(InputError) as caught:
        model.fit(Recording(stream.recording.values[:2_000], rate))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", ["composed", "motif_former", "none"])
def test_transfer_depends_on_the_units_the_target_and_the_seed_alone(
    method: str, stream: PlantedStream, tmp_path: Path
) -> None:
    settings = FORMER if method == "motif_former" else {"motifs.method": method, "evidence.surrogates": 0}
    source, target = stream.recording.values[:4_000], plant(n_frames=3_000, seed=2).recording.values
    told: list[str] = []
    model = Rondo(window=75, settings=settings).fit(source)
    units = {name: np.array(tensor) for name, tensor in model.unit_model_.tensors().items()}
    detour = reloaded(model, tmp_path / "model").fit_motifs(source[:2_000])
    for each in (model, detour):
        each.fit_motifs(target, progress=lambda what, *_: told.append(what))
    assert_same(detour.predict(target), model.predict(target))
    assert {"units", "motifs", "done"} <= set(told)
    for name, tensor in model.unit_model_.tensors().items():
        npt.assert_array_equal(tensor, units[name], err_msg=name)
    assert set(model.predict(target).motifs.tolist()) - {OTHER} <= set(model.motif_model_.ids)
    assert model.provenance_["motifs_refit_seed"] == 0
    with pytest.raises(RecordingError, match="long enough"):
        model.fit_motifs(target[:20])
    with pytest.raises(SettingError, match="seed"):
        model.set_params(seed=-1).fit_motifs(target)


@pytest.mark.parametrize("method", ["composed", "motif_former", "none"])
def test_little_to_learn_from_gives_sane_motifs(method: str, stream: PlantedStream) -> None:
    """One unit only, fewer windows than the longest motif, nothing that recurs."""
    base = FORMER if method == "motif_former" else {"motifs.method": method, "evidence.surrogates": 0}
    values = stream.recording.values
    one_unit = Rondo(window=75, settings={**base, "units.mixture.component_cap": 1}).fit(values[:2_000])
    assert one_unit.unit_model_.ids == (0,)
    labelling = one_unit.predict(values[:2_000])
    assert set(labelling.motifs.tolist()) <= {OTHER, *one_unit.motif_model_.ids}
    assert len(set(labelling.motifs.tolist()) - {OTHER}) <= 2
    longest = {**base, "motifs.lengths": (2, 50)} if method == "motif_former" else base
    few = Rondo(window=75, step=25, settings=longest).fit(values[:250])  # 8 windows
    assert few.predict(values[:250]).motifs.shape == (250,)
    brief = few.predict(values[:80])  # one window, shorter than any motif
    assert (brief.units != OTHER).all()
    if method == "motif_former":
        assert (brief.motifs == OTHER).all()
    nothing = few.predict(values[:30])  # not one window
    assert (nothing.units == OTHER).all()
    assert (nothing.motifs == OTHER).all()
    assert (nothing[0].motif_scores == 0).all()
