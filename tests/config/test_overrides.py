"""How settings are chosen, TOML there and back, and how nonsense is refused."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rondo.config.overrides import changed, changes_from, parse_override, to_toml
from rondo.config.settings import PRESETS, RondoConfig, resolve
from rondo.errors import SettingError
from tests.config.refusals import refusal, refused
from tests.setting_names import WAYS, every_way, leaves

# ---------------------------------------------------------------- choosing


def test_overrides_lie_over_the_file_and_the_file_over_the_preset(tmp_path: Path) -> None:
    file = tmp_path / "rondo.toml"
    file.write_text('seed = 5\n[windows]\nlength = "2s"\nstep = 10\n', encoding="utf-8")
    config = resolve("paper", file, {"windows.step": 20})
    assert (config.seed, config.windows.length, config.windows.step) == (5, "2s", 20)
    assert config.units == PRESETS["paper"].units


@pytest.mark.parametrize("order", [1, -1])
def test_overrides_mean_the_same_in_any_order(order: int) -> None:
    overrides = {"units.alpha": 0.5, "units.method": "unit_align", "units.mixture.component_cap": 9}
    units = resolve(overrides=dict(list(overrides.items())[::order])).units.model_dump()
    assert (units["method"], units["alpha"]) == ("unit_align", 0.5)
    assert units["mixture"]["component_cap"] == 9


def test_choosing_another_way_starts_from_that_ways_own_defaults() -> None:
    chosen = resolve(overrides={"units.method": "unit_align", "units.mixture.component_cap": 9}).units.mixture
    own = PRESETS["paper-fast"].units.mixture
    assert chosen == own.model_copy(update={"component_cap": 9})
    assert resolve("paper", overrides={"encoder.name": "summary_stats"}).encoder == PRESETS["default"].encoder


def test_a_whole_section_can_be_given_as_a_dictionary() -> None:
    config = resolve(overrides={"windows": {"length": 64, "step": 16}, "seed": 2})
    assert (config.windows.length, config.windows.step, config.seed) == (64, 16, 2)
    assert resolve(overrides=config.model_dump()) == config


def test_overrides_that_contradict_each_other_are_refused() -> None:
    for overrides in ({"windows.length": 3, "windows": {"length": 4}}, {"seed": 1, "seed.x": 2}):
        assert "leave one out" in refusal(overrides=overrides)


# ---------------------------------------------------------------- refusing


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("sede", "seed"),
        ("window.length", "windows"),
        ("windows.lenght", "windows.length"),
        ("units.dimention", "units.dimension"),
        ("units.mixture.cap", "units.mixture.component_cap"),
        ("units.mixture.component_cpa", "units.mixture.component_cap"),
        ("units.mixture.dp_concentration", "units.mixture.concentration"),
        ("units.component_cap", "units.mixture.component_cap"),
        ("units.mixtur.component_cap", "units.mixture"),
        ("component_cap", "units.mixture.component_cap"),
        ("preprocess.pca", "preprocess.pca_components"),
    ],
)
def test_a_typo_is_answered_with_what_was_meant(typo: str, meant: str) -> None:
    unknown = typo if meant.count(".") >= typo.count(".") else typo.rpartition(".")[0]
    assert f"setting '{unknown}'; did you mean '{meant}'?" in refused(typo)


@pytest.mark.parametrize("name", ["zzz", "windows.zzz", "units.mixture.zzz", "", "units.", ".seed", "a\nb"])
def test_an_unknown_name_that_resembles_nothing_points_to_the_list(name: str) -> None:
    assert f"{name.split('.seed')[0]!r}; see `rondo config show`" in refused(name)


@pytest.mark.parametrize("order", [1, -1])
def test_a_setting_of_a_way_not_chosen_says_whose_it_is(order: int) -> None:
    overrides = dict([("encoder.name", "ts2vec"), ("encoder.clip", 1)][::order])
    says = refusal(overrides=overrides)
    assert "'encoder.clip'" in says and "encoder.name = 'summary_stats'" in says and "'ts2vec'" in says
    says = refused("encoder.output_dim", 8)
    assert "encoder.name = 'ts2vec' or 'time_mae'" in says
    says = refused("motifs.acceptance.radius_quantile", 0.9)
    assert "'motifs.acceptance' belongs to motifs.method" in says


def test_only_settings_of_the_chosen_ways_are_suggested() -> None:
    """`dimension` is a setting of slow units; with unit_align nothing of that name can be meant."""
    assert "did you mean 'units.dimension'?" in refused("dimension")
    for overrides in ({"dimension": 3, "units.method": "unit_align"}, {"encoder.clipp": 1, "encoder.name": "ts2vec"}):
        says = refusal(overrides=overrides)
        assert "units.dimension" not in says
        assert "encoder.clip'" not in says


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("windows.length", 0, "setting 'windows.length' must be at least 1 frame, got 0"),
        ("windows.length", "0", "setting 'windows.length' must be at least 1 frame, got '0'"),
        ("windows.length", 10**13, "setting 'windows.length' must be at most 10^12 frames, got 10000000000000"),
        (
            "windows.projection",
            "votes",
            "setting 'windows.projection' must be 'aligned', 'vote', 'centre' or 'start', got 'votes'",
        ),
        ("seed", -1, "setting 'seed' must be greater than or equal to 0, got -1"),
        ("seed", True, "setting 'seed' is not a switch, got true; see `rondo config show`"),
        ("units.ridge", float("nan"), "setting 'units.ridge' must be a finite number, got nan"),
        ("units.mixture.min_weight", 1, "setting 'units.mixture.min_weight' must be less than 1, got 1"),
        ("preprocess.channels", "x", "setting 'preprocess.channels' must be a valid list, got 'x'"),
        ("preprocess.channels", ["x", 3], "setting 'preprocess.channels[1]' must be a valid string, got 3"),
        ("units", 3, "'units' is a section, got 3; set one of its settings, as in units.method"),
        ("windows", "x", "'windows' is a section, got 'x'; set one of its settings, as in windows.length"),
        ("seed.x", 3, "'seed' is one setting, not a section; 'seed.x' cannot be set"),
        (
            "encoder.name",
            "ts2vek",
            "encoder.name must be 'summary_stats', 'ts2vec', 'time_mae' or 'mantis', got 'ts2vek'; "
            "did you mean 'ts2vec'?",
        ),
        ("units.method", 3, "units.method must be 'slow', 'unit_align' or 'direct', got 3"),
    ],
)
def test_a_bad_value_is_named_once_with_what_was_expected(name: str, value: Any, says: str) -> None:
    assert refused(name, value) == says


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = sorted(
    {name for config in every_way() for name, _, _ in leaves(config)} | {"units", "units.mixture", "windows"}
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=12), ANYTHING, max_size=3))
def test_any_override_gives_a_configuration_or_one_line(overrides: dict[str, Any]) -> None:
    try:
        config = resolve(overrides=overrides)
    except SettingError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert RondoConfig.model_validate(tomllib.loads(to_toml(config))) == config


# ---------------------------------------------------------------- TOML and the command line


@st.composite
def valid_overrides(draw: st.DrawFn) -> dict[str, Any]:
    chosen: dict[str, Any] = {tag: draw(st.sampled_from(ways)) for tag, ways in WAYS.items()}
    chosen["seed"] = draw(st.integers(0, 2**32 - 1))
    chosen["windows.length"] = draw(st.sampled_from(["auto", 1, 256, "256", "2s", " 1.5 min ", "500ms"]))
    names = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
    chosen["preprocess.channels"] = draw(st.lists(names, max_size=3))
    chosen["preprocess.max_gap"] = draw(st.sampled_from(["auto", 1, "0.5s"]))
    chosen["continual.merge_radius_factor"] = draw(st.floats(1e-300, 1e300))
    if chosen["units.method"] == "slow":
        chosen["units.ridge"] = draw(st.floats(0, 1e9))
    if chosen["motifs.method"] == "motif_former":
        chosen["motifs.lengths"] = draw(st.lists(st.integers(2, 99), min_size=1, max_size=4))
    return chosen


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(preset=st.sampled_from(sorted(PRESETS)), overrides=valid_overrides())
def test_toml_out_and_in_again_is_the_same(tmp_path: Path, preset: str, overrides: dict[str, Any]) -> None:
    config = resolve(preset, overrides=overrides)
    file = tmp_path / "rondo.toml"
    file.write_text(to_toml(config), encoding="utf-8")
    for start in PRESETS:  # whatever it is laid over
        assert resolve(start, file) == config


@given(preset=st.sampled_from(sorted(PRESETS)), overrides=valid_overrides())
def test_what_was_changed_makes_the_same_again(preset: str, overrides: dict[str, Any]) -> None:
    config = resolve(preset, overrides=overrides)
    for start in PRESETS.values():
        assert changed(start, None, changes_from(start, config)) == config
        assert changes_from(config, config) == {}


def test_toml_shows_every_setting_with_its_source() -> None:
    for config in every_way():
        text = to_toml(config)
        written = tomllib.loads(text)
        for name, field, value in leaves(config):
            inner: Any = written
            for part in name.split("."):
                inner = inner[part]
            assert inner == (list(value) if isinstance(value, tuple) else value)
            assert name in WAYS or f"# {field.description}" in text
    assert "summary_stats, ts2vec, time_mae, mantis" in to_toml(PRESETS["default"])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"seed = ", "not a TOML file (Invalid value"),
        (b"\xff\xfe", "not a TOML file ('utf-8' codec"),
        (b"sed = 3", "unknown setting 'sed'; did you mean 'seed'?"),
        (b"[windows]\nlength = 0", "setting 'windows.length' must be at least 1 frame, got 0"),
        (b"windows = 3", "'windows' is a section, got 3"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    assert refusal(file=file).startswith(f"{file}: {says}")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "none.toml"
    assert f"{file}: cannot read the configuration" in refusal(file=file)
    assert refusal(file=tmp_path).startswith(f"{tmp_path}: cannot read the configuration")


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("seed=3", ("seed", 3)),
        (" units.alpha = 1.5 ", ("units.alpha", 1.5)),
        ("windows.length=2s", ("windows.length", "2s")),
        ('windows.length="2s"', ("windows.length", "2s")),
        ("units.method=slow", ("units.method", "slow")),
        ('preprocess.channels=["x", "y"]', ("preprocess.channels", ["x", "y"])),
        ("a=b=c", ("a", "b=c")),
        ("a=", ("a", "")),
        ("a=1\nb=2", ("a", "1\nb=2")),
    ],
)
def test_an_override_on_the_command_line(text: str, parsed: tuple[str, Any]) -> None:
    assert parse_override(text) == parsed


@pytest.mark.parametrize("text", ["", "seed", "=3", " = 3"])
def test_an_override_without_a_name_or_a_value_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match=r"--set expects section\.name=value"):
        parse_override(text)
