"""A model as a stream that began with it has grown it: read from the last checkpoint of the stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rondo.continual.checkpoint import Checkpoint, fingerprint, load_checkpoint
from rondo.continual.stream import Stream, rule_of
from rondo.data.as_recordings import as_recordings
from rondo.errors import ModelError, NotFittedError
from rondo.model import Rondo
from rondo.model_labels import relabelled, windowed
from rondo.model_result import fitted_ids, result_of
from rondo.result import Result
from rondo.run.findings import grown_sentence
from rondo.vocabulary.edits import Edits, read_edits

CHECKPOINT = "checkpoint"
FROZEN, LEARNING = "frozen", "learning"  # the modes of a stream, as checkpoints know them


def grown_model(folder: Path, stream: Path | None = None) -> Rondo:
    """The model of a folder, with what a stream has learned since and people have edited in it.

    `stream` is the --out of a stream that began with this model, or its --checkpoint; it may be running. Without, a
    model that lies in the folder of a stream is the one of that stream.
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
        raise ModelError(f"{where}: it holds no checkpoint; give the --out, or the --checkpoint, of `rondo stream`")
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
    return model.edits_.among(fitted_ids(model)).then(read_edits(checkpoint))


def relabel(model: Rondo, recordings: Any, *, resample: bool = False) -> Result:
    """Recordings labelled with the vocabularies as the stream of a model has extended them.

    Labels that the stream has issued do not change, and the stream continues unaffected. Values are scaled by the
    statistics of the model, as in the stream; each frame takes the label of the window with the nearest centre. The
    Result does not report whether the model fits, because distances to exemplars are not distances to centres.
    """
    if not hasattr(model, "stream_"):
        raise NotFittedError("this Rondo follows no stream yet; call partial_fit(chunk) first, or use predict")
    given = as_recordings(recordings, label_columns=model.preprocessor_.known_columns)
    labellings = [relabelled(model, windowed(model, own, resample, by_model=True)) for own in given]
    new = [unit for unit in model.stream_.reader.unit_ids if unit not in model.units_]
    return result_of(model, given, labellings, kind="label", is_foreign=True, more=[grown_sentence(new)])


def checkpoint_folder(where: Path) -> Path:
    """Of the --out of a session, or of its --checkpoint."""
    return where / CHECKPOINT if (where / CHECKPOINT).is_dir() else where


def has_checkpoint(folder: Path) -> bool:
    return folder.is_dir() and any(path.name.isdigit() for path in folder.iterdir())
