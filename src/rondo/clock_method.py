"""The clock as a method: a control that looks at no data and cuts every recording into equal pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from rondo.data.recording import Recording
from rondo.errors import ModelError, SettingError
from rondo.labelling import Labelling, nothing_shared
from rondo.methods import Options, refuse_idle
from rondo.metrics.scores import clock_labels
from rondo.progress import Progress
from rondo.result import Result, make_result
from rondo.run.counting import Words
from rondo.run.findings import NOTHING_SHARED

_PIECES = 20  # as in the control that scores above the paper's own row on MoCap


@dataclass(frozen=True)
class Clock:
    """The data-blind control: equal pieces, each its own entry."""

    name: str = "clock"
    help: str = "the control: equal pieces, each its own entry, without a look at the data"

    def configure(self, options: Options) -> int:
        """The number of pieces."""
        idle = {
            "--window": options.window,
            "--step": options.step,
            "--config": options.config,
            "--set": options.settings,
            "--encoder": options.encoder,
            "--preset": options.preset not in ("", "default"),
            "--device": options.device,
            "--group-by": options.group_by,
        }
        refuse_idle(idle, f"--method {self.name}")
        if options.states is not None and options.states < 1:
            raise SettingError(f"--states must be at least 1, got {options.states}")
        return options.states or _PIECES

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
        piece = shortest.n_frames // settings
        findings = ["The clock looks at no data: it cuts every recording into equal pieces, each its own entry."]
        return make_result(
            self.name,
            recordings,
            nothing_shared([_labelling(recording, settings) for recording in recordings]),
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


METHOD = Clock()


def _labelling(recording: Recording, n_pieces: int) -> Labelling:
    labels = clock_labels(recording.n_frames, n_pieces)
    ones, none = np.ones(recording.n_frames, dtype=np.float32), np.zeros(0, dtype=np.int64)
    times, rate, notes = recording.times_s, recording.rate, recording.notes
    return Labelling(recording.id, labels, labels, ones, ones, times, rate, none, 1.0, notes)
