"""Four window lengths on MoCap: what becomes of units and motifs.

    python benchmarks/window_lengths.py DATA [--windows 120 auto 60 30] [--page docs/results/windows.md]

Every recording is fitted by itself. The clock has as many
equal pieces as the units have segments.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section

from rondo.data.recording import Recording
from rondo.metrics.scores import ScoreRow, Scores, evaluate
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.run.labelling import Labelling

SECTIONS = ("window-lengths",)
SET = "MoCap"

Case = tuple[Recording, NDArray[np.integer]]


def cases_of(folder: Path) -> list[Case]:
    """Without a rate, as the tutorial writes them: lengths are in frames, and follow the period of the signal."""
    found: list[Case] = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as stored:
            found.append((Recording(stored["X"], id=path.stem), stored["y"]))
    return found


def cells_of(cases: Sequence[Case], window: str) -> list[str]:
    """One row of the table."""
    models = [Rondo(window=window, seed=0).fit(recording) for recording, _ in cases]
    labelled = [label_one(model, recording) for model, (recording, _) in zip(models, cases, strict=True)]
    units, motifs = (scores_of(cases, labelled, level) for level in ("units", "motifs"))
    lengths = sorted(model.window_length_frames_ for model in models)
    shown = f"{lengths[0]} frames" if lengths[0] == lengths[-1] else f"{window}, {lengths[0]} to {lengths[-1]} frames"
    return [
        shown,
        triple(units.average),
        triple(units.clock),
        f"{units.average.mof:.0f}",
        f"{units.clock.mof:.0f}",
        f"{units.average.n_clusters:.1f}",
        triple(motifs.average),
    ]


def scores_of(cases: Sequence[Case], labelled: Sequence[Labelling], level: str) -> Scores:
    pairs = zip(cases, labelled, strict=True)
    return evaluate({recording.id: (truth, getattr(own, level)) for (recording, truth), own in pairs})


def triple(row: ScoreRow) -> str:
    return f"{row.ari:.0f} / {row.ami:.0f} / {row.one_to_one:.0f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--windows", nargs="+", default=["120", "auto", "60", "30"])
    given = parse(parser, __file__, arguments)
    warnings.simplefilter("ignore")
    triples = ("units: ARI / AMI / one-to-one", "clock")
    table = Table("window of units", *triples, "MoF", "clock", "units a recording", "motifs: ARI / AMI / one-to-one")
    cases = cases_of(given.data / SET)
    for window in given.windows:
        table.add(*cells_of(cases, window))
    write_section(given, "window-lengths", table)


if __name__ == "__main__":
    main()
