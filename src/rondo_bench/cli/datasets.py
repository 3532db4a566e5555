"""`rondo datasets`: the public data sets that Rondo knows."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from rondo.cli import options
from rondo.cli.progress import progress
from rondo.cli.terminal import print
from rondo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rondo_bench.data_sets.catalogue import Listing
    from rondo_bench.data_sets.offers import Offer
    from rondo_bench.data_sets.verify import Check, Counts

app = typer.Typer(help="Public data sets that Rondo knows by name.")
app.callback(invoke_without_command=True)(options.help_without_command)
DataDir = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", envvar="RONDO_DATA", help="Folder that holds local copies."),
]
_MOST_LINES = 12  # about recordings that differ
Name = Annotated[str, typer.Argument(metavar="NAME", help="As `rondo datasets list` prints it.")]


@app.command("list")
def list_(data: DataDir = None, json: options.Json = False) -> None:
    """List the data sets, their size, and whether a copy is at hand.

    Example: rondo datasets list --data data
    """
    from rondo_bench.data_sets.catalogue import DATA_SETS
    from rondo_bench.data_sets.read import data_directory, local_copy

    copies = {one.name: local_copy(one, data_directory(data)) for one in DATA_SETS}
    rows = [
        asdict(one) | {"local_recordings": len(copy.paths) if (copy := copies[one.name]) else 0} for one in DATA_SETS
    ]
    if json:
        print(json_module.dumps(rows))
        return
    print(f"{'name':<13} {'recordings':>10} {'frames':>10} {'channels':>8} {'classes':>7} {'window/step':>11}  here")
    for row in rows:
        size = f"{row['n_recordings']:>10} {row['n_frames']:>10,} {row['n_channels']:>8} {row['n_classes']:>7}"
        here = counted(row["local_recordings"], "recording") if row["local_recordings"] else "-"
        print(f"{row['name']:<13} {size} {row['window']:>7}/{row['step']:<3}  {here}")


@app.command()
def info(
    name: Name,
    data: DataDir = None,
    json: options.Json = False,
) -> None:
    """Show one data set, and count the local copy if there is one.

    Example: rondo datasets info mocap --data data
    """
    from rondo_bench.data_sets.catalogue import find_data_set
    from rondo_bench.data_sets.read import data_directory, local_copy

    one = find_data_set(name)
    copy = local_copy(one, data_directory(data))
    local = [copy.read_recording(path) for path in copy.paths] if copy else []
    facts: dict[str, Any] = asdict(one) | {
        "local": {"n_recordings": len(local), "n_frames": sum(recording.n_frames for recording in local)}
    }
    if json:
        print(json_module.dumps(facts))
        return
    print(f"{one.title}: {one.about}")
    sizes = {"recording": one.n_recordings, "frame": one.n_frames, "channel": one.n_channels}
    print(f"expected ({one.source}): {', '.join(counted(size, what) for what, size in sizes.items())}")
    print(f"classes: {one.n_classes}; rate: {'unknown' if one.rate is None else f'{one.rate:g} Hz'}")
    print(f"window / step: {one.window} / {one.step} frames")
    if not local:
        print("local copy: none (set RONDO_DATA or --data to the folder that holds it)")
        return
    agrees = len(local) == one.n_recordings and facts["local"]["n_frames"] == one.n_frames
    verdict = "as expected" if agrees else "differs from what is expected"
    print(f"local copy: {counted(len(local), 'recording')}, {facts['local']['n_frames']:,} frames: {verdict}")


@app.command()
def verify(name: Name, data: DataDir = None, json: options.Json = False) -> None:
    """Compare a copy with what is expected: counts, rate, the scores of a constant. Exit code 1 if it differs.

    Example: rondo datasets verify mocap --data data
    """
    import numpy as np

    from rondo.errors import SettingError
    from rondo.metrics.scores import evaluate
    from rondo_bench.data_sets.read import data_directory, find_copy
    from rondo_bench.data_sets.verify import (
        CONSTANT_SCORES,
        check_constant,
        check_counts,
        count,
        differences,
        other_recordings,
        what_to_do,
    )

    copy = find_copy(name, data)
    listing = copy.listing
    if listing is None:
        raise SettingError(f"{name}: a folder of your own has nothing to be held against; give the name of a data set")
    with progress() as tell:
        counts = count(copy, tell)
    checks = check_counts(listing, counts)
    if listing.name in CONSTANT_SCORES and counts.annotations:
        pairs = {id: (one.classes, np.zeros_like(one.classes)) for id, one in counts.annotations.items()}
        checks += check_constant(listing.name, evaluate(pairs).average.as_dict())
    agrees = all(check.agrees for check in checks)
    if json:
        facts = {"name": listing.name, "agrees": agrees, "checks": [asdict(check) for check in checks]}
        missing, more = other_recordings(listing, counts)
        facts |= {"frames": dict(counts.frames), "missing": missing, "not_expected": more}
        facts |= {"unreadable": dict(counts.unreadable), "differences": differences(listing, counts)}
        print(json_module.dumps(facts))
    else:
        _print_checks(listing, checks, counts)
    if not agrees:
        if not json:
            print(what_to_do(listing, cast(Path, data_directory(data))))
        raise typer.Exit(1)


def _print_checks(listing: Listing, checks: Sequence[Check], counts: Counts) -> None:
    from rondo_bench.data_sets.verify import EXPECTED_FRAMES, differences

    print(f"{listing.title}\n  {'':<16} {'expected':>12} {'found':>12}")
    for check in checks:
        print(f"  {check.what:<16} {check.expected:>12} {check.found:>12}  {'ok' if check.agrees else 'DIFFERS'}")
    if all(check.agrees for check in checks):
        print(f"{listing.name}: as expected ({listing.source})")
        return
    found = differences(listing, counts)
    for line in found[:_MOST_LINES]:
        print(line)
    if len(found) > _MOST_LINES:
        print(f"and {len(found) - _MOST_LINES} more (--json lists all)")
    has_other_length = any(check.what == "frames" and not check.agrees for check in checks)
    if has_other_length and listing.name not in EXPECTED_FRAMES:  # then only a person can tell which recording it is
        print("frames of each recording: " + ", ".join(f"{id} {frames}" for id, frames in counts.frames.items()))
    print(f"{listing.name}: differs from what is expected ({listing.source})")


@app.command()
def download(
    name: Name,
    data: DataDir = None,
    accept_licence: Annotated[
        bool,
        typer.Option("--accept-licence", metavar="", help="Accept the licence that is shown, without being asked."),
    ] = False,
) -> None:
    """Get a data set from its official address; stopped and started again, it goes on where it was.

    Example: rondo datasets download mocap --data data
    """
    from rondo.errors import SettingError
    from rondo_bench.data_sets.catalogue import find_data_set, folders_of
    from rondo_bench.data_sets.download import download as fetch_all
    from rondo_bench.data_sets.offers import offers
    from rondo_bench.data_sets.read import data_directory

    listing = find_data_set(name)
    offer = offers()[listing.name]
    data = data_directory(data)
    if data is None:
        raise SettingError("where to? Give the folder of data sets with --data or the variable RONDO_DATA")
    here = folders_of(listing, data) if data.is_dir() else []
    folder = here[0] if here else data / listing.name
    print(f"{listing.title}\npage: {offer.page}\nlicence: {offer.licence}")
    if not offer.by_hand:
        _ask_for_acceptance(offer, accept_licence)
    with progress() as tell:
        fetched = fetch_all(offer, folder, tell)
    print(f"{counted(fetched, 'file')} fetched to {folder}" if fetched else f"complete already in {folder}")
    print(f"check it: rondo datasets verify {listing.name} --data {data}")


def _ask_for_acceptance(offer: Offer, accepted: bool) -> None:
    from rondo.errors import SettingError

    if not accepted and sys.stdin.isatty():
        accepted = typer.confirm("Do you accept this licence?", default=False)
    if not accepted:
        raise SettingError(
            f"the licence of {offer.name} was not accepted: read {offer.page}, then add --accept-licence"
        )
