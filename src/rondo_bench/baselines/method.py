"""A baseline as a method of `rondo discover`: its settings, what it finds, what that is worth, and its models.

A file of a baseline ends with its declaration, which an entry point of the group `rondo.methods` names:

    METHOD = BaselineMethod("ticc", TICC, "what it does, in one line")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rondo.config.overrides import changed
from rondo.data.recording import Recording
from rondo.device import require_torch
from rondo.editing.apply import shown
from rondo.errors import SettingError
from rondo.methods import Options, refuse_idle
from rondo.result import Result, make_result
from rondo.run.findings import NOTHING_SHARED
from rondo.run.labelling import nothing_shared
from rondo.run.summary import RunKind
from rondo.run.tally import Words
from rondo.wording import Progress
from rondo_bench.baselines.base import Baseline, JoiningBaseline, ReadingBaseline
from rondo_bench.baselines.cost import warnings_before
from rondo_bench.baselines.discovery import Discovery, discover, labelling_of, windows_of
from rondo_bench.baselines.saved_baseline import KeptBaseline


@dataclass(frozen=True)
class BaselineMethod:
    """A baseline by its name; `make()` has the defaults of the method."""

    name: str
    make: Callable[[], Any]
    help: str
    is_network: bool = False  # it needs torch, the extra `nets`

    def baseline(self) -> Baseline:
        """With its own defaults."""
        require_torch(f"--method {self.name}" if self.is_network else None)
        made: Baseline = self.make()
        return made

    def configure(self, options: Options) -> Baseline:
        """File, then settings, then the options that have a name of their own."""
        default = self.baseline()
        names = type(default.config).model_fields
        idle: dict[str, object] = {
            "--encoder": options.encoder,
            "--preset": options.preset not in ("", "default"),
            "--device": options.device,
            "--motif-window": options.motif_window,
            "--group-by": options.group_by,
        }
        idle |= {} if "windows" in names else {"--window": options.window, "--step": options.step}
        refuse_idle(idle | ({} if "n_states" in names else {"--states": options.states}), f"--method {self.name}")
        named = {"windows.length": options.window, "windows.step": options.step, "n_states": options.states}
        overrides = dict(options.settings) | {name: value for name, value in named.items() if value is not None}
        try:
            config = changed(default.config, options.config, overrides)
        except SettingError as error:  # `rondo config show` shows those of Rondo
            known = f"{self.name} has {', '.join(names)}"
            raise SettingError(str(error).replace("see `rondo config show`", known)) from None
        # mypy: a baseline is a dataclass by convention, which no protocol can say
        return replace(default, config=config)  # type: ignore[type-var]

    def notes(self, recordings: Sequence[Recording], settings: Baseline, *, in_detail: bool = False) -> list[str]:
        """How long it will take, and of which recordings the length is not practical."""
        return warnings_before(recordings, self.name, settings)

    def discover(
        self, recordings: Sequence[Recording], settings: Baseline, seed: int | None, progress: Progress
    ) -> Result:
        """The states of each recording, or of all where the method joins them; a model where all share one."""
        found = discover(recordings, self.name, settings, seed or 0, progress)
        joins = isinstance(settings, JoiningBaseline)
        model = found[0].kept if joins or len(found) == 1 else None
        findings = _findings(self, settings, found, joins)
        return _result(self.name, settings, seed or 0, recordings, found, findings=findings, joins=joins, model=model)

    def load(self, folder: Path) -> KeptBaseline:
        """A model that one of these runs has saved."""
        return KeptBaseline.load(folder)

    def words(self, model: KeptBaseline) -> Words:
        """The names of the states."""
        return model.words()

    def words_in(self, folder: Path) -> Words:
        return self.load(folder).words()

    def why_no_model(self) -> str:
        if isinstance(self.baseline(), ReadingBaseline):
            return (
                f"{self.name} kept no model here (it learned several recordings separately, ran as released, or the "
                f"folder was emptied), so it cannot read another recording; use `rondo discover --method {self.name}` "
                "on one recording"
            )
        return (
            f"{self.name} cannot read another recording, it labels only those it learns from; "
            f"use `rondo discover --method {self.name}` on this one too"
        )


def reading_result(kept: KeptBaseline, recordings: Sequence[Recording], resample: bool, progress: Progress) -> Result:
    """Recordings read with what a method learned from others."""
    found = []
    for number, recording in enumerate(recordings):
        progress(f"{kept.name}: reading", number, len(recordings))
        signal = kept.prepare(recording, resample)
        labelling = labelling_of(recording, signal, kept.labels(signal))
        found.append(Discovery(shown(labelling, kept.edits.carried()), *windows_of(signal, kept.baseline)))
    sources = [each["id"] for each in kept.provenance["recordings"]]
    learned_from = f"'{sources[0]}'" if len(sources) == 1 else f"{len(sources)} recordings"
    findings = [
        f"States are those that {kept.name} learned from {learned_from}, under the same ids.",
        f"Whether they fit is not known: {kept.name} does not say how near they are.",
        *_one_level(kept.name),
    ]
    seed = int(kept.provenance.get("seed", 0))
    return _result(
        kept.name, kept.baseline, seed, recordings, found, findings=findings, joins=True, model=kept, kind="label"
    )


def _result(
    name: str,
    baseline: Baseline,
    seed: int,
    recordings: Sequence[Recording],
    found: Sequence[Discovery],
    *,
    findings: Sequence[str],
    joins: bool,
    model: KeptBaseline | None,
    kind: RunKind = "discover",
) -> Result:
    """`joins`: ids mean the same in all recordings."""
    labellings = [each.labelling for each in found]
    return make_result(
        name,
        recordings,
        labellings if joins else nothing_shared(labellings),
        kind=kind,
        seed=seed,
        config=baseline.config.model_dump(mode="json"),
        windows=(found[0].window_length_frames, found[0].step_frames),
        words=Words() if model is None else model.words(),
        findings=findings,
        model=model,
    )


def _findings(method: BaselineMethod, baseline: Baseline, found: Sequence[Discovery], joins: bool) -> list[str]:
    """What the whole run says, and what it does not."""
    findings = [*_one_level(method.name), *_about_count(method, baseline)]
    if len(found) > 1:
        findings.append("The states are the same in all recordings." if joins else NOTHING_SHARED)
        lengths = [each.window_length_frames for each in found]
        if len(set(lengths)) > 1:
            findings.append(f"Windows are {min(lengths)} to {max(lengths)} frames long, as suits each recording.")
    return findings


def _one_level(name: str) -> list[str]:
    return [
        f"Recurrence was not tested: {name} has no such test.",
        f"{name} knows one level: every unit is its own motif.",
    ]


def _about_count(method: BaselineMethod, baseline: Baseline) -> list[str]:
    """Where the number of states comes from: it may have been told, or bounded."""
    settings, default = baseline.config.model_dump(), method.baseline().config.model_dump()
    if "n_states" in settings:
        count = settings["n_states"]
        given = f"the default of {method.name}" if count == default["n_states"] else "as asked for"
        return [f"The number of states was given, not found: {count}, {given}."]
    if "component_cap" in settings:
        return [f"{method.name} finds the number of states, up to {settings['component_cap']} (component_cap)."]
    return []
