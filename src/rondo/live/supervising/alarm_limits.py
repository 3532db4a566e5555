"""Which alarms there are, and from when on each is raised: what `--alarm` and `--fail-on` say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rondo.errors import SettingError
from rondo.wording import did_you_mean, quoted

NOTHING_FITS, NEW_UNIT, SILENT = "nothing-fits", "new-unit", "silent"
UNREADABLE, REFUSED, BEHIND = "unreadable", "refused", "behind"

AlarmLimits = Mapping[str, float]
"""The alarms that are on: seconds, a share of rows, or 0 where there is nothing to choose."""

_ALL: AlarmLimits = {
    NOTHING_FITS: 30.0,
    NEW_UNIT: 0.0,
    SILENT: 60.0,
    UNREADABLE: 0.5,
    REFUSED: 0.0,
    BEHIND: 300.0,
}
DEFAULT_LIMITS: AlarmLimits = {name: limit for name, limit in _ALL.items() if name != BEHIND}
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|min|h)", re.ASCII)
_UNIT_S = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_PERCENT = re.compile(r"(\d{1,2}(?:\.\d{1,9})?)%", re.ASCII)


def parse_alarms(texts: Iterable[str]) -> AlarmLimits:
    """The alarms that are on, with their limits; those that are not named keep their defaults.

    >>> parse_alarms([]) == DEFAULT_LIMITS
    True
    >>> parse_alarms(["none", "silent=5min", "behind"])
    {'silent': 300.0, 'behind': 300.0}
    >>> parse_alarms(["new-unit=off", "unreadable=10%"])["unreadable"]
    0.1
    """
    limits = dict(DEFAULT_LIMITS)
    for text in texts:
        name, has_value, value = text.partition("=")
        if name == "none" and not has_value:
            limits = {}
            continue
        _refuse_unknown(name, "--alarm")
        if value == "off":
            limits.pop(name, None)
        else:
            limits[name] = _limit(name, value) if has_value else _ALL[name]
    return limits


def parse_fail_on(texts: Iterable[str], limits: AlarmLimits) -> frozenset[str]:
    """The alarms that end the run: names with commas between.

    >>> sorted(parse_fail_on(["silent,nothing-fits"], DEFAULT_LIMITS))
    ['nothing-fits', 'silent']
    """
    names = frozenset(name.strip() for text in texts for name in text.split(","))
    for name in sorted(names):
        _refuse_unknown(name, "--fail-on")
        if name not in limits:
            raise SettingError(
                f"--fail-on {name}: this alarm is off, so it would never end the run; add --alarm {name}"
            )
    return names


def parse_seconds(text: str, setting: str) -> float:
    """
    >>> parse_seconds("1.5min", "--stale")
    90.0
    """
    found = _SECONDS.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise SettingError(f"{setting}: expected a time (30s, 500ms, 5min, 1h), found '{text}'")
    return float(found[1]) * _UNIT_S[found[2]]


def _limit(name: str, value: str) -> float:
    if name in (NEW_UNIT, REFUSED):
        raise SettingError(f"--alarm {name}: it has no limit to choose, found '{value}'; write {name} or {name}=off")
    if name != UNREADABLE:
        return parse_seconds(value, f"--alarm {name}")
    found = _PERCENT.fullmatch(value.strip())
    if found is None:
        raise SettingError(f"--alarm {name}: expected a share of the last 100 rows (50%), found '{value}'")
    return float(found[1]) / 100


def _refuse_unknown(name: str, option: str) -> None:
    if name not in _ALL:
        hint = did_you_mean(name, _ALL, f"known are {quoted(list(_ALL))}")
        raise SettingError(f"{option}: there is no alarm '{name}'; {hint}")
