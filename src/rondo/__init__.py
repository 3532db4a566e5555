"""Rondo: what recurs in long, unlabelled sensor recordings.

>>> import rondo
>>> sorted(rondo.__all__)  # doctest: +NORMALIZE_WHITESPACE
['Labelling', 'Reading', 'Recording', 'Result', 'Rondo', '__version__',
 'discover', 'errors', 'evaluate', 'label', 'read']
"""

from importlib import import_module

from rondo.version import __version__ as __version__

TYPE_CHECKING = False  # as typing has it, whose import would be most of the time that this one takes
if TYPE_CHECKING:
    from rondo import errors
    from rondo.data.recording import Recording
    from rondo.discovery import discover, label
    from rondo.evaluation import evaluate
    from rondo.files.inputs import read
    from rondo.files.reading import Reading
    from rondo.model.rondo import Rondo
    from rondo.result import Result
    from rondo.run.labelling import Labelling

__all__ = [
    "Labelling",
    "Reading",
    "Recording",
    "Result",
    "Rondo",
    "__version__",
    "discover",
    "errors",
    "evaluate",
    "label",
    "read",
]

_HOME = {
    "Labelling": "rondo.run.labelling",
    "Reading": "rondo.files.reading",
    "Recording": "rondo.data.recording",
    "Result": "rondo.result",
    "Rondo": "rondo.model.rondo",
    "discover": "rondo.discovery",
    "evaluate": "rondo.evaluation",
    "label": "rondo.discovery",
    "read": "rondo.files.inputs",
}


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for: imports take a second, and `rondo --help` needs few of them."""
    if name == "errors":
        return import_module("rondo.errors")
    if name not in _HOME:
        raise AttributeError(f"module 'rondo' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
