"""`rondo suggest`: which windows suit the data, and what a run would cost; nothing is written.

A separate command rather than `discover --dry-run`: it needs no --out, shows what discover does not, and is used before
the first run, when nobody knows yet what to set.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from rondo.cli import options
from rondo.cli.learn import read_all
from rondo.cli.terminal import aligned, print, print_json
from rondo.wording import duration_in_words

if TYPE_CHECKING:
    from rondo.data.window_lengths import Candidate
    from rondo.files.reading import Reading


@options.takes_reading(before="preset")
def suggest(
    paths: options.Recordings,
    reading: Reading,
    preset: options.Preset = "default",
    config: options.ConfigFile = None,
    set_: options.Settings = None,
    json: options.Json = False,
) -> None:
    """Suggest windows of units and of motifs, and estimate what a run would cost.

    Example: rondo suggest walk.csv --rate 100
    """
    from rondo.cost import cost_of_fit
    from rondo.data.notes import gathered
    from rondo.data.scaling import Preprocessor
    from rondo.data.window_lengths import choose_scales, typical_period, why_windows, window_curve
    from rondo.files.inputs import common_rate
    from rondo.files.poses import as_bodies, poses_in

    settings = options.resolve_settings(preset, config, set_)
    recordings = as_bodies(read_all(paths, reading), replace(reading, poses=poses_in(settings.preprocess)))
    common_rate(recordings)
    preprocessor = Preprocessor.fit(recordings, settings.preprocess)
    signals = [preprocessor.apply(recording) for recording in recordings]
    scales = choose_scales(signals, settings)
    curve = window_curve(signals, scales.unit_frames)
    lengths = [signal.n_frames for signal in signals]
    cost = cost_of_fit(settings, lengths, len(preprocessor.channels), scales.unit_frames, scales.step_frames)
    for note in gathered((signal.id, signal.notes) for signal in signals):
        print(f"note: {note}", file=sys.stderr)
    if json:
        facts = {
            "window_length_frames": scales.unit_frames,
            "step_frames": scales.step_frames,
            "motif_window_frames": scales.motif_frames,
            "rate": signals[0].rate,
            "typical_period_frames": typical_period(signals),
            "n_frames": sum(lengths),
            "n_recordings": len(signals),
            "curve": [asdict(candidate) for candidate in curve],
            "cost": {"seconds": cost.seconds, "megabytes": cost.megabytes},
        }
        print_json(facts)
        return
    print(_table(curve, signals[0].rate, scales.unit_frames))
    for sentence in [*why_windows(signals, settings, scales), f"`rondo discover` would take {cost.sentence()}."]:
        print(sentence)


def _table(curve: Sequence[Candidate], rate: float | None, chosen: int) -> str:
    """One line per window; the chosen one carries an arrow."""
    lines = [["", "window", "time", "step", "windows", "cycles", "power within"]]
    for window in curve:
        frames = window.length_frames
        time = "" if rate is None else duration_in_words(frames / rate)
        line = ["->" if frames == chosen else "", str(frames), time, str(window.step_frames)]
        lines.append([*line, f"{window.n_windows:,}", f"{window.cycles:.2f}", f"{window.power_within:.0%}"])
    return "\n".join(aligned(lines, texts=()))
