"""Numbers in a decoded message, by the path to each: `linear_acceleration.x`, `position[2]`.

Messages are what JSON gives, what mcap-ros2-support makes of ROS 2 messages, or messages of protobuf. Text, bytes and
enumerations are no numbers; a pair of seconds and nanoseconds is a time, and no number either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MOST_OF_A_LIST = 64
"""Elements that become channels; longer lists (images, scans, clouds of points) are left out."""

_DEEPEST = 16
_TIMES = (
    {"sec", "nsec"}, {"sec", "nanosec"}, {"secs", "nsecs"}, {"seconds", "nanos"}, {"seconds", "nanoseconds"},
)  # fmt: skip


def numbers_of(message: Any, left_out: set[str]) -> Iterator[tuple[str, float]]:
    """Path and value of every number; paths of lists that are too long are added to `left_out`."""
    yield from _numbers(message, "", left_out, 0)


def _numbers(value: Any, path: str, left_out: set[str], depth: int) -> Iterator[tuple[str, float]]:
    if isinstance(value, int | float):
        yield path or "value", _as_float(value)
    elif value is None or isinstance(value, str | bytes) or depth > _DEEPEST:
        return
    elif (parts := _parts(value)) is not None:
        if set(parts) not in _TIMES:
            for name, part in parts.items():
                yield from _numbers(part, f"{path}.{name}" if path else str(name), left_out, depth + 1)
    elif hasattr(value, "__len__") and hasattr(value, "__getitem__"):
        if len(value) > MOST_OF_A_LIST:
            left_out.add(path)
            return
        for place, part in enumerate(value):
            yield from _numbers(part, f"{path}[{place}]", left_out, depth + 1)


def _parts(value: Any) -> Mapping[str, Any] | None:
    """The fields of an object by name; None where it is none."""
    if isinstance(value, Mapping):
        return value
    descriptor = getattr(value, "DESCRIPTOR", None)
    if descriptor is not None:
        fields = [field for field in descriptor.fields if field.enum_type is None and not _is_absent(value, field)]
        return {field.name: getattr(value, field.name) for field in fields}
    slots = getattr(type(value), "__slots__", None)
    return None if not isinstance(slots, list) else {name: getattr(value, name) for name in slots}


def _is_absent(message: Any, field: Any) -> bool:
    """Whether a message inside a message was not sent; numbers that were not sent are 0."""
    return bool(field.has_presence and not message.HasField(field.name))


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # of whole numbers that no sensor has
        return float("nan")
