"""ELAN .eaf: tiers of annotations between time slots, in milliseconds since the beginning of the media."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from rondo.data.annotation_files.tracks import Span, Track, left_out
from rondo.errors import AnnotationError


def read_eaf(path: Path) -> list[Track]:
    """Time-aligned tiers; those that only refer to annotations of another tier have no times of their own.

    A slot without TIME_VALUE lies somewhere between its neighbours; annotations that touch one are refused by id.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, OSError, ValueError) as error:
        raise AnnotationError(f"'{path}': not a readable .eaf ({error})") from error
    if root.tag != "ANNOTATION_DOCUMENT":
        raise AnnotationError(f"'{path}': the root is <{root.tag}>; expected <ANNOTATION_DOCUMENT>, as ELAN writes it")
    header = root.find("HEADER")
    units = "milliseconds" if header is None else header.get("TIME_UNITS", "milliseconds")
    if units != "milliseconds":
        raise AnnotationError(f"'{path}': its times count {units}; expected milliseconds, save it with a newer ELAN")
    slots = {slot.get("TIME_SLOT_ID"): slot.get("TIME_VALUE") for slot in root.iterfind("TIME_ORDER/TIME_SLOT")}
    tracks = [Track(_spans(tier, slots, path), tier.get("TIER_ID", "")) for tier in root.iterfind("TIER")]
    return [track for track in tracks if track.spans]


def _spans(tier: ElementTree.Element, slots: dict[str | None, str | None], path: Path) -> tuple[Span, ...]:
    spans, n_points = [], 0
    for annotation in tier.iterfind("ANNOTATION/ALIGNABLE_ANNOTATION"):
        ends = [slots.get(annotation.get(f"TIME_SLOT_REF{i}")) for i in (1, 2)]
        try:
            start, stop = (int(end) / 1000 for end in ends if end is not None)
        except ValueError as error:
            which = annotation.get("ANNOTATION_ID")
            raise AnnotationError(f"'{path}': annotation '{which}' has no time at one end; align it in ELAN") from error
        if start == stop:
            n_points += 1
        else:
            spans.append(Span(start, stop, (annotation.findtext("ANNOTATION_VALUE") or "").strip()))
    left_out(n_points, f"annotations of tier '{tier.get('TIER_ID')}'", path)
    return tuple(spans)
