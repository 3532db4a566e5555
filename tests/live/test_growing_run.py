"""What a stream leaves: arrays per frame from labels.csv, written plainly."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.data.labels import OTHER
from rondo.editing.edits import Edits
from rondo.errors import OutputError
from rondo.live import growing_run as outputs
from rondo.live.growing_run import Outputs
from rondo.run.decisions import COLUMNS


def written(folder: Path, spans: Sequence[tuple[int, int, int]], n_frames: int) -> dict[str, bytes]:
    """The arrays of a stream that took these decisions: start, stop and unit; its motifs are 10 more."""
    rows = np.arange(n_frames + 3)
    with closing(Outputs(folder)) as made:
        made.places.add(rows, rows, rows < 0)
        made.add([dict(zip(COLUMNS, (a, b, None, None, k, k + 10, 1.0, 1.0), strict=True)) for a, b, k in spans], [])
        made.write_arrays("day", n_frames, Edits())
    return {name: (folder / name / "day.npy").read_bytes() for name in ("units", "labels")}


def expected(spans: Sequence[tuple[int, int, int]], n_frames: int, more: int) -> bytes:
    track = np.full(n_frames, OTHER, np.int32)
    for start, stop, unit in spans:
        track[start:stop] = unit + more
    buffer = io.BytesIO()
    np.save(buffer, track)
    return buffer.getvalue()


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_arrays_are_those_of_numpy(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever the order of the spans, and whatever lies between them; one may reach beyond the last frame."""
    n_frames = data.draw(st.integers(0, 40))
    ends = st.tuples(st.integers(0, n_frames), st.integers(0, n_frames + 3), st.integers(-1, 5))
    spans = [(min(a, b), max(a, b), k) for a, b, k in data.draw(st.lists(ends, max_size=8))]
    found = written(tmp_path_factory.mktemp("out"), spans, n_frames)
    assert found == {"units": expected(spans, n_frames, 0), "labels": expected(spans, n_frames, 10)}


def test_arrays_of_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "_BLOCK_FRAMES", 7)
    spans = [(3, 20, 1), (20, 33, 2)]
    assert written(tmp_path, spans, 50)["units"] == expected(spans, 50, 0)


def test_a_full_disk_leaves_the_arrays_before(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = written(tmp_path, [(0, 5, 1)], 10)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with closing(Outputs(tmp_path)) as made:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))  # as on a disk with no more room
        try:
            with pytest.raises(OutputError, match=r"day.npy: .*File too large"):
                made.write_arrays("day", 1 << 20, Edits())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {name: (tmp_path / name / "day.npy").read_bytes() for name in before} == before
    assert sorted(path.name for path in (tmp_path / "labels").iterdir()) == ["day.npy"]
