"""Every call of a command that touches a file fails once, or is where the command is killed.

It then ends with one line and exit code 2, or does without and is whole. No file is half written, and the same command
given again leaves what an undisturbed one leaves. One call of each command by default, every fifth among the slow
tests, and with `RONDO_EVERY_CALL=1`, as at night, all of them (an hour).
"""

from __future__ import annotations

import errno
import os
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.killing_deeds import DEEDS, Deed
from tests.fuzz.killing_outside import fail, reference
from tests.fuzz.outside_base import Base
from tests.fuzz.warm_process import KILL, Warm

ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES)
EVERY = 1 if os.environ.get("RONDO_EVERY_CALL") else 5  # no multiple of 3, so that each error comes


@pytest.fixture(autouse=True)
def _sees_calls(warm: Warm) -> None:
    if not warm.sees_calls:
        pytest.skip("calls are counted by a library that takes Linux and a C compiler (cc)")


@pytest.mark.promise
def test_a_sample_of_calls_fails_or_is_where_a_command_is_killed(tmp_path: Path, base: Base, warm: Warm) -> None:
    found, rng = {}, np.random.default_rng(0)
    for number, deed in enumerate(DEEDS):
        known = reference(deed, tmp_path / "work", base, warm, times=1)
        nth, error = int(rng.integers(1, known.n_calls + 1)), (KILL, *ERRORS)[number % 4]
        result = fail(deed, known, tmp_path / "work", base, warm, nth, error)
        if result is not None and result[1]:
            found[f"{deed.name}, call {nth} ({result[0]}), {errno.errorcode.get(error, 'killed')}"] = result[1]
    assert not found


@pytest.mark.slow
@pytest.mark.parametrize("kills", [True, False])
@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.name)
def test_calls_throughout_fail_or_are_where_a_command_is_killed(
    deed: Deed, kills: bool, tmp_path: Path, base: Base, warm: Warm
) -> None:
    known, found = reference(deed, tmp_path / "work", base, warm), {}
    for nth in count(1, EVERY):
        error = KILL if kills else ERRORS[nth % len(ERRORS)]
        result = fail(deed, known, tmp_path / "work", base, warm, nth, error)
        if result is None:
            break
        if result[1]:
            found[f"call {nth} ({result[0]}), {errno.errorcode.get(error, 'killed')}"] = result[1]
    assert nth > 6
    assert not found
