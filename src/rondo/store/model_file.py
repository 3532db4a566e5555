"""One fitted model is one folder: manifest.json (schema, config, provenance) and tensors.safetensors.

Where people have named or merged entries there is edits.json too (`rondo.editing.edits`), which they may change
later: it belongs to no checksum.

Nothing is pickled and loading runs no code: JSON is parsed, numbers are read, both are checked against the checksums
in the manifest. A half-written model never has the model's name (`rondo.store.folder`).
"""

from __future__ import annotations

import hashlib
import json
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Tensors as Tensors
from rondo.errors import ModelError, OutputError
from rondo.forks import refuse_forked
from rondo.store.folder import is_draft, new_file, whole_folder
from rondo.store.reading import MOST_JSON_BYTES, open_regular, read_regular

EDITS, EDITS_LOCK = "edits.json", ".edits.json.lock"
MANIFEST, _TENSORS = "manifest.json", "tensors.safetensors"
MOST_BYTES = 1 << 30
"""Of a file in such a folder; the largest network there is takes 100 MB."""
_MOST_MANIFEST_BYTES = 1 << 25  # that of a model of 20,000 recordings has 3 MB
_LENGTH_BYTES = 8  # of the header of safetensors, before it


@dataclass(frozen=True)
class Format:
    """What kind of folder it is: the manifest says so, and one is never taken for the other."""

    name: str
    schema: int
    noun: str  # for people
    written_by: str
    place: str  # where such a folder is found


MODEL = Format("rondo-model", 1, "model", "`rondo discover` or Rondo.save", "give the model/ folder of a run")
CHECKPOINT = Format("rondo-checkpoint", 3, "checkpoint", "`rondo stream`", "give the checkpoint folder of a stream")
_FORMATS = {format.name: format for format in (MODEL, CHECKPOINT)}


@dataclass(frozen=True, eq=False)
class Artifact:
    """What a model folder, or a checkpoint, holds."""

    config: dict[str, Any]
    provenance: dict[str, Any]
    tensors: Tensors


def save(folder: Path, artifact: Artifact, format: Format = MODEL, edits: Mapping[str, Any] | None = None) -> None:
    """Write a folder; an existing one of the same format is replaced, any other that is not empty is refused."""
    from safetensors.numpy import save as to_bytes

    advice = f"choose another place to save the {format.noun}"
    if folder.exists() and not _replaceable(folder, format):
        raise OutputError(f"{folder}: exists and is not a {format.noun} folder; {advice}")
    blob = to_bytes({name: np.ascontiguousarray(tensor) for name, tensor in artifact.tensors.items()})
    manifest: dict[str, Any] = {
        "format": format.name,
        "schema": format.schema,
        "config": artifact.config,
        "provenance": artifact.provenance,
        "tensors_sha256": hashlib.sha256(blob).hexdigest(),
    }
    manifest["manifest_sha256"] = _checksum(manifest)
    indent = 1 if format is MODEL else None  # a checkpoint is written often: on one line it takes a tenth of the time
    files = {_TENSORS: blob, MANIFEST: json.dumps(manifest, indent=indent, sort_keys=True).encode()}
    if edits is not None:
        files[EDITS] = json.dumps(edits, indent=1, ensure_ascii=False).encode()
    with whole_folder(folder, advice, replaces=True) as draft:
        for name, content in files.items():
            with new_file(draft / name) as file:
                file.write(content)


def load(folder: Path, format: Format = MODEL) -> Artifact:
    """Read and check a folder of that format; every fault is a ModelError that says what is wrong."""
    manifest = read_manifest(folder, format)
    blob = _read_bytes(folder, _TENSORS, MOST_BYTES, format, _refuse_other_size)
    if hashlib.sha256(blob).hexdigest() != manifest["tensors_sha256"]:
        raise ModelError(
            f"{folder / _TENSORS}: truncated or changed since it was saved; copy the {format.noun} folder again"
        )
    return Artifact(manifest["config"], manifest["provenance"], _read_tensors(folder, blob))


def _read_bytes(
    folder: Path, name: str, most_bytes: int, format: Format, check: Callable[[Path], None] = lambda path: None
) -> bytes:
    path, noun = folder / name, format.noun
    try:
        if not folder.is_dir():
            raise ModelError(f"{folder}: no such {noun} folder; expected one that {format.written_by} wrote")
        if not path.exists():
            raise ModelError(f"{folder}: not a whole {noun} folder, it has no {name}; {format.place}")
        links = [each.name for each in folder.iterdir() if each.is_symlink()]
        if links:  # to files that nobody has named
            raise ModelError(f"{folder / links[0]}: a link, expected a file of the {noun}; copy what it leads to here")
        if not path.is_file():  # a pipe or a device could keep the reader waiting for ever
            raise ModelError(f"{path}: not a regular file; copy the {noun} folder again")
        check(path)
        return read_regular(path, most_bytes)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror}); check the folder and its permissions") from None
    except MemoryError:
        raise ModelError(f"{path}: does not fit into memory; it is no {noun} that Rondo saved") from None


def _refuse_other_size(path: Path) -> None:
    """A file of tensors has as many bytes as its header says, which comes first: the rest is not read to learn that."""
    n_bytes = path.stat().st_size
    with open_regular(path) as file:
        n_header = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        text = file.read(min(n_header, MOST_JSON_BYTES))
    try:
        header = json.loads(text)
        stops = [each["data_offsets"][1] for name, each in header.items() if name != "__metadata__"]
        is_whole = n_bytes == _LENGTH_BYTES + n_header + max(stops, default=0)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        is_whole = False
    if not is_whole:
        raise ModelError(f"{path}: truncated or changed since it was saved, or not a safetensors file; copy it again")


def read_manifest(folder: Path, format: Format = MODEL) -> dict[str, Any]:
    """The manifest alone, checked."""
    refuse_forked()
    path = folder / MANIFEST
    try:
        found = json.loads(_read_bytes(folder, MANIFEST, _MOST_MANIFEST_BYTES, format).decode("utf-8"))
    except (ValueError, RecursionError):
        raise ModelError(
            f"{path}: not JSON, truncated or changed since it was saved; copy the {format.noun} folder again"
        ) from None
    manifest = _of_format(path, found, format)
    stated = manifest.pop("manifest_sha256", None)
    expected = {"config": dict, "provenance": dict, "tensors_sha256": str}
    if stated != _checksum(manifest) or not all(isinstance(manifest.get(k), t) for k, t in expected.items()):
        raise ModelError(
            f"{path}: edited since it was saved (its checksum differs); copy the {format.noun} folder again"
        )
    return manifest


def _of_format(path: Path, manifest: Any, format: Format) -> dict[str, Any]:
    """The manifest, if it is one of this format and its present schema."""
    stated = manifest.get("format") if isinstance(manifest, dict) else None
    if not isinstance(manifest, dict) or stated != format.name:
        other = _FORMATS.get(stated) if isinstance(stated, str) else None
        got = f"no format '{format.name}'" if other is None else f"it is a {other.noun}"
        raise ModelError(f"{path}: not a Rondo {format.noun} ({got}); {format.place}")
    if manifest.get("schema") != format.schema:
        raise ModelError(
            f"{path}: {format.noun} schema {reprlib.repr(manifest.get('schema'))}, this version of Rondo reads "
            f"{format.schema}; use the version of Rondo that wrote it"
        )
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


def _replaceable(folder: Path, format: Format) -> bool:
    """Whether saving may do away with the folder: it is empty, or of this format and nothing else."""
    if not folder.is_dir():
        return False
    names = {path.name for path in folder.iterdir() if not is_draft(path.name)}
    if not names:
        return True
    try:
        return names <= {MANIFEST, _TENSORS, EDITS, EDITS_LOCK} and bool(read_manifest(folder, format))
    except ModelError:
        return False
