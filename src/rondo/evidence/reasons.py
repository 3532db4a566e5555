"""Which evidence speaks for an entry, and how that reads."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from rondo.times import duration_in_words

ReasonKind = Literal["", "alike", "spacing", "order", "start", "end", "place", "sequence", "mix"]

KINDS: tuple[ReasonKind, ...] = get_args(ReasonKind)  # model folders hold their places here: append only
_PLACES = {"start": "at the start of", "end": "at the end of", "place": "at the same place in"}
_IN_WORDS = {
    "alike": "alike beyond chance",
    "order": "comes before and after the same units",
    "sequence": "its units keep this order",
    "mix": "the same units come together again",
}


class Reason(NamedTuple):
    """The kind of evidence ("" where there is none), and what it saw.

    `figure` is the interval in frames where the kind is 'spacing'; where it is a place, that many `of` recordings.
    """

    kind: ReasonKind = ""
    figure: float = 0.0
    of: int = 0

    def in_words(self, rate: float | None = None) -> str:
        """A short phrase; `rate` in Hz makes times of frames.

        >>> Reason("spacing", 150.0).in_words(1 / 60), Reason("spacing", 150.0).in_words()
        ('comes back at regular intervals of about 2 h 30 min', 'comes back at regular intervals of about 150 frames')
        >>> Reason("end", 97.0, 100).in_words()
        'at the end of 97 of 100 recordings'
        """
        if self.kind == "spacing":
            interval = f"{self.figure:.0f} frames" if rate is None else duration_in_words(self.figure / rate)
            return f"comes back at regular intervals of about {interval}"
        if self.kind in _PLACES:
            return f"{_PLACES[self.kind]} {self.figure:.0f} of {self.of} recordings"
        return _IN_WORDS.get(self.kind, "")
