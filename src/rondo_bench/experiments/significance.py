"""Is one method better than another? Wilcoxon's signed ranks over recordings, Holm over the methods compared.

A recording is one observation, its score the mean over seeds and, in transfer, over the sources that it was read from.
With fewer than six recordings that differ no outcome could reach 0.05 on two sides (2 · 2⁻⁵ = 0.0625), so that none is
computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

FEWEST = 6
_DIGITS = 9  # of a score: means of equal numbers, over more seeds or fewer, differ by less
Scores = Mapping[str, Mapping[str, Mapping[str, float]]]  # score -> method -> recording -> value


@dataclass(frozen=True)
class Comparison:
    """A method against the reference in one score; p is None where there are too few recordings that differ."""

    score: str
    method: str
    reference: str
    n_recordings: int
    difference: float  # mean, reference minus method
    n_better: int  # recordings on which the reference has more
    p: float | None
    p_holm: float | None = None


def compare(scores: Scores, reference: str) -> tuple[Comparison, ...]:
    """The reference against every other method, in every score."""
    found: list[Comparison] = []
    for score, methods in scores.items():
        if reference in methods:
            others = [name for name in methods if name != reference]
            compared = [_compared(score, methods[reference], methods[name], reference, name) for name in others]
            adjusted = holm([one.p for one in compared])
            found += [replace(one, p_holm=p) for one, p in zip(compared, adjusted, strict=True)]
    return tuple(found)


def _compared(
    score: str, own: Mapping[str, float], others: Mapping[str, float], reference: str, method: str
) -> Comparison:
    shared = [recording for recording in own if recording in others]
    exact = np.array([own[recording] - others[recording] for recording in shared], dtype=np.float64)
    differences = np.round(exact, _DIGITS) + 0.0  # and no negative zero
    return Comparison(
        score,
        method,
        reference,
        len(shared),
        float(differences.mean()) if shared else 0.0,
        int((differences > 0).sum()),
        signed_rank_p(differences),
    )


def signed_rank_p(differences: Sequence[float] | np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float | None:
    """Two-sided p of Wilcoxon's signed ranks, zeros left out; None for fewer than six that are not zero."""
    given = np.asarray(differences, dtype=np.float64)
    differing = given[given != 0]
    if differing.size < FEWEST:
        return None
    from scipy.stats import wilcoxon  # brings much; only tables need it

    return float(wilcoxon(differing, method="auto").pvalue)


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p: the i-th smallest of m times (m - i + 1), never less than the one before.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    known = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    least = 0.0
    for rank, (p, i) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        adjusted[i] = least
    return adjusted
