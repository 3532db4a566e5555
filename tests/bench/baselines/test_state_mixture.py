from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.data.labels import Labels
from rondo.errors import RondoWarning
from rondo_bench.baselines import window_states
from rondo_bench.baselines.window_states import Components, fitted_components


def states_of(embeddings: NDArray[np.float64], cap: int = 20, seed: int = 0) -> Labels:
    components = fitted_components(embeddings, cap, 1e3, seed, "e2usd")
    return components.in_order(components.states_of(embeddings)).states_of(embeddings)


@pytest.mark.parametrize("n_windows", [0, 1, 19])
def test_fewer_windows_than_components_are_enough(n_windows: int) -> None:
    states = states_of(np.random.default_rng(0).normal(size=(n_windows, 4)))
    assert states.shape == (n_windows,)
    assert states.dtype == np.int32


@pytest.mark.parametrize("n_dims", [1, 4, 9])
def test_components_place_embeddings_as_the_library_does(n_dims: int) -> None:
    """Seen and unseen embeddings, far from borders and close to them."""
    from sklearn.mixture import BayesianGaussianMixture

    rng = np.random.default_rng(n_dims)
    learned = rng.normal(size=(120, n_dims)) + 3 * rng.normal(size=(4, n_dims)).repeat(30, axis=0)
    prior = np.atleast_2d(np.cov(learned.T)) + 1e-6 * np.eye(n_dims)
    mixture = BayesianGaussianMixture(
        n_components=8, weight_concentration_prior=2.0, covariance_prior=prior, max_iter=1000, random_state=5
    ).fit(learned)
    components = fitted_components(learned, 8, 2.0, 5, "e2usd")
    asked = np.concatenate([learned, 4 * rng.normal(size=(500, n_dims))])
    npt.assert_array_equal(components.states_of(asked), mixture.predict(asked))
    assert len(set(mixture.predict(asked).tolist())) > 2  # else nothing was tested


def test_numbers_follow_appearance_and_the_unseen_come_last() -> None:
    components = Components(np.zeros(4), np.array([[0.0], [10.0], [20.0], [30.0]]), np.ones((4, 1, 1)))
    numbered = components.in_order(np.array([2, 2, 0, 2], dtype=np.int32))
    assert numbered.means.ravel().tolist() == [20, 0, 10, 30]
    assert numbered.states_of(np.array([[19.0], [1.0], [11.0], [31.0]])).tolist() == [0, 1, 2, 3]


def test_a_mixture_that_has_not_settled_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_states, "_MIXTURE_ITERATIONS", 1)
    embeddings = np.random.default_rng(0).normal(size=(100, 4))
    with pytest.warns(RondoWarning, match="not settled after 1 iterations") as caught:
        states_of(embeddings)
    assert len(caught) == 1
