"""The extra `io`: one line where a library is missing, and nothing loaded before a file asks for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rondo.errors import MissingExtraError
from rondo.files.read import read_recording
from tests.formats.reading import refusal, write

HEADS = {
    "a.edf": ("pyedflib", b"0       "),
    "a.bdf": ("pyedflib", b"\xffBIOSEMI"),
    "a.c3d": ("ezc3d", b"\x02\x50"),
    "a.xdf": ("pyxdf", b"XDF:"),
    "a.mcap": ("mcap.stream_reader", b"\x89MCAP0\r\n"),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_missing_library_is_one_line_with_the_command(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, head = HEADS[name]
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    path = write(tmp_path, name, head + bytes(600))
    with pytest.raises(MissingExtraError) as caught:
        read_recording(path)
    assert "\n" not in str(caught.value)
    assert f"package '{package}': pip install 'rondo-ts[io]'" in str(caught.value)


@pytest.mark.parametrize("name", HEADS)
def test_another_format_is_told_without_the_library(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, HEADS[name][0], None)
    path = write(tmp_path, name, b"time,x\n0,1\n")
    assert "it begins with b'time,x" in refusal(lambda: read_recording(path), naming=path)


def test_no_library_is_loaded_before_a_file_asks_for_it() -> None:
    code = "import sys, rondo.files.read; print({'pyedflib', 'ezc3d', 'pyxdf', 'mcap'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
