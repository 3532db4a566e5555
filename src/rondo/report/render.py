"""Summary dict -> one self-contained HTML page: scripts and data are inside, no request leaves it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from rondo.errors import OutputError
from rondo.report.page import PAGE, asset, script, style
from rondo.report.summarize import summarize
from rondo.report.timeline import timeline
from rondo.units.fit_profile import RULE

_CLAIM_COLUMNS = {"ari": "ARI", "ami": "AMI", "one_to_one": "One-to-one"}
"""A claim that something was discovered rests on these, so they come first."""

_PAPER_COLUMNS = {"mof": "MoF", "recall": "Recall", "f1_50": "F1@50", "edit": "Edit", "seg_ratio": "SegRatio"}


def render(summary: dict[str, Any], *, live: bool = False) -> str:
    """The page that shows what `summarize` gathered; it opens from a disk without a network.

    A `live` page asks the server that it came from whether there is more to show; no other page ever asks anyone.
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True).from_string(PAGE)
    recordings = [{**recording, "figure": Markup(_json(timeline(recording)))} for recording in summary["recordings"]]
    return template.render(
        {
            **summary,
            "recordings": recordings,
            "scores": [_written(row) for row in summary["scores"]],
            "claims": _CLAIM_COLUMNS,
            "paper": _PAPER_COLUMNS,
            "has_truth": any(lane["kind"].startswith("true") for it in recordings for lane in it["lanes"]),
            "has_signal": any(it["signal"]["channels"] for it in recordings),
            "events": summary.get("events", []),
            "n_events": summary.get("n_events", 0),
            "n_refined": summary.get("n_refined", 0),
            "agreement": summary.get("agreement"),
            "motifs_are_units": _motifs_are_units(summary),
            "has_evidence": any(entry["evidence"] for rows in summary["entries"].values() for entry in rows),
            "fit_rule": RULE,
            "details": Markup(_json(summary["details"])),
            "style": Markup(style()),
            "script": Markup(script()),
            "live_script": Markup(asset("live.js")) if live else "",
        }
    )


def summary_of_folder(run_dir: Path) -> dict[str, Any]:
    """What there is to say about the folder of a run, or of a stream."""
    from rondo.report.stream_page import is_stream, summarize_stream

    return summarize_stream(run_dir) if is_stream(run_dir) else summarize(run_dir)


def write_report(run_dir: Path, other: Path | None = None) -> Path:
    """Write `report.html` into a run folder and return its path; an older one is replaced whole, or stays.

    With another run over the same recordings it is `compare.html`, which shows both.
    """
    from rondo.report.compare import compare

    page = render(summary_of_folder(run_dir) if other is None else compare(run_dir, other))
    path = run_dir / ("report.html" if other is None else "compare.html")
    unfinished = run_dir / f".{path.name}.{os.getpid()}"
    try:
        unfinished.write_text(page, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise OutputError(f"{path}: the report cannot be written ({error.strerror}); check the folder") from error
    return path


def _motifs_are_units(summary: dict[str, Any]) -> bool:
    """Whether no motif is a composition, so that motifs say what units have said already."""
    compositions = [entry["composition"] for entry in summary["entries"]["motif"]]
    return len(compositions) > 1 and all(re.fullmatch(r"u\d+", composition) for composition in compositions)


def _json(value: Any) -> str:
    """JSON for a script element: only "<" could end that early, and in JSON it occurs in strings alone."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _written(row: dict[str, Any]) -> dict[str, Any]:
    return {key: _figure(value) if key in _CLAIM_COLUMNS | _PAPER_COLUMNS else value for key, value in row.items()}


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
