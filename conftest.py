"""What is not collected: adapters without their library, and a page that repeats the examples of docstrings."""

from __future__ import annotations

from copy import copy
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import rondo

collect_ignore = [f"src/rondo/adapters/{name}.py" for name in ("aeon", "sktime") if find_spec(name) is None]
collect_ignore += ["docs/reference/api.md"]  # written from docstrings, whose examples run in their own modules


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden instead of comparing with it")


@pytest.fixture(scope="session")
def doc_run() -> rondo.Result:
    """The small run that the examples of Result, Rondo and rondo.edit begin with."""
    import rondo
    from rondo.synthetic import plant

    recording = plant(n_frames=3_000, seed=1).recording
    return rondo.discover(recording, window="1.5s", settings={"evidence.surrogates": 0})


@pytest.fixture(autouse=True)
def _names_in_examples(request: pytest.FixtureRequest, doctest_namespace: dict[str, object]) -> None:
    if request.node.name.startswith(("rondo.result.", "rondo.model.rondo.", "rondo.edit.")):
        result = request.getfixturevalue("doc_run")
        recording, model = result.at_hand["planted1-subject0"], copy(result.model)
        more = {"tmp_path": request.getfixturevalue("tmp_path"), "recording": recording, "model": model}
        doctest_namespace.update(more, result=result)
