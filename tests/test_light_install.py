"""Without torch the default chain runs from file to report, and every network says in one line what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rondo.config.settings import PRESETS
from rondo.device import one_thread
from rondo.errors import MissingExtraError
from rondo.files.read import read_recording
from rondo.many.pool import visible_gpus
from rondo.model.folder import from_config
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import plant
from tests.cli.running import command, waves, write_csv

_BLOCK = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoTorch())
"""
_COMMANDS = """
from rondo.cli.main import run

for line in (
    "--quiet discover walk.csv --window 60 --out run",
    "--quiet label run walk.csv --out again",
    "--quiet stream run --source walk.csv --out live",
    "--quiet report run",
    "--quiet discover walk.csv --method kmeans --window 60 --out clusters",
):
    try:
        run(line.split())
    except SystemExit as stopped:
        assert stopped.code == 0, line
assert "torch" not in sys.modules
"""
_FROM_PYTHON = """
import sys
from rondo import Rondo
from rondo.synthetic import plant

recording = plant(n_frames=1500, seed=1).recording
model = Rondo(window=60).fit(recording)
model.save("model")
assert (Rondo.load("model").predict(recording).units == model.predict(recording).units).all()
model.partial_fit(recording)
assert "torch" not in sys.modules
"""


def python(code: str, folder: Path) -> None:
    """Run this in a process of its own, in this folder."""
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_default_chain_runs_without_torch(tmp_path: Path) -> None:
    write_csv(tmp_path / "walk.csv", plant(n_frames=2000, seed=1).recording.values)
    python(_BLOCK + _COMMANDS, tmp_path)
    assert (tmp_path / "run" / "report.html").is_file() and (tmp_path / "live" / "events.jsonl").is_file()


@pytest.mark.slow
def test_the_default_chain_leaves_torch_alone_where_it_is_installed(tmp_path: Path) -> None:
    python(_FROM_PYTHON, tmp_path)


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # what makes `import torch` fail


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize(
    ("options", "what"),
    [
        ("--encoder ts2vec", "encoder.name = 'ts2vec'"),
        ("--set units.method=direct", "units.mixture.latent_dim = 32"),
        ("--set units.mixture.kind=deep_dpm", "units.mixture.kind = 'deep_dpm'"),
        ("--set motifs.method=motif_former", "motifs.method = 'motif_former'"),
        ("--method compile", "--method compile"),
        ("--device cuda", "device = 'cuda'"),
    ],
)
def test_a_network_without_torch_is_one_line(
    options: str, what: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    walk = write_csv(tmp_path / "walk.csv", waves(400))
    done = command(capfd)("--quiet", "discover", walk, "--out", tmp_path / "run", "--window", "40", *options.split())
    assert done.code == 2 and done.err.startswith(f"error: {what} ") and done.err.count("\n") == 1
    assert "'rondo-ts[nets]'" in done.err
    assert not (tmp_path / "run").exists()


def test_a_model_with_a_network_is_not_called_damaged_without_torch(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = write_csv(tmp_path / "walk.csv", waves(400))
    tiny = {"encoder.output_dim": 4, "encoder.hidden_dim": 4, "encoder.depth": 1, "encoder.iterations": 1}
    Rondo(window=40, encoder="ts2vec", settings=tiny).fit(read_recording(walk)).save(tmp_path / "network")
    monkeypatch.setitem(sys.modules, "torch", None)
    done = command(capfd)("--quiet", "label", tmp_path / "network", walk, "--out", tmp_path / "again")
    assert done.code == 2 and "'torch': pip install 'rondo-ts[nets]'" in done.err
    assert "do not fit together" not in done.err


@pytest.mark.usefixtures("no_torch")
def test_from_python_too() -> None:
    with pytest.raises(MissingExtraError, match="nets"):
        from_config(Rondo, PRESETS["paper"]).fit(waves(400))
    assert visible_gpus() == []
    with one_thread():
        pass


_IMPORTED = """
import sys
from rondo.cli.main import run

for line in {lines}:
    try:
        run(line.split())
    except SystemExit as stopped:
        assert stopped.code == 0, line
assert not {slow} & set(sys.modules), {slow} & set(sys.modules)
assert len(sys.modules) <= {most}, len(sys.modules)
"""
_SLOW = {"sklearn", "pandas", "scipy.stats", "scipy.signal", "scipy.optimize", "scipy.sparse", "rondo.metrics.scores"}
_MOST_MODULES = 1_300  # 1,135 when this was written; half of the time of a short command is imports


@pytest.mark.slow
def test_no_command_of_the_default_chain_imports_what_is_slow_to_import(tmp_path: Path) -> None:
    write_csv(tmp_path / "walk.csv", waves())
    discover = ["--quiet discover walk.csv --out run"]
    python(_IMPORTED.format(lines=discover, slow=_SLOW, most=_MOST_MODULES), tmp_path)
    apply = ["--quiet label run walk.csv --out again", "--quiet stream run --source walk.csv --out live"]
    python(_IMPORTED.format(lines=apply, slow=_SLOW, most=_MOST_MODULES), tmp_path)
