"""Micro-cluster: what is known about one kind of rejected window, besides the windows themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class MicroCluster:
    """Times are window numbers. Support counts windows and decays by half every `half_life` of them.

    A region is a visit: windows that follow one another with less than `apart` windows between them.
    """

    id: int
    support: float
    first: int
    last: int
    regions: int

    @classmethod
    def opened(cls, id: int, window: int, n_windows: int = 1) -> MicroCluster:
        return cls(id, float(n_windows), window, window, 1)

    def support_at(self, window: int, half_life: float) -> float:
        """The support, decayed to that window."""
        return float(self.support * 0.5 ** ((window - self.last) / half_life))

    def visited(self, window: int, half_life: float, apart: int, n_windows: int = 1) -> MicroCluster:
        """After one more window of its kind, which stands for `n_windows`."""
        new_region = window - self.last > apart
        support = self.support_at(window, half_life) + n_windows
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
