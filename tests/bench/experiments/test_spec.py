"""Experiments as files: all of the package's can be read, and agree with the catalogue and the published tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.errors import SettingError
from rondo_bench.baselines.baseline import baseline_names
from rondo_bench.data_sets.catalogue import DATA_SETS
from rondo_bench.experiments.inputs import baseline_for, config_of, fingerprint, rondo_for
from rondo_bench.experiments.rows import read_rows
from rondo_bench.experiments.spec import NAMES, PAPER_TABLES, Method, SetSpec, read_data_sets, read_experiment, text_of
from rondo_bench.experiments.summary import published, settings_now

EXPERIMENTS = [read_experiment(name) for name in NAMES]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda own: own.name)
def test_everything_in_an_experiment_exists(experiment) -> None:  # type: ignore[no-untyped-def]
    sets = read_data_sets()
    assert set(experiment.data_sets) <= set(sets)
    for name, method in experiment.methods.items():
        assert method.source.startswith(("paper: ", "ours: ")), name
        assert set(method.for_) <= set(sets), name
        for data_set in {experiment.data_sets[0], *method.for_}:
            config_of(method, data_set, sets[data_set], experiment.protocol)  # refuses a setting that there is not
        rows = [published(experiment.paper_table, sets[data_set].paper, method.paper) for data_set in sets]
        assert any(rows) == bool(method.paper), f"{name}: no such published row"


def test_the_default_method_has_no_published_row_and_another_name_than_the_papers_chain() -> None:
    for experiment in EXPERIMENTS:
        for name, method in experiment.methods.items():
            if method.preset:
                is_ours = method.preset == "default"
                assert method.title.startswith("Rondo" if is_ours else "RONDO"), name
                assert is_ours or "(paper)" in method.title, name
                assert not (is_ours and method.paper), name


def test_a_table_of_the_paper_is_the_experiment_that_makes_it() -> None:
    numbers = {"table1": "main", "table2": "continual", "table3": "transfer", "table4": "ablation", "full": "main"}
    numbers["table5"] = "representation"
    for table, published_table in numbers.items():
        experiment = read_experiment(table)
        assert (experiment.name, experiment.paper_table) == (PAPER_TABLES[table], published_table)
        assert text_of(table) == text_of(PAPER_TABLES[table])
    assert set(numbers) == set(PAPER_TABLES)
    with pytest.raises(SettingError, match="did you mean 'table2'"):
        read_experiment("tabel2")


def test_the_static_experiment_has_every_method() -> None:
    ours = {"rondo", "rondo-units", "rondo-paper", "time2state-paper"}
    assert set(read_experiment("static").methods) == {*ours, "clock", *baseline_names()}


def test_windows_are_those_of_the_catalogue() -> None:
    sets = read_data_sets()
    for known in DATA_SETS:
        assert (sets[known.name].window, sets[known.name].step) == (known.window, known.step), known.name
        assert sets[known.name].source.startswith(("paper: ", "ours: "))


@pytest.mark.parametrize(
    ("data_set", "method", "n_axes"),
    [("mocap", "ticc", 0), ("actrectut", "ticc", 10), ("actrectut", "clap", 8), ("opportunity", "time2state", 54)],
)
def test_axes_are_those_of_the_papers_table(data_set: str, method: str, n_axes: int) -> None:
    of_set = read_data_sets()[data_set]
    spec = read_experiment("static").methods[method]
    assert baseline_for(spec, data_set, of_set).config.preprocess.pca_components == n_axes


def test_shared_axes_are_applied_before_rondo_but_for_streams() -> None:
    of_set, method = SetSpec(pca={"*": 3}), Method(title="", source="", preset="default")
    assert rondo_for(method, "own", of_set, "static").preprocess.scaling == "none"
    stream = rondo_for(method, "own", of_set, "continual").preprocess
    assert (stream.scaling, stream.pca_components) == ("channel", 3)


def test_channels_go_by_pattern() -> None:
    of_set = read_data_sets()["pamap2"]
    assert of_set.chosen(("heart_rate", "hand_acc16x", "hand_acc6x", "ankle_acc16z")) == ("hand_acc16x", "ankle_acc16z")
    with pytest.raises(SettingError, match=r"'\*acc16\*'.*'c0', 'c1'"):
        of_set.chosen(("c0", "c1"))
    assert SetSpec().chosen(("c0", "c1")) == ("c0", "c1")


def test_a_fingerprint_tells_settings_apart_and_nothing_else() -> None:
    of_set, method = SetSpec(), read_experiment("static").methods["rondo-units"]
    config, _ = config_of(method, "mocap", of_set, "static")
    own = fingerprint(config, "static")
    assert fingerprint(config | {"seed": 5, "device": "cuda"}, "static") == own
    assert fingerprint(config, "continual") != own
    wider, _ = config_of(method, "mocap", SetSpec(window=90, step=30), "static")
    assert fingerprint(wider, "static") != own
    with_own_windows = read_experiment("static").methods["rondo"]
    automatic, _ = config_of(with_own_windows, "mocap", SetSpec(window=90, step=30), "static")
    assert automatic["windows"] == config["windows"]
    joined = fingerprint(config, "static", ("one", "two"))
    assert joined.partition("-")[0] == own != joined
    before = {name: value for name, value in config["continual"].items() if name != "rule"}
    assert fingerprint(config | {"continual": before}, "static") == own  # rows from before there were two rules
    published_rule = config | {"continual": before | {"rule": "published"}}
    assert fingerprint(published_rule, "static") == own  # of no stream
    assert fingerprint(published_rule, "continual") != fingerprint(config, "continual")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("sedes = 5", "mine.toml: sedes: there is no such setting; did you mean 'seeds'?"),
        ("seeds = 0", "seeds"),
        ("seeds = [", "not a TOML file"),
        ("seeds = 5\nqqqqqq = 1", "there is no such setting; there are .*title, protocol, source"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path: Path, change: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text_of("ablation").replace("seeds = 5", change))
    with pytest.raises(SettingError, match=message):
        read_experiment(str(path))


def test_mistakes_in_methods_and_sets_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text_of("ablation").replace("preset", "preste", 1))
    with pytest.raises(SettingError, match=r"methods.rondo-paper.preste: .*'prese"):
        read_experiment(str(path))
    path.write_text(text_of("static").replace("clock = 20", "clock = -3"))
    with pytest.raises(SettingError, match=r"methods.clock.clock: .*greater"):
        read_experiment(str(path))
    for wrong, message in (
        ("windoww = 5", "windoww: there is no such setting; did you mean 'window'"),
        ("subject = '(S'", "subject: '.S' is no regular expression"),
        ("subject = 'S[0-9]+'", "subject: 'S.0-9.*' has no part in brackets"),
        ("pca = { tick = 5 }", "pca: there is no method 'tick'; did you mean 'ticc'"),
    ):
        path.write_text(f"[lara]\n{wrong}\n")
        with pytest.raises(SettingError, match=rf"mine.toml, \[lara\]: {message}"):
            read_data_sets(path)
    with pytest.raises(SettingError, match=r"none.toml: .*bench show data_sets"):
        read_data_sets(tmp_path / "none.toml")


@pytest.mark.parametrize("experiment", [experiment.name for experiment in EXPERIMENTS])
def test_stored_rows_are_of_the_settings_that_methods_have_now(experiment: str) -> None:
    """A setting that came or went since must not make rows look like those of other settings."""
    spec, sets = read_experiment(experiment), read_data_sets()
    rows = read_rows(Path(__file__).parents[3] / "docs" / "results" / f"{experiment}.csv")
    first = {row.key.method: row.key for row in reversed(rows) if row.key.method in spec.methods}
    made = {name: key.fingerprint.partition("-")[0] for name, key in first.items()}
    assert made == {name: settings_now(spec, name, key.data_set, sets[key.data_set]) for name, key in first.items()}
