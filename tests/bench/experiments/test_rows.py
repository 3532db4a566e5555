"""The store: nothing lost, nothing doubled, one writer, a torn line repaired."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rondo.errors import InputError, OutputError
from rondo_bench.experiments.rows import FILE, Key, Row, open_rows, read_rows, to_csv
from tests.bench.experiments.made_rows import row


def keys(folder: Path) -> list[Key]:
    return [own.key for own in read_rows(folder)]


def test_what_was_added_is_read_again(tmp_path: Path) -> None:
    rows = [row("one", "ticc", 50.0, scores={"ari": 1 / 3, "h_40": None}), row("two", "ticc", 60.0, seed=4)]
    with open_rows(tmp_path) as store:
        store.add(rows[:1])
        store.add(rows[1:])
        assert rows[1] in store.rows
    assert read_rows(tmp_path) == rows


@pytest.mark.parametrize("n_bytes", [1, 20, 200])
def test_a_torn_line_is_left_out_and_then_cut_off(tmp_path: Path, n_bytes: int) -> None:
    first, second = row("one", "ticc", 50.0), row("two", "ticc", 60.0)
    with open_rows(tmp_path) as store:
        store.add([first, second])
    path = tmp_path / FILE
    whole = path.read_bytes()
    path.write_bytes(whole[:-n_bytes])
    assert keys(tmp_path) == [first.key]
    with open_rows(tmp_path) as store:
        assert second not in store.rows
        assert path.read_bytes() == whole[: whole.index(b"\n") + 1]
        store.add([second])
    assert path.read_bytes() == whole


def test_a_good_row_is_never_doubled(tmp_path: Path) -> None:
    with open_rows(tmp_path) as store:
        store.add([row("one", "ticc", 50.0)])
    with open_rows(tmp_path) as store:
        store.add([row("one", "ticc", 99.0), row("two", "ticc", 60.0)])
    assert [(own.key.recording, own.scores["ari"]) for own in read_rows(tmp_path)] == [("one", 50.0), ("two", 60.0)]
    assert len((tmp_path / FILE).read_text().splitlines()) == 2


def test_a_failed_row_gives_way_to_a_good_one(tmp_path: Path) -> None:
    failed = Row(row("one", "ticc", 0).key, "failed", "no room")
    with open_rows(tmp_path) as store:
        store.add([failed])
        store.add([row("two", "ticc", 60.0)])
        store.add([row("one", "ticc", 50.0)])
    assert [own.key.recording for own in read_rows(tmp_path)] == ["two", "one"]
    assert all(own.is_ok for own in read_rows(tmp_path))


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from rondo_bench.experiments.rows import open_rows\n"
        "with open_rows(Path(sys.argv[1])): print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(OutputError, match="another `rondo bench run`"), open_rows(tmp_path):
            pass
        other.kill()  # which gives the lock back
        other.wait()
        with open_rows(tmp_path) as store:
            assert not store.rows


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.lock"])
def test_nothing_is_written_through_a_link(tmp_path: Path, name: str) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(tmp_path / "precious")
    with pytest.raises(OutputError, match="a link"):
        open_rows(tmp_path / "out").__enter__()
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(row("one", "ticc", 50.0).to_json() + "\nnonsense\n")
    with pytest.raises(InputError, match=r"line 2 is no row"):
        read_rows(tmp_path)


def test_rows_printed_as_csv_are_read_again(tmp_path: Path) -> None:
    rows = [row("one", "ticc", 50.25, seed=3), row("two", "ticc", 60.5)]
    path = tmp_path / "rows.csv"
    path.write_text(to_csv(rows))
    read = read_rows(path)
    assert [own.key for own in read] == [own.key for own in rows]
    assert to_csv(read) == to_csv(rows)


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "experiment,seed\nstatic,x\n", "\x00"])
def test_another_csv_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    if text == "\x00":
        assert read_rows(path) == []
        return
    with pytest.raises(InputError, match="`rondo bench rows` prints"):
        read_rows(path)
