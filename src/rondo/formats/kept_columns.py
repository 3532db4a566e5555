"""Columns that are to be channels whatever they look like: the way back for all that is left out by a guess.

Readers take `label_columns`, the columns to leave out. A column to keep travels in the same sequence, as a KeptColumn,
so that no reader has to know of it but the code that guesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rondo.errors import RecordingError


class KeptColumn(str):
    """The name of a column that a user says is a channel; that it is not there is an error."""

    __slots__ = ()


class KnownColumn(KeptColumn):
    """The name of a channel of a model: kept where it is there.

    `missing` are the numbers that stand for no value in it (`known_values`); None where the model does not know.
    """

    missing: tuple[float, ...] | None

    def __new__(cls, name: str, missing: tuple[float, ...] | None = None) -> KnownColumn:
        known = super().__new__(cls, name)
        known.missing = missing
        return known

    def __getnewargs__(self) -> tuple[str, tuple[float, ...] | None]:  # type: ignore[override]
        return str(self), self.missing  # it is sent to other processes


def with_kept(
    label_columns: Sequence[str] | None, keep_columns: Sequence[str] | None, known: Iterable[str] = ()
) -> tuple[str, ...]:
    """What readers take: columns to leave out, those to keep, and those that a model knows.

    >>> with_kept(["y"], ["anomaly"], ["x"])
    ('y', 'anomaly', 'x')
    """
    left_out, kept = (as_names(given) for given in (label_columns, keep_columns))
    both = next((name for name in kept if name in left_out and not isinstance(name, KeptColumn)), None)
    if both is not None:
        raise RecordingError(f"column '{both}' is to be left out (--label-column) and kept (--keep-column); give one")
    of_model = (name if isinstance(name, KnownColumn) else KnownColumn(name) for name in known)
    return (*left_out, *map(KeptColumn, kept), *of_model)


def as_names(given: Sequence[str] | None) -> tuple[str, ...]:
    """One name or several."""
    return () if not given else (given,) if isinstance(given, str) else tuple(given)


def left_out_and_kept(
    label_columns: Sequence[str], names: Sequence[str], what: str = "column"
) -> tuple[frozenset[str], frozenset[str]]:
    """The names to leave out and those to keep; one that the table does not have is refused.

    >>> left_out_and_kept(with_kept(["y"], ["id"], ["z"]), ["x", "y", "id"])
    (frozenset({'y'}), frozenset({'id'}))
    """
    given = as_names(label_columns)
    left_out = {name for name in given if not isinstance(name, KeptColumn)}
    kept = {str(name) for name in given if isinstance(name, KeptColumn)}
    asked = {str(name) for name in given if not isinstance(name, KnownColumn)}
    unknown = sorted(asked - set(names))
    if unknown:
        to_do = "leave out" if unknown[0] in left_out else "keep"
        raise RecordingError(f"there is no {what} '{unknown[0]}' to {to_do}; the {what}s are: {listed(names)}")
    return frozenset(left_out), frozenset(kept & set(names))


def listed(names: Sequence[str], most: int = 20) -> str:
    """A list of names that stays on one line however many there are."""
    more = f", … ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(str(name) for name in names[:most]) + more if names else "(none)"
