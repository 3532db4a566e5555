"""Micro-cluster: what is known about one kind of rejected window, besides the windows themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class MicroCluster:
    """Times are window numbers. Support decays by half every `half_life` windows and grows by one per window.

    A region is a visit: windows that follow one another with less than `apart` windows between them.
    """

    id: int
    support: float
    first: int
    last: int
    regions: int

    @classmethod
    def opened(cls, id: int, window: int) -> MicroCluster:
        return cls(id, 1.0, window, window, 1)

    def support_at(self, window: int, half_life: float) -> float:
        """The support, decayed to that window."""
        return float(self.support * 0.5 ** ((window - self.last) / half_life))

    def visited(self, window: int, half_life: float, apart: int) -> MicroCluster:
        """After one more window of its kind."""
        new_region = window - self.last > apart
        support = self.support_at(window, half_life) + 1.0
        return replace(self, support=support, last=window, regions=self.regions + new_region)

    def joined(self, other: MicroCluster, half_life: float) -> MicroCluster:
        """Both as one, under the older id; regions that coincide are counted once at least."""
        last = max(self.last, other.last)
        support = self.support_at(last, half_life) + other.support_at(last, half_life)
        first, regions = min(self.first, other.first), max(self.regions, other.regions)
        return MicroCluster(min(self.id, other.id), support, first, last, regions)

    @property
    def extent(self) -> int:
        """Windows from the first to the last."""
        return self.last - self.first + 1
