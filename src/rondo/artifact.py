"""One fitted model is one folder: manifest.json (schema, config, provenance) and tensors.safetensors.

Nothing is pickled and loading runs no code: JSON is parsed, numbers are read, both are checked against the checksums
in the manifest. Saving writes a temporary folder beside the target and renames it, so that a half-written model never
has the model's name.
"""

from __future__ import annotations

import hashlib
import json
import reprlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.errors import ModelError, OutputError

SCHEMA = 1
_FORMAT = "rondo-model"
_MANIFEST, _TENSORS = "manifest.json", "tensors.safetensors"

Tensors = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True, eq=False)
class Artifact:
    """What a model folder holds."""

    config: dict[str, Any]
    provenance: dict[str, Any]
    tensors: Tensors


def save(folder: Path, artifact: Artifact) -> None:
    """Write a model folder; an existing model is replaced, any other non-empty folder is refused."""
    from safetensors.numpy import save as to_bytes

    target = _resolved(folder)
    if target.exists() and not _replaceable(target):
        raise OutputError(f"{folder}: exists and is not a model folder; choose another place to save the model")
    blob = to_bytes({name: np.ascontiguousarray(tensor) for name, tensor in artifact.tensors.items()})
    manifest: dict[str, Any] = {
        "format": _FORMAT,
        "schema": SCHEMA,
        "config": artifact.config,
        "provenance": artifact.provenance,
        "tensors_sha256": hashlib.sha256(blob).hexdigest(),
    }
    manifest["manifest_sha256"] = _checksum(manifest)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent, ignore_cleanup_errors=True)
        with beside as both:
            draft = Path(both) / "new"  # inside, because the outer folder is closed to all but its owner
            draft.mkdir()
            (draft / _TENSORS).write_bytes(blob)
            (draft / _MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True), encoding="utf-8")
            _put_in_place(draft, target, aside=Path(both) / "old")
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror or error}); choose another folder") from None


def _resolved(folder: Path) -> Path:
    """Where the folder really is: a link to a model stays a link."""
    try:
        return folder.resolve()
    except (OSError, RuntimeError) as error:  # links in a circle
        raise OutputError(f"{folder}: cannot be written ({error}); choose another folder") from None


def _put_in_place(draft: Path, target: Path, aside: Path) -> None:
    """Give the draft the target's name; the model that had it comes back if that fails."""
    if not target.exists():
        draft.rename(target)
        return
    target.rename(aside)
    try:
        draft.rename(target)
    except BaseException:
        aside.rename(target)
        raise


def load(folder: Path) -> Artifact:
    """Read and check a model folder; every fault is a ModelError that says what is wrong."""
    manifest = _read_manifest(folder)
    blob = _read_bytes(folder, _TENSORS)
    if hashlib.sha256(blob).hexdigest() != manifest["tensors_sha256"]:
        raise ModelError(f"{folder / _TENSORS}: truncated or changed since it was saved; copy the model folder anew")
    return Artifact(manifest["config"], manifest["provenance"], _read_tensors(folder, blob))


def _read_bytes(folder: Path, name: str) -> bytes:
    path = folder / name
    try:
        if not folder.is_dir():
            raise ModelError(f"{folder}: no such model folder; expected one that `rondo discover` or Rondo.save wrote")
        if not path.exists():
            raise ModelError(f"{folder}: not a whole model folder, it has no {name}; give the model/ folder of a run")
        if not path.is_file():  # a pipe or a device could keep the reader waiting for ever
            raise ModelError(f"{path}: not a regular file; copy the model folder anew")
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror}); check the folder and its permissions") from None
    except MemoryError:
        raise ModelError(f"{path}: does not fit into memory; it is no model that Rondo saved") from None


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / _MANIFEST
    try:
        manifest = json.loads(_read_bytes(folder, _MANIFEST).decode("utf-8"))
    except (ValueError, RecursionError):
        raise ModelError(
            f"{path}: not JSON, truncated or changed since it was saved; copy the model folder anew"
        ) from None
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise ModelError(f"{path}: not a Rondo model (no format '{_FORMAT}'); give the model/ folder of a run")
    if manifest.get("schema") != SCHEMA:
        raise ModelError(
            f"{path}: model schema {reprlib.repr(manifest.get('schema'))}, this version of Rondo reads {SCHEMA}; "
            "use the version of Rondo that wrote it"
        )
    stated = manifest.pop("manifest_sha256", None)
    expected = {"config": dict, "provenance": dict, "tensors_sha256": str}
    if stated != _checksum(manifest) or not all(isinstance(manifest.get(k), t) for k, t in expected.items()):
        raise ModelError(f"{path}: edited since it was saved (its checksum differs); copy the model folder anew")
    return manifest


def _read_tensors(folder: Path, blob: bytes) -> dict[str, NDArray[np.generic]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    try:
        tensors: dict[str, NDArray[np.generic]] = from_bytes(blob)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder / _TENSORS}: not a safetensors file ({error})") from None
    for name, tensor in tensors.items():
        if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
            raise ModelError(f"{folder / _TENSORS}: tensor '{name}' has non-finite values; fit the model again")
    return tensors


def _checksum(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _replaceable(folder: Path) -> bool:
    """Whether saving may do away with the folder: it is empty, or a model and nothing else."""
    if not folder.is_dir():
        return False
    names = {path.name for path in folder.iterdir()}
    if not names:
        return True
    try:
        return names <= {_MANIFEST, _TENSORS} and bool(_read_manifest(folder))
    except ModelError:
        return False
