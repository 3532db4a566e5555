"""`rondo demo`: a planted stream, discovered, scored at both levels, and shown."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Any

from rondo.cli import options
from rondo.cli.progress import progress
from rondo.wording import found_in_words

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
    from rondo.cli.discover import run_of
    from rondo.metrics import evaluate
    from rondo.model import Rondo
    from rondo.report.run import write_run
    from rondo.store.writing import check_free
    from rondo.synthetic import plant

    settings = options.resolve_settings("default", None, None, seed=seed, device=device)
    check_free(out)
    with progress() as tell:
        tell("planting", 0, 3)
        stream = plant(n_frames=N_FRAMES, seed=settings.seed)
        recording = stream.recording
        model = Rondo.from_config(settings).fit(recording, progress=tell)
        labelling = model.predict(recording)
        tell("scoring and writing", 3, 3)
        scores = {
            "units": evaluate({recording.id: (stream.unit_truth, labelling.units)}).as_dict(),
            "motifs": evaluate({recording.id: (stream.motif_truth, labelling.motifs)}).as_dict(),
        }
        truth = {recording.id: (stream.unit_truth, stream.motif_truth)}
        sources = {recording.id: f"planted stream, seed {settings.seed}"}
        run = run_of([model], [recording], sources, [labelling], scores=scores, truth=truth)
        summary = write_run(out, run, model.save)
    if json:
        print(json_module.dumps(summary | {"out": str(out)}))
        return
    minutes = recording.n_frames / (60 * stream.plan.rate)
    print(f"planted: {len(stream.units)} units and {len(stream.motifs)} motifs in {minutes:.0f} minutes")
    n_units, n_motifs, blind = len(summary["units"]), len(summary["motifs"]), ", without seeing the truth"
    found = found_in_words(n_units, n_motifs, motifs_are_units=summary["motifs_are_units"], where=blind)
    print(f"found:   {found}")
    print(score_table(scores))
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
    header = ["", *COLUMNS.values()]
    lines = [header]
    for name, scores in rows.items():
        lines.append([name, *(_cell(key, scores[key]) for key in COLUMNS)])
        lines.append(["  clock", *(_cell(key, scores["clock"][key]) for key in COLUMNS)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            [
                line[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
            ]
        )
        for line in lines
    )


def _cell(key: str, value: float) -> str:
    return f"{value:.1f}" if key == "n_clusters" else f"{value:.2f}"
