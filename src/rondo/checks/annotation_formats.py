"""What every annotation format does: what it wrote, it reads back frame by frame; a damaged file is one line."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np

from rondo.annotations.formats import ANNOTATION_FORMATS, AnnotationFormat, read_tracks
from rondo.annotations.tracks import choose_track, on_frames
from rondo.checks.running import run_checks
from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.errors import AnnotationError
from rondo.result import Result, make_result
from rondo.run.clock import clock_of
from rondo.run.labelling import Labelling
from rondo.store.reading import read_regular

_UNITS = [0, 0, 1, 1, 1, OTHER, OTHER, 2, 0, 0, 2, 2] * 5
_MOTIFS = [0, 0, 0, 0, 0, OTHER, OTHER, 1, 1, 1, 1, 1] * 5


def check_annotation_format(format: AnnotationFormat, file: str | Path | None = None) -> None:
    """Check a format that an installed package names: its round trip where it reads and writes, and damage to `file`.

    >>> check_annotation_format(ANNOTATION_FORMATS["eaf"])
    """
    assert ANNOTATION_FORMATS.get(format.name) is format, "an installed package names it: see CONTRIBUTING.md"
    assert format.read is not None or format.write is not None
    checks = [what_it_wrote_it_reads_back] if format.read is not None and format.write is not None else []
    run_checks(checks, format, format.name)
    if file is not None and format.read is not None:
        run_checks([cut_anywhere_it_is_read_or_refused_in_one_line], Path(file), format.name)


def what_it_wrote_it_reads_back(format: AnnotationFormat) -> None:
    result = _made_result()
    for level, labels in (("unit", _UNITS), ("motif", _MOTIFS)):
        wanted = ["(none)" if id == OTHER else f"{level[0]}{id}" for id in labels]
        with tempfile.TemporaryDirectory() as folder:
            (path, *_) = result.export(format.name, Path(folder, f"walk{format.suffixes[0]}"), level=level)
            tracks = read_tracks(path)
            track = choose_track(tracks, level if len(tracks) > 1 else None, "walk", path)
            found = [str(name) for name in on_frames(track, len(labels), clock_of(result, "walk"), path)]
        assert found == wanted, level


def cut_anywhere_it_is_read_or_refused_in_one_line(file: Path) -> None:
    content = read_regular(file)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, file.name)
        for part in range(20):
            path.write_bytes(content[: len(content) * part // 20])
            try:
                read_tracks(path)
            except AnnotationError as error:
                assert len(str(error).splitlines()) == 1 and path.name in str(error)


def _made_result() -> Result:
    units, motifs = np.array(_UNITS, np.int32), np.array(_MOTIFS, np.int32)
    values = np.random.default_rng(0).normal(size=(units.size, 2)).astype(np.float32)
    recording, scores = Recording(values, rate=25, id="walk"), np.ones(units.size, np.float32)
    none = np.zeros(0, np.int64)
    labelling = Labelling("walk", units, motifs, scores, scores, recording.times_s, 25.0, none, 1.0)
    return make_result("checks", [recording], [labelling])
