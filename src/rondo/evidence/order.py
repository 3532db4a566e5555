"""Does a unit come after one unit and before another, more often than the other way round?

Slow noise passes from a unit to units that are near it, so that counts of transitions say nothing by themselves. But
it takes every way back as often as there: what a reversible process does between two occurrences of a unit u,

    u  v_out ... v_in  u,

it does backwards equally often (Kelly 1979, Reversibility and stochastic networks). So the ways from u back to u are
turned round at random, each with probability one half, and the figure

    sum over units v of (n_out(v) - n_in(v))^2 / (n_out(v) + n_in(v))

is compared with what it is then. Ways that begin and end with the same unit say nothing.
"""

from __future__ import annotations

import numpy as np

from rondo.evidence.occurrences import Occurrences, Tested, family_p

_FEWEST = 5  # ways that can be turned round; with fewer, nothing can pass
_MOST = 500
_DRAWS = 399


def order_test(occurrences: Occurrences, rng: np.random.Generator) -> Tested:
    """p of each unit with at least five ways that can be turned round; seen is their number."""
    own, chance, seen = [], [], {}
    for id in occurrences.ids:
        before, after = occurrences.successive(id)
        out, into = occurrences.units[before + 1], occurrences.units[after - 1]
        telling = np.flatnonzero(out != into)[:_MOST]
        if telling.size < _FEWEST:
            continue
        names, codes = np.unique([out[telling], into[telling]], return_inverse=True)
        steps = np.eye(names.size)[codes.reshape(2, -1)]  # (2, n_ways, n_units)
        difference = (steps[0] - steps[1]) / np.sqrt(steps.sum(axis=(0, 1)))
        turned = rng.integers(0, 2, (_DRAWS, telling.size)) * 2.0 - 1
        own.append(np.square(difference.sum(axis=0)).sum())
        chance.append(np.square(turned @ difference).sum(axis=1))
        seen[id] = float(telling.size)
    if not own:
        return Tested.nothing()
    p = family_p(np.array(own), np.stack(chance, axis=1))
    return Tested(dict(zip(seen, p.tolist(), strict=True)), seen)
