"""What the cases start from: one small recording, and the folders that commands made of it."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.corpus.case import XYZ, signal
from tests.fuzz.warm_process import Warm

ROWS, RATE, NAMES = 1200, 50.0, XYZ  # as many files of the corpus hold it


@dataclass(frozen=True)
class Base:
    """Folder with walk.csv, day2.csv, annotations, run/, pair/ (of both), own/ (without a model), live/ (a stream)."""

    folder: Path
    values: np.ndarray
    labels: np.ndarray  # those of `rondo label run walk.csv`

    @property
    def times(self) -> np.ndarray:
        return np.arange(len(self.values)) / RATE

    def give(self, name: str, work: Path, to: str | None = None) -> Path:
        """A copy of a folder or file of the base for one case."""
        target = work / (to or name)
        source = self.folder / name
        shutil.copytree(source, target, symlinks=True) if source.is_dir() else shutil.copyfile(source, target)
        return target


def write_csv(path: Path, values: np.ndarray, names: tuple[str, ...] = NAMES) -> Path:
    lines = ["time," + ",".join(names)]
    lines += [f"{n / RATE:g}," + ",".join(f"{v:g}" for v in row) for n, row in enumerate(values)]
    path.write_text("\n".join(lines) + "\n")
    return path


def make(folder: Path, warm: Warm) -> Base:
    """Make the base; every command must succeed."""
    folder.mkdir(parents=True, exist_ok=True)
    values = signal(ROWS)
    write_csv(folder / "walk.csv", values)
    write_csv(folder / "day2.csv", values[::-1])
    for args in (
        ["discover", "walk.csv", "--out", "run"],
        ["discover", "walk.csv", "day2.csv", "--set", "evidence.surrogates=0", "--out", "pair"],
        ["discover", "walk.csv", "day2.csv", "--method", "clock", "--out", "own"],
        ["stream", "run", "--source", "walk.csv", "--out", "live"],
        ["label", "run", "walk.csv", "--out", "again"],
        ["export", "run", "--format", "eaf", "--level", "motif", "--out", "walk.eaf"],
    ):
        outcome = warm.run(args, folder, scratch=folder.parent / "base-scratch")
        if outcome.code != 0:
            raise RuntimeError(f"{args}: {outcome.stderr.decode()}")
    return Base(folder, values, np.load(folder / "again" / "labels" / "walk.npy"))
