"""Cases about annotations: ELAN, BORIS, Audacity, Label Studio and tables of spans, odd and damaged."""

import json
from pathlib import Path

import numpy as np

from tests.fuzz.outside_base import Base
from tests.fuzz.outside_checks import Case
from tests.fuzz.outside_words import HOSTILE

Span = tuple[float, float, str]


def _spans(rng: np.random.Generator, kind: str) -> list[Span]:
    spans = [(float(i * 2.4), float(i * 2.4 + 2.4), "abc"[i % 3]) for i in range(10)]
    if kind == "overlap":
        spans[3] = (5.0, 15.0, "b")
    elif kind == "beyond":
        spans.append((20.0, 1e9, "z"))
    elif kind == "negative":
        spans.insert(0, (-5.0, -1.0, "n"))
    elif kind == "reversed":
        spans[2] = (7.2, 4.8, "r")
    elif kind == "empty":
        spans = []
    elif kind == "points":
        spans = [(start, start, name) for start, _, name in spans]
    elif kind == "hostile":
        spans = [(start, end, HOSTILE[int(rng.integers(len(HOSTILE)))]) for start, end, _ in spans]
    elif kind == "one":
        spans = spans[:1]
    elif kind == "nan":
        spans[1] = (float("nan"), float("inf"), "x")
    return spans


def _eaf(spans: list[Span]) -> str:
    def time(value: float) -> str:
        return str(int(value * 1000)) if np.isfinite(value) else str(value)

    slots = "".join(
        f'<TIME_SLOT TIME_SLOT_ID="s{i}" TIME_VALUE="{time(v)}"/>'
        for i, v in enumerate(x for s in spans for x in s[:2])
    )
    from xml.sax.saxutils import escape

    marks = "".join(
        f'<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a{i}" '
        f'TIME_SLOT_REF1="s{2 * i}" TIME_SLOT_REF2="s{2 * i + 1}">'
        f"<ANNOTATION_VALUE>{escape(s[2])}</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>"
        for i, s in enumerate(spans)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<ANNOTATION_DOCUMENT AUTHOR="" DATE="2026-01-01T00:00:00+00:00" FORMAT="3.0" VERSION="3.0">'
        '<HEADER MEDIA_FILE="" TIME_UNITS="milliseconds"/>'
        f'<TIME_ORDER>{slots}</TIME_ORDER><TIER LINGUISTIC_TYPE_REF="d" TIER_ID="t">{marks}</TIER>'
        '<LINGUISTIC_TYPE LINGUISTIC_TYPE_ID="d" TIME_ALIGNABLE="true"/></ANNOTATION_DOCUMENT>'
    )


def _boris(spans: list[Span]) -> str:
    events = [event for start, end, name in spans for event in ([start, "", name, "", ""], [end, "", name, "", ""])]
    codes = sorted({name for _, _, name in spans})
    behaviours = {
        str(i): {
            "type": "State event",
            "key": "",
            "code": code,
            "description": "",
            "category": "",
            "modifiers": {},
            "excluded": "",
        }
        for i, code in enumerate(codes)
    }
    held = {
        "time_format": "s",
        "project_name": "x",
        "project_format_version": "7.0",
        "subjects_conf": {},
        "behaviors_conf": behaviours,
        "behavioral_categories": [],
    }
    return json.dumps(
        held
        | {
            "observations": {
                "walk": {
                    "file": {},
                    "type": "LIVE",
                    "date": "2026-01-01T00:00:00",
                    "description": "",
                    "time offset": 0.0,
                    "events": events,
                }
            }
        }
    )


def _label_studio(spans: list[Span]) -> str:
    result = [
        {
            "type": "timeserieslabels",
            "from_name": "l",
            "to_name": "ts",
            "value": {"start": s * 50, "end": e * 50, "timeserieslabels": [n]},
        }
        for s, e, n in spans
    ]
    return json.dumps(
        [
            {
                "id": 1,
                "data": {"csv": "walk.csv"},
                "annotations": [{"result": result, "created_at": "2026-01-01T00:00:00Z"}],
                "predictions": [],
            }
        ]
    )


def annotated(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    kind = (
        "plain",
        "overlap",
        "beyond",
        "negative",
        "reversed",
        "empty",
        "points",
        "hostile",
        "one",
        "nan",
        "cut",
        "flip",
        "bomb",
    )[n % 13]
    spans = _spans(rng, kind)
    form = str(rng.choice(["eaf", "boris", "txt", "json", "csv", "tsv"]))
    if form == "eaf":
        text = _eaf(spans)
    elif form == "boris":
        text = _boris(spans)
    elif form == "txt":
        text = "".join(f"{s:.6f}\t{e:.6f}\t{n}\n" for s, e, n in spans)
    elif form == "json":
        text = _label_studio(spans)
    elif form == "csv":
        text = "recording,level,id,name,start_frame,end_frame\n" + "".join(
            f'walk,motif,{i},"{n}",{s * 50:.0f},{e * 50:.0f}\n' for i, (s, e, n) in enumerate(spans)
        )
    else:
        head = "Observation id\tSubject\tBehavior\tBehavior type\tStart (s)\tStop (s)\n"
        text = head + "".join(f"walk\tNo focal subject\t{n}\tSTATE\t{s}\t{e}\n" for s, e, n in spans)
    data = text.encode("utf-8", "surrogatepass")
    if kind == "cut":
        data = data[: int(rng.integers(len(data)))]
    elif kind == "flip":
        held = bytearray(data)
        for place in rng.integers(len(held), size=8):
            held[place] ^= 1 << int(rng.integers(7))
        data = bytes(held)
    elif kind == "bomb":
        data = (
            data.replace(b"?>", b'?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>', 1)
            if form == "eaf"
            else data + b"[" * 100_000
        )
    name = f"walk.{form}"
    (work / name).write_bytes(data)
    base.give("run", work)
    commands: tuple[tuple[str, ...], ...] = (
        ("evaluate", name, "run", "--json"),
        ("compare", "run", name, "--suggest-names", "--apply"),
        ("compare", "run", name, "--json"),
        ("report", "run", "--truth", name),
        ("evaluate", name, "run"),
    )
    args = commands[int(rng.integers(len(commands)))]
    change = ("run",) if args[0] == "report" or "--apply" in args else ()
    return Case(
        f"annotations:{form}:{kind}:{args[0]}", args, may_change=change, expect="ok" if kind == "plain" else "either"
    )


FAMILIES = (annotated,)
