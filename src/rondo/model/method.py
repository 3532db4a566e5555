"""The methods Rondo and clock, and a model as a stream that began with it has grown it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from rondo import cost
from rondo.config.settings import RondoConfig, network_in, resolve
from rondo.continual.checkpoint import fingerprint, load_checkpoint
from rondo.continual.stream import Stream, rule_of
from rondo.data.groups import GroupBy
from rondo.data.recording import Recording
from rondo.device import require_torch
from rondo.editing.edits import Edits
from rondo.editing.edits_file import read_edits
from rondo.errors import ModelError, NotFittedError, SettingError
from rondo.files.inputs import as_recordings
from rondo.files.poses import as_the_model_reads
from rondo.files.reading import Reading
from rondo.methods import DEFAULT, OPTIONS, Options, refuse_idle
from rondo.model.describe import fitted_ids, result_of, words_of
from rondo.model.folder import from_config
from rondo.model.label import relabelled, windowed
from rondo.model.rondo import Rondo
from rondo.result import Result, make_result
from rondo.run.findings import NOTHING_SHARED, grown_sentence
from rondo.run.labelling import Labelling, nothing_shared
from rondo.run.tally import Words
from rondo.wording import Progress


class RondoSettings(NamedTuple):
    """Every setting of Rondo, and the group of each recording."""

    config: RondoConfig
    group_by: GroupBy = None


@dataclass(frozen=True)
class RondoMethod:
    """Rondo as a method."""

    name: str = DEFAULT
    help: str = "units, and the motifs that they compose; the default"

    def configure(self, options: Options) -> RondoSettings:
        """Preset, then file, then settings."""
        refuse_idle({"--states": options.settings.get("n_states")}, f"--method {self.name}")
        config = resolve(options.preset or "default", options.config, options.settings)
        require_torch(network_in(config))  # before files are read
        return RondoSettings(config, options.group_by)

    def notes(self, recordings: Sequence[Recording], settings: RondoSettings, *, in_detail: bool = False) -> list[str]:
        """How long it will take, where that is more than a minute."""
        config, sizes = settings.config, [recording.n_frames for recording in recordings]
        length, step = cost.expected_window_and_step(config, recordings)
        expected = cost.cost_of_fit(config, sizes, recordings[0].n_channels, length, step)
        is_long = expected.seconds is not None and expected.seconds > cost.WORTH_SAYING_S
        return [f"this will take {expected.sentence()}"] if is_long or in_detail else []

    def discover(
        self, recordings: Sequence[Recording], settings: RondoSettings, seed: int | None, progress: Progress
    ) -> Result:
        """One model for all recordings."""
        config = settings.config if seed is None else settings.config.model_copy(update={"seed": seed})
        model = from_config(Rondo, config)
        return model.fit_predict(list(recordings), group_by=settings.group_by, progress=progress)

    def load(self, folder: Path) -> Rondo:
        """The model of a folder; one that lies in the folder of a stream, as the stream has grown it."""
        return grown_model(folder)

    def words(self, model: Rondo) -> Words:
        return words_of(model)

    def words_in(self, folder: Path) -> Words:
        """Of a model that lies in the folder of a stream, with the edits of the stream."""
        model = Rondo.load(folder)
        model.edits_ = edits_with(model, folder.parent / CHECKPOINT)
        return words_of(model)

    def why_no_model(self) -> str:
        return ""


RONDO = RondoMethod()


_PIECES = 20  # as in the control that scores above the paper's own row on MoCap


@dataclass(frozen=True)
class Clock:
    """The data-blind control: equal pieces, each its own entry."""

    name: str = "clock"
    help: str = "the control: equal pieces, each its own entry, without a look at the data"

    def configure(self, options: Options) -> int:
        """The number of pieces."""
        others = [name for name in options.settings if name not in OPTIONS.values()]
        idle = options.beyond(("n_states",)) | {"--config": options.config, "--set": others}
        refuse_idle(idle, f"--method {self.name}")
        states = options.settings.get("n_states", _PIECES)
        if not isinstance(states, int) or states < 1:
            raise SettingError(f"--states must be at least 1, got {states}")
        return states

    def notes(self, recordings: Sequence[Recording], settings: int, *, in_detail: bool = False) -> list[str]:
        return []

    def discover(self, recordings: Sequence[Recording], settings: int, seed: int | None, progress: Progress) -> Result:
        """Every recording in as many pieces; the seed changes nothing."""
        shortest = min(recordings, key=lambda recording: recording.n_frames)
        if settings > shortest.n_frames:
            raise SettingError(
                f"--states is {settings}, but {shortest.source or shortest.id} has only {shortest.n_frames} frames; "
                "choose fewer"
            )
        from rondo.metrics.scores import clock_labels  # scores are slow to import

        piece = shortest.n_frames // settings
        labellings = []
        for recording in recordings:
            labels = clock_labels(recording.n_frames, settings)
            ones, none = np.ones(recording.n_frames, dtype=np.float32), np.zeros(0, dtype=np.int64)
            times, rate, notes = recording.times_s, recording.rate, recording.notes
            labellings.append(Labelling(recording.id, labels, labels, ones, ones, times, rate, none, 1.0, notes))
        findings = ["The clock looks at no data: it cuts every recording into equal pieces, each its own entry."]
        return make_result(
            self.name,
            recordings,
            nothing_shared(labellings),
            config={"states": settings},
            windows=(piece, piece),
            findings=[*findings, *([NOTHING_SHARED] if len(recordings) > 1 else [])],
        )

    def load(self, folder: Path) -> NoReturn:
        raise ModelError(f"{folder}: {self.why_no_model()}")

    def words(self, model: object) -> Words:
        return Words()

    def words_in(self, folder: Path) -> Words:
        return Words()

    def why_no_model(self) -> str:
        return (
            "clock cannot read another recording, it labels only those it learns from; "
            "use `rondo discover --method clock` on this one too"
        )


CLOCK = Clock()


CHECKPOINT = "checkpoint"
FROZEN, LEARNING = "frozen", "learning"  # the modes of a stream, as checkpoints know them


def grown_model(folder: Path, stream: Path | None = None) -> Rondo:
    """The model of a folder, with what a stream has learned since and people have edited in it.

    `stream` is the --out of a stream that began with this model, or its checkpoint folder; it may be running. Without,
    a model that lies in the folder of a stream is the one of that stream.
    """
    model = Rondo.load(folder)
    where = stream or (folder.parent if has_checkpoint(folder.parent / CHECKPOINT) else None)
    if where is None:
        return model
    checkpoint = checkpoint_folder(where)
    found = load_checkpoint(checkpoint, {"model_sha256": fingerprint(folder)}) if has_checkpoint(checkpoint) else None
    if found is None:
        raise ModelError(f"{where}: it holds no checkpoint; give the --out of `rondo stream`")
    try:
        plain = found.plain["stream"]
        begun = model.stream(frozen=found.identity.get("mode") == FROZEN, rule=rule_of(plain))
        model.stream_ = Stream.restore(begun, found.tensors, plain)
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise ModelError(f"{checkpoint}: its parts do not fit together ({error}); give another --stream") from None
    model.edits_ = edits_with(model, checkpoint)
    return model


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
    given = as_recordings(recordings, as_the_model_reads(Reading(), model.preprocessor_))
    labellings = [relabelled(model, windowed(model, own, resample, by_model=True)) for own in given]
    new = [unit for unit in model.stream_.reader.unit_ids if unit not in model.units_]
    return result_of(model, given, labellings, kind="label", is_foreign=True, more=[grown_sentence(new)])


def checkpoint_folder(where: Path) -> Path:
    """Of the --out of a session, or of its checkpoint folder."""
    return where / CHECKPOINT if (where / CHECKPOINT).is_dir() else where


def has_checkpoint(folder: Path) -> bool:
    return folder.is_dir() and any(path.name.isdigit() for path in folder.iterdir())
