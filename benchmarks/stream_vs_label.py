"""How far a stream agrees with `label`, frozen and learning, on real recordings.

    python benchmarks/stream_vs_label.py DATA [--lag 16] [--page docs/results/streams.md]

A model is fitted on a whole recording, or on its first half; then the recording, or its second half, is labelled as a
whole and as a stream, frozen and learning. Figures are shares of rows with the same unit, in percent; `same scale` is
against labels that are scaled by the model, as a stream is, where `label` scales a recording by its own statistics.
`behind` is how many windows a decision of the frozen stream comes after the end of its frames, in the mean, fed in
chunks of 50 rows.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section

from rondo.continual.stream import Stream
from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.files.read import read_recording
from rondo.model.rondo import Rondo

SECTIONS = ("stream-vs-label",)
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


def streamed(stream: Stream, values: NDArray[np.float32]) -> tuple[Labels, float]:
    """The unit of each row, and how many rows after its frames a decision comes."""
    units = np.full(len(values), OTHER, np.int32)
    behind, weight = 0.0, 0
    for start in range(0, len(values) + CHUNK, CHUNK):
        ends = start >= len(values)
        for own in (stream.finish() if ends else stream.feed(values[start : start + CHUNK])).decisions:
            units[own.start_frame : own.stop_frame] = own.unit
            if not ends:
                behind += start + CHUNK - own.stop_frame
                weight += 1
    return units, behind / max(weight, 1)


def with_lag(model: Rondo, lag: int) -> Rondo:
    continual = model.config_.continual.model_copy(update={"lag": lag})
    model.config_ = model.config_.model_copy(update={"continual": continual})
    return model


def scaled_by_model(model: Rondo, recording: Recording) -> Labels:
    """The units of `label` with the scale of a stream."""
    own = model.preprocessor_
    alike = own.config.model_copy(update={"statistics": "dataset"})
    model.preprocessor_ = replace(own, config=alike)
    units = model.predict(recording).units
    model.preprocessor_ = own
    return units


def shares(model: Rondo, recording: Recording) -> list[str]:
    """Frozen, frozen in the same scale, learning, learning in the same scale; windows behind."""
    labelled, alike = model.predict(recording).units, scaled_by_model(model, recording)
    cells, late = [], 0.0
    for frozen in (True, False):
        units, behind = streamed(model.stream(frozen=frozen), recording.values)
        cells += [f"{100 * np.mean(units == labels):.1f}" for labels in (labelled, alike)]
        late = behind if frozen else late
    return [*cells, f"{late / model.step_frames_:.0f}"]


def part(recording: Recording, rows: slice) -> Recording:
    return Recording(recording.values[rows], recording.rate, recording.channels, recording.id)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--lag", type=int, default=16)
    parser.add_argument("--files", nargs="*", default=FILES)
    given = parse(parser, __file__)
    warnings.simplefilter("ignore")
    kinds = [f"{kind}{scale}" for kind in ("frozen", "learning") for scale in ("", ", same scale")]
    table, quick = Table("recording", "fitted on", "read", *kinds, "behind"), {"evidence.surrogates": 0}
    for name in given.files:
        whole = read_recording(given.data / f"{name}.npz")
        first, second = part(whole, slice(whole.n_frames // 2)), part(whole, slice(whole.n_frames // 2, None))
        model = with_lag(Rondo(settings=quick).fit(whole), given.lag)
        table.add(name, "all", "all", *shares(model, whole))
        model = with_lag(Rondo(settings=quick).fit(first), given.lag)
        table.add("", "first half", "all", *shares(model, whole))
        table.add("", "first half", "second half", *shares(model, second))
    fitted, other = (read_recording(given.data / f"{name}.npz") for name in ANOTHER)
    model = with_lag(Rondo(settings=quick).fit(fitted), given.lag)
    table.add(ANOTHER[1], f"{ANOTHER[0]}, another person", "all", *shares(model, other))
    write_section(given, "stream-vs-label", table)


if __name__ == "__main__":
    main()
