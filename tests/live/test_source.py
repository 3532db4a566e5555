"""Sources are declared once and found: in our package, in others, by the address that `--source` names."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import rondo.live
from rondo.errors import RecordingError, RondoWarning, SettingError
from rondo.live.source import Request, open_source, source_help, source_kind, source_kinds
from tests.live.feeding import read_to_end

TICKS = textwrap.dedent('''
    """Ticks: as many rows as its address says; `ticks://100` is a hundred of them. It dies at the row DIE_AT."""

    import os
    import signal

    import numpy as np

    from rondo.live import Rows, SourceKind


    class Ticks:
        def __init__(self, n_rows, request):
            self._n_rows, self._n_channels = n_rows, len(request.channels)
            self._row = request.bookmark["row"] if request.bookmark else 0

        @property
        def ended(self):
            return self._row >= self._n_rows

        def read(self, at_most):
            if self.ended:
                return None
            rows = np.arange(self._row, min(self._row + at_most, self._n_rows))
            self._row = int(rows[-1]) + 1
            if self._row >= int(os.environ.get("DIE_AT", 1 << 40)):
                os.kill(os.getpid(), signal.SIGKILL)
            values = np.stack([np.sin(rows / (3 + c)) for c in range(self._n_channels)], axis=1)
            return Rows(values.astype(np.float32), None, self._row)

        def wait(self, seconds):
            pass

        def bookmark(self):
            return {"row": self._row}

        def backlog_bytes(self):
            return 0

        def close(self):
            pass


    SOURCE = SourceKind(
        name="ticks",
        address="ticks://N",
        help="N rows of waves",
        can_follow=False,
        matches=lambda where: where.startswith("ticks://"),
        id_of=lambda where: "ticks" + where.removeprefix("ticks://"),
        open=lambda where, request: Ticks(int(where.removeprefix("ticks://")), request),
    )
''')


def installed(folder: Path, module: str, text: str, entry: str | None = None) -> Path:
    """A package as pip would install it: a module, and what its distribution declares."""
    (folder / f"{module}.py").write_text(text)
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[rondo.sources]\n{module} = {entry or f'{module}:SOURCE'}\n")
    return folder


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.split(".")[-1] in {path.stem for path in tmp_path.glob("*.py")}:
            del sys.modules[name]


def test_ours() -> None:
    assert [kind.name for kind in source_kinds()] == ["file", "folder", "recorded file", "standard input"]
    assert all(kind.help and kind.address in source_help() for kind in source_kinds())


def test_a_file_in_our_package_is_all_it_takes(on_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (on_path / "ticks.py").write_text(TICKS)
    monkeypatch.setattr(rondo.live, "__path__", [*rondo.live.__path__, str(on_path)])
    assert "ticks://N: N rows" in source_help()
    assert source_kind("ticks://30") == ("ticks", "ticks30")
    assert read_to_end(open_source("ticks://30", Request(("a", "b"))), 7).values.shape == (30, 2)


def test_another_package_declares_an_entry_point_and_is_asked_first(on_path: Path) -> None:
    text = TICKS.replace('where.startswith("ticks://")', 'where.startswith("ticks://") or where.endswith(".tick")')
    text = text.replace('"ticks" + where.removeprefix("ticks://")', '"ticks"')
    installed(on_path, "other_ticks", text)
    (on_path / "3.tick").write_text("not looked at")
    assert source_kinds()[0].name == "ticks"
    assert source_kind(str(on_path / "3.tick"))[0] == "ticks"
    with pytest.raises(RecordingError, match=r"ticks://9: .*--follow"):
        open_source("ticks://9", Request(("a",), follow=True))
    with pytest.raises(RecordingError, match=r"tick:// .*ticks://"):
        open_source("tick://9", Request(("a",)))


def test_a_package_that_cannot_be_loaded_is_noted_and_others_work(on_path: Path) -> None:
    installed(on_path, "broken_ticks", "import nothing_of_this_name\n")
    with pytest.warns(RondoWarning, match="broken_ticks = broken_ticks:SOURCE: cannot"):
        assert source_kind("-") == ("standard input", "stdin")


def test_an_id_that_leads_elsewhere_is_refused(on_path: Path) -> None:
    installed(on_path, "odd_ticks", TICKS.replace('"ticks" + where', '"../ticks" + where'))
    with pytest.raises(SettingError, match=r"'\.\./ticks30', which cannot name"):
        source_kind("ticks://30")


def test_an_address_that_nothing_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "walk.csv").write_text("a,b\n1,2\n")
    os.mkfifo(tmp_path / "pipe")
    for where, says in {
        "wakl.csv": r"wakl\.csv: there is no such file or folder; did you mean 'walk\.csv'\?; --source takes FILE",
        "no/where.csv": r"no/where\.csv: there is no such file or folder; --source takes FILE, DIR, RECORDING, -, mqtt",
        "pipe": "pipe: it is not a regular file; pipe it into --source -; --source takes",
        "modbus://host": r"no source takes modbus:// addresses; is the package that adds it installed \(entry p",
        "mqt://host/topic": r"no source takes mqt:// addresses; did you mean mqtt://\?",
        "x" * 5000: "there is no such file or folder|cannot be read",
        "a\0b": "there is no such file or folder|cannot be read",
    }.items():
        with pytest.raises(RecordingError, match=says) as refused:
            open_source(where, Request(("a", "b")))
        assert "\n" not in str(refused.value)
