"""What goes in badly ends in one clear line, or in something sane: every way of finding units."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rondo.checks.encoders import planted, windows_of
from rondo.config.settings import SlowUnitsConfig, resolve
from rondo.config.settings import UnitsConfig as AnyUnits
from rondo.encoders.base import build_encoder
from rondo.encoders.summary_stats import SummaryStatsConfig
from rondo.errors import SettingError
from rondo.paper.settings import DirectUnitsConfig, PublishedMixtureConfig, UnitAlignConfig
from rondo.units.fit import fit_units
from rondo.units.model import UnitModel

pytestmark = pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")  # few windows need not settle


def ways(**mixture: object) -> dict[str, AnyUnits]:
    small = PublishedMixtureConfig.model_validate({"latent_dim": 3, "component_cap": 8, **mixture})
    plain = small.model_copy(update={"latent_dim": 0, "covariance": "full"})
    return {
        "slow": SlowUnitsConfig(mixture=plain),
        "slow, DeepDPM": SlowUnitsConfig(mixture=plain.model_copy(update={"kind": "deep_dpm"})),
        "slow, merged": SlowUnitsConfig(mixture=plain, merge=True),
        "unit_align": UnitAlignConfig(init_epochs=2, max_rounds=2, mixture=small),
        "unit_align, DeepDPM": UnitAlignConfig(
            init_epochs=2, max_rounds=1, mixture=small.model_copy(update={"kind": "deep_dpm", "max_iterations": 30})
        ),
        "direct": DirectUnitsConfig(mixture=small),
    }


def fitted(values: NDArray[np.floating], config: AnyUnits) -> tuple[UnitModel, NDArray[np.int32]]:
    windows = windows_of(values)
    encoder = build_encoder(SummaryStatsConfig()).fit([windows])
    model = fit_units([windows], encoder, config, np.random.default_rng(0), "cpu")
    return model, model.timeline(windows).ids


def assert_sane(model: UnitModel, ids: NDArray[np.int32], n_windows: int) -> None:
    assert ids.shape == (n_windows,)
    assert set(ids.tolist()) <= set(model.ids)
    assert all(np.isfinite(tensor).all() for tensor in model.tensors().values())


@pytest.mark.parametrize("name", ways())
@pytest.mark.parametrize("n_frames", [16, 40])
def test_one_window_or_a_few(name: str, n_frames: int) -> None:
    model, ids = fitted(planted(n_frames), ways(component_cap=50)[name])
    assert_sane(model, ids, n_windows=(n_frames - 16) // 4 + 1)


@pytest.mark.parametrize("name", ways())
def test_a_constant_signal_is_one_unit(name: str) -> None:
    # UnitAlign's network rounds equal rows of some widths differently, those of 3 and 4 channels among them.
    model, ids = fitted(np.full((200, 8 if name.startswith("unit_align") else 3), 0.25), ways()[name])
    assert_sane(model, ids, n_windows=47)
    assert np.unique(ids).size == 1


@pytest.mark.parametrize("name", ways())
def test_every_unit_has_a_member(name: str) -> None:
    """A component that wins no window, or loses all to smoothing, is no unit."""
    model, ids = fitted(planted(300, seed=5), ways(component_cap=30, min_weight=0.0)[name])
    assert sorted(set(ids.tolist())) == list(model.ids)
    assert model.vocabulary.supports.min() >= 1


@pytest.mark.parametrize("method", ["slow", "unit_align", "direct"])
@pytest.mark.parametrize(
    ("name", "value"),
    [("component_cap", 0), ("component_cap", -1), ("min_weight", 1.0), ("concentration", 0.0), ("covariance", "tied")],
)
def test_a_setting_out_of_range_is_named(method: str, name: str, value: object) -> None:
    with pytest.raises(SettingError, match=rf"units\.mixture\.{name}") as caught:
        resolve(overrides={"units.method": method, f"units.mixture.{name}": value})
    assert "\n" not in str(caught.value)
