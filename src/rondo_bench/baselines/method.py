"""A baseline as a method of `rondo discover`: its settings, what it finds, what that is worth, and its models.

A file of a baseline ends with its declaration, which an entry point of the group `rondo.methods` names:

    METHOD = BaselineMethod("ticc", TICC, "what it does, in one line")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from rondo.config.overrides import changed
from rondo.data.recording import Recording
from rondo.device import require_torch
from rondo.errors import SettingError
from rondo.methods import Options, refuse_idle
from rondo.result import Result
from rondo.run.findings import OWN_VOCABULARIES, vocabulary_sentences
from rondo.run.summary import RunKind
from rondo.run.tally import Words
from rondo.wording import Progress
from rondo_bench.baselines.base import Baseline, JoiningBaseline, ReadingBaseline
from rondo_bench.baselines.cost import warnings_before
from rondo_bench.baselines.discovery import Discovery, discover, labelling_of, windows_of
from rondo_bench.baselines.saved_baseline import KeptBaseline


class BaselineRun(NamedTuple):
    """A baseline with its settings, and whether each recording is to have states of its own."""

    baseline: Baseline
    per_recording: bool


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

    def configure(self, options: Options) -> BaselineRun:
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
        return BaselineRun(replace(default, config=config), options.per_recording)  # type: ignore[type-var]

    def notes(self, recordings: Sequence[Recording], settings: BaselineRun, *, in_detail: bool = False) -> list[str]:
        """How long it will take, and of which recordings the length is not practical."""
        joins = isinstance(settings.baseline, JoiningBaseline)
        anyway = [f"{self.name} gives every recording states of its own anyway"]
        return [
            *(anyway if settings.per_recording and not joins else []),
            *warnings_before(recordings, self.name, settings.baseline),
        ]

    def discover(
        self, recordings: Sequence[Recording], settings: BaselineRun, seed: int | None, progress: Progress
    ) -> Result:
        """The states of each recording, or of all where the method joins them."""
        baseline, chosen = settings.baseline, seed or 0
        joins = isinstance(baseline, JoiningBaseline) and not settings.per_recording
        groups = [recordings] if joins or not settings.per_recording else [[one] for one in recordings]
        found = [one for group in groups for one in discover(group, self.name, baseline, chosen, progress)]
        models = [each.kept for each in found if each.kept is not None]
        return _result(
            self.name,
            baseline,
            chosen,
            recordings,
            found,
            findings=_findings(self, baseline, found, joins),
            joins=joins,
            models=models[:1] if joins else models,
        )

    def load(self, folder: Path) -> KeptBaseline:
        """A model that one of these runs has saved."""
        return KeptBaseline.load(folder)

    def words(self, folder: Path) -> Words:
        """What people have said about the states of a model."""
        return self.load(folder).words()

    def why_no_model(self) -> str:
        if isinstance(self.baseline(), ReadingBaseline):
            return (
                f"{self.name} kept no model here (run as released, or the folder was emptied), so it cannot read "
                f"another recording; use `rondo discover --method {self.name}` again"
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
        found.append(Discovery(labelling.edited(kept.edits), *windows_of(signal, kept.baseline)))
    sources = [each["id"] for each in kept.provenance["recordings"]]
    learned_from = f"'{sources[0]}'" if len(sources) == 1 else f"{len(sources)} recordings"
    findings = [
        f"States are those that {kept.name} learned from {learned_from}, under the same ids.",
        f"Whether they fit is not known: {kept.name} does not say how near they are.",
        *_one_level(kept.name),
    ]
    seed = int(kept.provenance.get("seed", 0))
    return _result(
        kept.name, kept.baseline, seed, recordings, found, findings=findings, joins=True, models=[kept], kind="label"
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
    models: Sequence[KeptBaseline],
    kind: RunKind = "discover",
) -> Result:
    """`joins`: ids mean the same in all recordings."""
    words = [model.words() for model in models] or [Words()] * (1 if joins else len(recordings))
    return Result.of(
        name,
        recordings,
        [each.labelling for each in found],
        kind=kind,
        seed=seed,
        config=baseline.config.model_dump(mode="json"),
        windows=(found[0].window_length_frames, found[0].step_frames),
        words=words,
        findings=findings,
        models=models,
        own_vocabularies=not joins,
    )


def _findings(method: BaselineMethod, baseline: Baseline, found: Sequence[Discovery], joins: bool) -> list[str]:
    """What the whole run says, and what it does not."""
    findings = [*_one_level(method.name), *_about_count(method, baseline)]
    if len(found) > 1:
        about = vocabulary_sentences([each.window_length_frames for each in found])
        same = ["The states are the same in all recordings."] if joins else []
        findings += [*same, *(sentence for sentence in about if not joins or sentence != OWN_VOCABULARIES)]
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
