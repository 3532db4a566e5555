"""The settings there are: the paper's table, where each default comes from, and durations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from rondo.config.overrides import choices_of
from rondo.config.settings import PRESETS, RondoConfig, WindowsConfig, resolve, to_frames
from rondo.errors import SettingError
from rondo.registry import ENCODERS
from tests.config.refusals import refusal, refused
from tests.setting_names import WAYS, every_way, leaves

PAPER_TABLE: dict[str, Any] = {  # Table "Key hyperparameters", in its order
    "units.bottleneck_dim": 256,
    "units.output_dim": 128,
    "units.init_epochs": 20,
    "units.init_geometry_weight": 0.2,
    "units.init_vic_weight": 0.05,
    "units.refine_epochs": 3,
    "units.max_rounds": 20,
    "units.contrast_weight": 1.0,
    "units.variance_weight": 1.0,
    "units.covariance_weight": 0.04,
    "units.geometry_weight": 0.25,
    "units.temperature": 0.1,
    "units.stable_ari": 0.995,
    "units.patience": 2,
    "units.transition_scale": 2.0,
    "units.mixture.latent_dim": 32,
    "units.mixture.autoencoder_epochs": 10,
    "units.mixture.concentration": 1.0,
    "units.mixture.component_cap": 30,
    "units.mixture.min_weight": 0.01,
    "motifs.mixture.latent_dim": 32,
    "motifs.mixture.autoencoder_epochs": 10,
    "motifs.mixture.concentration": 1.0,
    "motifs.mixture.component_cap": 36,
    "motifs.mixture.min_weight": 0.01,
    "motifs.lengths": (2, 3, 4, 5, 6, 7, 8, 9, 10),
    "motifs.layers": 1,
    "motifs.model_dim": 128,
    "motifs.heads": 4,
    "motifs.epochs": 20,
    "motifs.items_per_epoch": 0,
    "motifs.mask_probability": 0.15,
    "motifs.drop_probability": 0.10,
    "motifs.reconstruction_weight": 0.1,
    "motifs.view_weight": 1.0,
    "motifs.cross_weight": 0.5,
    "motifs.pseudo_weight": 0.5,
    "motifs.variance_weight": 0.01,
    "motifs.temperature": 0.1,
    "motifs.claim_share": 0.10,
    "motifs.acceptance.radius_quantile": 0.95,
    "motifs.acceptance.posterior_quantile": 0.05,
    "continual.min_support": 8,
    "continual.support_quantile": 0.25,
    "continual.merge_radius_factor": 1.25,
}


# ---------------------------------------------------------------- the settings themselves


def test_the_papers_table_is_the_preset_paper() -> None:
    values = {name: value for name, _, value in leaves(PRESETS["paper"])}
    assert {name: values[name] for name in PAPER_TABLE} == PAPER_TABLE


def test_the_preset_paper_uses_the_papers_stages_and_projection() -> None:
    paper = PRESETS["paper"]
    assert (paper.encoder.name, paper.units.method, paper.motifs.method) == ("ts2vec", "unit_align", "motif_former")
    assert paper.windows.projection == "start"
    assert (paper.units.mixture.kind, paper.motifs.mixture.kind) == ("deep_dpm", "deep_dpm")
    assert PRESETS["paper-fast"].units.mixture.kind == PRESETS["paper-fast"].motifs.mixture.kind == "dp_gaussian"


def test_every_setting_says_where_it_comes_from() -> None:
    seen = set()
    for config in every_way():
        for name, field, _ in leaves(config):
            seen.add(name)
            if name not in WAYS:
                assert re.match(r"(paper|ours): \S", field.description or ""), f"{name}: {field.description!r}"
                assert "\n" not in (field.description or "")
    assert set(PAPER_TABLE) <= seen


def test_what_claims_to_be_the_papers_is_in_the_table_or_names_its_section() -> None:
    for name, field, value in leaves(PRESETS["paper"]):
        if (field.description or "").startswith("paper: Table") and "preproc" not in str(field.description):
            assert PAPER_TABLE[name] == value


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_valid_and_frozen(preset: str) -> None:
    config = PRESETS[preset]
    assert RondoConfig.model_validate(config.model_dump()) == config == resolve(preset)
    with pytest.raises(ValidationError):
        config.seed = 3
    with pytest.raises(ValidationError):
        config.units.mixture.component_cap = 3
    with pytest.raises(TypeError):
        PRESETS[preset] = config  # type: ignore[index]


@pytest.mark.parametrize("preset", PRESETS)
def test_an_encoder_that_takes_channels_as_they_are_gets_them_unless_told(preset: str, tmp_path: Path) -> None:
    mantis = {"encoder.name": "mantis"}
    assert resolve(preset, overrides=mantis).preprocess.scaling == "none"
    assert resolve(preset, overrides=mantis | {"preprocess.scaling": "channel"}).preprocess.scaling == "channel"
    (tmp_path / "own.toml").write_text('[preprocess]\nscaling = "channel"\n')
    assert resolve(preset, tmp_path / "own.toml", mantis).preprocess.scaling == "channel"
    assert resolve(preset, overrides={"encoder.name": "time_mae"}).preprocess.scaling == "channel"


def test_an_unknown_preset_names_those_there_are() -> None:
    assert "'papper'; expected 'default', 'paper'" in refusal(preset="papper")


def test_the_ways_listed_here_are_all_there_are() -> None:
    for tag, ways in WAYS.items():
        section, name = tag.split(".")
        found, models = choices_of(RondoConfig.model_fields[section])
        assert (found, tuple(models)) == (name, ways)
        assert {model.model_fields[name].default for model in models.values()} == set(ways)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_configuration_survives_json_with_every_encoder(encoder: str) -> None:
    config = resolve(overrides={"encoder.name": encoder})
    assert type(config.encoder) is ENCODERS[encoder].settings
    assert RondoConfig.model_validate_json(config.model_dump_json()) == config
    assert RondoConfig.model_validate(config.model_dump(mode="json")) == config
    assert config.model_dump()["encoder"] == config.encoder.model_dump()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": "ts2vek"}, "did you mean 'ts2vec'?"),
        ({"name": "nothing like it"}, "perhaps the package that has it is not installed"),
        ({}, "must have name = 'summary_stats', 'ts2vec', 'time_mae' or 'mantis'"),
        ({"name": "ts2vec", "depth": 0}, "greater than or equal to 1"),
        ({"name": "ts2vec", "deepth": 3}, "Extra inputs are not permitted"),
        ("ts2vec", "valid dictionary or instance of EncoderSettings"),
    ],
)
def test_an_encoder_that_is_not_there_is_refused(given: object, says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        RondoConfig.model_validate({"encoder": given})
    assert says in str(caught.value)


def test_surrogates_are_enough_to_pass_or_none() -> None:
    assert [resolve(overrides={"evidence.surrogates": n}).evidence.surrogates for n in (0, 5, 99)] == [0, 5, 99]
    for too_few in (1, 4):
        assert "at least 5" in refused("evidence.surrogates", too_few)
    assert "'evidence.surrogates'" in refused("evidence.surrogates", -1)


# ---------------------------------------------------------------- durations


@pytest.mark.parametrize(
    ("written", "kept", "frames"),
    [
        ("2s", "2s", 200),
        ("500ms", "500ms", 50),
        ("1.5min", "1.5min", 9000),
        (" 2 s ", " 2 s ", 200),
        (256, 256, 256),
        ("256", 256, 256),
        (np.int64(7), 7, 7),
    ],
)
def test_durations(written: Any, kept: int | str, frames: int) -> None:
    assert WindowsConfig(length=written).length == kept
    assert to_frames(written, 100.0, "windows.length") == frames


@pytest.mark.parametrize("bad", ["", "two", "2y", "-2s", "2,5s", "s", "1e3s", "٣s", "²", 2.5, 0, -1, None, True, [2]])
def test_bad_durations(bad: Any) -> None:
    with pytest.raises(ValidationError):
        WindowsConfig(length=bad)
    assert "setting 'windows.length'" in refused("windows.length", bad)
    with pytest.raises(SettingError, match=r"'windows\.length'"):
        to_frames(bad, 100.0, "windows.length")


@given(st.floats(0.001, 1e6), st.floats(0.01, 1e5))
def test_seconds_become_the_nearest_number_of_frames(seconds: float, rate: float) -> None:
    written = f"{seconds:.9f}s"
    assume(round(seconds, 9) * rate >= 0.5001)
    assert abs(to_frames(written, rate, "windows.length") - round(seconds, 9) * rate) <= 0.5 + 1e-6 * rate


def test_a_time_needs_a_rate_and_a_whole_frame() -> None:
    with pytest.raises(SettingError, match=r"windows.step = '2s' .*--rate"):
        to_frames("2s", None, "windows.step")
    with pytest.raises(SettingError, match=r"windows.step = '1ms' .*50 Hz"):
        to_frames("1ms", 50.0, "windows.step")
    with pytest.raises(SettingError, match=r"windows.step = 'auto'"):
        to_frames("auto", 50.0, "windows.step")
