"""Equal up to rounding: for numbers that are reached by sums in another order.

Which kernel multiplies matrices depends on the CPU, and the order in which a kernel adds depends on the shape of the
batch and on the place in it. A window that is encoded alone equals the same window encoded in company up to rounding;
that both are equal to the bit on one CPU says nothing about another. What comes from the same call on the same machine
(a model saved and loaded, a fit repeated) is equal to the bit, and its tests use `assert_array_equal`.
"""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
from numpy.typing import ArrayLike

_ROUNDINGS = 100  # 3 were measured for encoders, with two kinds of kernels; a wrong window is off by millions


def assert_equal_but_for_rounding(actual: ArrayLike, expected: ArrayLike, err_msg: str = "") -> None:
    """The numbers agree within 100 spacings of floats as large as the largest of those expected."""
    wanted = np.asarray(expected)
    largest = np.abs(wanted).max(initial=0, where=np.isfinite(wanted))
    atol = float(_ROUNDINGS * np.spacing(largest))
    npt.assert_allclose(np.asarray(actual), wanted, rtol=0, atol=atol, err_msg=err_msg)
