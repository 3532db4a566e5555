"""Rondo itself as one of the methods: its settings, what it will cost, and one model for all recordings or for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rondo import cost
from rondo.config.schema import RondoConfig, network_in, resolve
from rondo.data.groups import GroupBy
from rondo.data.recording import Recording
from rondo.methods import DEFAULT, Options, refuse_idle
from rondo.model import Rondo
from rondo.model_folder import from_config
from rondo.model_result import words_of
from rondo.progress import Progress
from rondo.result import Result
from rondo.run.counting import Words
from rondo.training.device import require_torch


class RondoSettings(NamedTuple):
    """Every setting of Rondo, whether each recording gets a vocabulary of its own, and whose recordings are."""

    config: RondoConfig
    group_by: GroupBy = None


@dataclass(frozen=True)
class RondoMethod:
    """Rondo as a method."""

    name: str = DEFAULT
    help: str = "units, and the motifs that they compose; the default"

    def configure(self, options: Options) -> RondoSettings:
        """Preset, then file, then settings, then the options that have a name of their own."""
        refuse_idle({"--states": options.states}, f"--method {self.name}")
        named = {
            "windows.length": options.window,
            "windows.step": options.step,
            "motifs.window": options.motif_window,
            "encoder.name": options.encoder,
            "device": options.device,
        }
        overrides = dict(options.settings) | {name: value for name, value in named.items() if value is not None}
        config = resolve(options.preset or "default", options.config, overrides)
        require_torch(network_in(config))  # before files are read
        return RondoSettings(config, options.group_by)

    def notes(self, recordings: Sequence[Recording], settings: RondoSettings, *, in_detail: bool = False) -> list[str]:
        """How long it will take, where that is more than a minute."""
        config, sizes = settings.config, [recording.n_frames for recording in recordings]
        length, step = cost.expected_window_and_step(config, recordings)
        n_channels = recordings[0].n_channels
        own = cost.cost_of_fit(config, sizes, n_channels, length, step)
        is_long = own.seconds is not None and own.seconds > cost.WORTH_SAYING_S
        return [f"this will take {own.sentence()}"] if is_long or in_detail else []

    def discover(
        self, recordings: Sequence[Recording], settings: RondoSettings, seed: int | None, progress: Progress
    ) -> Result:
        """One model for all recordings."""
        config = settings.config if seed is None else settings.config.model_copy(update={"seed": seed})
        model = from_config(Rondo, config)
        return model.fit_predict(list(recordings), group_by=settings.group_by, progress=progress)

    def load(self, folder: Path) -> Rondo:
        """The model of a folder; one that lies in the folder of a stream, as the stream has grown it."""
        from rondo.grown_model import grown_model

        return grown_model(folder)

    def words(self, model: Rondo) -> Words:
        return words_of(model)

    def words_in(self, folder: Path) -> Words:
        """Of a model that lies in the folder of a stream, with the edits of the stream."""
        from rondo.grown_model import CHECKPOINT, edits_with

        model = Rondo.load(folder)
        model.edits_ = edits_with(model, folder.parent / CHECKPOINT)
        return words_of(model)

    def why_no_model(self) -> str:
        return ""


METHOD = RondoMethod()
