"""Segments of a run for other programs: what is written is chosen here, how stands in `rondo.formats.annotations`.

Other programs count from the beginning of a recording: seconds are those since its first frame. The tables keep the
times of the run, which are readings of the recording's own clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rondo.errors import OutputError, SettingError
from rondo.formats.annotations import ANNOTATION_FORMATS, AnnotationFormat
from rondo.formats.annotations.exported import Export
from rondo.report.export.chosen import choose
from rondo.store.writing import whole_files
from rondo.wording import did_you_mean

if TYPE_CHECKING:
    from rondo.result import Result

__all__ = ["choose", "export_formats", "export_result"]


def export_formats() -> Mapping[str, AnnotationFormat]:
    """Those that can be written, by name."""
    return {name: each for name, each in ANNOTATION_FORMATS.items() if each.write is not None}


def export_result(
    result: Result, format: str, out: Path, level: str = "both", recording: str | None = None
) -> list[Path]:
    """Write the segments of a result in one format and return the files, all of them or none.

    Formats with one recording to a file (eaf and audacity; audacity also one level): `out` is the file where it has a
    suffix, and a folder of files where it has none. The other formats are one file.
    """
    formats = export_formats()
    if format not in formats:
        hint = did_you_mean(format, formats, "choose one of these")
        raise SettingError(f"--format is one of {', '.join(formats)}; got '{format}'; {hint}")
    export = choose(result, level, recording)
    if formats[format].needs_seconds:
        _refuse_without_seconds(export, formats[format])
    return whole_files(_files(export, formats[format], out))


def _refuse_without_seconds(export: Export, format: AnnotationFormat) -> None:
    for recording in export.recordings:
        if recording.rate is None:
            others = [name for name, each in export_formats().items() if not each.needs_seconds]
            raise OutputError(
                f"recording '{recording.id}' has no rate and no clock, and {format.program} counts in seconds; "
                f"run `rondo discover` with --rate HZ, or export {', '.join(others[:-1])} or {others[-1]}, "
                "which hold frames"
            )


def _files(export: Export, format: AnnotationFormat, out: Path) -> dict[Path, bytes]:
    assert format.write is not None  # of those that can be written
    contents = format.write(export)
    if not format.one_per_recording:
        return {out.with_suffix(suffix) if suffix else out: content for suffix, content in contents.items()}
    if not out.suffix:
        return {out / f"{name}{format.suffixes[0]}": content for name, content in contents.items()}
    if len(contents) > 1:
        raise OutputError(
            f"{out}: {format.name} needs {len(contents)} files here ({', '.join(list(contents)[:4])}, …); name a "
            "folder, or choose with --recording ID and --level"
        )
    return {out: next(iter(contents.values()))}
