"""Whether a vocabulary fits a recording: how near its windows lie to their units, compared with the fitted ones.

The normalised distance r = d / R of a window to its unit is at most 1 inside the unit's radius, which holds 95 % of the
windows that the unit was made from. A recording that is like the fitted ones has about as many windows inside, and
about as close to the centre. Both are asked for: a random walk can lie inside the radii of wide units almost
everywhere, yet never close to a centre.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rondo.errors import ModelError

Fit = Literal["fits", "fits in part", "does not fit"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)  # of distances; stored with every model, chosen by hand
FITS, FITS_IN_PART = 0.8, 0.5  # of windows accepted; what they tell apart is measured in `fit_of`
RULE = (
    f"A model fits where at least {100 * FITS:.0f} % of the windows are accepted and their median distance is at most "
    f"the 75 % quantile of the fitted recordings. It does not fit where fewer than {100 * FITS_IN_PART:.0f} % are."
)


class FitProfile(NamedTuple):
    """Share of windows inside the radius of their unit, and r at QUANTILES; no distances where there is no window."""

    share_accepted: float
    distances: tuple[float, ...]

    @classmethod
    def of(cls, distances: ArrayLike) -> FitProfile:
        """The profile of normalised distances, one per window.

        >>> FitProfile.of([0.0, 0.5, 1.0, 1.5, 2.0])
        FitProfile(share_accepted=0.6, distances=(0.1, 0.5, 1.0, 1.5, 1.9))
        """
        r = np.asarray(distances, dtype=np.float64)
        if not r.size:
            return cls(0.0, ())
        return cls(float((r <= 1).mean()), tuple(np.round(np.quantile(r, QUANTILES), 6).tolist()))

    @classmethod
    def from_json(cls, stored: Any, folder: Path | str) -> FitProfile:
        """What `as_json` wrote into a model folder; what holds by construction where an older model holds nothing."""
        if stored is None:
            return cls(0.95, ())
        try:
            profile = cls(float(stored["share_accepted"]), tuple(float(r) for r in stored["distances"]))
        except (LookupError, TypeError, ValueError):
            profile = cls(math.nan, ())
        if not 0 <= profile.share_accepted <= 1 or len(profile.distances) not in (0, len(QUANTILES)):
            raise ModelError(
                f"{folder}: its fit_profile should hold share_accepted and {len(QUANTILES)} distances, and does not; "
                "fit the model again"
            )
        return profile

    def as_json(self) -> dict[str, Any]:
        """Plain values for a model folder or a summary."""
        return {"share_accepted": self.share_accepted, "distances": list(self.distances)}

    def at(self, quantile: float) -> float:
        """r at one of QUANTILES; infinite where there is no window."""
        return self.distances[QUANTILES.index(quantile)] if self.distances else math.inf


def fit_of(own: FitProfile, fitted: FitProfile) -> Fit:
    """Whether the model whose fitted windows have the profile `fitted` fits a recording with the profile `own` (RULE).

    Measured with the default settings: another person doing the same fits (ActRecTut gestures: 92 % accepted; OpenPack:
    83 %), another activity or most other people in USC-HAD fit in part (58 to 75 %), white noise does not fit MoCap,
    ActRecTut and OpenPack (0 to 2 %), and a random walk fits none (5 to 86 %, but never close). White noise does fit
    USC-HAD, all of it as one of 15 units: there, lying still is noise. So the sentence gives the units used too.
    """
    if own.share_accepted < FITS_IN_PART:
        return "does not fit"
    close = own.at(0.5) <= fitted.at(0.75)
    return "fits" if own.share_accepted >= FITS and close else "fits in part"
