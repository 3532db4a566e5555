"""scikit-learn's manners: what of its own checks applies to recordings, and what people do with an estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError as TheirNotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.validation import check_is_fitted

from rondo.errors import NotFittedError, RondoError
from rondo.model.rondo import Rondo
from tests.cli.running import waves

QUICK = {"evidence.surrogates": 0}
VALUES = waves(900)

_A_RESULT = "predict gives a Result, not an array of one number per row"
_OUR_ERRORS = "what cannot be used is a RondoError that says what to do, not a ValueError with scikit-learn's words"
SKIPPED = {
    "check_array_api_input": "arrays of other libraries go through numpy",
    "check_complex_data": _OUR_ERRORS,
    "check_dtype_object": _OUR_ERRORS,
    "check_estimator_sparse_array": "a recording has a value, or none, in every frame: it is not sparse",
    "check_estimator_sparse_matrix": "a recording has a value, or none, in every frame: it is not sparse",
    "check_estimator_sparse_tag": "a recording has a value, or none, in every frame: it is not sparse",
    "check_estimators_empty_data_messages": _OUR_ERRORS,
    "check_estimators_pickle": f"{_A_RESULT}; models are saved as folders without pickles (Rondo.save)",
    "check_fit1d": "one channel may be given as a one-dimensional array",
    "check_fit2d_1sample": _OUR_ERRORS,
    "check_fit2d_predict1d": _OUR_ERRORS,
    "check_fit_idempotent": _A_RESULT,
    "check_methods_sample_order_invariance": "the order of frames is time",
    "check_methods_subset_invariance": "the order of frames is time: a part of them is another recording",
    "check_n_features_in_after_fitting": _OUR_ERRORS,
}


def checks() -> list[Any]:
    model = Rondo(window=5, step=2, settings=QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that BaseEstimator is not its base: importing that takes half a second
        every = list(estimator_checks.estimator_checks_generator(model))
    return [pytest.param(check, id=_name(check)) for _, check in every]


def _name(check: Any) -> str:
    return str(getattr(check, "func", check).__name__)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("check", checks())
def test_of_scikit_learns_checks(check: Any) -> None:
    model = Rondo(window=5, step=2, settings=QUICK)
    if _name(check) not in SKIPPED:
        check(model)
        return
    with pytest.raises(Exception):  # noqa: B017  # of any kind; one that passes needs no reason to be skipped
        check(model)
    pytest.skip(SKIPPED[_name(check)])


def test_no_check_is_skipped_that_does_not_exist() -> None:
    assert set(SKIPPED) <= {param.id for param in checks()}
    assert len(checks()) - len(SKIPPED) >= 20


def test_fitted_or_not() -> None:
    model = Rondo(window=40, settings=QUICK)
    for kind in (TheirNotFittedError, NotFittedError, RondoError, AttributeError):
        with pytest.raises(kind, match="not fitted"):
            model.predict(VALUES)
    with pytest.raises(TheirNotFittedError):
        check_is_fitted(model)
    check_is_fitted(model.fit(VALUES))
    assert model.n_features_in_ == 2
    with pytest.raises(TheirNotFittedError):
        check_is_fitted(clone(model))
    tags = get_tags(model)
    assert (tags.estimator_type, tags.target_tags.required, tags.input_tags.allow_nan) == (None, False, True)


def test_at_the_end_of_a_pipeline() -> None:
    pipeline = Pipeline([("scale", StandardScaler()), ("rondo", Rondo(window=40, settings=QUICK))])
    result = pipeline.fit(VALUES).predict(VALUES)
    scaled = StandardScaler().fit_transform(VALUES)
    npt.assert_array_equal(result.units, Rondo(window=40, settings=QUICK).fit_predict(scaled).units)
    npt.assert_array_equal(pipeline.fit_predict(VALUES).units, result.units)
    assert pipeline.set_params(rondo__window=30)["rondo"].window == 30


def test_settings_are_searched_with_a_score_of_ones_own() -> None:
    truth = np.arange(900) // 150 % 3

    def ari(model: Rondo, values: np.ndarray, classes: np.ndarray) -> float:
        import rondo

        return float(rondo.evaluate(classes, model.predict(values), level="unit").average.ari)

    everything = [(np.arange(900), np.arange(900))]  # rows in their order: time is not shuffled
    search = GridSearchCV(Rondo(settings=QUICK), {"window": [20, 40, 300]}, scoring=ari, cv=everything)
    search.fit(VALUES, truth)
    assert search.best_params_["window"] in (20, 40)
    assert len(search.best_estimator_.units_) >= 2
