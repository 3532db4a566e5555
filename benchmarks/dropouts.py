"""Channels that fall silent: units of recordings with planted dropouts, next to those of the same recordings without.

    python benchmarks/dropouts.py DATA [SET ...] [--places 2]

Four faults: `130 s`, one channel is silent for 130 seconds in the middle; `half`, a sensor of three channels is silent
for the second half; `fifth`, two thirds of the channels are silent for a fifth of the recording, in the middle;
`throughout`, one channel is silent in one recording, while the other, fitted with it, has it.
Three answers: `fill` and `cut` (preprocess.dropouts), and `drop`, which leaves the channel out (preprocess.channels).
The first three faults are planted in each recording, which is fitted alone; the fourth is scored on the recording
that has it. Cells are ARI / AMI / one-to-one of the units against the annotation, then the ARI between them and the
units of the recording without the fault: means over recordings and over the places at which the fault is planted.
Constants of the rule were chosen on ActRecTut, which is not among the sets, and on other planted recordings. DATA holds
a folder of .npz files (`X`, `y`) and a meta.json (`rate_hz`) for each set but `planted`, which is generated.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.metrics.scores import evaluate
from rondo.model.rondo import Rondo
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant_subjects

Labels = NDArray[np.int32]
Case = tuple[Recording, Labels]
SECTIONS = ("dropouts",)
SETS = ("OpenPack", "USC-HAD", "PTE", "HuGaDB", "planted")
FAULTS = ("130 s", "half", "fifth", "throughout")
ANSWERS = ("fill", "cut", "drop")
N_RECORDINGS, MOST_FRAMES, SECONDS, OF_A_SENSOR = 2, 60_000, 130, 3
PLANTED_SEED, PLANTED_FRAMES = 60, 30_000


def cases_of(folder: Path) -> list[Case]:
    if folder.name == "planted":
        streams = plant_subjects(StreamPlan(), N_RECORDINGS, n_frames=PLANTED_FRAMES, seed=PLANTED_SEED)
        return [(stream.recording, stream.unit_truth) for stream in streams]
    rate = json.loads((folder / "meta.json").read_text())["rate_hz"]
    found: list[Case] = []
    for path in sorted(folder.glob("*.npz"))[:N_RECORDINGS]:
        with np.load(path) as stored:
            values = stored["X"][:MOST_FRAMES].astype(np.float32)
            found.append((Recording(values, rate, id=path.stem), stored["y"][:MOST_FRAMES]))
    return found


def silent_channels(fault: str, n_channels: int, n_places: int) -> list[list[int]]:
    """For each place the channels that fall silent, evenly spread over the sensors."""
    if fault == "fifth":
        n_silent = 2 * n_channels // 3
        starts = np.linspace(0, n_channels - n_silent, n_places).round().astype(int).tolist()
        return [list(range(c, c + n_silent)) for c in starts]
    sensors = np.linspace(0, n_channels // OF_A_SENSOR - 1, n_places).round().astype(int) * OF_A_SENSOR
    return [list(range(c, c + (OF_A_SENSOR if fault == "half" else 1))) for c in sensors.tolist()]


def with_fault(recording: Recording, fault: str, channels: Sequence[int]) -> Recording:
    n, values = recording.n_frames, recording.values.copy()
    middle, reach = n // 2, round(SECONDS * (recording.rate or 1) / 2)
    spans = {
        "130 s": (middle - reach, middle + reach),
        "half": (middle, n),
        "fifth": (middle - n // 10, middle + n // 10),
        "throughout": (0, n),
    }
    start, stop = spans[fault]
    values[max(0, start) : stop, channels] = np.nan
    return Recording(values, recording.rate, recording.channels, recording.id)


def units_of(recordings: Sequence[Recording], settings: dict[str, object]) -> list[Labels]:
    result = Rondo(seed=0, settings={"evidence.surrogates": 0} | settings).fit_predict(list(recordings))
    return [labelling.units for labelling in result]


def answered(recordings: Sequence[Recording], channels: Sequence[int], answer: str) -> list[Labels] | None:
    """Units by one of the answers; None where Rondo refuses the recordings."""
    settings: dict[str, object] = {"preprocess.dropouts": answer}
    if answer == "drop":
        names = recordings[0].channels
        settings = {"preprocess.channels": tuple(name for c, name in enumerate(names) if c not in channels)}
    try:
        return units_of(recordings, settings)
    except RecordingError:
        return None


def cell(scored: Sequence[tuple[Labels, Labels, Labels]]) -> str:
    """Of (annotation, units, units without the fault)."""
    if not scored:
        return "refused"
    own = evaluate({str(i): (truth, units) for i, (truth, units, _) in enumerate(scored)}).average
    same = evaluate({str(i): (clean, units) for i, (_, units, clean) in enumerate(scored)}).average
    return f"{own.ari:.1f} / {own.ami:.1f} / {own.one_to_one:.1f}, {same.ari:.0f}"


def row_of(cases: Sequence[Case], fault: str, n_places: int) -> list[str]:
    """The cells of one fault: without it, then by each answer."""
    groups = [list(cases)] if fault == "throughout" else [[case] for case in cases]
    scored: dict[str, list[tuple[Labels, Labels, Labels]]] = {name: [] for name in ("clean", *ANSWERS)}
    for group in groups:
        recordings, truth = [recording for recording, _ in group], group[-1][1]
        clean = units_of(recordings, {})[-1]
        scored["clean"].append((truth, clean, clean))
        for channels in silent_channels(fault, recordings[0].n_channels, n_places):
            holed = [*recordings[:-1], with_fault(recordings[-1], fault, channels)]
            for answer in ANSWERS:
                found = answered(holed, channels, answer)
                if found is not None:
                    scored[answer].append((truth, found[-1], clean))
    return [cell(own) for own in scored.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--places", type=int, default=2)
    given = parse(parser, __file__)
    warnings.simplefilter("ignore")
    table = Table("set", "fault", "without it", *ANSWERS)
    for name in given.sets:
        cases = cases_of(given.data / name)
        for fault in FAULTS if len(cases) > 1 else FAULTS[:-1]:
            table.add(name, fault, *row_of(cases, fault, given.places))
    write_section(given, "dropouts", table)


if __name__ == "__main__":
    main()
