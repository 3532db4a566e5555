"""`rondo suggest`: which windows suit the data, at which lengths levels stand out, and what a run would cost.

Nothing is written but the picture of the curve, where one is asked for.

A command of its own and no `discover --dry-run`: it needs no --out, shows what discover does not, and is asked before
the first run, when nobody knows yet what to set.
"""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli import options
from rondo.cli.discover import read_all
from rondo.cli.progress import progress
from rondo.cli.terminal import print
from rondo.errors import OutputError
from rondo.wording import duration_in_words, notes_by_recording

if TYPE_CHECKING:
    from rondo.config.settings import RondoConfig
    from rondo.data.recording import Recording
    from rondo.data.signal import Signal
    from rondo.data.window_lengths import Candidate
    from rondo.scale_curve import ScaleCurve
    from rondo.stability import WindowFit

_ALIKE = (
    "like the one above: ARI of the units with those of the window above. Near 1 the choice between the two hardly "
    "matters; where it falls, or few units are left, the longer window has begun to blur them."
)
_BAR = 40  # characters of an agreement of 1
_MOST_FITTED_FRAMES = 60_000  # of each recording, with --fit: enough to see, quick enough to wait for


LookForLevels = Annotated[
    bool, typer.Option("--levels/--no-levels", help="Look for levels: window lengths at which two views agree best.")
]
FitEach = Annotated[
    bool, typer.Option("--fit", metavar="", help="Also find units with each window: how many, how long, how alike.")
]
Picture = Annotated[
    Path | None, typer.Option("--picture", metavar="FILE", help="Also draw the curve, as a new file FILE.svg.")
]


def suggest(
    paths: options.Recordings,
    levels: LookForLevels = True,
    fit: FitEach = False,
    picture: Picture = None,
    rate: options.Rate = None,
    key: options.Key = None,
    label_column: options.LabelColumns = None,
    split_by: options.SplitBy = None,
    session: options.OneSession = False,
    keep_column: options.KeepColumns = None,
    preset: options.Preset = "default",
    config: options.ConfigFile = None,
    set_: options.Settings = None,
    json: options.Json = False,
) -> None:
    """Suggest windows of units and of motifs, show which lengths carry structure, and estimate what a run would cost.

    Example: rondo suggest walk.csv --rate 100
    """
    from rondo.cost import cost_of_fit
    from rondo.data.scaling import Preprocessor
    from rondo.data.window_lengths import choose_scales, window_curve
    from rondo.files.inputs import common_rate

    settings = options.resolve_settings(preset, config, set_)
    if picture is not None and picture.suffix.lower() != ".svg":
        raise OutputError(f"{picture}: the curve is drawn as SVG only; give --picture {picture.with_suffix('.svg')}")
    recordings = read_all(paths, options.reading(rate, key, label_column, keep_column, split_by, session))
    common_rate(recordings)
    preprocessor = Preprocessor.fit(recordings, settings.preprocess)
    signals = [preprocessor.apply(recording) for recording in recordings]
    length, step, motif_length = choose_scales(signals, settings)
    curve = window_curve(signals, length)
    fits = _fits(recordings, settings, curve) if fit else []
    scales = _scales_seen(signals, settings.seed) if levels else None
    cost = cost_of_fit(settings, [signal.n_frames for signal in signals], len(preprocessor.channels), length, step)
    facts = _facts(signals, (length, step, motif_length), curve)
    facts |= {"fits": [asdict(one) for one in fits]} if fits else {}
    facts |= {"levels": _as_dict(scales)} if scales is not None else {}
    facts["cost"] = {"seconds": cost.seconds, "megabytes": cost.megabytes}
    for note in notes_by_recording((signal.id, signal.notes) for signal in signals):
        print(f"note: {note}", file=sys.stderr)
    if picture is not None:
        _draw(picture, curve, signals[0].rate, length, fits, recordings)
    if json:
        print(json_module.dumps(facts))
        return
    print(curve_table(curve, signals[0].rate, length, fits))
    if fits:
        print(_ALIKE)
    if scales is not None:
        print(levels_plot(scales, signals[0].rate, {length: "units", motif_length: "motifs"}))
    for sentence in [*_why(signals, facts, settings), f"`rondo discover` would take {cost.sentence()}."]:
        print(sentence)
    if picture is not None:
        print(f"picture: {picture}")


def _facts(signals: Sequence[Signal], scales: tuple[int, int, int], curve: Sequence[Candidate]) -> dict[str, Any]:
    from rondo.data.window_lengths import typical_period

    length, step, motif_length = scales
    return {
        "window_length_frames": length,
        "step_frames": step,
        "motif_window_frames": motif_length,
        "rate": signals[0].rate,
        "typical_period_frames": typical_period(signals),
        "n_frames": sum(signal.n_frames for signal in signals),
        "n_recordings": len(signals),
        "curve": [asdict(candidate) for candidate in curve],
    }


def _draw(
    path: Path,
    curve: Sequence[Candidate],
    rate: float | None,
    chosen: int,
    fits: Sequence[WindowFit],
    recordings: Sequence[Recording],
) -> None:
    from rondo.report.window_picture import window_picture
    from rondo.store.folder import whole_files

    more = f" and {len(recordings) - 1} more" if len(recordings) > 1 else ""
    title = f"Which window suits {recordings[0].id}{more}?"
    whole_files({path: window_picture(curve, rate, chosen, fits, title).encode()})


def _fits(recordings: Sequence[Recording], settings: RondoConfig, curve: Sequence[Candidate]) -> list[WindowFit]:
    from rondo.data.recording import Recording
    from rondo.stability import over_windows

    def beginning(one: Recording) -> Recording:
        times = None if one.timestamps_s is None else one.timestamps_s[:_MOST_FITTED_FRAMES]
        return Recording(one.values[:_MOST_FITTED_FRAMES], one.rate, one.channels, one.id, times)

    with progress() as tell:
        lengths = [candidate.length_frames for candidate in curve]
        return over_windows([beginning(one) for one in recordings], settings, lengths, tell)


def curve_table(curve: Sequence[Candidate], rate: float | None, chosen: int, fits: Sequence[WindowFit] = ()) -> str:
    """One line per window; the chosen one carries an arrow."""
    lines = [["", "window", "seconds", "step", "windows", "cycles", "power within"]]
    lines[0] += ["units", "median run", "like the one above"] if fits else []
    for place, one in enumerate(curve):
        seconds = "" if rate is None else f"{one.length_frames / rate:.3g}"
        line = ["->" if one.length_frames == chosen else "", str(one.length_frames), seconds, str(one.step_frames)]
        line += [f"{one.n_windows:,}", f"{one.cycles:.2f}", f"{one.power_within:.0%}"]
        if fits:
            own = fits[place]
            frames = own.median_duration_frames
            run = f"{frames:.0f}" if rate is None else duration_in_words(frames / rate)
            line += [str(own.n_units), run, "" if own.ari is None else f"{own.ari:.2f}"]
        lines.append(line)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def _scales_seen(signals: Sequence[Signal], seed: int) -> ScaleCurve:
    from rondo.scale_curve import curve_of_signals

    with progress() as tell:
        return curve_of_signals(signals, seed, tell)


def _as_dict(curve: ScaleCurve) -> dict[str, Any]:
    return {
        "views": curve.views,
        "levels_frames": list(curve.levels),
        "rises_at_end": curve.rises_at_end,
        "curve": [asdict(scale) | {"agreement": scale.agreement} for scale in curve.scales],
    }


def levels_plot(curve: ScaleCurve, rate: float | None, chosen: dict[int, str]) -> str:
    """A bar for each length of the ladder, the levels marked, and what that says; `chosen`: what the default takes."""
    if not curve.scales:
        return "levels: too short to look for any"

    def told(frames: int) -> str:
        return f"{frames} frames" if rate is None else f"{frames / rate:.3g} s"

    dealt = "channels" if curve.views == "channels" else "statistics"
    lines = [f"How far two halves of the {dealt} agree on units, by window length (0 is chance, 1 the same):"]
    nearest = {min(curve.scales, key=lambda one: abs(one.length_frames - own)): name for own, name in chosen.items()}
    for scale in curve.scales:
        bar = "#" * round(_BAR * max(0.0, scale.agreement))
        marks = ["<- level"] if scale.length_frames in curve.levels else []
        marks += [f"({nearest[scale]}, by default)"] if scale in nearest else []
        lines.append(" ".join([f"{told(scale.length_frames):>12} {scale.agreement:6.2f}", bar, *marks]).rstrip())
    seen = " and ".join(told(level) for level in curve.levels)
    lines.append(f"levels: {seen or 'none stands out'}" + _what_to_do(curve, told))
    return "\n".join(lines)


def _what_to_do(curve: ScaleCurve, told: Callable[[int], str]) -> str:
    beyond = ""
    if curve.rises_at_end:
        beyond = f"; agreement is highest at the longest window, {told(curve.scales[-1].length_frames)}"
    if not curve.levels:
        return f"{beyond}."
    tries = f"--window {curve.levels[0]}"
    if len(curve.levels) > 1:
        tries += f" --motif-window {curve.levels[-1]}"
    return f"{beyond}. The default is not changed by this; to look at what is there: {tries}"


def _why(signals: Sequence[Signal], facts: dict[str, Any], settings: RondoConfig) -> list[str]:
    """Where the windows come from, and when to doubt them."""
    from rondo.config.settings import ComposedMotifsConfig
    from rondo.data.window_lengths import FEWEST_TELLING_FRAMES

    length, rate, period = facts["window_length_frames"], facts["rate"], facts["typical_period_frames"]
    two_scales = isinstance(settings.motifs, ComposedMotifsConfig)
    long = f" --motif-window {facts['motif_window_frames']}" if two_scales else ""
    said = "suggested" if settings.windows.length == "auto" else "as asked for"
    longest = max(stop - start for signal in signals for start, stop in signal.spans)
    cycle = f"{period:.0f} frames" if rate is None else duration_in_words(period / rate)
    rule = (
        "A window of units should hold one or two cycles of the fastest thing you care about: you know it, the curve "
        "does not."
    )
    cycles = length / period
    if length < FEWEST_TELLING_FRAMES:
        rule += f" With {longest:,} frames a window reflects signal level only: record longer."
    if cycles < 0.5 and facts["motif_window_frames"] < period:
        rule += f" This one holds {cycles:.1f} of a typical period; try --window {round(period)} beside it."
    return [
        f"{said}: --window {length} --step {facts['step_frames']}{long}",
        _scales(facts, two_scales),
        _source_of_windows(signals, facts, settings, longest, cycle),
        rule,
    ]


def _scales(facts: dict[str, Any], two_scales: bool) -> str:
    """Both windows in time and frames.

    >>> _scales({"window_length_frames": 38, "motif_window_frames": 150, "rate": 50.0}, True)
    'units: 0.76 s (38 frames), motifs: 3 s (150 frames)'
    >>> _scales({"window_length_frames": 38, "motif_window_frames": 38, "rate": None}, False)
    'units: 38 frames, motifs are made of these'
    """
    rate = facts["rate"]

    def told(frames: int) -> str:
        return f"{frames} frames" if rate is None else f"{frames / rate:.3g} s ({frames} frames)"

    long = f"motifs: {told(facts['motif_window_frames'])}" if two_scales else "motifs are made of these"
    return f"units: {told(facts['window_length_frames'])}, {long}"


def _source_of_windows(
    signals: Sequence[Signal], facts: dict[str, Any], settings: RondoConfig, longest: int, cycle: str
) -> str:
    from rondo.config.settings import ComposedMotifsConfig
    from rondo.data.window_lengths import WindowScales, typical_periods, why_scales

    length, rate = facts["window_length_frames"], facts["rate"]
    if isinstance(settings.motifs, ComposedMotifsConfig):
        why = why_scales(signals, settings, WindowScales(length, facts["step_frames"], facts["motif_window_frames"]))
        return f"{why} The typical period of the signal is {cycle}."
    if settings.windows.length != "auto":
        return f"The typical period of the signal is {cycle}."
    if length == longest // 20:
        return (
            f"A twentieth of the longest unbroken stretch ({longest:,} frames): longer, and too few windows are left."
        )
    if rate is not None and length == round(1.5 * rate):
        return f"1.5 s did best over our development sets, from a flat optimum; the signal's typical period is {cycle}."
    n_periods = typical_periods(signals)
    counted = "The typical period" if n_periods == 1 else f"{n_periods} typical periods"
    return (
        f"{counted} of the signal, {cycle}"
        + (" each" if n_periods > 1 else "")
        + ("; with --rate HZ it would be 1.5 s." if rate is None else ": 1.5 s would be only a handful of frames.")
    )
