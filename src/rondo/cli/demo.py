"""`rondo demo`: a planted stream, discovered, scored at both levels, and shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rondo.cli import options
from rondo.cli.terminal import aligned, print, print_json, progress

N_FRAMES = 60_000  # twenty minutes at 50 Hz


def demo(
    out: options.Out = Path("rondo-demo"),
    seed: options.Seed = None,
    device: options.Device = None,
    json: options.Json = False,
) -> None:
    """Plant a stream with known units and motifs, discover them without the truth, score, and write a report.

    Example: rondo demo --out rondo-demo
    """
    from rondo.evaluation import scored
    from rondo.model.folder import from_config
    from rondo.model.rondo import Rondo
    from rondo.run.bucket import check_free_place
    from rondo.run.headline import headline
    from rondo.synthetic.streams import plant

    settings = options.resolve_settings("default", None, None, {"seed": seed, "device": device})
    check_free_place(out)
    with progress() as tell:
        tell("planting", 0, 3)
        stream = plant(n_frames=N_FRAMES, seed=settings.seed)
        recording = stream.recording.read_from(f"planted stream, seed {settings.seed}")
        result = from_config(Rondo, settings).fit_predict(recording, progress=tell)
        tell("scoring and writing", 3, 3)
        result = scored(result, {recording.id: (stream.unit_truth, stream.motif_truth)})
        result.save(out)
    summary = result.summary
    if json:
        print_json(summary.as_json() | {"out": str(out)})
        return
    minutes = recording.n_frames / (60 * stream.plan.rate)
    print(f"planted: {len(stream.units)} units and {len(stream.motifs)} motifs in {minutes:.0f} minutes")
    print(f"found:   {headline(summary)}")
    print(score_table({} if summary.scores is None else summary.scores.model_dump()))
    print(f"report:  {out / 'report.html'}")


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
