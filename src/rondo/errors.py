"""Everything that can go wrong by name, so that callers can catch it and the command line can say it in one line.

    RondoError
    ├── InputError            what was handed over cannot be used (exit code 2)
    │   ├── RecordingError      a file, array or table is not a recording
    │   │   └── SourceLostError     a live source went away, and did not come back in time (exit code 4)
    │   ├── AnnotationError     a label track cannot be read, or does not fit its recording
    │   ├── SettingError        an unknown setting, a value out of range, settings that contradict each other
    │   ├── ModelError          a model folder is missing, truncated, edited or foreign
    │   ├── OutputError         the output folder cannot be written, or holds a run already
    │   └── MissingExtraError   an optional dependency is not installed
    ├── NotFittedError        a model was asked before it was fitted
    └── ForkedError           the process was forked after Rondo had been used

    RondoWarning (UserWarning)  something was done to the data, or could not be done, that the user should know
    └── NoteWarning               what was noted about columns and rows (`Result.notes`); commands print it

Every message is one line and says what was expected, what was found, where, and what to do.
"""

from __future__ import annotations


class RondoError(Exception):
    """Root of all errors that Rondo raises on purpose."""

    exit_code = 2  # of the command line


class InputError(RondoError):
    """The given input cannot be used; the command line exits with code 2."""


class RecordingError(InputError):
    """A file, array or table is not a recording."""


class SourceLostError(RecordingError):
    """A live source disconnected and did not return in time; a supervisor may start the run again."""

    exit_code = 4


class AnnotationError(InputError):
    """A label track cannot be read, or does not fit its recording."""


class SettingError(InputError):
    """An unknown setting, a value out of range, or settings that contradict each other."""


class ModelError(InputError):
    """A model folder is missing, truncated, edited or foreign."""


class OutputError(InputError):
    """The output folder cannot be written, or already holds a run.

    What is wrong, then what to do; `{place}` in the latter is what whoever reads it calls the place.

    >>> error = OutputError("{a}: already holds a run", "choose another {place} than {a}")
    >>> print(error, error.said("--out"), sep="\\n")
    {a}: already holds a run; choose another folder than {a}
    {a}: already holds a run; choose another --out than {a}
    """

    def __str__(self) -> str:
        return self.said("folder")

    def said(self, place: str) -> str:
        """The message for those who choose a place as `place`: the command line says `--out`."""
        what, *advice = self.args
        return "; ".join((what, *(one.replace("{place}", place) for one in advice)))


class MissingExtraError(InputError):
    """An optional dependency is not installed.

    `extra` is the extra of Rondo that brings it; "" if there is none.

    >>> str(MissingExtraError("Result.plot", "matplotlib", "plot"))
    "Result.plot needs the package 'matplotlib': pip install 'rondo-ts[plot]'"
    """

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(what, package, extra)  # as another process makes it again

    def __str__(self) -> str:
        what, package, extra = self.args
        wanted = f"'rondo-ts[{extra}]'" if extra else package  # no extra of ours brings it
        return f"{what} needs the package '{package}': pip install {wanted}"


class NotFittedError(RondoError, AttributeError):
    """A model was used before it was fitted."""


def not_fitted(message: str) -> NotFittedError:
    """Make a NotFittedError that also is scikit-learn's error of that name, so that either can be caught."""
    from sklearn.exceptions import NotFittedError as OfScikitLearn  # takes long to import, and nothing failed yet

    kinds = (NotFittedError, OfScikitLearn)
    members = {"__doc__": NotFittedError.__doc__, "__reduce__": lambda error: (not_fitted, error.args)}
    error: NotFittedError = type("NotFittedError", kinds, members)(message)
    return error


class ForkedError(RondoError):
    """The process was forked from one in which polars had started threads, which do not exist in it."""


class RondoWarning(UserWarning):
    """Something was done to the data, or could not be done, that the user should know."""


class NoteWarning(RondoWarning):
    """What was noted about the columns and rows of recordings; `Result.notes` holds all of it."""
