"""Files that would end the process: a child ends instead, and one line says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.data.trial import refuse_fatal
from rondo.errors import RecordingError
from tests.data.reading import write


@pytest.mark.parametrize(
    ("library", "opening", "says"),
    [
        ("os", "os.abort()", "os, which reads such files, crashed on it (signal 6); get it anew"),
        ("os", "os._exit(3)", "crashed on it (code 3)"),
        ("time", "time.sleep(60)", "time did not come to an end with it in 1 s"),
    ],
)
def test_what_ends_or_holds_up_a_process_is_refused(tmp_path: Path, library: str, opening: str, says: str) -> None:
    with pytest.raises(RecordingError) as refused:
        refuse_fatal(write(tmp_path, "a.bin", b"x"), library, opening, seconds=1.0 if library == "time" else 30.0)
    assert says in str(refused.value)


def test_what_reads_or_raises_is_left_to_the_reader(tmp_path: Path) -> None:
    path = write(tmp_path, "it's.bin", b"x")
    refuse_fatal(path, "pathlib", "assert pathlib.Path(path).read_bytes() == b'x' or pathlib.os.abort()")
    refuse_fatal(path, "pathlib", "raise ValueError('no such format')")
