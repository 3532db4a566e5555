"""An encoder, a recording format and an annotation format that others add, as CONTRIBUTING.md says, used end to end.

Each is one file of a package that names it as an entry point; `tests/test_registry.py` looks into folders too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

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
import contextlib, io, json, sys
from rondo.cli.main import run

for command in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run(command)
        except SystemExit as stopped:
            code = stopped.code
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
PARTS = {
    "encoders": ("spectrum", "ENCODER", ENCODER),
    "recording_formats": ("raw", "FORMAT", RECORDING_FORMAT),
    "annotation_formats": ("marks", "FORMAT", ANNOTATION_FORMAT),
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A package with the three files, and a distribution that names them."""
    site = tmp_path / "site"
    for folder in ("ours", "ours-1.0.dist-info"):
        (site / folder).mkdir(parents=True)
    for module, _, code in PARTS.values():
        (site / "ours" / f"{module}.py").write_text(code, encoding="utf-8")
    points = [f"[rondo.{kind}]\nours = ours.{module}:{name}\n" for kind, (module, name, _) in PARTS.items()]
    (site / "ours-1.0.dist-info" / "METADATA").write_text("Name: ours\nVersion: 1.0\n", encoding="utf-8")
    (site / "ours-1.0.dist-info" / "entry_points.txt").write_text("\n".join(points), encoding="utf-8")
    return site


def rondo_with(site: Path, here: Path, *commands: list[str]) -> list[Outcome]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), *filter(None, sys.path)]), "COLUMNS": "500"}
    call = [sys.executable, "-c", DRIVER, json.dumps(commands)]
    done = subprocess.run(call, env=environment, cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [Outcome(*json.loads(line)) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_what_others_add_is_used_like_our_own(site: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    waves(1200).astype(np.float32).tofile(here / "day.raw")
    quick = ["--window", "50", "--set", "evidence.surrogates=0"]
    discovered, labelled, exported, scored, refused, key, shown, helped = rondo_with(
        site,
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
