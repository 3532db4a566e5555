"""The tree of errors: drawn as it is, every leaf catchable by its root, messages with what to do."""

from __future__ import annotations

import re

from rondo import errors
from rondo.errors import InputError, NotFittedError, RondoError, RondoWarning

CLASSES = {
    name: thing for name, thing in vars(errors).items() if isinstance(thing, type) and issubclass(thing, Exception)
}


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    """Depth in the drawing, four characters a level, is depth below RondoError."""
    drawn: dict[str, int] = {}
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^    ([│├└─ ]*)([A-Z]\w+(?:Error|Warning))\b", line)
        if found:
            drawn[found[2]] = len(found[1]) // 4
    assert drawn == {name: _depth(thing) for name, thing in CLASSES.items()}


def _depth(thing: type) -> int:
    return sum(base in CLASSES.values() for base in thing.__mro__[1:])


def test_everything_raised_on_purpose_has_one_root_and_warnings_have_another() -> None:
    for thing in CLASSES.values():
        assert issubclass(thing, RondoError) != issubclass(thing, RondoWarning)
    assert issubclass(RondoWarning, UserWarning)
    assert not issubclass(NotFittedError, InputError)
