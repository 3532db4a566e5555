"""Declarations that are found, not listed: an encoder or a file format is one file, and no list names it.

A declaration is a value at the top of a module. A registry looks for values of one type in the modules of its packages;
another distribution adds its own by an entry point, whose value is the declaration:

    [project.entry-points."rondo.encoders"]
    spectrum = "my_package.spectrum:ENCODER"

Nothing is imported before the first question, so that a registry may stand below the packages it looks into.
"""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import entry_points
from typing import Generic, Protocol, TypeVar

from rondo.errors import RondoWarning


class Declaration(Protocol):
    """What a registry asks of the values it finds."""

    @property
    def name(self) -> str:
        """By which people choose it; no two of a kind share one."""

    @property
    def order(self) -> int:
        """Its place in lists, those of one place by name."""


D = TypeVar("D", bound=Declaration)


class Registry(Mapping[str, D], Generic[D]):
    """Every declaration of one type by its name, in the order of lists.

    Parameters
    ----------
    kind
        The type of the declarations.
    packages
        Names of packages whose modules are looked into, not those of packages inside them, and of single modules.
    group
        The entry points by which other distributions declare more.
    """

    def __init__(self, kind: type[D], packages: tuple[str, ...], group: str) -> None:
        self.kind, self.packages, self.group = kind, packages, group

    def __getitem__(self, name: str) -> D:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    @cached_property
    def _found(self) -> dict[str, D]:
        found: dict[str, D] = {}
        for place, declared in (*self._in_packages(), *self._in_entry_points()):
            if found.setdefault(declared.name, declared) is not declared:
                _warn(f"{place}: there is a '{declared.name}' of {self.group} already; this one is not used, rename it")
        return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))

    def _in_packages(self) -> Iterator[tuple[str, D]]:
        for package in self.packages:
            for name in _modules(package):
                module = importlib.import_module(name)
                yield from ((name, value) for value in vars(module).values() if isinstance(value, self.kind))

    def _in_entry_points(self) -> Iterator[tuple[str, D]]:
        """A distribution that is broken must not take the others along: it is named and left out."""
        for point in sorted(entry_points(group=self.group)):
            place = f"entry point {self.group}: {point.name} = {point.value}"
            try:
                value = point.load()
            except Exception as error:  # noqa: BLE001  # whatever the code of others raises while it is imported
                _warn(f"{place}: cannot be loaded ({type(error).__name__}: {error}); update or remove that package")
                continue
            if not isinstance(value, self.kind):
                _warn(f"{place}: expected a {self.kind.__name__}, found {type(value).__name__}; it is not used")
                continue
            yield place, value


def _modules(package: str) -> list[str]:
    """The modules of a package, not those of packages inside it; a module stands for itself."""
    path = getattr(importlib.import_module(package), "__path__", None)
    if path is None:
        return [package]
    return sorted(f"{package}.{module.name}" for module in pkgutil.iter_modules(path) if not module.ispkg)


def _warn(message: str) -> None:
    warnings.warn(" ".join(message.split()), RondoWarning, stacklevel=2)
