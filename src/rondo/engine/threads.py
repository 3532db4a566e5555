"""One thread per task, whatever library does the numbers.

Tasks run side by side, one per core; with a pool of threads each they would wait for each other, and sums would depend
on how many threads there are. Libraries read these variables when they are imported, so they are set before the
process begins; `hold_to_one_thread` is the second belt, for those that are loaded by then.
"""

from __future__ import annotations

import sys

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "POLARS_MAX_THREADS",
        "RAYON_NUM_THREADS",
    ),
    "1",
)


def hold_to_one_thread() -> None:
    """One thread for the libraries that are loaded in this process."""
    if "numpy" in sys.modules:
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(1)
