"""An encoder, a recording format and an annotation format that others add, as CONTRIBUTING.md says, used end to end.

Each is one file. The files lie in a package of their own that names them as entry points, or in the folders of Rondo.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.cli.running import Outcome, waves

ENCODER = """
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rondo.registry import setting
from rondo.registry import EncoderSettings
from rondo.encoders.base import DeclaredEncoder, EncoderCost


class SpectrumConfig(EncoderSettings):
    \"\"\"Power in bands of frequency.\"\"\"

    name: Literal["spectrum"] = "spectrum"
    bands: int = setting(4, "a guess", ge=1)


@dataclass(frozen=True)
class Spectrum:
    config: SpectrumConfig

    def fit(self, windows, progress=None):
        return FittedSpectrum(self, np.concatenate([self.powers(w) for w in windows]).mean(axis=0))

    def restore(self, tensors):
        return FittedSpectrum(self, np.asarray(tensors["centre"]))

    def powers(self, windows):
        spectra = np.concatenate([np.fft.rfft(batch, axis=2) for batch in windows.batches()])
        return np.log1p(np.abs(spectra[:, :, : self.config.bands])).reshape(len(windows), -1)


@dataclass(frozen=True, eq=False)
class FittedSpectrum:
    encoder: Spectrum
    centre: np.ndarray
    curves = {}

    def encode(self, windows):
        return (self.encoder.powers(windows) - self.centre).astype(np.float32)

    def tensors(self):
        return {"centre": self.centre}


ENCODER = DeclaredEncoder(
    settings=SpectrumConfig,
    help="power in bands of frequency",
    build=lambda config, seed, device: Spectrum(config),
    cost=lambda config, n_windows, length: EncoderCost(7200.0, 5000.0 * config.bands),
)
"""

RECORDING_FORMAT = """
import numpy as np

from rondo.data.recording import Recording
from rondo.files.reading import RecordingFormat


def read_raw(path, reading):
    table = np.fromfile(path, np.float32).reshape(-1, 2)
    return Recording(table[:: 2 if reading.key == "half" else 1], reading.rate, ["a", "b"], path.stem)


FORMAT = RecordingFormat(name="raw", suffixes=(".raw",), read=read_raw, takes_key=True, help="pairs of numbers")
"""

ANNOTATION_FORMAT = """
from rondo.annotations.formats import AnnotationFormat
from rondo.annotations.tracks import NamedSpan, Track


def read_marks(path):
    spans = {}
    for line in path.read_text().splitlines():
        level, start, stop, label = line.split(" ", 3)
        spans.setdefault(level, []).append(NamedSpan(int(start), int(stop), label))
    return [Track(tuple(found), level, axis="frames") for level, found in spans.items()]


def as_marks(export):
    return {
        one.id: "".join(f"{s.level} {s.start} {s.stop} {s.label}\\n" for s in one.segments).encode()
        for one in export.recordings
    }


FORMAT = AnnotationFormat(
    name="marks", program="Marker", suffixes=(".marks",), read=read_marks, write=as_marks, one_per_recording=True
)
"""

DRIVER = """
import contextlib, importlib, io, json, sys

folders, commands = json.loads(sys.argv[1])
for package, folder in folders.items():
    importlib.import_module(package).__path__.append(folder)
from rondo.cli.main import run

for command in commands:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run(command)
        except SystemExit as stopped:
            code = stopped.code
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""


class Home(NamedTuple):
    """Where the three files lie, and how a new process comes to know them."""

    folders: dict[str, str]
    path: str

    def rondo(self, here: Path, *commands: list[str]) -> list[Outcome]:
        path = os.pathsep.join(filter(None, [self.path, *sys.path]))
        environment = os.environ | {"PYTHONPATH": path, "COLUMNS": "500"}
        call = [sys.executable, "-c", DRIVER, json.dumps([self.folders, commands])]
        done = subprocess.run(call, env=environment, cwd=here, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [Outcome(*json.loads(line)) for line in done.stdout.splitlines()]


@pytest.fixture(params=["entry points", "folders of Rondo"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    parts = {
        "encoders": (tmp_path / "parts_of_ours" / "spectrum.py", ENCODER),
        "recording_formats": (tmp_path / "more_formats" / "raw.py", RECORDING_FORMAT),
        "annotation_formats": (tmp_path / "more_annotations" / "marks.py", ANNOTATION_FORMAT),
    }
    for file, code in parts.values():
        file.parent.mkdir()
        file.write_text(code, encoding="utf-8")
    if request.param == "folders of Rondo":
        packages = ("rondo.encoders", "rondo.formats", "rondo.annotations")
        return Home({name: str(file.parent) for name, (file, _) in zip(packages, parts.values(), strict=True)}, "")
    about = tmp_path / "ours-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: ours\nVersion: 1.0\n", encoding="utf-8")
    names = {"encoders": "ENCODER", "recording_formats": "FORMAT", "annotation_formats": "FORMAT"}
    points = [
        f"[rondo.{kind}]\nours = {file.parent.name}.{file.stem}:{names[kind]}\n" for kind, (file, _) in parts.items()
    ]
    (about / "entry_points.txt").write_text("\n".join(points), encoding="utf-8")
    return Home({}, str(tmp_path))


@pytest.mark.slow
def test_what_others_add_is_used_like_our_own(home: Home, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    waves(1200).astype(np.float32).tofile(here / "day.raw")
    quick = ["--window", "50", "--set", "evidence.surrogates=0"]
    discovered, labelled, exported, scored, refused, key, shown, helped = home.rondo(
        here,
        ["discover", "day.raw", "--encoder", "spectrum", "--set", "encoder.bands=3", "--out", "run", *quick],
        ["label", "run", "day.raw", "--out", "again"],
        ["export", "run", "--format", "marks", "--out", "marks"],
        ["evaluate", "marks/day.marks", "again/units/day.npy", "--key", "unit", "--json"],
        ["discover", "day.raw", "--encoder", "spectrun", "--out", "none"],
        ["discover", "day.raw", "--key", "half", "--encoder", "spectrum", "--out", "half", *quick],
        ["config", "show", "--set", "encoder.name=spectrum"],
        ["discover", "--help"],
    )
    assert [one.code for one in (discovered, labelled, exported, scored)] == [0, 0, 0, 0], discovered.err
    assert "will take about 2 h" in discovered.err
    assert np.load(here / "run/units/day.npy").size == 1200
    assert np.array_equal(np.load(here / "run/units/day.npy"), np.load(here / "again/units/day.npy"))
    assert json.loads(scored.out)["ari"] == pytest.approx(100.0)
    assert refused.code == 2
    assert "did you mean 'spectrum'?" in refused.err
    assert (key.code, np.load(here / "half/units/day.npy").size) == (0, 600)
    assert "summary_stats, ts2vec, time_mae, mantis" in shown.out
    assert "bands = 4                         # a guess" in shown.out
    assert "spectrum: power in bands" in helped.out
    assert " .raw), folders" in " ".join(helped.out.replace("│", " ").split())  # wherever the line is broken
