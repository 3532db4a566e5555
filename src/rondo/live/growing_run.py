"""The run folder around a stream: what follows from its labels and events, brought up to date as they grow."""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rondo.live.outputs import Outputs
from rondo.model_result import stream_summary
from rondo.report.frame_scores import scores_path, write_scores
from rondo.report.growing_overview import GrowingOverview
from rondo.report.overview import overview_path, store_overview
from rondo.report.render import write_page
from rondo.report.wish_file import kept_wish
from rondo.result import Result
from rondo.run.decisions import DECISIONS
from rondo.run.folder import write_segments, write_summary
from rondo.run.stream_folder import stored_stream
from rondo.run.summary import RunSummary, StreamSummary
from rondo.store.artifact import EDITS
from rondo.store.reading import read_regular
from rondo.store.writing import make_folder, write_bytes
from rondo.vocabulary.edit_file import write_edits
from rondo.vocabulary.edits import Edits

if TYPE_CHECKING:
    from rondo.model import Rondo

_SECONDS_BETWEEN, _TIMES_AS_LONG = 30.0, 20.0  # between updates: at least so many, and so much longer than one takes
_MOST_BYTES = 1 << 25  # of labels.csv that are read again for an update while the stream goes on

Reached = tuple[int, StreamSummary]
"""Frames so far, and the counters."""


class GrowingRun:
    """Knows everything that the folder says beside labels and events."""

    def __init__(self, model: Rondo, id: str, source: str, out: Path) -> None:
        self._model, self._id, self._source, self._out = model, id, source, out
        self.overview = GrowingOverview(model.preprocessor_.channels)
        self._not_before = 0.0
        self.summary: RunSummary

    def begin(self, model_folder: Path, edits: Edits, progress: Reached) -> None:
        """The model that the stream began with, and what there is to say before anything has come."""
        _copy_model(model_folder, self._out / "model", self._model.edits_.among(self._model.fitted_ids()))
        self._write(self._result(edits, progress))
        self._not_before = time.monotonic() + _SECONDS_BETWEEN

    def update(self, edits: Edits, progress: Reached) -> None:
        """Segments and summary, if it is time: the longer the stream, the less often."""
        began = time.monotonic()
        if began < self._not_before or (self._out / DECISIONS).stat().st_size > _MOST_BYTES:
            return
        self._write(self._result(edits, progress))
        took = time.monotonic() - began
        self._not_before = time.monotonic() + max(_SECONDS_BETWEEN, _TIMES_AS_LONG * took)

    def write(self, outputs: Outputs, edits: Edits, progress: Reached) -> None:
        """Everything: labels of every frame, scores, segments, summary and report."""
        result = self._result(edits, progress)
        outputs.write_arrays(self._id, result.recordings[0].n_frames, edits)
        scores = result.frame_scores[self._id]
        if scores is not None:
            write_scores(scores_path(self._out, self._id), scores)
        self._write(result)
        write_page(result, self._out / "report.html", kept_wish(self._out))

    def _write(self, result: Result) -> None:
        store_overview(overview_path(self._out, self._id), result.overviews[self._id])
        write_segments(self._out, result.table)
        self.summary = result.summary
        write_summary(self._out, result.summary)

    def _result(self, edits: Edits, progress: Reached) -> Result:
        model = copy.copy(self._model)
        model.edits_ = edits
        base = stream_summary(model, self._id, self._source, *progress)
        return stored_stream(self._out, base, model.words(), lambda about: self.overview.overview(about.n_frames))


def _copy_model(source: Path, target: Path, edits: Edits) -> None:
    """The files of a model folder; the manifest comes last, so that a folder with one is whole."""
    make_folder(target)
    if not (target / "manifest.json").is_file():
        for path in sorted(source.iterdir(), reverse=True):
            if path.is_file() and EDITS not in path.name:
                write_bytes(target / path.name, read_regular(path))
    if edits.history:
        write_edits(target, edits)
