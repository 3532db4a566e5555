"""Several labellings of the same windows: which of them agrees best with the others.

A mixture that starts elsewhere settles elsewhere. One fit may be an odd one; of five, the one that is most alike to the
other four is seldom odd. Neither labels nor a number of entries are needed to say which it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_DIGITS = 9  # beyond them a sum of agreements is rounding; of equals the first is taken


def most_agreed(labellings: Sequence[NDArray[np.integer]]) -> int:
    """The place of the labelling with the largest sum of adjusted mutual information with the others.

    >>> most_agreed([np.array([0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 1]), np.array([5, 5, 3, 3, 3])])
    1
    """
    if len(labellings) == 1:
        return 0
    from sklearn.metrics import adjusted_mutual_info_score  # slow to import, and not needed to apply a model

    alike = np.zeros((len(labellings), len(labellings)))
    for i, own in enumerate(labellings):
        for j in range(i):
            alike[i, j] = alike[j, i] = adjusted_mutual_info_score(own, labellings[j])
    return int(alike.sum(axis=1).round(_DIGITS).argmax())
