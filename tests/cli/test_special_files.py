"""Pipes, devices and sockets where a file is expected: refused before they are opened, by every reader and option."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

import rondo
from rondo.files.read import expected_size, suffixes
from rondo.files.reading import id_of
from tests.cli.running import Command, refused, waves, write_csv
from tests.formats.reading import read_one, refusal
from tests.systems import needs_posix

pytestmark = [needs_posix, pytest.mark.timeout(120)]
KINDS = ("pipe", "device", "socket")


def put(path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)  # a path may have 107 bytes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [*suffixes(), ".csv.gz", ".csv.zst"])
def test_no_format_opens_one(here: Path, suffix: str, kind: str) -> None:
    path = here / f"x{suffix}"
    put(path, kind)
    assert "not a regular file" in refusal(lambda: read_one(path), naming=path)
    assert expected_size(path).n_bytes == 0
    assert id_of(path) == "x"


@pytest.fixture
def run_folder(here: Path, fitted: Path) -> Path:
    write_csv(here / "a.csv", waves(1500))
    return Path(shutil.copytree(fitted, here / "run"))


OPTIONS = {
    "x.parquet": ("discover", "x.parquet", "--rate", "50", "--out", "o"),
    "x.npz": ("label", "run/model", "x.npz", "--out", "o"),
    "x.toml": ("discover", "a.csv", "--rate", "50", "--out", "o", "--config", "x.toml"),
    "group.csv": ("discover", "a.csv", "--rate", "50", "--out", "o", "--group-by", "group.csv"),
    "edits.json": ("apply", "run", "edits.json"),
    "truth.json": ("report", "run", "--truth", "truth.json"),
    **{f"truth{suffix}": ("evaluate", f"truth{suffix}", "run") for suffix in (
        ".csv", ".tsv", ".eaf", ".json", ".boris", ".txt", ".parquet", ".npy", ".npz", ".csv.gz",
    )},
    "labels.npy": ("evaluate", "a.csv", "labels.npy"),
}  # fmt: skip


@pytest.mark.usefixtures("run_folder")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPTIONS)
def test_no_option_opens_one(rondo: Command, here: Path, name: str, kind: str) -> None:
    put(here / name, kind)
    refused(rondo(*OPTIONS[name]), "regular file")
    assert not (here / "o").exists()


def test_one_in_a_folder_is_passed_over(here: Path) -> None:
    for name in ("a.csv", "b.csv"):
        write_csv(here / name, waves(900))
    put(here / "c.csv", "pipe")
    assert [recording.id for recording in rondo.read(here, rate=50)] == ["a", "b"]


def test_one_that_takes_the_place_of_a_file_is_refused_too(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at a file and its opening anything may happen; the descriptor tells what was opened."""
    from rondo.store import reading

    write_csv(here / "a.csv", waves(900))
    os.mkfifo(here / "pipe")
    monkeypatch.setattr(reading, "regular", lambda path: here / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        reading.open_regular(here / "a.csv")
