"""`rondo evaluate`: labels against ground truth, always beside the clock."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rondo.cli import options
from rondo.cli.terminal import print, print_json
from rondo.errors import SettingError

if TYPE_CHECKING:
    from rondo.annotations.annotation import Annotation, Classes
    from rondo.data.grid import FrameClock
    from rondo.metrics.scores import Scores


def evaluate(
    truth: Annotated[
        Path,
        options.argument(
            "TRUTH", "Classes (.npy .csv .npz), a folder of them, or annotations ({annotation_suffixes})."
        ),
    ],
    labels: Annotated[
        Path, options.argument("LABELS", "A run folder; or labels: a file, or a folder matched by file stem.")
    ],
    level: Annotated[str, options.option("--level", "NAME", "Of a run: motif (default) or unit.")] = "motif",
    key: options.TruthKey = None,
    rate: Annotated[
        float | None,
        options.option("--rate", "HZ", "For annotations in seconds, where the labels lie in no run folder."),
    ] = None,
    group_by: Annotated[
        str | None,
        options.option(
            "--group-by",
            "PATTERN",
            "Whose each recording is, as in `rondo usage`: for the scores of a vocabulary that several share.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Score labels against ground truth: ARI, AMI, one-to-one, the paper's scores, and the clock control.

    Example: rondo evaluate truth/ run --json

    Annotations of other programs (ELAN, Audacity, Label Studio, BORIS) are laid on the frames of the labels.
    """
    from rondo.cli.demo import score_table

    scores = _scores(truth, labels, level, key, rate, group_by)
    if json:
        print_json(scores.as_dict())
        return
    print(score_table({"labels": scores.as_dict()}))
    print("clock: equal pieces, as many as the labels have segments, without looking at the data;")
    print("       a claim that something was discovered rests on ARI, AMI and one-to-one.")
    if scores.shared is not None:
        own = scores.shared
        print(
            f"one vocabulary for {own.n_groups} groups: per-person ARI {own.per_person_ari:.2f}, "
            f"pooled ARI {own.pooled_ari:.2f}, meaning {own.meaning:.2f}"
        )
        print("       meaning: frames called right when an id is called what it mostly is in the other groups.")


def _scores(truth: Path, labels: Path, level: str, key: str | None, rate: float | None, group_by: str | None) -> Scores:
    from rondo.annotations.annotation import read_annotated
    from rondo.metrics.scores import evaluate as score
    from rondo.run.bucket import run_here
    from rondo.run.summary import SUMMARY

    labels = run_here(labels)
    if (labels / SUMMARY).is_file():
        from rondo.evaluation import evaluate as score_run

        chosen = options.checked_level(level)
        return score_run(truth, labels, level=chosen, key=key, rate=rate, group_by=group_by)
    if level != "motif":
        raise SettingError("--level chooses among the labels of a run folder; these are labels already, leave it out")
    pairs = read_annotated(truth, labels, key, lambda file: _clock_of(file, rate))
    scores = score({id: (annotation.classes, found) for id, (annotation, found) in pairs.items()})
    return _with_shared(scores, pairs, labels, group_by)


def _with_shared(
    scores: Scores, pairs: Mapping[str, tuple[Annotation, Classes]], labels: Path, group_by: str | None
) -> Scores:
    """Labels share a vocabulary if the run around them says so, or the user, by naming groups."""
    from rondo.analysis.usage import groups_of_run
    from rondo.annotations.annotation import read_annotation, track_files
    from rondo.data.groups import groups_of
    from rondo.evaluation import with_shared
    from rondo.result import Result
    from rondo.run.summary import SUMMARY

    annotations = {id: annotation for id, (annotation, _) in pairs.items()}
    run = labels.absolute().parent
    if (run / SUMMARY).is_file():
        result = Result.load(run)
        groups = groups_of_run(result, group_by)
        if not set(pairs) <= {one.id for one in result.recordings}:
            return scores
        return with_shared(scores, annotations, {id: found for id, (_, found) in pairs.items()}, groups)
    if group_by is None:
        return scores
    groups = groups_of(list(pairs), group_by)
    # again, since labels that are names have been numbered file by file
    named = {id: read_annotation(file) for id, file in track_files(labels).items() if id in pairs}
    return with_shared(scores, annotations, named, groups) if named.keys() == pairs.keys() else scores


def _clock_of(labels: Path, rate: float | None) -> FrameClock | None:
    """By which clock annotations in seconds become frames: the given rate, or that of the run around `labels`."""
    from rondo.data.grid import FrameClock
    from rondo.data.recording import checked_rate
    from rondo.result import Result
    from rondo.run.clock import clock_of
    from rondo.run.summary import SUMMARY

    given = checked_rate(rate)
    if given is not None:
        return FrameClock.from_rate(given)
    run = labels.absolute().parent.parent
    return clock_of(Result.load(run), labels.stem) if (run / SUMMARY).is_file() else None
