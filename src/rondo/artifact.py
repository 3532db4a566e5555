"""One fitted model is one folder: manifest.json (schema, config, provenance) and tensors.safetensors.

Nothing is pickled and loading runs no code: JSON is parsed, numbers are read, both are checked against the checksums
in the manifest. Saving writes a temporary folder beside the target and renames it, so that a half-written model never
has the model's name.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
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

    if folder.exists() and not _replaceable(folder):
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
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror}); choose another folder") from None
    try:
        (draft / _TENSORS).write_bytes(blob)
        (draft / _MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True), encoding="utf-8")
        draft.chmod(0o755)  # mkdtemp makes folders that only their owner can read
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(draft, folder)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror}); choose another folder") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def load(folder: Path) -> Artifact:
    """Read and check a model folder; every fault is a ModelError that says what is wrong."""
    manifest = _read_manifest(folder)
    try:
        blob = (folder / _TENSORS).read_bytes()
    except OSError as error:
        raise ModelError(
            f"{folder / _TENSORS}: cannot be read ({error.strerror}); the model folder is incomplete"
        ) from None
    if hashlib.sha256(blob).hexdigest() != manifest["tensors_sha256"]:
        raise ModelError(f"{folder / _TENSORS}: truncated or changed since it was saved; copy the model folder anew")
    return Artifact(manifest["config"], manifest["provenance"], _read_tensors(folder, blob))


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / _MANIFEST
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such model folder; expected one that `rondo discover` or Rondo.save wrote")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(
            f"{folder}: not a model folder, it has no {_MANIFEST}; give the model/ folder of a run"
        ) from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise ModelError(
            f"{path}: not JSON, truncated or changed since it was saved; copy the model folder anew"
        ) from None
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise ModelError(f"{path}: not a Rondo model (no format '{_FORMAT}')")
    if manifest.get("schema") != SCHEMA:
        raise ModelError(
            f"{path}: model schema {manifest.get('schema')!r}, this version of Rondo reads {SCHEMA}; "
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
    return folder.is_dir() and ((folder / _MANIFEST).is_file() or not any(folder.iterdir()))
