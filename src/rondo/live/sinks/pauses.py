"""GrowingPauses: how long to wait before the next attempt, each time twice as long, up to a minute."""

from __future__ import annotations

_FIRST_S, _LONGEST_S = 0.5, 60.0


class GrowingPauses:
    """The pause that goes on now, and how long the next one will be.

    >>> pauses = GrowingPauses()
    >>> [pauses.begin(0.0) for _ in range(9)]
    [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    >>> pauses.is_pausing(59.0), pauses.is_pausing(61.0)
    (True, False)
    >>> pauses.end()
    >>> pauses.begin(100.0, at_least_s=3.0), pauses.begin(100.0)
    (3.0, 1.0)
    """

    def __init__(self) -> None:
        self._next_s, self._until = _FIRST_S, float("-inf")

    def begin(self, now: float, at_least_s: float = 0.0) -> float:
        """Begin a pause; its seconds."""
        pause_s = min(max(self._next_s, at_least_s), _LONGEST_S)
        self._until, self._next_s = now + pause_s, min(2 * self._next_s, _LONGEST_S)
        return pause_s

    def is_pausing(self, now: float) -> bool:
        return now < self._until

    def end(self) -> None:
        """Something worked: the next pause is short again."""
        self._next_s, self._until = _FIRST_S, float("-inf")
