"""What becomes of units and motifs that appear in the middle of a stream: found, false, and after how many visits.

    OMP_NUM_THREADS=1 python benchmarks/progressive.py [--sets planted planted_motifs] [--encoder summary_stats]
        [--page docs/results/continual_rules.md]

The scores of the progressive experiment, on all sets and for all methods, are those of `rondo bench run continual`;
this adds what is known of planted streams only. They are 8 of 33 minutes, in which two units appear at 40 % and 60 %,
each in a motif that is new too: `found` counts the new ones that a promoted one stands for, `false` the promoted ones
that stand for nothing new, `delay` is how often a new one had come when it was promoted.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section

from rondo.metrics.continual import INITIAL_PERCENT
from rondo.model.rondo import Rondo
from rondo.registry import ENCODERS
from rondo_bench.experiments.continual import Followed, follow
from rondo_bench.experiments.inputs import PLANTED, read_some, recording_ids
from rondo_bench.experiments.spec import Level, SetSpec, read_data_sets

SECTIONS = ("promotions",)
NEW = {"unit": (8, 9), "motif": (5, 6)}  # those that appear later


class Found(NamedTuple):
    """New entries that a promoted one stands for, promoted ones that stand for nothing new, visits before promotion."""

    new: set[int]
    n_promoted: int
    n_false: int
    delays: list[int]


def novelty(classes: NDArray[np.int64], followed: Followed, level: Level, window: int) -> Found:
    offset = classes.size * INITIAL_PERCENT // 100 - window
    promoted = [event for event in followed.events if (event.kind, event.level) == ("promote", level)]
    new: set[int] = set()
    n_false, delays = 0, []
    for event in promoted:
        own = classes[followed.labels == event.ids[0]]
        if not own.size:
            continue
        stands_for = int(np.bincount(own + 1).argmax()) - 1
        if stands_for in NEW[level]:
            new.add(stands_for)
            before = classes[: event.frame + offset] == stands_for
            delays.append(int((before[1:] & ~before[:-1]).sum()))
        else:
            n_false += 1
    return Found(new, len(promoted), n_false, delays)


def cells_of(name: str, of_set: SetSpec, settings: dict[str, str]) -> list[str]:
    level, window = of_set.level or "unit", int(of_set.window)
    streams = read_some(name, None, recording_ids(name, None), of_set)
    found, start = [], time.process_time()
    for recording in streams.recordings:
        chosen = {"evidence.surrogates": 0, **settings}
        model = Rondo(of_set.window, of_set.step, settings=chosen, device="cpu")
        followed = follow(model, recording, level)
        found.append(novelty(streams.annotations[recording.id].classes, followed, level, window))
    seconds = (time.process_time() - start) / len(found)
    delays = [delay for own in found for delay in own.delays]
    n_new, n_false, n_promoted = (sum(counts) for counts in zip(*_counts(found), strict=True))
    delay = f"{np.mean(delays):.1f}" if delays else ""
    return [f"{level}s", str(n_promoted), f"{n_new} of {2 * len(found)}", str(n_false), delay, f"{seconds:.1f}"]


def _counts(found: list[Found]) -> list[tuple[int, int, int]]:
    return [(len(own.new), own.n_false, own.n_promoted) for own in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=PLANTED, choices=PLANTED)
    parser.add_argument("--encoder", default="summary_stats", choices=tuple(ENCODERS))
    parser.add_argument("--weights", default="", help="folder of the published MantisV2, for --encoder mantis")
    given = parse(parser, __file__)
    warnings.simplefilter("ignore")
    settings = {"encoder.name": given.encoder} | ({"encoder.weights": given.weights} if given.weights else {})
    table = Table("new", "promoted", "found", "false", "visits before", "CPU-s of a stream")
    for name in given.sets:
        table.add(*cells_of(name, read_data_sets()[name], settings))
    write_section(given, "promotions", table)


if __name__ == "__main__":
    main()
