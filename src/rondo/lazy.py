"""Mappings whose values are made when they are asked for: kept from then on (Lazy), or made each time (Passing)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class Lazy(Mapping[str, T]):
    """Known keys, values that come later.

    >>> squares = Lazy(["a", "bb"], len)
    >>> list(squares), squares["bb"]
    (['a', 'bb'], 2)
    """

    def __init__(self, keys: Sequence[str], make: Callable[[str], T]) -> None:
        self._keys, self._make = dict.fromkeys(keys), make
        self._made: dict[str, T] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:  # Mapping would make the value to find out
        return key in self._keys

    def __getitem__(self, key: str) -> T:
        if key not in self._made:
            if key not in self._keys:
                raise KeyError(key)
            self._made[key] = self._make(key)
        return self._made[key]


class Passing(Mapping[str, T]):
    """Known keys, values that are made each time they are asked for: for those that are large, and used once.

    >>> squares = Passing(["a", "bb"], len)
    >>> list(squares), squares["bb"]
    (['a', 'bb'], 2)
    """

    def __init__(self, keys: Sequence[str], make: Callable[[str], T]) -> None:
        self._keys, self._make = dict.fromkeys(keys), make

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __getitem__(self, key: str) -> T:
        if key not in self._keys:
            raise KeyError(key)
        return self._make(key)
