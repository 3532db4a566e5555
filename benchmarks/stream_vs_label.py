"""How far a stream agrees with `label`, frozen and learning, on real recordings.

    RONDO_DATA=FOLDER python benchmarks/stream_vs_label.py [--lags 4 8 16 32]

A model is fitted on a whole recording, or on its first half; then the recording, or its second half, is labelled as a
whole and as a stream. Figures are shares of rows with the same label, in percent: `agree` of units, `motifs` of motifs;
`alike` and `alike m` are against labels that are scaled by the model, as a stream is, where `label` scales a recording
by its own statistics. `behind` is how many windows a decision comes after the end of its frames, in the mean, fed in
chunks of 50 rows.
"""

from __future__ import annotations

import argparse
import os
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo import Recording, Rondo
from rondo.continual.stream import Stream
from rondo.data.labels import OTHER

FILES = (
    "ActRecTut/subject1_walk",
    "OpenPack/U0102-S0500",
    "OpenPack/U0209-S0500",
    "USC-HAD/subject01",
    "MoCap/amc_86_01",
)
Labels = NDArray[np.int32]
ANOTHER = ("OpenPack/U0102-S0500", "OpenPack/U0209-S0500")  # fitted on, read: two people
CHUNK = 50


def streamed(stream: Stream, values: NDArray[np.float32]) -> tuple[Labels, Labels, float]:
    """The unit and the motif of each row, and how many rows after its frames a decision comes."""
    units, motifs = np.full((2, len(values)), OTHER, np.int32)
    behind, weight = 0.0, 0
    for start in range(0, len(values) + CHUNK, CHUNK):
        ends = start >= len(values)
        for own in (stream.finish() if ends else stream.feed(values[start : start + CHUNK])).decisions:
            units[own.start_frame : own.stop_frame] = own.unit
            motifs[own.start_frame : own.stop_frame] = own.motif
            if not ends:
                behind += start + CHUNK - own.stop_frame
                weight += 1
    return units, motifs, behind / max(weight, 1)


def with_lag(model: Rondo, lag: int) -> Rondo:
    continual = model.config_.continual.model_copy(update={"lag": lag})
    model.config_ = model.config_.model_copy(update={"continual": continual})
    return model


def scaled_by_model(model: Rondo, recording: Recording) -> tuple[Labels, Labels]:
    """The units and motifs of `label` with the scale of a stream."""
    own = model.preprocessor_
    alike = own.config.model_copy(update={"statistics": "dataset"})
    model.preprocessor_ = replace(own, config=alike)
    read = model.predict(recording)
    model.preprocessor_ = own
    return read.units, read.motifs


def report(name: str, fitted_on: str, model: Rondo, read: str, recording: Recording, lags: list[int]) -> None:
    labelled = model.predict(recording)
    alike_units, alike_motifs = scaled_by_model(model, recording)
    head = f"{name:<24} {fitted_on:<11} {read:<12}"
    kinds = [(f"frozen, lag {lag}", with_lag(model, lag).stream(frozen=True)) for lag in lags]
    for kind, stream in [*kinds, ("learning", model.stream())]:
        units, motifs, behind = streamed(stream, recording.values)
        of_units = [100 * np.mean(units == labels) for labels in (labelled.units, alike_units)]
        of_motifs = [100 * np.mean(motifs == labels) for labels in (labelled.motifs, alike_motifs)]
        told = " ".join(f"{share:7.2f}" for share in (*of_units, *of_motifs))
        print(f"{head} {kind:<15} {told} {behind / model.step_frames_:7.0f}", flush=True)


def part(recording: Recording, rows: slice) -> Recording:
    return Recording(recording.values[rows], recording.rate, recording.channels, recording.id)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lags", type=int, nargs="+", default=[16])
    parser.add_argument("--files", nargs="*", default=FILES)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    data = Path(os.environ.get("RONDO_DATA", "shared/data"))
    print(f"{'recording':<24} {'fitted on':<11} {'read':<12} {'stream':<15}   agree   alike  motifs alike m  behind")
    quick = {"evidence.surrogates": 0}
    for name in given.files:
        whole = Recording.from_file(data / f"{name}.npz")
        first, second = part(whole, slice(whole.n_frames // 2)), part(whole, slice(whole.n_frames // 2, None))
        report(name, "all of it", Rondo(settings=quick).fit(whole), "all of it", whole, given.lags)
        model = Rondo(settings=quick).fit(first)
        report(name, "first half", model, "all of it", whole, given.lags)
        report(name, "first half", model, "second half", second, given.lags)
    fitted, other = (Recording.from_file(data / f"{name}.npz") for name in ANOTHER)
    report(ANOTHER[1], "another", Rondo(settings=quick).fit(fitted), "all of it", other, given.lags)


if __name__ == "__main__":
    main()
