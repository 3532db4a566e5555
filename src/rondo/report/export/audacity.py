"""Audacity: a label track per recording and level, one line per segment: start, end, label with tabs between."""

from __future__ import annotations

from rondo.report.export.chosen import Export, refuse_without_seconds


def as_audacity(export: Export) -> dict[str, bytes]:
    """One track for each recording and level, named so; six decimals, as Audacity writes them."""
    refuse_without_seconds(export, "Audacity")
    tracks = {}
    for recording in export.recordings:
        for level in export.levels:
            lines = [f"{s.start_s:.6f}\t{s.stop_s:.6f}\t{s.label}\n" for s in recording.of_level(level)]
            name = recording.id if len(export.levels) == 1 else f"{recording.id}.{level}"
            tracks[name] = "".join(lines).encode("utf-8")
    return tracks
