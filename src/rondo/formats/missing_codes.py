"""Numbers that stand for "no value": -200, -999, 9999 and the like, found by what they are and by where they lie.

Such a code is the lowest or the highest value of its channel, stands there several times to the last digit, and nothing
lies between it and the rest. A sensor at the end of its range is no such case: its other values come near to that end.
Neither is a switch or a pulse: only numbers that programs are known to write are taken, or those a thousand times
farther away than the rest is wide. Missing values are then treated as any others (`rondo.data.gaps`).
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

import numpy as np

from rondo.data.recording import Recording, Values
from rondo.formats.known_values import BEYOND_ALL, CODES, FAR
from rondo.wording import counted

_FEWEST = 3  # times that a code stands there
_FEWEST_OTHERS = 10  # different values beside it: fewer are levels, of which one may be far
_NEAR_END = 5.0  # times as wide as the nearest twentieth of the rest: there the rest has ended
_MOST_MISSING = 0.5  # of a channel; with more it would make most rows gaps


class MissingCode(NamedTuple):
    """A number that stands for no value, how often, and what the other values lie between."""

    code: float
    n_rows: int
    low: float
    high: float


def without_missing_codes(
    recording: Recording, kept: Set[str] = frozenset(), stay: Set[str] = frozenset()
) -> Recording:
    """The recording with codes of missing values made missing, and a note on each channel that has some.

    `kept` are taken as they are; `stay` are channels however little is left of them, for a model has them.
    """
    found = {}
    for place, name in enumerate(recording.channels):
        if name not in kept and (codes := missing_codes(recording.values[:, place])):
            found[place] = codes
    if not found:
        return recording
    values, dropped, notes = recording.values.copy(), [], []
    for place, codes in found.items():
        column, name = values[:, place], recording.channels[place]
        column[np.isin(column, [code.code for code in codes])] = np.nan
        is_rare = np.isnan(column).mean() > _MOST_MISSING
        is_useless = is_rare and len(found) < recording.n_channels and name not in stay
        dropped += [place] if is_useless else []
        notes += [_note(name, code, recording.n_frames, is_useless) for code in codes]
    every = [(recording.channels[place], code.code) for place, own in found.items() for code in own]
    repaired = recording.with_values(values, every)
    return (repaired.without(dropped) if dropped else repaired).noted(*notes)


def missing_codes(column: Values) -> list[MissingCode]:
    """The codes of a channel: the lowest value, the highest, or both.

    >>> column = np.array([0.5, 1.25, 2, -200, 3, 2.5, -200, 1, 0.75, 1.5, -200, 3.5, 2.25], np.float32)
    >>> missing_codes(column)
    [MissingCode(code=-200.0, n_rows=3, low=0.5, high=3.5)]
    """
    given = column[np.isfinite(column)]
    found: list[MissingCode] = []
    for _ in range(2):  # -200 and -999 in one channel are two
        for end in (np.min, np.max):
            code = _code_at(given, np.float32(end(given)) if given.size else np.float32(0))
            if code is not None:
                found.append(code)
                given = given[given != np.float32(code.code)]
    return found


def _code_at(given: Values, extreme: np.float32) -> MissingCode | None:
    """The extreme value as a code, if it is one."""
    is_known = bool(np.isclose(CODES, extreme, rtol=1e-6, atol=0).any())
    n_rows = int(np.count_nonzero(given == extreme))
    if n_rows < _FEWEST:
        return None
    rest = np.sort(given[(given != extreme) & ~np.isin(given, CODES)].astype(np.float64))  # two codes hide each other
    if rest.size < _FEWEST_OTHERS:
        return None
    rest = rest if extreme < rest[0] else rest[::-1]  # from the code on
    gap, width = abs(float(rest[0]) - float(extreme)), abs(float(rest[-1] - rest[0]))
    if width == 0 or np.unique(rest).size < _FEWEST_OTHERS:
        return None
    end = abs(float(rest[rest.size // 20] - rest[0]))
    is_apart = gap > FAR * width and gap > _NEAR_END * end
    if not (is_known and is_apart) and gap < BEYOND_ALL * width:
        return None
    return MissingCode(float(extreme), n_rows, float(rest.min()), float(rest.max()))


def _note(name: str, found: MissingCode, n_frames: int, is_useless: bool) -> str:
    rest = f"the rest is {found.low:g} to {found.high:g}"
    back = f"--keep-column {name!r} takes them as they are"
    if is_useless:
        share = f"{found.n_rows / n_frames:.0%} of its values are {found.code:g}"
        return f"column '{name}' left out: {share}, read as missing ({rest}); {back}"
    return f"{counted(found.n_rows, 'value')} of {found.code:g} in '{name}' read as missing ({rest}); {back}"
