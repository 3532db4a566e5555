"""Checkpoints: everything a stream needs to go on exactly, as one folder that is whole or not there.

    DIR/000041/manifest.json        format, identity (model, settings, source), position, lengths, counters
    DIR/000041/tensors.safetensors  arrays, to the bit

A checkpoint gets the next number when it is whole and on the disk (`rondo.store.folder`); only then is the one before
removed. So at any instant, and after a power cut, the highest number is a whole checkpoint. Floats are kept as their
bits: a model folder refuses NaN, which rows that wait for a gap to end may hold.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rondo.arrays import Tensors, as_bits, from_bits
from rondo.errors import ModelError, OutputError
from rondo.store import lock, model_file
from rondo.store.folder import is_draft, make_folder
from rondo.store.reading import read_regular

_LOCK = ".lock"
_NUMBERED = re.compile(r"\d{6,}")


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """`identity` says what it belongs to, each part by its name; `plain` is any JSON; `tensors` are any arrays."""

    identity: Mapping[str, str]
    plain: Mapping[str, Any]
    tensors: Tensors


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Add a checkpoint to the folder, and remove those before it once this one is on the disk.

    An error while writing gives one line; the checkpoint before stays.
    """
    bits, kinds = as_bits(checkpoint.tensors)
    provenance = {"tensors": kinds, "plain": dict(checkpoint.plain)}
    stored = model_file.Artifact(dict(checkpoint.identity), provenance, bits)
    try:
        make_folder(folder.parent, folder.name)
        before = _numbers(folder)
        taken = [int(path.name) for path in folder.iterdir() if _NUMBERED.fullmatch(path.name)]  # by whatever it is
        model_file.save(folder / f"{max(taken, default=0) + 1:06d}", stored, model_file.CHECKPOINT)
        for number in before:
            shutil.rmtree(folder / f"{number:06d}")
    except OutputError as error:
        raise OutputError(*error.args, "the checkpoint before it is kept") from None
    except OSError as error:
        raise OutputError(
            f"{folder}: the checkpoint cannot be written ({error.strerror or error}); make room or give permission, "
            "then start the same command again"
        ) from None


def load_checkpoint(folder: Path, identity: Mapping[str, str]) -> Checkpoint | None:
    """The newest checkpoint in the folder, None where there is none; damaged and foreign ones are refused."""
    try:
        numbers = _numbers(folder)
        strangers = [path.name for path in folder.iterdir()] if not numbers and folder.exists() else []
    except OSError as error:
        raise ModelError(f"{folder}: cannot be read ({error.strerror}); check its permissions") from None
    if not numbers:
        others = [name for name in strangers if name != _LOCK and not is_draft(name)]  # drafts of ours do not count
        if others:
            raise OutputError(
                f"{folder}: expected checkpoints or an empty folder, got '{others[0]}'; choose another one"
            )
        return None
    newest = folder / f"{numbers[-1]:06d}"
    try:
        stored = model_file.load(newest, model_file.CHECKPOINT)
    except ModelError:
        if _numbers(folder)[-1:] != numbers[-1:]:  # a stream that goes on has put the next one in its place
            return load_checkpoint(folder, identity)
        raise
    for part, expected in identity.items():
        if stored.config.get(part, expected) != expected:  # version 0.2.0 had no hash of the stream's settings
            what = part.removesuffix("_sha256").removeprefix("stream_")
            raise ModelError(
                f"{newest}: a checkpoint of another {what}, expected {expected!r:.60}, "
                f"got {stored.config.get(part)!r:.60}; give the one it was made with, or another --out"
            )
    with restoring(newest):
        about = stored.provenance
        return Checkpoint(stored.config, about["plain"], from_bits(stored.tensors, about["tensors"]))


def fingerprint(folder: Path) -> str:
    """sha256 over the names and contents of the files directly in a folder: which model this is, whatever its names."""
    digest = hashlib.sha256()
    try:
        for path in sorted(path for path in folder.iterdir() if path.is_file()):
            if model_file.EDITS in path.name or is_draft(path.name):
                continue
            content = read_regular(path, model_file.MOST_BYTES)
            digest.update(f"{path.name}\0{len(content)}\0".encode() + content)
    except OSError as error:
        raise ModelError(f"{folder}: cannot be read ({error.strerror}); check the model folder") from None
    return digest.hexdigest()


def settings_hash(settings: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


@contextmanager
def locked(folder: Path, wait_s: float = 0.0) -> Iterator[None]:
    """Keep the folder for this process alone: two that append to the same files would spoil both."""
    busy = "another process is writing this checkpoint; wait for it, or stop it"
    with lock.locked(folder, _LOCK, busy, wait_s, is_inside=True):
        yield


def _numbers(folder: Path) -> list[int]:
    if not folder.exists():
        return []
    folders = (path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    return sorted(int(path.name) for path in folders if _NUMBERED.fullmatch(path.name))


@contextmanager
def restoring(folder: Path) -> Iterator[None]:
    """What is made from a checkpoint in the block: whatever does not fit together is refused in one line."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        why = f"{str(error).splitlines()[0]:.200}" if str(error) else type(error).__name__
        raise ModelError(f"{folder}: its parts do not fit together ({why}); choose another --out") from None
