from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from pydantic import BaseModel

from rondo.errors import SettingError
from rondo_bench.baselines.baseline import ReadingBaseline, baseline_names, build_baseline
from tests.bench.baselines.contracts import AT_CORNERS, CONTRACTS, READING_CONTRACTS, Contract, ReadingContract

TINY: dict[str, dict[str, Any]] = {
    "time2state": {"windows.length": 16, "windows.step": 4, "hidden_dim": 6, "depth": 3, "pooled_dim": 8, "n_steps": 2},
    "e2usd": {"windows.length": 16, "windows.step": 4, "pooled_dim": 8, "n_groups": 4, "n_steps": 2},
    "compile": {"sequence_length": 50, "hidden_dim": 8, "latent_dim": 4, "n_steps": 2},
    "autoplait": {"float_bits": 4, "max_states": 2, "n_seeds": 4},
    # Every point may found a cluster, so that nothing is noise, of which the contracts know nothing.
    "denstream": {"windows.length": 16, "windows.step": 4, "core_weight": 1, "potential_share": 1},
    "dbstream": {"windows.length": 16, "windows.step": 4, "minimum_weight": 1},
    # Every split is a change point: the planted streams are too short for the test of them.
    "clap": {"window": 10, "significance": 1.0, "n_kernels": 100},
    "ticc": {"n_states": 4, "switch_cost": 20, "n_iterations": 8, "sparsity": 1.0},
    "kmeans": {"windows.length": 16, "windows.step": 4, "n_states": 4, "n_starts": 2},
    "hdbscan": {"windows.length": 16, "windows.step": 4, "min_cluster_size": 2, "noise": "nearest"},
}

READERS = ("time2state", "e2usd", "compile", "ticc", "kmeans")


AKIN = {"time2state": "e2usd", "dbstream": "denstream", "hdbscan": "kmeans"}  # they share most of their code
EVERY = [pytest.param(name, marks=[pytest.mark.slow] if name in AKIN else []) for name in baseline_names()]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_contract(name: str, contract: Contract) -> None:
    contract(build_baseline(name, TINY[name]))  # asserts


@pytest.mark.parametrize("name", ["e2usd", "clap", "ticc"])
@pytest.mark.parametrize("contract", AT_CORNERS, ids=lambda contract: contract.__name__)
def test_contract_at_corners(name: str, contract: Contract) -> None:
    contract(build_baseline(name, TINY[name]))  # asserts


@pytest.mark.parametrize("name", ["e2usd", "ticc"])
@pytest.mark.parametrize("contract", READING_CONTRACTS, ids=lambda contract: contract.__name__)
def test_reading_contract(name: str, contract: ReadingContract) -> None:
    baseline = build_baseline(name, TINY[name])
    assert isinstance(baseline, ReadingBaseline)
    contract(baseline)  # asserts


def test_every_method_that_can_read_keeps_the_contracts() -> None:
    assert {name for name in baseline_names() if isinstance(build_baseline(name), ReadingBaseline)} == set(READERS)


@pytest.mark.parametrize("name", baseline_names())
def test_every_default_says_where_it_comes_from(name: str) -> None:
    def check(settings: Any) -> None:
        for field_name, field in type(settings).model_fields.items():
            value = getattr(settings, field_name)
            if isinstance(value, BaseModel):
                check(value)
            else:
                assert (field.description or "").startswith(("original: ", "paper: ", "ours: ")), field_name

    check(build_baseline(name).config)


def test_an_unknown_method_is_refused_with_a_hint() -> None:
    with pytest.raises(SettingError, match=r"'time2sate'.*'time2state'"):
        build_baseline("time2sate")
    with pytest.raises(SettingError, match=r"'xyz'.*time2state"):
        build_baseline("xyz")


def test_an_unknown_setting_is_refused_with_a_hint() -> None:
    with pytest.raises(SettingError, match=r"'n_step'.*'n_steps'"):
        build_baseline("time2state", {"n_step": 3})
    with pytest.raises(SettingError, match=r"^setting 'windows\.length'"):
        build_baseline("time2state", {"windows.length": "two"})


def test_building_a_method_brings_no_heavy_library() -> None:
    code = (
        "import sys, rondo_bench.baselines as b; [b.build_baseline(name) for name in b.baseline_names()];"
        "print(sorted({'torch', 'sklearn', 'polars', 'pandas', 'scipy.signal'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "[]"
