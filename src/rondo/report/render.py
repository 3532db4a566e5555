"""Summary dict -> one self-contained HTML page: scripts and data are inside, no request leaves it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rondo.report.contents import DRAWN_AT_FIRST, EVERYTHING, Wish
from rondo.report.lanes import timeline
from rondo.report.summarize import agreement_finding, summarize
from rondo.report.tables import composition_key
from rondo.run.clock import has_jumps
from rondo.run.labelling import RULE
from rondo.store.folder import write_text
from rondo.wording import NO_LONGER_MOTIF

if TYPE_CHECKING:
    from jinja2 import Template

    from rondo.result import Result


# ----------------------------------------------------------------
# The files of the page: templates, look and scripts in `assets/`, which all end up inside it.

_STYLES = ("report", "panel", "edit")
_SCRIPTS = (
    "plugins", "keeping", "theme", "signal", "patterns", "signal_rows", "axis", "lanes", "timeline", "scores",
    "overview_strip", "listening", "elements", "curves", "occurrences", "panel", "compose", "choosing", "sheet",
    "edit_store", "edit_panel", "edit", "page",
)  # fmt: skip


def style(*, served: bool = False) -> str:
    """The style sheets."""
    return "\n".join(asset(f"{name}.css") for name in (*_STYLES, *(["served"] if served else [])))


def script() -> str:
    """Everything that draws, as one script."""
    return "\n".join(asset(f"{name}.js") for name in _SCRIPTS)


def served_scripts(*, live: bool, media: bool) -> list[str]:
    """What only a page has that can ask a server."""
    return [asset(f"{name}.js") for name, is_there in (("live", live), ("media", media)) if is_there]


def asset(name: str) -> str:
    """A file of `assets/`."""
    return (files("rondo.report") / "assets" / name).read_text(encoding="utf-8")


def page_template() -> Template:
    """The page, with its parts by their file names; what is filled in stays text."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    loader = FunctionLoader(asset)
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, loader=loader).get_template(
        "page.html"
    )


# ----------------------------------------------------------------
# What a page may do: a Content-Security-Policy that lets the scripts of Rondo run, and no others.
#
# A name in a file that breaks out of its place in the page still cannot run: the browser executes only scripts whose
# SHA-256 stands in the policy, and no handler in an attribute. A page loads nothing from anywhere; a served one may
# ask the server it came from.

NOT_FRAMED = "frame-ancestors 'none'"
"""Browsers obey this in a header only, so a server adds it to the policy of the page."""

_NONE = "'none'"
NOTHING = f"default-src 'none'; base-uri 'none'; form-action 'none'; {NOT_FRAMED}"
"""For answers that are no pages."""


def content_policy(scripts: Sequence[str], *, live: bool, media: bool) -> str:
    """The policy of a page that consists of these inline scripts, each exactly the text of its element.

    Styles may stand in attributes, because entries bring their colours; a style cannot fetch anything here.

    >>> content_policy(["let a"], live=False, media=False).split("; ")[1]
    "script-src 'sha256-IfEXP/8HLuXoAiy0hZVrCAcjcLsZqYFpLOHDGj8enqE='"
    >>> content_policy([], live=True, media=True).split("; ")[-2:]
    ["connect-src 'self'", "media-src 'self'"]
    """
    hashes = [f"'{_sha256(script)}'" for script in dict.fromkeys(scripts)]
    rules = [
        "default-src 'none'",
        f"script-src {' '.join(hashes or [_NONE])}",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    rules += ["connect-src 'self'"] if live else []
    rules += ["media-src 'self'"] if media else []
    return "; ".join(rules)


def _sha256(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


_CLAIM_COLUMNS = {"ari": "ARI", "ami": "AMI", "one_to_one": "One-to-one"}
"""A claim that something was discovered rests on these, so they come first."""

_PAPER_COLUMNS = {"mof": "MoF", "recall": "Recall", "f1_50": "F1@50", "edit": "Edit", "seg_ratio": "SegRatio"}


def render(summary: dict[str, Any], *, live: str = "", server: Mapping[str, Any] | None = None) -> str:
    """The page that shows what `summarize` gathered; it opens from a disk without a network.

    A `live` page holds the state of the run that it was made from, and asks the server that it came from whether that
    is still the state; no other page ever asks anyone. `server` is what such a page needs to know of it.
    """
    from markupsafe import Markup

    scripts = [script(), *served_scripts(live=bool(live), media=bool((server or {}).get("media")))]
    motif_lane = not _motif_lane_repeats(summary)
    recordings = [
        {**recording, "figure": Markup(_json(timeline(recording, motif_lane=motif_lane)))}
        for recording in summary["recordings"]
    ]
    agreement = summary.get("agreement")
    return page_template().render(
        {
            **summary,
            "heading": agreement_finding(agreement) if agreement else summary["finding"],
            "is_sheet": len(recordings) > DRAWN_AT_FIRST,
            "policy": content_policy(scripts, live=bool(live), media=bool((server or {}).get("media"))),
            "server": Markup(_json(server or {})),
            "scripts": [Markup(text) for text in scripts],
            "has_finest": any(it["finest_frames"] > 1 for it in recordings),
            "has_jumps": any(has_jumps(recording.get("clock"), recording["rate"]) for recording in recordings),
            "recordings": recordings,
            "scores": [_written(row) for row in summary["scores"]],
            "claims": _CLAIM_COLUMNS,
            "paper": _PAPER_COLUMNS,
            "has_truth": any(lane["kind"].startswith("true") for it in recordings for lane in it["lanes"]),
            "has_annotation": any(lane["kind"] == "annotation" for it in recordings for lane in it["lanes"]),
            "has_frame_scores": any(it["scores"]["channels"] for it in recordings),
            "has_motif_scores": any("motif" in it["scores"]["kinds"] for it in recordings),
            "left_out": summary.get("left_out", []),
            "recording_choices": [
                {"value": place, "name": it["id"], "at_first": it["at_first"]} for place, it in enumerate(recordings)
            ],
            "channel_choices": _channel_choices(recordings),
            "has_signal": any(it["signal"]["channels"] for it in recordings),
            "events": summary.get("events", []),
            "n_events": summary.get("n_events", 0),
            "n_refined": summary.get("n_refined", 0),
            "unshown": summary.get("unshown", []),
            "agreement": agreement,
            "groups": None if agreement else summary.get("groups"),
            "motif_lane": motif_lane,
            "composition_key": composition_key(
                entry["composition"] for entry in (*summary["entries"]["motif"], *summary.get("unshown", []))
            ),
            "no_longer_motif": NO_LONGER_MOTIF.capitalize(),
            "has_evidence": any(entry["evidence"] for rows in summary["entries"].values() for entry in rows),
            "fit_rule": RULE,
            "unfit": [row["recording"] for row in summary["fit"] if row["verdict"] == "does not fit"],
            "details": Markup(_json(summary["details"])),
            "edit": Markup(_json(None if agreement else summary.get("edit"))),
            "style": Markup(style(served=bool(live))),
            "live": live,
        }
    )


def write_page(result: Result, path: Path, wish: Wish = EVERYTHING, beside: Result | None = None) -> Path:
    """Write the page and return its path; an older one is replaced whole, or stays.

    With another result over the same recordings the page shows both. A `wish` names what to draw.
    """
    from rondo.report.compare import compare

    page = render(summarize(result, wish) if beside is None else compare(result, beside, wish))
    write_text(path, page, "make room, or give permission to write into the folder")
    return path


def _channel_choices(recordings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every channel name once, in the order of its first appearance, and whether it is drawn before anyone chooses."""
    found: dict[str, bool] = {}
    for recording in recordings:
        for place, name in enumerate(recording["signal"]["channels"]):
            found[name] = found.get(name, False) or place < recording["signal"]["at_first"]
    return [{"value": name, "name": name, "at_first": at_first} for name, at_first in found.items()]


def _motif_lane_repeats(summary: dict[str, Any]) -> bool:
    """Whether a lane of motifs would be the lane of units in other colours, with nothing to hold it against."""
    lanes = {lane["kind"] for recording in summary["recordings"] for lane in recording["lanes"]}
    shown = summary.get("agreement") or summary  # two runs, or one
    return bool(shown["motifs_are_units"]) and lanes <= {"unit", "motif", "annotation"}


def _json(value: Any) -> str:
    """JSON for a script element: only "<" could end that early, and in JSON it occurs in strings alone."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _written(row: dict[str, Any]) -> dict[str, Any]:
    return {key: _figure(value) if key in _CLAIM_COLUMNS | _PAPER_COLUMNS else value for key, value in row.items()}


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
