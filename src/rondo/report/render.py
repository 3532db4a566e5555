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
from rondo.store.folder import write_text
from rondo.units.fit_profile import RULE
from rondo.wording import NO_LONGER_MOTIF

if TYPE_CHECKING:
    from rondo.result import Result


_STYLES = ("report", "panel", "edit")
_SCRIPTS = (
    "plugins", "keeping", "theme", "signal", "patterns", "signal_rows", "axis", "lanes", "timeline", "scores",
    "overview_strip", "listening", "elements", "curves", "skeleton", "occurrences", "panel", "compose", "choosing",
    "sheet", "edit_store", "edit_panel", "teaching", "edit", "coarseness", "page",
)  # fmt: skip
_CLAIM_COLUMNS = {"ari": "ARI", "ami": "AMI", "one_to_one": "One-to-one"}
"""A claim that something was discovered rests on these, so they come first."""
_PAPER_COLUMNS = {"mof": "MoF", "recall": "Recall", "f1_50": "F1@50", "edit": "Edit", "seg_ratio": "SegRatio"}


def asset(name: str) -> str:
    """A file of `assets/`: a template, a style sheet or a script."""
    return (files("rondo.report") / "assets" / name).read_text(encoding="utf-8")


# What a page may do: a Content-Security-Policy that lets the scripts of Rondo run, and no others.
#
# A name in a file that breaks out of its place in the page still cannot run: the browser executes only scripts whose
# SHA-256 stands in the policy, and no handler in an attribute. A page loads nothing from anywhere; a served one may
# ask the server it came from.

NOT_FRAMED = "frame-ancestors 'none'"
"""Browsers obey this in a header only, so a server adds it to the policy of the page."""

NOTHING = f"default-src 'none'; base-uri 'none'; form-action 'none'; {NOT_FRAMED}"
"""For answers that are no pages."""


def content_policy(scripts: Sequence[str], *, live: bool, media: bool) -> str:
    """The policy of a page that consists of these inline scripts, each exactly the text of its element.

    Styles may stand in attributes, because entries bring their colours; a style cannot fetch anything here.
    """
    digests = [hashlib.sha256(script.encode()).digest() for script in dict.fromkeys(scripts)]
    hashes = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    rules = [
        "default-src 'none'",
        "script-src " + (" ".join(hashes) or "'none'"),
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    rules += ["connect-src 'self'"] if live else []
    rules += ["media-src 'self'"] if media else []
    return "; ".join(rules)


def render(summary: dict[str, Any], *, live: str = "", server: Mapping[str, Any] | None = None) -> str:
    """The page that shows what `summarize` gathered; it opens from a disk without a network.

    A `live` page holds the state of the run that it was made from, and asks the server that it came from whether that
    is still the state; no other page ever asks anyone. `server` is what such a page needs to know of it.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    has_media = bool((server or {}).get("media"))
    scripts = ["\n".join(asset(f"{name}.js") for name in _SCRIPTS)]
    scripts += [asset(f"{name}.js") for name, is_needed in (("live", live), ("media", has_media)) if is_needed]
    styles = [*_STYLES, *(["served"] if live else [])]
    agreement, columns = summary.get("agreement"), _CLAIM_COLUMNS | _PAPER_COLUMNS  # the former of two runs
    kinds = {lane["kind"] for recording in summary["recordings"] for lane in recording["lanes"]}
    # a lane of motifs that are units would repeat the lane of units, with nothing to compare it with
    repeats = (agreement or summary)["motifs_are_units"] and kinds <= {"unit", "motif", "annotation"}
    recordings = [
        {**recording, "figure": Markup(_json(timeline(recording, motif_lane=not repeats)))}
        for recording in summary["recordings"]
    ]
    channels: dict[str, bool] = {}  # every name once, and whether it is drawn before anyone chooses
    for recording in recordings:
        for index, name in enumerate(recording["signal"]["channels"]):
            channels[name] = channels.get(name, False) or index < recording["signal"]["at_first"]
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, loader=FunctionLoader(asset)
    )
    return environment.get_template("page.html").render(
        {
            "left_out": [],
            "events": [],
            "rare": [],
            "n_events": 0,
            "n_refined": 0,
            **summary,
            "heading": agreement_finding(agreement) if agreement else summary["finding"],
            "is_sheet": len(recordings) > DRAWN_AT_FIRST,
            "policy": content_policy(scripts, live=bool(live), media=has_media),
            "server": Markup(_json(server or {})),
            "scripts": [Markup(text) for text in scripts],
            "has_finest": any(it["finest_frames"] > 1 for it in recordings),
            "has_jumps": any(has_jumps(it.get("clock"), it["rate"]) for it in recordings),
            "recordings": recordings,
            "scores": [
                row | {column: "–" if row[column] is None else f"{row[column]:.2f}" for column in columns}
                for row in summary["scores"]
            ],
            "claims": _CLAIM_COLUMNS,
            "paper": _PAPER_COLUMNS,
            "has_truth": any(kind.startswith("true") for kind in kinds),
            "has_annotation": "annotation" in kinds,
            "has_frame_scores": any(it["scores"]["channels"] for it in recordings),
            "has_motif_scores": any("motif" in it["scores"]["kinds"] for it in recordings),
            "recording_choices": [
                {"value": index, "name": it["id"], "at_first": it["at_first"]} for index, it in enumerate(recordings)
            ],
            "channel_choices": [
                {"value": name, "name": name, "at_first": at_first} for name, at_first in channels.items()
            ],
            "has_signal": bool(channels),
            "agreement": agreement,
            "groups": None if agreement else summary.get("groups"),
            "motif_lane": not repeats,
            "kinds_to_show": [] if agreement else [kind for kind in summary["kinds"] if kind != "motif" or not repeats],
            "composition_key": composition_key(
                entry["composition"] for rows in summary["entries"].values() for entry in rows
            ),
            "no_longer_motif": NO_LONGER_MOTIF.capitalize(),
            "has_evidence": any(entry["evidence"] for rows in summary["entries"].values() for entry in rows),
            "fit_rule": RULE,
            "unfit": [row["recording"] for row in summary["fit"] if row["verdict"] == "does not fit"],
            "details": Markup(_json(summary["details"])),
            "edit": Markup(_json(None if agreement else summary.get("edit"))),
            "style": Markup("\n".join(asset(f"{name}.css") for name in styles)),
            "live": live,
        }
    )


def write_page(result: Result, path: Path, wish: Wish = EVERYTHING, beside: Result | None = None) -> Path:
    """Write the page and return its path; an older one is replaced whole, or stays.

    With another result over the same recordings the page shows both. A `wish` names what to draw.
    """
    if beside is None:
        summary = summarize(result, wish)
    else:
        from rondo.report.compare import compare

        summary = compare(result, beside, wish)
    write_text(path, render(summary), "make room, or give permission to write into the folder")
    return path


def _json(value: Any) -> str:
    """JSON for a script element: only "<" could end that early, and in JSON it occurs in strings alone."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
