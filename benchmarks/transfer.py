"""Units of one recording read on another: how far a vocabulary travels, with its motifs frozen and learned anew.

    OMP_NUM_THREADS=1 python benchmarks/transfer.py DATA [--seed 0] [--set motifs.method=motif_former …]

`rondo bench run transfer` is the paper's experiment, over all participants; this adds what a model says about how well
it fits. DATA holds a folder of .npz recordings (`X`, and `y` for scoring) per set. Cells are ARI / AMI / one-to-one of
the motifs on the target. The last columns are the clock at the number of segments of the frozen motifs, a model fitted
on the target itself, and what `rondo label` says about the fit.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from unit_tables import WINDOWS

from rondo import Recording, Rondo
from rondo.config import parse_override
from rondo.labelling import Labelling
from rondo.metrics import evaluate
from rondo.units.fit_profile import FitProfile, fit_of

PAIRS = {
    "OpenPack": [("U0102", "U0209")],
    "ActRecTut": [("subject1_walk", "subject2_walk"), ("subject1_gesture", "subject2_gesture")],
}


def recording_of(folder: Path, stem: str) -> tuple[Recording, Any]:
    (path,) = folder.glob(f"{stem}*.npz")
    stored = np.load(path)
    return Recording(stored["X"], id=path.stem), stored["y"]


def cells(truth: Any, labelling: Labelling) -> tuple[str, str]:
    """The scores of the motifs, and those of the clock."""
    scores = evaluate({"target": (truth, labelling.motifs)}).as_dict()
    rows = (scores, scores["clock"])
    own, clock = (" / ".join(f"{row[name]:.1f}" for name in ("ari", "ami", "one_to_one")) for row in rows)
    return own, clock


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    settings = dict(parse_override(text) for text in given.set)
    print("| from -> to | frozen | motifs learned anew | clock | fitted on the target itself | does the model fit? |")
    print("|---|---|---|---|---|---|")
    for name, pairs in PAIRS.items():
        for pair in (way for ends in pairs for way in (ends, ends[::-1])):
            (source, _), (target, truth) = (recording_of(given.data / name, stem) for stem in pair)
            length, step = WINDOWS[name]
            models = [Rondo(length, step, settings=settings, seed=given.seed).fit(own) for own in (source, target)]
            frozen = models[0].predict(target)
            fitted = FitProfile.from_json(models[0].provenance_["fit_profile"], Path(source.id))
            fit = f"{fit_of(frozen.fit_profile, fitted)}, {100 * frozen.share_accepted:.0f} % accepted"
            (own, clock), (itself, _) = cells(truth, frozen), cells(truth, models[1].predict(target))
            anew, _ = cells(truth, models[0].fit_motifs(target).predict(target))
            print(f"| {name} {source.id} -> {target.id} | {own} | {anew} | {clock} | {itself} | {fit} |", flush=True)


if __name__ == "__main__":
    main()
