"""Names of columns that pandas has pickled into an HDF5 file, read without unpickling: no instruction is carried out.

The pickle of a list of tuples of texts consists of a few instructions that build lists, tuples and texts. Any other one
makes the answer None: what a stranger's file asks to be imported or called is never looked at.
"""

from __future__ import annotations

import pickletools
from typing import Any

_PUSH = {
    "UNICODE",
    "BINUNICODE",
    "SHORT_BINUNICODE",
    "BINUNICODE8",
    "STRING",
    "BINSTRING",
    "SHORT_BINSTRING",
    "INT",
    "BININT1",
}
_STORE, _RECALL = {"PUT", "BINPUT", "LONG_BINPUT"}, {"GET", "BINGET", "LONG_BINGET"}
_SHORT_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_IGNORED = {"PROTO", "FRAME", "STOP"}
_MARK = object()


def tuples_in(pickled: bytes) -> list[tuple[str, ...]] | None:
    """The tuples of texts in the pickle of a list of these; None where it holds anything else.

    >>> import pickle
    >>> tuples_in(pickle.dumps([("net", "nose", "x"), ("net", "nose", "y")], protocol=0))
    [('net', 'nose', 'x'), ('net', 'nose', 'y')]
    >>> tuples_in(pickle.dumps([print]))
    """
    stack: list[Any] = []
    memory: dict[int, Any] = {}
    try:
        for code, argument, _ in pickletools.genops(pickled):
            name = code.name
            if name in _PUSH:
                stack.append(argument)
            elif name == "MARK":
                stack.append(_MARK)
            elif name in _STORE or name == "MEMOIZE":
                memory[len(memory) if argument is None else argument] = stack[-1]
            elif name in _RECALL:
                stack.append(memory[argument])  # type: ignore[index]
            elif name in ("EMPTY_LIST", "EMPTY_TUPLE"):
                stack.append([] if name == "EMPTY_LIST" else ())
            elif name in ("LIST", "TUPLE"):
                own = _since_mark(stack)
                stack.append(own if name == "LIST" else tuple(own))
            elif name in _SHORT_TUPLES:
                n = _SHORT_TUPLES[name]
                stack[-n:] = [tuple(stack[-n:])]
            elif name == "APPEND":
                last = stack.pop()
                stack[-1].append(last)
            elif name == "APPENDS":
                own = _since_mark(stack)
                stack[-1].extend(own)
            elif name not in _IGNORED:
                return None
    except (ValueError, LookupError, AttributeError):
        return None
    found = stack[-1] if len(stack) == 1 else None
    is_fine = isinstance(found, list) and all(
        isinstance(one, tuple) and all(isinstance(it, str) for it in one) for one in found
    )
    return found if is_fine else None


def _since_mark(stack: list[Any]) -> list[Any]:
    place = len(stack) - 1 - stack[::-1].index(_MARK)
    own = stack[place + 1 :]
    del stack[place:]
    return own
