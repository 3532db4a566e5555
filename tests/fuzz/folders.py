"""Folders of runs, models, streams and checkpoints with one thing wrong, drawn at random.

Bytes are changed; values in JSON, tensors, tables and arrays get another type, size, sign or shape. A manifest is
sealed again, as by someone who knows how: its checksums are right, and a value is wrong.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from tests.fuzz.generators import Random

_VALUES: tuple[Any, ...] = (
    0, -1, 1, 2, 10**9, 10**30, -(10**30), 0.5, -0.5, 1e308, float("nan"), float("inf"), None, True, False, "", "x",
    "../x", "=1", "\x1b[31m", "y" * 5000, [], {}, [[]], [None], [1, 2, 3], ["a", "b"], {"a": 1}, [0] * 500,
)  # fmt: skip


def picked(items: list[Any], rng: Random) -> Any:
    return items[int(rng.integers(len(items)))]


def spoil(folder: Path, rng: Random) -> str:
    """Make one thing wrong; what was done, in words."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "report.html")
    path = picked(files, rng)
    if rng.random() < 0.2:
        return f"{path.relative_to(folder)}: {_spoil_file(path, rng)}"
    by_suffix: dict[str, Callable[[Path, Random], str]] = {
        ".json": _spoil_json,
        ".safetensors": _spoil_tensors,
        ".parquet": _spoil_parquet,
        ".npy": _spoil_npy,
        ".npz": _spoil_npz,
        ".csv": _spoil_lines,
        ".jsonl": _spoil_lines,
    }
    return f"{path.relative_to(folder)}: {by_suffix.get(path.suffix, _spoil_file)(path, rng)}"


def _spoil_file(path: Path, rng: Random) -> str:
    content, kind = path.read_bytes(), int(rng.integers(6))
    if kind == 0:
        path.unlink()
        return "gone"
    if kind == 1:
        path.unlink()
        path.mkdir()
        return "a folder"
    if kind == 2:
        path.write_bytes(b"")
        return "empty"
    if kind == 3:
        cut = int(rng.integers(len(content) + 1))
        path.write_bytes(content[:cut])
        return f"cut at {cut}"
    changed = bytearray(content)
    for place in rng.integers(max(1, len(content)), size=int(rng.choice([1, 5, 50]))):
        changed[place : place + 1] = bytes([int(rng.integers(256))])
    path.write_bytes(bytes(changed))
    return "bytes changed"


# ---------------------------------------------------------------- JSON


def _spoil_json(path: Path, rng: Random) -> str:
    found = json.loads(path.read_bytes())
    places = [place for place in _places(found) if "sha256" not in str(place[-1:])]
    place = picked(places, rng)
    inside = found
    for step in place[:-1]:
        inside = inside[step]
    kind = int(rng.integers(10))
    if kind == 0:
        del inside[place[-1]]
        what = "deleted"
    elif kind == 1 and isinstance(inside[place[-1]], int | float):
        inside[place[-1]] = -inside[place[-1]]
        what = "negated"
    elif kind == 2 and isinstance(inside[place[-1]], list):
        inside[place[-1]] = inside[place[-1]] * 2
        what = "doubled"
    else:
        inside[place[-1]] = value = picked(list(_VALUES), rng)
        what = f"= {value!r:.40}"
    path.write_text(json.dumps(found))
    if path.name == "manifest.json":
        seal(path.parent)
    return f"{'.'.join(map(str, place))} {what}"


def _places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, each in inside for place in ((*above, key), *_places(each, (*above, key)))]


def seal(folder: Path) -> None:
    """Checksums that fit what is there."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest.pop("manifest_sha256", None)
    manifest["tensors_sha256"] = hashlib.sha256((folder / "tensors.safetensors").read_bytes()).hexdigest()
    text = json.dumps(manifest, sort_keys=True)
    manifest["manifest_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True))


# ---------------------------------------------------------------- arrays


def _spoil_tensors(path: Path, rng: Random) -> str:
    tensors = dict(load_tensors(path.read_bytes()))
    name = picked(sorted(tensors), rng)
    if rng.random() < 0.05:
        del tensors[name]
        what = "deleted"
    else:
        tensors[name], what = spoiled_array(tensors[name], rng)
    path.write_bytes(save_tensors({key: np.ascontiguousarray(tensor) for key, tensor in tensors.items()}))
    seal(path.parent)
    return f"{name} {what}"


def spoiled_array(array: np.ndarray, rng: Random) -> tuple[np.ndarray, str]:
    """One that has something wrong: numbers, shape or type."""
    kind = int(rng.integers(12))
    changed = array.copy()
    if kind <= 5 and array.size:
        flat = changed.reshape(-1)
        value = (0, -1, 1e30, float("nan"), 2**31 - 1, 1)[kind]
        where = slice(None) if rng.random() < 0.5 else int(rng.integers(flat.size))
        with np.errstate(all="ignore"):
            flat[where] = np.float64(value).astype(changed.dtype)
        return changed, f"{'all' if isinstance(where, slice) else 'one'} = {value}"
    if kind == 6:
        return changed[:0] if changed.ndim else changed.reshape(1), "empty"
    if kind == 7:
        return changed[:-1] if changed.ndim and len(changed) else changed.reshape(-1), "shorter"
    if kind == 8:
        return np.concatenate([changed.reshape(-1), changed.reshape(-1)]), "longer and flat"
    if kind == 9:
        return changed[..., None], "one axis more"
    if kind == 10:
        return changed.astype(rng.choice([np.float32, np.int8, np.int64, np.float64, np.uint8])), "another type"
    return rng.permutation(changed.reshape(-1)).reshape(changed.shape), "shuffled"


def _spoil_npy(path: Path, rng: Random) -> str:
    array, what = spoiled_array(np.load(path), rng)
    np.save(path, array)
    return what


def _spoil_npz(path: Path, rng: Random) -> str:
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    name = picked([name for name in sorted(arrays) if arrays[name].dtype.kind != "U"], rng)
    arrays[name], what = spoiled_array(arrays[name], rng)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    path.write_bytes(buffer.getvalue())
    return f"{name} {what}"


# ---------------------------------------------------------------- tables


def _spoil_parquet(path: Path, rng: Random) -> str:
    table = pl.read_parquet(path)
    name = picked(table.columns, rng)
    kind = int(rng.integers(5))
    if kind == 0:
        table, what = table.drop(name), "dropped"
    elif kind == 1:
        table, what = table.with_columns(pl.lit(None).cast(table[name].dtype).alias(name)), "null"
    elif kind == 2:
        value = picked([0, -5, 10**12, float("nan"), "x", "../x", "", True, [1]], rng)
        table, what = table.with_columns(pl.lit(value).alias(name)), f"= {value!r}"
    elif kind == 3:
        table, what = table.head(0) if rng.random() < 0.3 else pl.concat([table, table]), "none, or twice"
    else:
        order = rng.permutation(table.height)
        table, what = table.with_columns(table[name].gather(order)), "shuffled"
    table.write_parquet(path)
    return f"{name} {what}"


def _spoil_lines(path: Path, rng: Random) -> str:
    lines = path.read_text().splitlines()
    if not lines:
        return "as it was"
    place = int(rng.integers(len(lines)))
    cells = lines[place].split(",")
    cells[int(rng.integers(len(cells)))] = str(picked(["", "x", "-1", "1e400", "nan", "9" * 30, '"', "\0", "é"], rng))
    lines[place] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n")
    return f"line {place}: {lines[place][:60]}"


def copied(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(source, target))
