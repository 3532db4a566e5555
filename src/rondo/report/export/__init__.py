"""Segments of a run for other programs, one file per format: ELAN, Audacity, Label Studio, BORIS, and plain tables.

Other programs count from the beginning of a recording: seconds are those since its first frame. The tables keep the
times of the run, which are readings of the recording's own clock.
"""

from __future__ import annotations

from pathlib import Path

from rondo.errors import OutputError, SettingError
from rondo.report.export.audacity import as_audacity
from rondo.report.export.boris import as_boris
from rondo.report.export.chosen import Export, choose
from rondo.report.export.csv_table import as_csv
from rondo.report.export.elan import as_eaf
from rondo.report.export.label_studio import as_label_studio, label_studio_config
from rondo.report.export.parquet_table import as_parquet
from rondo.store.writing import whole_files

_WHOLE = {"csv": as_csv, "parquet": as_parquet, "label-studio": as_label_studio, "boris": as_boris}
_PER_RECORDING = {"eaf": (as_eaf, ".eaf"), "audacity": (as_audacity, ".txt")}
FORMATS = ("csv", "parquet", "eaf", "audacity", "label-studio", "boris")

__all__ = ["FORMATS", "choose", "export_run"]


def export_run(run_dir: Path, format: str, out: Path, level: str = "both", recording: str | None = None) -> list[Path]:
    """Write the segments of a run in one format and return the files, all of them or none.

    eaf and audacity hold one recording (and audacity one level) to a file: `out` is the file where it has a suffix, and
    a folder of files where it has none. The other formats are one file.
    """
    if format not in FORMATS:
        raise SettingError(f"--format is one of {', '.join(FORMATS)}; got '{format}'")
    export = choose(run_dir, level, recording)
    return whole_files(_files(export, format, out))


def _files(export: Export, format: str, out: Path) -> dict[Path, bytes]:
    if format in _WHOLE:
        files = {out: _WHOLE[format](export)}
        if format == "label-studio":
            files[out.with_suffix(".config.xml")] = label_studio_config(export)
        return files
    write, suffix = _PER_RECORDING[format]
    contents = write(export)
    if not out.suffix:
        return {out / f"{name}{suffix}": content for name, content in contents.items()}
    if len(contents) > 1:
        raise OutputError(
            f"{out}: {format} needs {len(contents)} files here ({', '.join(list(contents)[:4])}, …); name a folder, "
            "or choose with --recording ID and --level"
        )
    return {out: next(iter(contents.values()))}
