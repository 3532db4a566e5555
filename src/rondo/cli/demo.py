"""`rondo demo`: a planted stream or a real recording, discovered, scored, and shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rondo.cli import options
from rondo.cli.terminal import aligned, print, print_json, progress

if TYPE_CHECKING:
    from rondo.config.settings import RondoConfig
    from rondo.result import Result
    from rondo.wording import Progress

N_FRAMES = 60_000  # twenty minutes at 50 Hz
Real = Annotated[bool, options.switch("--real", "A real recording: one exercise, done in three ways, named.")]


def demo(
    out: options.Out = Path("rondo-demo"),
    real: Real = False,
    seed: options.Seed = None,
    device: options.Device = None,
    json: options.Json = False,
) -> None:
    """Plant a stream with known units and motifs, discover them without the truth, score, and write a report.

    With --real it is a recording that comes with Rondo: four minutes of an exercise, with motifs named by marks that
    the learner does not see.

    Example: rondo demo --out rondo-demo
    """
    from rondo.run.bucket import check_free_place
    from rondo.run.headline import headline

    settings = options.resolve_settings("default", None, None, {"seed": seed, "device": device})
    check_free_place(out)
    with progress() as tell:
        about, result, scores = (_recorded if real else _planted)(settings, tell)
        result.save(out)
    summary = result.summary
    if json:
        print_json(summary.as_json() | {"out": str(out)})
        return
    print(f"{'data:   ' if real else 'planted:'} {about}")
    print(f"found:   {headline(summary)}")
    if real:
        print(f"named:   {', '.join(f'm{motif.id} {motif.name}' for motif in summary.motifs if motif.name)}")
    print(score_table(scores))
    print(f"report:  {out / 'report.html'}")


def _planted(settings: RondoConfig, tell: Progress) -> tuple[str, Result, dict[str, Any]]:
    """What was planted, what was found, and the scores of both levels."""
    from rondo.evaluation import scored
    from rondo.model.folder import from_config
    from rondo.model.rondo import Rondo
    from rondo.synthetic.streams import plant

    tell("planting", 0, 3)
    stream = plant(n_frames=N_FRAMES, seed=settings.seed)
    recording = stream.recording.read_from(f"planted stream, seed {settings.seed}")
    result = from_config(Rondo, settings).fit_predict(recording, progress=tell)
    tell("scoring and writing", 3, 3)
    result = scored(result, {recording.id: (stream.unit_truth, stream.motif_truth)})
    minutes = recording.n_frames / (60 * stream.plan.rate)
    about = f"{len(stream.units)} units and {len(stream.motifs)} motifs in {minutes:.0f} minutes"
    return about, result, {} if result.summary.scores is None else result.summary.scores.model_dump()


def _recorded(settings: RondoConfig, tell: Progress) -> tuple[str, Result, dict[str, Any]]:
    """The recording, what was found in it, with a name for each motif that is mostly one block, and its scores."""
    from rondo.evaluation import compared, evaluate
    from rondo.examples import NAMES, exercise_marks, exercises
    from rondo.model.folder import from_config
    from rondo.model.rondo import Rondo

    recording = exercises()
    result = from_config(Rondo, settings).fit_predict(recording, progress=tell)
    tell("naming and writing", 3, 3)
    marks = [NAMES[mark] for mark in exercise_marks(recording)]
    for id, name in compared(result, marks).suggested_names().items():
        result.model.name(f"m{id}", name)
    about = "an exercise done correctly, fast, and low, with two accelerometers (Yurtman and Barshan, CC BY 4.0)"
    return about, result.edited(), {"motifs": evaluate(marks, result).as_dict()}


COLUMNS = {
    "ari": "ARI",
    "ami": "AMI",
    "one_to_one": "one-to-one",
    "mof": "MoF",
    "recall": "Recall",
    "f1_50": "F1@50",
    "edit": "Edit",
    "seg_ratio": "SegRatio",
    "n_clusters": "K",
}


def score_table(rows: dict[str, dict[str, Any]]) -> str:
    """Scores in percent, recurrence-aware ones first, each row with its data-blind control beneath."""
    lines = [["", *COLUMNS.values()]]
    for name, scores in rows.items():
        for title, values in ((name, scores), ("  clock", scores["clock"])):
            lines.append([title, *(f"{values[key]:.{1 if key == 'n_clusters' else 2}f}" for key in COLUMNS)])
    return "\n".join(aligned(lines))
