"""What is not collected: adapters without their library, and a page that repeats the examples of docstrings."""

from importlib.util import find_spec

import pytest

collect_ignore = [f"src/rondo/adapters/{name}.py" for name in ("aeon", "sktime") if find_spec(name) is None]
collect_ignore += ["docs/reference/api.md"]  # written from docstrings, whose examples run in their own modules


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden instead of comparing with it")
