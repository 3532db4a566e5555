"""ELAN: an .eaf of format 3.0 per recording, with one tier per level.

The order of elements, the attributes and their types follow the schema of the format (EAFv3.0.xsd): HEADER,
TIME_ORDER, TIER …, LINGUISTIC_TYPE. Slots are in the order of time, ids are unique, and an annotation ends after it
begins. Every annotation has two slots of its own, as in files of ELAN: who drags an edge there moves its slot, and
with it everything that hangs on it. No media is named: link the video in ELAN, which keeps it with the file.
"""

from __future__ import annotations

from datetime import datetime
from xml.etree import ElementTree as Xml

from rondo.report.export.chosen import Export, ExportedRecording, millisecond_spans, refuse_without_seconds

SCHEMA = "http://www.mpi.nl/tools/elan/EAFv3.0.xsd"
_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"


def as_eaf(export: Export) -> dict[str, bytes]:
    """One document per recording, by its id."""
    refuse_without_seconds(export, "ELAN")
    return {
        recording.id: document(recording, export.levels, export.made_at, export.made_by)
        for recording in export.recordings
    }


def document(recording: ExportedRecording, levels: tuple[str, ...], made_at: datetime, made_by: str) -> bytes:
    """The .eaf of one recording: tiers are called unit and motif."""
    spans = {level: millisecond_spans(recording, level, "ELAN") for level in levels}
    root = Xml.Element("ANNOTATION_DOCUMENT", AUTHOR=made_by, DATE=made_at.isoformat(), FORMAT="3.0", VERSION="3.0")
    root.set("xmlns:xsi", _INSTANCE)
    root.set("xsi:noNamespaceSchemaLocation", SCHEMA)
    header = Xml.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    Xml.SubElement(header, "PROPERTY", NAME="lastUsedAnnotationId").text = str(sum(map(len, spans.values())))
    order = Xml.SubElement(root, "TIME_ORDER")
    every = [span for own in spans.values() for span in own]
    ends = sorted((span[end], place, end) for place, span in enumerate(every, start=1) for end in (0, 1))
    slots = {(place, end): f"ts{number}" for number, (_, place, end) in enumerate(ends, start=1)}
    for time, place, end in ends:
        Xml.SubElement(order, "TIME_SLOT", TIME_SLOT_ID=slots[place, end], TIME_VALUE=str(time))
    number = 0
    for level, own in spans.items():
        tier = Xml.SubElement(root, "TIER", LINGUISTIC_TYPE_REF="segment", TIER_ID=level)
        for *_, label in own:
            number += 1
            refs = {"TIME_SLOT_REF1": slots[number, 0], "TIME_SLOT_REF2": slots[number, 1]}
            holder = Xml.SubElement(tier, "ANNOTATION")
            annotation = Xml.SubElement(holder, "ALIGNABLE_ANNOTATION", {"ANNOTATION_ID": f"a{number}"} | refs)
            Xml.SubElement(annotation, "ANNOTATION_VALUE").text = label
    kind = {"GRAPHIC_REFERENCES": "false", "LINGUISTIC_TYPE_ID": "segment", "TIME_ALIGNABLE": "true"}
    Xml.SubElement(root, "LINGUISTIC_TYPE", kind)
    Xml.indent(root)
    text = Xml.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()
