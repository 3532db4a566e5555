"""Summary dict -> one self-contained HTML page: scripts and data are inside, no request leaves it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from rondo.errors import OutputError
from rondo.report.page import PAGE, STYLE
from rondo.report.summarize import summarize
from rondo.report.timeline import timeline
from rondo.units.fit_profile import RULE

_CLAIM_COLUMNS = {"ari": "ARI", "ami": "AMI", "one_to_one": "One-to-one"}
"""A claim that something was discovered rests on these, so they come first."""

_PAPER_COLUMNS = {"mof": "MoF", "recall": "Recall", "f1_50": "F1@50", "edit": "Edit", "seg_ratio": "SegRatio"}


def render(summary: dict[str, Any]) -> str:
    """The page that shows what `summarize` gathered; it opens from a disk without a network."""
    from bokeh.resources import Resources
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True).from_string(PAGE)
    recordings = [
        {**recording, "figure": Markup(_figure_json(recording, f"timeline-{index}"))}
        for index, recording in enumerate(summary["recordings"])
    ]
    return template.render(
        {
            **summary,
            "recordings": recordings,
            "scores": [_written(row) for row in summary["scores"]],
            "claims": _CLAIM_COLUMNS,
            "paper": _PAPER_COLUMNS,
            "has_truth": any(len(recording["lanes"]) > 2 for recording in recordings),
            "has_evidence": any(entry["evidence"] for rows in summary["entries"].values() for entry in rows),
            "fit_rule": RULE,
            "style": Markup(STYLE),
            "bokeh": Markup(Resources(mode="inline", components=["bokeh"]).render()),
        }
    )


def write_report(run_dir: Path) -> Path:
    """Write `report.html` into a run folder and return its path; an older one is replaced whole, or stays."""
    page = render(summarize(run_dir))
    path = run_dir / "report.html"
    unfinished = run_dir / f".report.html.{os.getpid()}"
    try:
        unfinished.write_text(page, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise OutputError(f"{path}: the report cannot be written ({error.strerror}); check the folder") from error
    return path


def _figure_json(recording: dict[str, Any], target: str) -> str:
    from bokeh.core.types import ID
    from bokeh.embed import json_item

    plot = timeline(recording)
    plot.name = target  # by which exemplars find it
    item = json.dumps(json_item(plot, ID(target)), separators=(",", ":"))
    figure = _renumbered(item, target)
    # only "<" could end the script element early; in JSON it occurs in strings alone, where this is the same
    return figure.replace("<", "\\u003c")


def _renumbered(figure: str, prefix: str) -> str:
    """The same figure with ids counted from 0: bokeh counts on from page to page, and equal runs would differ."""
    known: dict[str, str] = {}
    # quotes inside JSON strings are escaped, so that only keys and values of the figure itself match
    return re.sub(
        r'("(?:root_)?id":)"(p\d+)"',
        lambda found: f'{found[1]}"{known.setdefault(found[2], f"{prefix}-{len(known)}")}"',
        figure,
    )


def _written(row: dict[str, Any]) -> dict[str, Any]:
    return {key: _figure(value) if key in _CLAIM_COLUMNS | _PAPER_COLUMNS else value for key, value in row.items()}


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
