"""Colours are valid, differ, and still differ for readers who see red and green, or blue and green, alike."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import numpy as np
import pytest

from rondo.report.lanes import LOOKS, MOTIF_LOOKS, OTHER_COLOUR, OTHER_LOOK, Look, ink_on, look_of

# Machado, Oliveira & Fernandes (2009), severity 1.0, applied to linear RGB
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
PROTANOPIA = np.array(
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
)
TRITANOPIA = np.array(
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
)
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear_rgb(colour: str) -> np.ndarray:
    share = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def lab(linear: np.ndarray) -> np.ndarray:
    x, y, z = np.cbrt(TO_XYZ @ linear.clip(0, 1) / np.array([0.9505, 1.0, 1.089]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


SIGHTS = {"normal": np.eye(3), "deuteranopia": DEUTERANOPIA, "protanopia": PROTANOPIA, "tritanopia": TRITANOPIA}


def nearest(looks: Sequence[Look], sight: str) -> float:
    """The least CIE76 distance between two of them, as someone with that sight sees them."""
    seen = [lab(SIGHTS[sight] @ linear_rgb(look.colour)) for look in looks]
    return float(min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)))


def test_every_look_is_a_plain_hex_colour_and_a_pattern_of_its_own() -> None:
    every = {*LOOKS, *MOTIF_LOOKS, OTHER_LOOK}
    assert all(re.fullmatch("#[0-9a-f]{6}", look.colour) for look in every)
    assert len(every) == len(LOOKS) + len(MOTIF_LOOKS) + 1 == 65


@pytest.mark.parametrize("sight", SIGHTS)
def test_the_first_eight_differ_also_for_the_colour_blind(sight: str) -> None:
    """CIE76 distances above 15 are told apart at a glance."""
    assert nearest(LOOKS[:8], sight) > 15
    assert nearest(MOTIF_LOOKS[:8], sight) > 10  # darker: their names stand inside them
    assert nearest([*LOOKS[:3], *MOTIF_LOOKS[:3]], sight) > 13  # few units and their motifs


@pytest.mark.parametrize("sight", SIGHTS)
def test_all_looks_differ_in_pattern_or_else_in_colour(sight: str) -> None:
    for pattern in ("plain", "stripes", "dots", "bars"):
        for looks, least in ((LOOKS, 11), (MOTIF_LOOKS, 9)):
            alike = [look for look in looks if look.pattern == pattern]
            assert len(alike) == 8
            assert nearest(alike, sight) > least


def test_names_are_readable_on_every_colour() -> None:
    """WCAG 2 asks for a contrast of 4.5 : 1."""
    for colour in (*(look.colour for look in (*LOOKS, *MOTIF_LOOKS)), OTHER_COLOUR):
        dark, light = sorted(float(np.dot([0.2126, 0.7152, 0.0722], linear_rgb(c))) for c in (colour, ink_on(colour)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_same_id_same_look_and_other_levels_look_different() -> None:
    kinds = ("unit", "motif", "true unit", "true motif")
    assert look_of("unit", 3) == look_of("unit", 3)
    assert all(len({look_of(kind, i) for kind in kinds}) == 4 for i in range(100))
    assert {look_of(kind, -1) for kind in kinds} == {OTHER_LOOK}
