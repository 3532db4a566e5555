"""Parquet: the same table as CSV, with types."""

from __future__ import annotations

from io import BytesIO

from rondo.report.export.chosen import Export


def as_parquet(export: Export) -> bytes:
    buffer = BytesIO()
    export.table.write_parquet(buffer)
    return buffer.getvalue()
