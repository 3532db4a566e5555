"""Evidence as a value: what it says, and that a model folder keeps it to the bit."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rondo.data.labels import OTHER
from rondo.evidence.verdicts import EntryEvidence, Evidence, Reason, Verdict, comes_back, is_pale, rank_p
from rondo.run.summary import EntryEvidenceSummary

SOME = Evidence(
    0.05,
    0.731234567890123,
    {"signal": np.array([0.1, 0.2]), "statistics": np.array([0.3, -0.4])},
    {
        3: EntryEvidence(0.05, 1.25, 7, "recurs clearly", Reason("spacing", 149.5), 6, 5 / 6, 0.731, 8),
        8: EntryEvidence(np.nan, np.nan, 1, "occurs once"),
    },
    {
        0: EntryEvidence(0.35, np.nan, 4, "not shown", Reason("end", 97.0, 100)),
        2: EntryEvidence(np.nan, np.nan, 0, "not tested"),
        5: EntryEvidence(0.01, 0.5, 9, "recurs faintly", n_visits=4, recognised=1.0, margin=0.01, like=0),
        6: EntryEvidence(0.01, 0.5, 9, "blurred", n_visits=4, recognised=0.25, margin=-0.4, like=5),
    },
)


def assert_same(some: Evidence, other: Evidence) -> None:
    assert_array_equal([some.p, some.closeness], [other.p, other.closeness])
    assert some.by_chance.keys() == other.by_chance.keys()
    for kind, figures in some.by_chance.items():
        assert_array_equal(figures, other.by_chance[kind])
    for own, others in ((some.units, other.units), (some.motifs, other.motifs)):
        assert list(own) == list(others)
        for entry, twin in zip(own.values(), others.values(), strict=True):
            for figure, other_figure in zip(entry, twin, strict=True):
                assert figure == other_figure or (figure != figure and other_figure != other_figure)  # NaN


def test_tensors_hold_everything_and_nothing_that_is_not_finite() -> None:
    tensors = SOME.tensors()
    assert all(np.isfinite(tensor).all() for tensor in tensors.values())
    assert_same(Evidence.restore(tensors, [8, 3], [0, 2, 5, 6]), SOME)
    untested = Evidence.not_tested({1: 4}, {})
    assert_same(Evidence.restore(untested.tensors(), [1], []), untested)


def test_models_of_older_versions_have_no_reasons_and_no_visits() -> None:
    newer = ("reasons", "visits", "graded.figures", "graded.known")
    older = {name: tensor for name, tensor in SOME.tensors().items() if not name.endswith(newer)}
    restored = Evidence.restore(older, [3, 8], [0, 2, 5, 6])
    entry = restored.units[3]
    assert entry[:4] == SOME.units[3][:4] and entry.reason == Reason()
    assert (entry.n_visits, entry.like) == (0, OTHER) and np.isnan([entry.recognised, entry.margin]).all()


def test_the_verdicts_of_older_versions_read_as_those_of_today() -> None:
    table = np.array([[3, 7, 0], [8, 1, 1]])  # places that models of 0.2.0 hold
    restored = Evidence.restore(SOME.tensors() | {"units.table": table}, [3, 8], [0, 2, 5, 6])
    assert [restored.units[id].verdict for id in (3, 8)] == ["recurs clearly", "occurs once"]
    assert EntryEvidenceSummary.model_validate({"verdict": "recurs", "p": 0.01}).verdict == "recurs clearly"


def test_what_comes_back_is_neither_doubtful_nor_unknown() -> None:
    known = get_args(Verdict)
    assert {one for one in known if comes_back(one)} == {"recurs clearly", "recurs faintly"}
    assert {one for one in known if is_pale(one)} == {"occurs once", "blurred"}
    for entry in SOME.motifs.values():
        assert entry.comes_back == comes_back(entry.verdict)


def test_models_without_evidence_are_not_tested() -> None:
    evidence = Evidence.restore({}, [3, 8], [0])
    assert not evidence.recurs
    assert np.isnan(evidence.p)
    assert {entry.verdict for entry in (*evidence.units.values(), *evidence.motifs.values())} == {"not tested"}
    assert (list(evidence.units), list(evidence.motifs)) == ([3, 8], [0])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("units.table", np.array([[3, 7, 6], [8, 1, 1]])),
        ("units.table", np.array([[3, 7, 0], [9, 1, 1]])),
        ("motifs.known", np.ones((2, 1))),
        ("units.reasons", np.full((2, 3), 99.0)),
        ("units.visits", np.full((2, 2), -2)),
        ("units.graded.known", np.ones((3, 2))),
        ("figures", np.array([[-0.05, 1.0]])),
        ("units.figures", np.array([[1.5, 1.0], [0.0, 0.0]])),
    ],
)
def test_tensors_that_do_not_fit_are_refused(name: str, value: np.ndarray) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError, match=r"evidence|unpack"):
        Evidence.restore(SOME.tensors() | {name: value}, [3, 8], [0, 2, 5, 6])


def test_p_is_a_rank_and_5_percent_is_enough() -> None:
    chance = np.arange(19.0)
    assert [rank_p(figure, chance) for figure in (18.5, 18.0, -1.0)] == [0.05, 0.1, 1.0]
