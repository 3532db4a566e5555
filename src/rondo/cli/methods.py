"""`rondo discover --method`, for all methods but Rondo itself: their settings, what they find, and what it is worth."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rondo.errors import SettingError
from rondo.wording import did_you_mean

if TYPE_CHECKING:
    from rondo.data.recording import Recording
    from rondo.progress import Progress
    from rondo.report.run import Run
    from rondo_bench.baselines import Baseline
    from rondo_bench.baselines.discovery import Discovery
    from rondo_bench.baselines.saved_baseline import KeptBaseline

    WriteModels = Callable[[Path], None]
    Find = Callable[[list[Recording], dict[str, str], Progress], tuple[Run, WriteModels | None]]

OWN_VOCABULARIES = "Every recording has a vocabulary of its own: the same id in two recordings means nothing."
_CLOCK_PIECES = 20  # as in the control that scores above the paper's own row on MoCap


class Given(NamedTuple):
    """What was said about the settings of a method."""

    window: str | None = None
    step: str | None = None
    states: int | None = None
    settings: Sequence[str] | None = None
    file: Path | None = None
    seed: int | None = None


def check_method(name: str) -> None:
    """Refuse a method that there is not, with the one that was probably meant."""
    from rondo_bench.baselines import BASELINES

    methods = ("rondo", *BASELINES, "clock")
    if name not in methods:
        hint = did_you_mean(name, methods, "choose one of these")
        raise SettingError(f"--method must be one of {', '.join(methods)}, got '{name}'; {hint}")


def refuse_idle(idle: Mapping[str, object], what: str) -> None:
    """A setting that silently does nothing is a wrong experiment."""
    for option, value in idle.items():
        if value not in (None, False, []):
            raise SettingError(f"{option} has no effect with {what}; leave it out")


def baseline_with(method: str, given: Given) -> Baseline:
    """The method with these settings: file, then --set, then the options that have a name of their own."""
    from dataclasses import replace

    from rondo.config.overrides import changed, parse_override
    from rondo_bench.baselines import build_baseline

    default = build_baseline(method)
    names = type(default.config).model_fields
    has_windows = "windows" in names
    idle: dict[str, object] = {} if has_windows else {"--window": given.window, "--step": given.step}
    refuse_idle(idle if "n_states" in names else idle | {"--states": given.states}, f"--method {method}")
    named = {"windows.length": given.window, "windows.step": given.step, "n_states": given.states}
    overrides: dict[str, Any] = dict(parse_override(text) for text in given.settings or [])
    overrides |= {name: value for name, value in named.items() if value is not None}
    try:
        config = changed(default.config, given.file, overrides)
    except SettingError as error:  # `rondo config show` shows those of Rondo
        raise SettingError(str(error).replace("see `rondo config show`", f"{method} has {', '.join(names)}")) from None
    # mypy: a baseline is a dataclass by convention, which no protocol can say
    return replace(default, config=config)  # type: ignore[type-var]


def finder(method: str, given: Given) -> Find:
    """What finds the states of recordings, all of its settings checked before any recording is read."""
    if method == "clock":
        idle = {"--window": given.window, "--step": given.step, "--config": given.file, "--set": given.settings}
        refuse_idle(idle, "--method clock")
        if given.states is not None and given.states < 1:
            raise SettingError(f"--states must be at least 1, got {given.states}")
        return partial(_clock_run, given.states or _CLOCK_PIECES)
    from rondo.config.schema import resolve

    seed = 0 if given.seed is None else resolve(overrides={"seed": given.seed}).seed
    return partial(_baseline_run, method, baseline_with(method, given), seed)


def _baseline_run(
    method: str,
    baseline: Baseline,
    seed: int,
    recordings: list[Recording],
    sources: dict[str, str],
    tell: Progress,
) -> tuple[Run, WriteModels | None]:
    """What the method finds, and how its models are written, one for each recording, where it can read with them."""
    from rondo_bench.baselines.cost import warnings_before
    from rondo_bench.baselines.discovery import discover

    for warning in warnings_before(recordings, method, baseline):
        print(f"note: {warning}", file=sys.stderr)
    found = discover(recordings, method, baseline, seed, tell)
    findings = _findings(method, baseline, found)
    run = run_of_baseline(method, baseline, seed, recordings, sources, found, findings)
    models = [each.kept for each in found if each.kept is not None]
    if not models:
        return run, None
    if not run.per_recording:
        return run, models[0].save

    def write_models(folder: Path) -> None:
        for model, recording in zip(models, recordings, strict=True):
            model.save(folder / recording.id)

    return run, write_models


def run_of_baseline(
    method: str,
    baseline: Baseline,
    seed: int,
    recordings: Sequence[Recording],
    sources: dict[str, str],
    found: Sequence[Discovery],
    findings: Sequence[str],
    is_joined: bool | None = None,
) -> Run:
    """The run folder of these discoveries; `is_joined`: ids mean the same in all recordings."""
    from rondo.report.run import Run, Words
    from rondo_bench.baselines import JoiningBaseline

    joined = isinstance(baseline, JoiningBaseline) if is_joined is None else is_joined
    return Run(
        method,
        seed,
        baseline.config.model_dump(mode="json"),
        found[0].window_length_frames,
        found[0].step_frames,
        recordings,
        sources,
        [each.labelling for each in found],
        [Words()] * len(recordings),
        findings,
        per_recording=not joined,
    )


def reading_run(
    kept: KeptBaseline, recordings: Sequence[Recording], sources: dict[str, str], resample: bool, tell: Progress
) -> Run:
    """Recordings read with what a method learned from another one."""
    from rondo_bench.baselines.discovery import Discovery, labelling_of, windows_of

    found = []
    for number, recording in enumerate(recordings):
        tell(f"{kept.name}: reading", number, len(recordings))
        signal = kept.prepare(recording, resample)
        found.append(
            Discovery(labelling_of(recording, signal, kept.labels(signal)), *windows_of(signal, kept.baseline))
        )
    sources_of_model = [each["id"] for each in kept.provenance["recordings"]]
    learned_from = f"'{sources_of_model[0]}'" if len(sources_of_model) == 1 else f"{len(sources_of_model)} recordings"
    findings = [
        f"States are those that {kept.name} learned from {learned_from}, under the same ids.",
        f"Whether they fit is not known: {kept.name} does not say how near they are.",
        *_one_level(kept.name),
    ]
    seed = int(kept.provenance.get("seed", 0))
    return run_of_baseline(kept.name, kept.baseline, seed, recordings, sources, found, findings, is_joined=True)


def _findings(method: str, baseline: Baseline, found: Sequence[Discovery]) -> list[str]:
    """What the whole run says, and what it does not."""
    from rondo_bench.baselines import JoiningBaseline

    findings = [*_one_level(method), *_about_count(method, baseline)]
    if len(found) > 1:
        joins = isinstance(baseline, JoiningBaseline)
        findings.append("The states are the same in all recordings." if joins else OWN_VOCABULARIES)
        lengths = sorted({each.window_length_frames for each in found})
        if len(lengths) > 1:
            findings.append(f"Windows are {lengths[0]} to {lengths[-1]} frames long, as suits each recording.")
    return findings


def _one_level(method: str) -> list[str]:
    return [
        f"Whether anything recurs more than chance would have it was not tested: {method} has no such test.",
        f"{method} knows one level: every unit is its own motif.",
    ]


def _about_count(method: str, baseline: Baseline) -> list[str]:
    """Where the number of states comes from: it may have been told, or bounded."""
    from rondo_bench.baselines import build_baseline

    settings, default = baseline.config.model_dump(), build_baseline(method).config.model_dump()
    if "n_states" in settings:
        count = settings["n_states"]
        given = f"the default of {method}" if count == default["n_states"] else "as asked for"
        return [f"The number of states was given, not found: {count}, {given}."]
    if "component_cap" in settings:
        return [f"{method} finds the number of states, up to {settings['component_cap']} (component_cap)."]
    return []


def _clock_run(n_pieces: int, recordings: list[Recording], sources: dict[str, str], tell: Progress) -> tuple[Run, None]:
    """The data-blind control: equal pieces, each its own entry."""
    import numpy as np

    from rondo.labelling import Labelling
    from rondo.metrics import clock_labels
    from rondo.report.run import Run, Words

    shortest = min(recordings, key=lambda recording: recording.n_frames)
    if n_pieces > shortest.n_frames:
        raise SettingError(
            f"--states is {n_pieces}, but {sources[shortest.id]} has only {shortest.n_frames} frames; choose fewer"
        )
    labellings = []
    for recording in recordings:
        labels = clock_labels(recording.n_frames, n_pieces)
        ones = np.ones(recording.n_frames, dtype=np.float32)
        none = np.zeros(0, dtype=np.int64)
        labellings.append(
            Labelling(recording.id, labels, labels, ones, ones, recording.times_s, recording.rate, none, 1.0)
        )
    piece = shortest.n_frames // n_pieces
    findings = ["The clock looks at no data: it cuts every recording into equal pieces, each its own entry."]
    if len(recordings) > 1:
        findings.append(OWN_VOCABULARIES)
    run = Run(
        "clock",
        0,
        {"states": n_pieces},
        piece,
        piece,
        recordings,
        sources,
        labellings,
        [Words()] * len(recordings),
        findings,
        per_recording=True,
    )
    return run, None
