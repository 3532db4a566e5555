"""`rondo stability`: which units and motifs are found again, by other seeds and in the other half of the time."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

from rondo.cli import options
from rondo.cli.learn import read_all
from rondo.cli.terminal import print, print_json, progress
from rondo.wording import NO_LONGER_MOTIF

if TYPE_CHECKING:
    from rondo.files.reading import Reading
    from rondo.stability import Levels, Stability

_NO_PROOF = (
    "Stability does not prove recurrence: a split that every fit makes is stable too. `rondo discover` tests whether "
    "entries recur."
)


@options.takes_reading(before="preset")
def stability(
    paths: options.Recordings,
    reading: Reading,
    seeds: Annotated[int, options.option("--seeds", "N", "How many fits, with seeds from --seed on; 2 or more.")] = 5,
    halves: Annotated[
        bool, options.switch("--halves", "Also fit the first and the second half of each recording.")
    ] = False,
    window: options.Window = None,
    step: options.Step = None,
    preset: options.Preset = "default",
    config: options.ConfigFile = None,
    set_: options.Settings = None,
    seed: options.Seed = None,
    device: options.Device = None,
    json: options.Json = False,
) -> None:
    """Tell which units and motifs are found again by other seeds, and with --halves in each half of the time.

    Example: rondo stability walk.csv --rate 100 --seeds 5 --halves
    """
    from rondo.errors import SettingError
    from rondo.stability import as_json

    named = {"windows.length": window, "windows.step": step, "seed": seed, "device": device}
    settings = options.resolve_settings(preset, config, set_, named)
    if seeds < 2:
        raise SettingError(f"--seeds must be 2 or more, got {seeds}: one fit has nothing to be compared with")
    recordings = read_all(paths, reading)
    from rondo.model.describe import short_window_note
    from rondo.stability import over_halves, over_seeds

    with progress() as tell:
        model, by_seed = over_seeds(recordings, settings, seeds, tell)
        if note := short_window_note(model, [own.n_frames for own in recordings]):
            print(f"note: {recordings[0].id}: {note}", file=sys.stderr)
        by_half = over_halves(recordings, model, tell) if halves else None
    facts: dict[str, Any] = {
        "n_seeds": seeds,
        "window_length_frames": model.window_length_frames_,
        "step_frames": model.step_frames_,
        "seeds": {"units": as_json(by_seed.units), "motifs": as_json(by_seed.motifs)},
    }
    if by_half is not None:
        facts["halves"] = {"units": as_json(by_half.units), "motifs": as_json(by_half.motifs)}
    if json:
        print_json(facts)
        return
    print(_section(f"over {seeds} seeds", by_seed))
    if by_half is not None:
        print("\n" + _section("over the two halves of each recording", by_half))
        print("What occurs in one half only cannot be found in the other.")
    print(_NO_PROOF)


def _section(title: str, levels: Levels) -> str:
    lines = [f"{title}:", f"  {'entry':<6} {'share':>6} {'stability':>9} {'least':>6} {'by chance':>9}"]
    is_flat = levels.units == levels.motifs
    for letter, level in (("u", levels.units),) if is_flat else (("u", levels.units), ("m", levels.motifs)):
        lines += [
            f"  {letter + str(entry.id):<6} {entry.share:>6.1%} {entry.stability:>9.2f} {entry.least:>6.2f} "
            f"{entry.by_chance:>9.2f}  {entry.verdict}"
            for entry in level.entries
        ]
    motifs = f"In all of these fits {NO_LONGER_MOTIF}." if is_flat else _sentence("motif", levels.motifs)
    return "\n".join([*lines, _sentence("unit", levels.units), motifs])


def _sentence(level: str, found: Stability) -> str:
    """How much of a level is found again, and how much its vocabularies differ."""
    counts = sorted(found.n_entries_of_others)
    others = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    mean = sum(found.ari) / len(found.ari)
    return (
        f"{found.n_stable} of {len(found.entries)} {level}s are stable, {found.share_stable:.0%} of the time; the "
        f"other fits have {others}. ARI between fits: {mean:.2f} on average, {min(found.ari):.2f} at least."
    )
