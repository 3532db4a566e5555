"""Payloads: what devices put into a message -> lines of text, or an array of rows.

Text is read as any table in text is (`rondo.live.rows`), so a payload only has to become lines:

    {"time": 0.02, "x": 1.5, "y": -2.0}                  JSON, one row
    [{"time": 0.00, "x": 1.5}, {"time": 0.02, "x": 1.4}]  rows
    {"time": [0.00, 0.02], "x": [1.5, 1.4]}               columns of the same length
    {"time": 0.02, "acc": {"x": 1.5, "y": -2.0}}          keys inside are joined with a dot: acc.x
    time,x,y\n0.02,1.5,-2.0                               csv; a header that comes again is passed over

Arrays come as the bytes of an .npy file (n_rows, n_channels), with one column more where the times stand first, or as
plain numbers in little-endian order, whose type the address names: `?payload=float32`, `time+float32`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import npy_header
from rondo.errors import SettingError
from rondo.live.source import Rows
from rondo.wording import is_utf8

_NPY = b"\x93NUMPY"
_MOST_ROWS = 1 << 20  # of one message: more is no message but an attack, or a mistake
_MOST_DEEP = 32
PLAIN_TYPES = ("float32", "float64", "int16", "int32")
TIMED = "time+"


class UnreadablePayload(Exception):  # noqa: N818 - it says what is the matter
    """A payload that holds no rows; the message is skipped, with this reason."""


def check_kind(kind: str) -> str:
    """What `?payload=` names, if there is such a thing."""
    known = ("auto", *PLAIN_TYPES, *(TIMED + name for name in PLAIN_TYPES))
    if kind not in known:
        expected = f"expected one of {', '.join(known)}"
        raise SettingError(f"payload={kind}: {expected}; leave it out for JSON, csv and .npy")
    return kind


def is_packed(payload: bytes, kind: str) -> bool:
    return kind != "auto" or payload.startswith(_NPY)


def packed_rows(payload: bytes, kind: str, n_channels: int) -> Rows:
    if kind == "auto":
        return _rows_of(_npy(payload), n_channels)
    timed = kind.startswith(TIMED)
    dtype = np.dtype(kind.removeprefix(TIMED)).newbyteorder("<")
    row_bytes = n_channels * dtype.itemsize + (8 if timed else 0)
    if len(payload) % row_bytes:
        raise UnreadablePayload(f"{len(payload)} bytes are not rows of {row_bytes} ({n_channels} channels, {kind})")
    if not timed:
        return _rows_of(np.frombuffer(payload, dtype).reshape(-1, n_channels), n_channels)
    rows = np.frombuffer(payload, np.dtype([("time", "<f8"), ("values", dtype, (n_channels,))]))
    return Rows(rows["values"].astype(np.float64), rows["time"].astype(np.float64), 0)


def _npy(payload: bytes) -> NDArray[Any]:
    """The array in the bytes of an .npy file; its header is looked at before any room is made for it."""
    file = io.BytesIO(payload)
    try:
        shape, _, dtype = npy_header(file)
        if dtype.kind not in "fiu" or len(shape) != 2 or shape[0] > _MOST_ROWS:
            raise UnreadablePayload(f"an array of {dtype} {shape}, expected numbers (n_rows, n_channels)")
        n_bytes = int(np.prod(shape, dtype=object)) * dtype.itemsize
        if len(payload) - file.tell() != n_bytes:
            raise UnreadablePayload(f"an array of {n_bytes} bytes in {len(payload) - file.tell()}")
        file.seek(0)
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
    except (ValueError, KeyError, EOFError, TypeError) as error:
        raise UnreadablePayload(f"not a whole .npy array ({error})") from None


def _rows_of(array: NDArray[Any], n_channels: int) -> Rows:
    if array.shape[1] not in (n_channels, n_channels + 1):
        raise UnreadablePayload(
            f"rows of {array.shape[1]} numbers, the model has {n_channels} channels; send them in its order, with the "
            "times first if there are any"
        )
    timed = array.shape[1] == n_channels + 1
    values = array[:, timed:].astype(np.float64)
    return Rows(values, array[:, 0].astype(np.float64) if timed else None, 0)


def as_lines(payload: bytes, header: bytes = b"") -> bytes:
    r"""The rows as lines of text; `header` is the first line that the device ever sent.

    >>> as_lines(b'{"t": [0, 1], "x": [2.50, 3]}')
    b'{"t":0,"x":2.50}\n{"t":1,"x":3}\n'
    >>> as_lines(b"t,x\n0,2.5", header=b"t,x")
    b'0,2.5\n'
    """
    text = payload.strip(b" \t\r\n\0")
    if not text:
        raise UnreadablePayload("an empty message")
    if text[:1] in (b"{", b"["):
        return _lines_of_json(text)
    first, _, rest = text.partition(b"\n")
    if header and first.rstrip() == header:
        text = rest
    return text + b"\n" if text else b""


def _lines_of_json(text: bytes) -> bytes:
    lines = [line for line in map(bytes.strip, text.split(b"\n")) if line]
    are_objects = len(lines) > 1 and all(line[:1] == b"{" and line[-1:] == b"}" for line in lines)
    rows = [_json(line) for line in lines] if are_objects else _json(text)
    if isinstance(rows, dict):
        return _lines_of_object(_flat(rows)).encode()
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise UnreadablePayload("JSON that is no object, and no list of objects")
    return "".join(_written(_flat(row)) + "\n" for row in rows).encode()


class _Number(str):
    """A number as it was written, so that nothing is lost by reading it twice."""

    __slots__ = ()


_AS_WRITTEN = json.JSONDecoder(parse_float=_Number, parse_int=_Number, parse_constant=_Number)


def _json(text: bytes) -> Any:
    try:
        return _AS_WRITTEN.decode(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise UnreadablePayload(f"neither JSON nor a table in text ({str(error)[:80]})") from None


def _lines_of_object(row: Mapping[str, Any]) -> str:
    """One row, or as many as its columns have."""
    lengths = {len(value) for value in row.values() if isinstance(value, list)}
    if not lengths:
        return _written(row) + "\n"
    if len(lengths) > 1:
        raise UnreadablePayload(f"columns of different lengths ({', '.join(map(str, sorted(lengths)))})")
    (n_rows,) = lengths
    if n_rows > _MOST_ROWS:
        raise UnreadablePayload(f"{n_rows:,} rows in one message, expected {_MOST_ROWS:,} at most")
    columns = {key: value if isinstance(value, list) else [value] * n_rows for key, value in row.items()}
    return "".join(
        _written(dict(zip(columns, cells, strict=True))) + "\n" for cells in zip(*columns.values(), strict=True)
    )


def _flat(found: Mapping[str, Any], above: tuple[str, ...] = ()) -> dict[str, Any]:
    """Without objects inside: their keys are joined with a dot."""
    if len(above) > _MOST_DEEP:
        raise UnreadablePayload(f"objects in objects, more than {_MOST_DEEP} deep")
    flat: dict[str, Any] = {}
    for key, value in found.items():
        keys = (*above, key)
        flat |= _flat(value, keys) if isinstance(value, dict) else {".".join(keys): value}
    return flat


def _written(row: Mapping[str, Any]) -> str:
    cells = (
        f"{json.dumps(key)}:{value if isinstance(value, _Number) else json.dumps(value)}" for key, value in row.items()
    )
    return "{" + ",".join(cells) + "}"


def rows_by_field(payload: bytes, field: str) -> dict[str, bytes]:
    """The part of a JSON payload for each device that a field of it names.

    >>> rows_by_field(b'[{"dev": "a", "x": 1}, {"dev": "b", "x": 2}]', "dev")
    {'a': b'[{"dev":"a","x":1}]', 'b': b'[{"dev":"b","x":2}]'}
    """
    parts: dict[str, list[str]] = {}
    for row in _objects(payload):
        device = row.get(field)
        if not isinstance(device, str) or not device or not is_utf8(device):
            raise UnreadablePayload(f"no field '{field}' that names the device")
        parts.setdefault(str(device), []).append(_written(row))
    is_list = payload.strip().startswith(b"[")
    return {device: (f"[{','.join(rows)}]" if is_list else rows[0]).encode() for device, rows in parts.items()}


def sequence_of(payload: bytes, field: str) -> int:
    """The number that a JSON payload, or its last row, has in this field."""
    value = _objects(payload)[-1].get(field)
    value = value[-1] if isinstance(value, list) and value else value
    try:
        return int(str(value))
    except ValueError:
        raise UnreadablePayload(f"no whole number in the field '{field}'") from None


def _objects(payload: bytes) -> list[dict[str, Any]]:
    """The rows of a JSON payload; an empty one for what is none."""
    found = _json(payload.strip()) if payload.strip()[:1] in (b"{", b"[") else None
    rows = found if isinstance(found, list) and found else [found]
    return [_flat(row) if isinstance(row, dict) else {} for row in rows]
