"""Text in .gz, .bz2 and .zst: the same recording as unpacked, its id without both suffixes, and bombs refused."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy.testing as npt
import pytest

import rondo
from rondo.files.inputs import RecordingFile
from rondo.files.read import find_recordings
from rondo.files.text import lines
from tests.cli.running import call
from tests.formats.reading import VALUES, read_in_blocks, read_one, refusal, write

Pack = Callable[[bytes], bytes]
TABLE = b"x,y\n1.5,-2\n,0.25\n3,1e6\n"


def zst(content: bytes) -> bytes:
    library = pytest.importorskip("zstandard", reason="needs zstandard: pip install 'rondo-ts[io]'")
    packed: bytes = library.ZstdCompressor().compress(content)
    return packed


PACKINGS: dict[str, Pack] = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zst}
EVERY = pytest.mark.parametrize(("packing", "pack"), PACKINGS.items(), ids=PACKINGS)


@EVERY
@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".csv", TABLE),
        (".tsv", TABLE.replace(b",", b"\t")),
        (".TXT", "\ufeffx;y\r\n1,5;-2\r\n;0,25\r\n3;1e6\r\n".encode("utf-16-le")),
        (".jsonl", b'{"x": 1.5, "y": -2}\n{"y": 0.25}\n{"x": 3, "y": 1e6}\n'),
    ],
)
def test_packed_text_is_read_as_if_it_were_not(
    tmp_path: Path, packing: str, pack: Pack, suffix: str, text: bytes
) -> None:
    recording = read_one(write(tmp_path, f"day.1{suffix}{packing}", pack(text)))
    npt.assert_array_equal(recording.values, VALUES)
    assert (recording.id, recording.channels) == ("day.1", ("x", "y"))


@EVERY
def test_in_pieces_and_in_several_parts_it_is_the_same(tmp_path: Path, packing: str, pack: Pack) -> None:
    rows = b"".join(b"%d,%d\n" % (row, row * row) for row in range(3000))
    whole = read_in_blocks(write(tmp_path, "a.csv", b"x,y\n" + rows), rate=50)
    parts = pack(b"x,y\n" + rows[:1001]) + pack(rows[1001:])  # as `cat a.gz b.gz` and a log that goes on make them
    packed = read_in_blocks(write(tmp_path, f"b.csv{packing}", parts), 777, rate=50)
    npt.assert_array_equal(packed.values, whole.values)


@EVERY
def test_what_is_cut_off_or_damaged_is_refused(tmp_path: Path, packing: str, pack: Pack) -> None:
    packed = pack(b"x,y\n" + b"".join(b"%d,%d\n" % (row, row * row % 7919) for row in range(5000)))
    for content, expected in (
        (packed[: len(packed) // 2], "cut off"),
        (TABLE, "not packed as its name says"),
        (pack(b""), "it has no rows"),
        (b"", "the file is empty"),
    ):
        path = write(tmp_path, f"a.csv{packing}", content)
        assert expected in refusal(lambda path=path: read_one(path), naming=path)  # type: ignore[misc]


@EVERY
def test_a_bomb_is_refused_before_it_takes_the_memory(
    tmp_path: Path, packing: str, pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "most_for_a_file", lambda: 10_000_000)
    bomb = write(tmp_path, f"a.csv{packing}", pack(b"x\n" + b"1\n" * 4_000_000))
    assert bomb.stat().st_size < 20_000
    message = refusal(lambda: read_one(bomb), naming=bomb)
    assert "unpacks to more than 1" in message and "shorter recordings" in message


def test_what_gzip_says_of_its_size_counts_before_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv.gz", gzip.compress(b"1\n" * 500_000))
    file = RecordingFile(str(path), "a")
    assert file.expected().n_bytes == 1_000_000
    path.write_bytes(path.read_bytes()[:-4] + b"\0\0\0\0")  # a lie: then about what it may hold
    assert file.expected().n_bytes == 4 * path.stat().st_size


def test_a_folder_finds_them_and_two_of_one_id_are_refused(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv", "a_labels.csv.gz", "notes.npy.gz", ".hidden.csv.gz", "README.txt.gz"):
        write(tmp_path, name, gzip.compress(TABLE) if name.endswith("gz") else TABLE)
    assert [Path(file).name for file in find_recordings([tmp_path])] == ["a.csv.gz", "b.csv"]
    assert [one.id for one in rondo.read([tmp_path / "a.csv.gz", tmp_path / "b.csv"])] == ["a", "b"]
    write(tmp_path, "b.csv.gz", gzip.compress(TABLE))
    assert "both be recording 'b'" in refusal(lambda: find_recordings([tmp_path]), naming=tmp_path.parent.anchor)


def test_a_column_of_labels_is_the_truth(tmp_path: Path) -> None:
    table = "x,activity\n" + "".join(f"{row % 7},{'walk' if row < 30 else 'run'}\n" for row in range(60))
    plain = write(tmp_path, "a.csv", table)
    packed = write(tmp_path, "a.csv.gz", gzip.compress(table.encode()))
    said = [call("evaluate", truth, plain, "--json") for truth in (packed, plain)]
    assert said[0].code == 0 and said[0] == said[1]
