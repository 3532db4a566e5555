"""CSV: the segment table of the run, with a column `label`, times on the recording's own clock."""

from __future__ import annotations

from rondo.report.export.chosen import Export


def as_csv(export: Export) -> bytes:
    """Times are empty where the recording has neither a rate nor a clock; frames are always there."""
    return export.table.write_csv().encode("utf-8")
