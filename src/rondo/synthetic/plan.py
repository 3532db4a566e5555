"""What to plant: the plan of a stream, checked when it is made. `STANDARD` is the standard planted set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, get_args

from rondo.errors import SettingError
from rondo.synthetic.motifs import MAX_ITEMS, Form, Stage, Structure


class Novelty(NamedTuple):
    """New motifs with new units, which occur only from some time of the stream on.

    Parameters
    ----------
    at : float
        The time of the first occurrence, as a share of the stream between 0 and 1.
    n_motifs : int
        Number of new motifs.
    n_units : int
        Number of new units.

    Examples
    --------
    >>> from rondo.synthetic import plant
    >>> plan = StreamPlan(novelty=(Novelty(at=0.5),))
    >>> stream = plant(plan, n_frames=6_000, seed=0)
    >>> stream.unit_first_seen[plan.n_units - 1] >= 3_000
    True
    """

    at: float
    n_motifs: int = 1
    n_units: int = 1


class Gaps(NamedTuple):
    """Stretches of a stream without values.

    Parameters
    ----------
    n_silent : int
        Number of stretches in which channels are NaN.
    n_missing : int
        Number of stretches whose rows are missing; the clock jumps there.
    seconds : (float, float)
        Shortest and longest stretch.

    Examples
    --------
    >>> from rondo.synthetic import plant
    >>> stream = plant(StreamPlan(gaps=Gaps(n_silent=2, n_missing=1)), n_frames=6_000, seed=0)
    >>> len(stream.silences), len(stream.jumps)
    (2, 1)
    """

    n_silent: int = 0
    n_missing: int = 0
    seconds: tuple[float, float] = (0.2, 3.0)


NO_GAPS = Gaps()
DAY_S = 86_400


@dataclass(frozen=True)
class StreamPlan:
    """What to plant; the defaults are the standard planted set.

    Parameters
    ----------
    rate : float
        Frames per second, at least 20.
    n_channels : int
        Number of channels.
    n_units : int
        Number of units, with those of `novelty`.
    n_motifs : int
        Number of motifs, with those of `novelty`.
    unit_s : (float, float)
        Shortest and longest duration of a unit, in seconds.
    background_s : (float, float)
        Shortest and longest stretch of background between two occurrences, in seconds.
    noise : float
        Standard deviation of the sensor noise, 0 to 3; amplitudes are about 1.
    variation : float
        How much instances of one unit differ, 0 to 3.
    style : float
        How much subjects differ in gain and offset, 0 to 3.
    drift : float
        How far baseline and amplitude drift, 0 to 3.
    novelty : tuple of Novelty
        Motifs and units that occur only from some time on, in order of time.
    n_one_offs : int
        Number of background stretches with a shape that occurs once; their truth is OTHER at both levels.
    gaps : Gaps
        Stretches without values.
    motifs : "sharing", "own", "cycles" or "contexts"
        Structure of the motifs: sequences that share units, sequences that share none, sequences that repeat without a
        pause, or long stretches in which a few units occur in any order.
    context_s : (float, float)
        Shortest and longest occurrence of a context, in seconds; only for motifs="contexts".

    Raises
    ------
    SettingError
        If a value is out of range, or there are too few units for the motifs.

    Examples
    --------
    >>> from rondo.synthetic import plant
    >>> plant(StreamPlan(n_channels=3, noise=0.5), n_frames=1_000, seed=0).recording
    Recording('planted0-subject0', 1000 frames x 3 channels, 50 Hz)
    """

    rate: float = 50.0
    n_channels: int = 6
    n_units: int = 8
    n_motifs: int = 5
    unit_s: tuple[float, float] = (1.5, 4.0)
    background_s: tuple[float, float] = (1.5, 5.0)
    noise: float = 0.15
    variation: float = 1.0
    style: float = 0.1
    drift: float = 0.0
    novelty: tuple[Novelty, ...] = ()
    n_one_offs: int = 0
    gaps: Gaps = NO_GAPS
    motifs: Structure = "sharing"
    context_s: tuple[float, float] = (20.0, 40.0)

    def __post_init__(self) -> None:
        refuse(not 20 <= self.rate < math.inf, "rate", "at least 20 Hz, or the pulses are lost", self.rate)
        for name, least in (("n_channels", 1), ("n_units", 3), ("n_motifs", 1), ("n_one_offs", 0)):
            refuse(getattr(self, name) < least, name, f"at least {least}", getattr(self, name))
        for name in ("noise", "variation", "style", "drift"):
            refuse(not 0 <= getattr(self, name) <= 3, name, "between 0 and 3", getattr(self, name))
        refuse(min(self.gaps.n_silent, self.gaps.n_missing) < 0, "gaps", "counts of at least 0", self.gaps)
        # A shape is not to be told from its cross-fades when it lasts less than half a second.
        _refuse_range("unit_s", self.unit_s, least=0.5)
        _refuse_range("background_s", self.background_s, least=0.5)
        _refuse_range("gaps.seconds", self.gaps.seconds, least=1 / self.rate)
        structures = get_args(Structure)
        refuse(self.motifs not in structures, "motifs", "one of " + ", ".join(structures), repr(self.motifs))
        if self.motifs == "contexts":
            _refuse_range("context_s", self.context_s, least=self.unit_s[1])
        self._check_stages()

    def _check_stages(self) -> None:
        arrivals = [0.0, *(new.at for new in self.novelty), 1.0]
        increasing = all(early < late for early, late in pairwise(arrivals))
        refuse(not increasing, "novelty", "at increasing shares between 0 and 1", arrivals[1:-1])
        n_new = [new.n_units for new in self.novelty]
        n_known = self.n_units - sum(n_new)
        refuse(min(n_new, default=0) < 0, "novelty", "of at least 0 units", n_new)
        refuse(n_known < 3, "n_units", "at least 3 more than novelty brings", f"{n_known} more")
        for stage in self.stages:
            n_fresh = len(stage.fresh_units)
            refuse(
                stage.n_motifs < max(1, n_fresh / MAX_ITEMS),
                "n_motifs",
                f"enough for its units, {MAX_ITEMS} to a motif, at the start and at each novelty",
                f"{stage.n_motifs} for {n_fresh} units",
            )
            refuse(
                self.form.owns_units and n_fresh < 3 * stage.n_motifs,
                "n_units",
                f"3 to {MAX_ITEMS} for each motif, where motifs share no unit",
                f"{n_fresh} for {stage.n_motifs} motifs",
            )

    @property
    def form(self) -> Form:
        """How its motifs are made."""
        mean_s = sum(self.unit_s) / 2
        return Form(self.motifs, (round(self.context_s[0] / mean_s), round(self.context_s[1] / mean_s)))

    @property
    def stages(self) -> list[Stage]:
        """What is there from the start, then what each novelty brings; unit ids follow the arrival."""
        n_units, n_motifs = self.n_units, self.n_motifs
        stages: list[Stage] = []
        for new in reversed(self.novelty):
            stages.append(Stage(range(n_units - new.n_units, n_units), new.n_motifs))
            n_units, n_motifs = n_units - new.n_units, n_motifs - new.n_motifs
        return [Stage(range(n_units), n_motifs), *reversed(stages)]


def refuse(wrong: bool, setting: str, expected: str, got: object) -> None:
    """Raise a SettingError that names the setting."""
    if wrong:
        raise SettingError(f"planted stream: {setting} must be {expected}; got {got}")


def _refuse_range(setting: str, seconds: tuple[float, float], least: float) -> None:
    low, high = seconds
    expected = f"(lo, hi) seconds with {least:g} <= lo <= hi <= {DAY_S}"
    refuse(not least <= low <= high <= DAY_S, setting, expected, seconds)


STANDARD = StreamPlan()
