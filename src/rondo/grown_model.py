"""A model as a stream that began with it has grown it: read from the last checkpoint of the stream."""

from __future__ import annotations

from pathlib import Path

from rondo.continual.checkpoint import Checkpoint, fingerprint, load_checkpoint
from rondo.continual.stream import Stream, rule_of
from rondo.errors import ModelError
from rondo.model import Rondo
from rondo.vocabulary.edits import Edits, read_edits

CHECKPOINT = "checkpoint"
FROZEN, LEARNING = "frozen", "learning"  # the modes of a stream, as checkpoints know them


def grown_model(folder: Path, stream: Path | None = None) -> Rondo:
    """The model of a folder, with what a stream has learned since and people have edited in it.

    `stream` is the --out of a stream that began with this model, or its checkpoint folder; it may be running. Without,
    a model that lies in the folder of a stream is the one of that stream.
    """
    model = Rondo.load(folder)
    where = stream or (folder.parent if has_checkpoint(folder.parent / CHECKPOINT) else None)
    if where is not None:
        model.stream_ = grown_stream(model, fingerprint(folder), where)
        model.edits_ = edits_with(model, checkpoint_folder(where))
    return model


def grown_stream(model: Rondo, model_sha256: str, where: Path) -> Stream:
    """The stream as it stands in the last checkpoint of a session that began with this model."""
    folder = checkpoint_folder(where)
    found = load_checkpoint(folder, {"model_sha256": model_sha256}) if has_checkpoint(folder) else None
    if found is None:
        raise ModelError(f"{where}: it holds no checkpoint; give the --out of `rondo stream`")
    return restored_stream(model, found, folder)


def restored_stream(model: Rondo, found: Checkpoint, folder: Path) -> Stream:
    """The stream of a checkpoint that this model began."""
    try:
        plain = found.plain["stream"]
        begun = model.stream(frozen=found.identity.get("mode") == FROZEN, rule=rule_of(plain))
        return Stream.restore(begun, found.tensors, plain)
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise ModelError(f"{folder}: its parts do not fit together ({error}); give another --stream") from None


def edits_with(model: Rondo, checkpoint: Path) -> Edits:
    """What people have edited in the model that a stream began with, and then in the stream itself.

    Entries that the model has learned in a stream of its own are left out: their ids mean others here.
    """
    return model.edits_.among(model.fitted_ids()).then(read_edits(checkpoint))


def checkpoint_folder(where: Path) -> Path:
    """Of the --out of a session, or of its checkpoint folder."""
    return where / CHECKPOINT if (where / CHECKPOINT).is_dir() else where


def has_checkpoint(folder: Path) -> bool:
    return folder.is_dir() and any(path.name.isdigit() for path in folder.iterdir())
