"""How many threads numbers are crunched on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for BLAS, and for torch where a network has loaded it; as before afterwards.

    For many small matrices: more threads mostly wait for each other (the evidence of a fit took 2.8 s on 4 threads and
    6.7 s on 16), and sums would depend on how many there are.
    """
    from threadpoolctl import threadpool_limits

    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 0
    if torch:
        torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        if torch:
            torch.set_num_threads(before)
