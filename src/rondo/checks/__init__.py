"""Checks for people who add a part: an encoder, a method, a format. The tests of Rondo call the same functions.

    from rondo.checks import check_encoder
    check_encoder(my_package.spectrum.ENCODER)

Each `check_...` raises AssertionError, with the name of the check, at the first promise that the part does not keep.
`ENCODER_CHECKS`, `METHOD_CHECKS` and `FORMAT_CHECKS` hold the checks one by one, to make a test of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = [
    "ENCODER_CHECKS",
    "FORMAT_CHECKS",
    "METHOD_CHECKS",
    "check_annotation_format",
    "check_encoder",
    "check_format",
    "check_method",
]
_PLACES = {
    "encoders": ("ENCODER_CHECKS", "check_encoder"),
    "methods": ("METHOD_CHECKS", "check_method"),
    "formats": ("FORMAT_CHECKS", "check_format"),
    "annotation_formats": ("check_annotation_format",),
}

if TYPE_CHECKING:
    from rondo.checks.annotation_formats import check_annotation_format
    from rondo.checks.encoders import ENCODER_CHECKS, check_encoder
    from rondo.checks.formats import FORMAT_CHECKS, check_format
    from rondo.checks.methods import METHOD_CHECKS, check_method


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for module, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"rondo.checks.{module}"), name)
    raise AttributeError(f"module 'rondo.checks' has no attribute '{name}'")
