"""ELAN .eaf: tiers of annotations between time slots, in milliseconds since the beginning of the media.

Annotations of a dependent tier often have no times of their own: inner slots of a time subdivision that nobody has
aligned, and annotations that only refer to one of another tier. ELAN draws them in equal parts of what they divide;
here they have the times that it draws.

What is written is of format 3.0: the order of elements, the attributes and their types follow its schema (EAFv3.0.xsd):
HEADER, TIME_ORDER, TIER …, LINGUISTIC_TYPE. Slots are in the order of time, ids are unique, and an annotation ends
after it begins. Every annotation has two slots of its own, as in files of ELAN: who drags an edge there moves its slot,
and with it everything that hangs on it. No media is named: link the video in ELAN, which keeps it with the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from rondo.annotations.formats import AnnotationFormat, ExportedRecording, millisecond_spans
from rondo.annotations.tracks import NamedSpan, Track, left_out
from rondo.errors import AnnotationError
from rondo.store.reading import read_regular

Element = ElementTree.Element
AnnotationTimes = dict[str, tuple[float, float]]
"""Beginning and end of annotations in milliseconds, by their ids."""

SCHEMA = "http://www.mpi.nl/tools/elan/EAFv3.0.xsd"
_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"


_MOST_DIGITS = 16  # of milliseconds: 30,000 years


def read_eaf(path: Path) -> list[Track]:
    """Every tier; those that only refer to annotations of another are read where they are asked for by name."""
    root = _root(path)
    slots = {slot.get("TIME_SLOT_ID", ""): slot.get("TIME_VALUE") for slot in root.iterfind("TIME_ORDER/TIME_SLOT")}
    tiers = [*root.iterfind("TIER")]
    times: AnnotationTimes = {}
    for tier in tiers:
        times |= _aligned(tier, slots, path)
    for tier in _parents_first(tiers):
        times |= _referring(tier, times, path)
    tracks = [_track(tier, times, path) for tier in tiers]
    return [track for track in tracks if track.spans]


def _root(path: Path) -> Element:
    try:
        root = ElementTree.fromstring(read_regular(path))
    except (ElementTree.ParseError, OSError, ValueError) as error:
        raise AnnotationError(f"'{path}': not a readable .eaf ({error})") from error
    if root.tag != "ANNOTATION_DOCUMENT":
        raise AnnotationError(f"'{path}': the root is <{root.tag}>; expected <ANNOTATION_DOCUMENT>, as ELAN writes it")
    header = root.find("HEADER")
    units = "milliseconds" if header is None else header.get("TIME_UNITS", "milliseconds")
    if units != "milliseconds":
        raise AnnotationError(f"'{path}': its times count {units}; expected milliseconds, save it with a newer ELAN")
    return root


def _aligned(tier: Element, slots: dict[str, str | None], path: Path) -> AnnotationTimes:
    """The annotations with slots; slots without a time lie in equal steps between those of the tier that have one."""
    ends = {
        annotation.get("ANNOTATION_ID", ""): [annotation.get(f"TIME_SLOT_REF{i}", "") for i in (1, 2)]
        for annotation in tier.iterfind("ANNOTATION/ALIGNABLE_ANNOTATION")
    }
    used = {slot for pair in ends.values() for slot in pair}
    aligned = [slot for slot in slots if slot in used]  # in the order of time, as the format has it
    try:
        known = [(place, int(value[:_MOST_DIGITS])) for place, slot in enumerate(aligned) if (value := slots[slot])]
    except ValueError as error:
        raise AnnotationError(f"'{path}': a time of tier '{tier.get('TIER_ID')}' is no number ({error})") from error
    if any(len(slots[slot] or "") >= _MOST_DIGITS for slot in aligned):
        raise AnnotationError(
            f"'{path}': a time of tier '{tier.get('TIER_ID')}' has too many digits; correct it in ELAN"
        )
    times = np.full(len(aligned), np.nan)  # beyond the known ones
    if known:
        places, values = zip(*known, strict=True)
        times = np.interp(np.arange(len(aligned)), places, values, left=np.nan, right=np.nan)
    at = dict(zip(aligned, times.tolist(), strict=True))
    for which, pair in ends.items():
        if not all(np.isfinite(at.get(slot, np.nan)) for slot in pair):
            raise AnnotationError(f"'{path}': annotation '{which}' has no time at one end; align it in ELAN")
    return {which: (at[first], at[last]) for which, (first, last) in ends.items()}


def _referring(tier: Element, times: AnnotationTimes, path: Path) -> AnnotationTimes:
    """The annotations that refer to others: those of one parent share its time in equal parts, in their order."""
    children: dict[str, list[Element]] = {}
    for annotation in tier.iterfind("ANNOTATION/REF_ANNOTATION"):
        children.setdefault(annotation.get("ANNOTATION_REF", ""), []).append(annotation)
    found: AnnotationTimes = {}
    for parent, parts in children.items():
        if parent not in times:
            which = parts[0].get("ANNOTATION_ID")
            raise AnnotationError(f"'{path}': annotation '{which}' refers to '{parent}', which is not there; mend it")
        edges = np.linspace(*times[parent], len(parts) + 1).tolist()
        ids = [annotation.get("ANNOTATION_ID", "") for annotation in _in_order(parts)]
        found |= dict(zip(ids, pairwise(edges), strict=True))
    return found


def _in_order(children: Sequence[Element]) -> Sequence[Element]:
    """As PREVIOUS_ANNOTATION chains them; as they stand in the file where it does not chain them all."""
    after = {child.get("PREVIOUS_ANNOTATION"): child for child in children}
    chained: list[Element] = []
    at = after.get(None)
    while at is not None and len(chained) < len(children):
        chained.append(at)
        at = after.get(at.get("ANNOTATION_ID"))
    return chained if len(chained) == len(children) else children


def _parents_first(tiers: Iterable[Element]) -> list[Element]:
    """The tiers that refer to others, each after the one that it refers to."""
    waiting = [tier for tier in tiers if tier.find("ANNOTATION/REF_ANNOTATION") is not None]
    ordered: list[Element] = []
    while waiting:
        inside = {tier: tier.findall("ANNOTATION/REF_ANNOTATION") for tier in waiting}
        ids = {annotation.get("ANNOTATION_ID") for tier in waiting for annotation in inside[tier]}
        ready = [tier for tier in waiting if ids.isdisjoint(each.get("ANNOTATION_REF") for each in inside[tier])]
        ordered += ready or waiting  # a circle: what it refers to will be missed
        waiting = [tier for tier in waiting if tier not in ordered]
    return ordered


def _track(tier: Element, times: AnnotationTimes, path: Path) -> Track:
    found = [
        (times[annotation.get("ANNOTATION_ID", "")], (annotation.findtext("ANNOTATION_VALUE") or "").strip())
        for annotation in tier.iterfind("ANNOTATION/*")
    ]
    spans = [NamedSpan(start / 1000, stop / 1000, name) for (start, stop), name in found if start != stop]
    left_out(len(found) - len(spans), f"annotations of tier '{tier.get('TIER_ID')}'", path)
    refers = tier.find("ANNOTATION/REF_ANNOTATION") is not None
    return Track(tuple(sorted(spans, key=lambda span: span.start)), tier.get("TIER_ID", ""), only_by_name=refers)


def document(recording: ExportedRecording, levels: tuple[str, ...], made_at: datetime, made_by: str) -> bytes:
    """The .eaf of one recording: tiers are called unit and motif."""
    spans = {level: millisecond_spans(recording, level, "ELAN") for level in levels}
    root = ElementTree.Element(
        "ANNOTATION_DOCUMENT", AUTHOR=made_by, DATE=made_at.isoformat(), FORMAT="3.0", VERSION="3.0"
    )
    root.set("xmlns:xsi", _INSTANCE)
    root.set("xsi:noNamespaceSchemaLocation", SCHEMA)
    header = ElementTree.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    ElementTree.SubElement(header, "PROPERTY", NAME="lastUsedAnnotationId").text = str(sum(map(len, spans.values())))
    order = ElementTree.SubElement(root, "TIME_ORDER")
    every = [span for level_spans in spans.values() for span in level_spans]
    ends = sorted((span[end], place, end) for place, span in enumerate(every, start=1) for end in (0, 1))
    slots = {(place, end): f"ts{number}" for number, (_, place, end) in enumerate(ends, start=1)}
    for time, place, end in ends:
        ElementTree.SubElement(order, "TIME_SLOT", TIME_SLOT_ID=slots[place, end], TIME_VALUE=str(time))
    number = 0
    for level, level_spans in spans.items():
        tier = ElementTree.SubElement(root, "TIER", LINGUISTIC_TYPE_REF="segment", TIER_ID=level)
        for *_, label in level_spans:
            number += 1
            refs = {"TIME_SLOT_REF1": slots[number, 0], "TIME_SLOT_REF2": slots[number, 1]}
            holder = ElementTree.SubElement(tier, "ANNOTATION")
            annotation = ElementTree.SubElement(holder, "ALIGNABLE_ANNOTATION", {"ANNOTATION_ID": f"a{number}"} | refs)
            ElementTree.SubElement(annotation, "ANNOTATION_VALUE").text = label
    kind = {"GRAPHIC_REFERENCES": "false", "LINGUISTIC_TYPE_ID": "segment", "TIME_ALIGNABLE": "true"}
    ElementTree.SubElement(root, "LINGUISTIC_TYPE", kind)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


FORMAT = AnnotationFormat(
    name="eaf",
    program="ELAN",
    suffixes=(".eaf",),
    read=read_eaf,
    write=lambda export: {
        recording.id: document(recording, export.levels, export.made_at, export.made_by)
        for recording in export.recordings
    },
    one_per_recording=True,
    needs_seconds=True,
    order=2,
)
