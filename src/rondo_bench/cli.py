"""`rondo bench`, every experiment of the paper, resumable, and `rondo datasets`, the public data sets."""

from __future__ import annotations

import json as json_module
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from rondo.cli import options
from rondo.cli.terminal import is_quiet, print, print_data, progress
from rondo.errors import OutputError, SettingError
from rondo.wording import counted

if TYPE_CHECKING:
    from rondo_bench.data_sets.catalogue import Listing
    from rondo_bench.data_sets.verify import Check, Counts
    from rondo_bench.experiments.rows import Row
    from rondo_bench.experiments.run import Pending
    from rondo_bench.experiments.spec import SetSpec
    from rondo_bench.experiments.tasks import Plan

bench = typer.Typer(help="Every experiment of the paper, resumable, beside the published numbers.")
bench.callback(invoke_without_command=True)(options.help_without_command)

_BETWEEN_LINES_S = 1.0
ExperimentName = Annotated[
    str,
    typer.Argument(
        metavar="EXPERIMENT",
        help="static, continual, transfer, ablation, representation, qualitative, readings, pca, clap_suite, mocap6, "
        "a table of the paper (table1 to table5, full), or a .toml file.",
    ),
]
OutDir = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder of the rows; a run goes on where one stopped.")
]
RowsAt = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder of the rows, or a .csv file that `rows` printed.")
]
DataSets = Annotated[
    str | None, typer.Option("--datasets", metavar="A,B", help="Data sets, or folders of recordings; all if not given.")
]
Methods = Annotated[str | None, typer.Option("--methods", metavar="A,B", help="Some of the methods; all if not given.")]
DataDir = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", envvar="RONDO_DATA", help="Folder that holds the data sets.")
]
PaperColumns = Annotated[
    bool,
    typer.Option("--paper-columns", metavar="", help="The table in LaTeX with the paper's columns and methods only."),
]
Sets = Annotated[
    Path | None,
    typer.Option("--sets", metavar="FILE", help="Windows, channels and axes of data sets, as `show` prints."),
]


@bench.command()
def run(
    experiment: ExperimentName,
    out: OutDir = Path("bench"),
    datasets: DataSets = None,
    methods: Methods = None,
    seeds: Annotated[int | None, typer.Option("--seeds", metavar="N", min=1, help="Of methods that draw.")] = None,
    only: Annotated[str | None, typer.Option("--only", metavar="A,B", help="Some of the recordings, by id.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="Recordings of each set.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", metavar="", help="Say what would run, and how long.")] = False,
    retry: Annotated[bool, typer.Option("--retry", metavar="", help="Run again what has failed.")] = False,
    engine: Annotated[str, typer.Option("--engine", metavar="NAME", help="local, serial or ray.")] = "local",
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", min=1, help="Tasks at a time; as many as cores.")
    ] = None,
    ray_address: Annotated[
        str | None, typer.Option("--ray-address", metavar="HOST:PORT", help="Of a cluster; else Ray on this machine.")
    ] = None,
    per_gpu: Annotated[int, typer.Option("--per-gpu", metavar="N", min=1, help="Tasks that share one GPU.")] = 1,
    data: DataDir = None,
    sets: Sets = None,
    mantis: Annotated[
        str, typer.Option("--mantis", metavar="DIR", envvar="RONDO_MANTIS", help="Weights of MantisV2.")
    ] = "",
    paper_columns: PaperColumns = False,
    device: options.Device = None,
) -> None:
    """Run what is missing of an experiment, one row per method, recording and seed; a table of the paper is printed.

    Example: rondo bench run static --datasets mocap --methods rondo,ticc --data data --out bench
    """
    from rondo.many.driver import engine_of
    from rondo.many.engine import n_cores
    from rondo_bench.experiments.rows import FILE, open_rows, read_rows
    from rondo_bench.experiments.run import made_from_other_folders, made_under_other_names, pending
    from rondo_bench.experiments.run import run as run_pending
    from rondo_bench.experiments.spec import PAPER_TABLES, read_data_sets, read_experiment
    from rondo_bench.experiments.tasks import Choice, plan

    if paper_columns:
        _refuse_no_layout(experiment, _listed(methods))
    chosen = Choice(_listed(datasets), _listed(methods), _listed(only), limit, seeds)
    places = (data and data.absolute(), out.absolute(), device or "auto", mantis)
    planned = plan(read_experiment(experiment), read_data_sets(sets), chosen, *places)
    for note in planned.notes:
        print(f"note: {note}", file=sys.stderr)
    if not planned.tasks:
        raise SettingError("there is nothing to run; give --data, and --datasets that lie there")
    runner = engine_of(engine, workers, ray_address, per_gpu)
    if dry_run:
        there = read_rows(out) if (out / FILE).is_file() else []
        there += made_under_other_names(planned, there)
        _say_plan(planned, pending(planned, there, retry), workers or n_cores(), retry)
        return
    with open_rows(out.absolute()) as store:
        for note in made_from_other_folders(planned, store.rows, out):
            print(f"note: {note}", file=sys.stderr)
        store.add(made_under_other_names(planned, store.rows))
        left = pending(planned, store.rows, retry)
        print(_state(left, retry), file=sys.stderr)
        n_failed = run_pending(left, store, runner, _teller(left.n_missing))
    if paper_columns or experiment in PAPER_TABLES:
        of_sets = dict.fromkeys(task.set_name for task in planned.tasks) if datasets else ()
        of_methods = dict.fromkeys(task.method_name for task in planned.tasks) if methods else ()
        _print_table(experiment, out, tuple(of_sets), tuple(of_methods), sets, paper_columns=paper_columns)
    if n_failed:
        raise OutputError(
            f"{n_failed} of {counted(left.n_missing, 'row')} failed; `rondo bench rows --failed --out {out}` says why, "
            "--retry runs them again"
        )


@bench.command()
def table(
    experiment: ExperimentName,
    out: RowsAt = Path("bench"),
    datasets: DataSets = None,
    methods: Methods = None,
    format: Annotated[str, typer.Option("--format", metavar="NAME", help="markdown, csv or latex.")] = "markdown",
    against: Annotated[
        str | None, typer.Option("--against", metavar="METHOD", help="Whom the others are tested against.")
    ] = None,
    all_scores: Annotated[bool, typer.Option("--all-scores", metavar="", help="F1@10 and F1@25 as well.")] = False,
    paper_columns: PaperColumns = False,
    sets: Sets = None,
) -> None:
    """Print the table of an experiment, the paper's values beside ours.

    Example: rondo bench table static --out bench
    """
    from rondo_bench.experiments.tables import FORMATS

    if format not in FORMATS:
        raise SettingError(f"--format must be {', '.join(FORMATS)}, got '{format}'")
    if paper_columns and (format == "csv" or against or all_scores):
        given = "--format csv" if format == "csv" else "--against" if against else "--all-scores"
        raise SettingError(f"--paper-columns prints the paper's columns, in LaTeX: leave {given} out")
    how: dict[str, Any] = {"format": format, "against": against, "all_scores": all_scores}
    _print_table(experiment, out, _listed(datasets), _listed(methods), sets, paper_columns=paper_columns, **how)


def _refuse_no_layout(experiment: str, methods: Sequence[str]) -> None:
    """Before hours of running."""
    from rondo_bench.experiments.paper_layout import methods_of_paper
    from rondo_bench.experiments.spec import read_experiment

    methods_of_paper(read_experiment(experiment), methods)


def _print_table(
    experiment: str,
    out: Path,
    datasets: Sequence[str],
    methods: Sequence[str],
    sets: Path | None,
    format: str = "markdown",
    against: str | None = None,
    *,
    all_scores: bool = False,
    paper_columns: bool = False,
) -> None:
    from rondo_bench.experiments.paper_layout import choice_of_paper, paper_latex
    from rondo_bench.experiments.rows import read_rows
    from rondo_bench.experiments.spec import WITH_DEVIATIONS, read_data_sets, read_experiment
    from rondo_bench.experiments.summary import summarise
    from rondo_bench.experiments.tables import FORMATS, notes_of

    spec, known, there = read_experiment(experiment), read_data_sets(sets), read_rows(out)
    chosen = _set_names(datasets, known, there)
    if paper_columns:
        chosen, methods = choice_of_paper(spec, known, there, chosen, methods)
    summary = summarise(there, spec, known, chosen, methods, against, all_scores=all_scores)
    if format == "csv" or paper_columns:  # these have no place for notes
        for note in notes_of(summary):
            print(f"note: {note}", file=sys.stderr)
    if paper_columns:
        print_data(paper_latex(summary, deviations=experiment == WITH_DEVIATIONS))
    else:
        print_data(FORMATS[format](summary))


@bench.command()
def figure(
    kind: Annotated[str, typer.Argument(metavar="FIGURE", help="segmentation, continual or scores.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="To write: .png, .pdf or .svg.")],
    out: RowsAt = Path("bench"),
    experiment: Annotated[
        str | None, typer.Option("--experiment", metavar="NAME", help="Of the scores; static.")
    ] = None,
    datasets: DataSets = None,
    methods: Methods = None,
    only: Annotated[str | None, typer.Option("--only", metavar="A,B", help="Recordings of the segmentation.")] = None,
    sets: Sets = None,
) -> None:
    """Draw a figure from the rows.

    Example: rondo bench figure scores scores.png --out bench
    """
    from rondo_bench.experiments.figures import FIGURES, draw
    from rondo_bench.experiments.rows import read_rows
    from rondo_bench.experiments.spec import read_data_sets, read_experiment
    from rondo_bench.experiments.tasks import Choice

    if kind not in FIGURES:
        raise SettingError(f"the figure must be {', '.join(FIGURES)}, got '{kind}'")
    spec = read_experiment(experiment or FIGURES[kind])
    known, there = read_data_sets(sets), read_rows(out)
    chosen = _set_names(_listed(datasets), known, there)
    draw(kind, file, there, spec, known, Choice(chosen, _listed(methods), _listed(only)))
    print(f"{file}")


@bench.command()
def rows(
    out: RowsAt = Path("bench"),
    failed: Annotated[bool, typer.Option("--failed", metavar="", help="Only those that failed.")] = False,
) -> None:
    """Print the rows as CSV.

    Example: rondo bench rows --failed --out bench
    """
    from rondo_bench.experiments.rows import read_rows, to_csv

    print_data(to_csv([row for row in read_rows(out) if not (failed and row.is_ok)]))


@bench.command()
def show(experiment: Annotated[str, typer.Argument(metavar="NAME", help="An experiment, or data_sets.")]) -> None:
    """Print the file of an experiment, to read or to copy and change.

    Example: rondo bench show static
    """
    from rondo_bench.experiments.spec import text_of

    print(text_of(experiment), end="")


def _listed(given: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (given or "").split(",") if part.strip())


def _set_names(given: Sequence[str], known: Mapping[str, SetSpec], rows: Sequence[Row]) -> tuple[str, ...]:
    """Data sets by the names that rows have, whatever way they were written."""
    from rondo_bench.experiments.tasks import refuse_unknown, set_name

    there, names = list(dict.fromkeys(row.key.data_set for row in rows)), []
    for name in given:
        try:
            names.append(name if name in there else Path(set_name(name, known)).name)
        except SettingError:
            refuse_unknown([name], [*there, *known], "data set")
            raise
    return tuple(names)


def _state(left: Pending, retry: bool) -> str:
    said = f"{counted(left.n_rows, 'row')}: {left.n_ok} there, {left.n_missing} to run"
    if left.n_failed and not retry:
        said += f", {left.n_failed} failed before (--retry runs them again)"
    return said


def _say_plan(planned: Plan, left: Pending, workers: int, retry: bool) -> None:
    """One line per method and data set, and the whole."""
    from rondo.wording import estimate_in_words

    by_method: dict[tuple[str, str], tuple[int, float]] = {}
    for task, seconds in zip(left.tasks, left.seconds, strict=True):
        n_rows, before = by_method.get((task.set_name, task.method_name), (0, 0.0))
        by_method[task.set_name, task.method_name] = n_rows + len(task.recordings), before + seconds
    print(f"{'data set':<16} {'method':<22} {'rows':>5}  about")
    for (data_set, method), (n_rows, seconds) in sorted(by_method.items(), key=lambda own: (own[0][0], -own[1][1])):
        print(f"{data_set:<16} {method:<22} {n_rows:>5}  {estimate_in_words(seconds)}")
    print(_state(left, retry))
    total = sum(left.seconds)
    wall = max(total / workers, *left.seconds, 0.0)
    print(f"about {estimate_in_words(total)} of one core; {estimate_in_words(wall)} with {counted(workers, 'worker')}")


def _teller(n_total: int) -> Callable[[Row, int, float], None]:
    last = -_BETWEEN_LINES_S

    def tell(row: Row, n_done: int, left_s: float) -> None:
        nonlocal last
        from rondo.wording import duration_in_words, estimate_in_words

        now, key = time.monotonic(), row.key
        if row.is_ok and (is_quiet() or (now - last < _BETWEEN_LINES_S and n_done < n_total)):
            return
        last = now
        source = f"{key.source} -> " if key.source else ""
        what = f"{key.data_set} {source}{key.recording} {key.method} seed {key.seed}"
        how = f"ARI {row.scores['ari']:.1f}, {duration_in_words(row.seconds)}" if row.is_ok else row.error
        left = f"; about {estimate_in_words(left_s)} left" if n_done < n_total else ""
        print(f"[{n_done}/{n_total}] {what}: {how}{left}", file=sys.stderr, flush=True)

    return tell


datasets = typer.Typer(help="Public data sets that Rondo knows by name.")
datasets.callback(invoke_without_command=True)(options.help_without_command)
_MOST_LINES = 12  # about recordings that differ
Name = Annotated[str, typer.Argument(metavar="NAME", help="As `rondo datasets list` prints it.")]


@datasets.command("list")
def list_(data: DataDir = None, json: options.Json = False) -> None:
    """List the data sets, their size, and whether a copy is at hand.

    Example: rondo datasets list --data data
    """
    from rondo_bench.data_sets.catalogue import DATA_SETS
    from rondo_bench.data_sets.read import data_directory, local_copy

    copies = [(one, local_copy(one, data_directory(data))) for one in DATA_SETS]
    rows = [asdict(one) | {"local_recordings": len(copy.paths) if copy else 0} for one, copy in copies]
    if json:
        print(json_module.dumps(rows))
        return
    print(f"{'name':<13} {'recordings':>10} {'frames':>10} {'channels':>8} {'classes':>7} {'window/step':>11}  here")
    for row in rows:
        size = f"{row['n_recordings']:>10} {row['n_frames']:>10,} {row['n_channels']:>8} {row['n_classes']:>7}"
        here = counted(row["local_recordings"], "recording") if row["local_recordings"] else "-"
        print(f"{row['name']:<13} {size} {row['window']:>7}/{row['step']:<3}  {here}")


@datasets.command()
def info(name: Name, data: DataDir = None, json: options.Json = False) -> None:
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
    print(f"expected ({one.sources}): {', '.join(counted(size, what) for what, size in sizes.items())}")
    print(f"classes: {one.n_classes}; rate: {'unknown' if one.rate is None else f'{one.rate:g} Hz'}")
    print(f"window / step: {one.window} / {one.step} frames")
    if not local:
        print("local copy: none (set RONDO_DATA or --data to the folder that holds it)")
        return
    agrees = len(local) == one.n_recordings and facts["local"]["n_frames"] == one.n_frames
    verdict = "as expected" if agrees else "differs from what is expected"
    print(f"local copy: {counted(len(local), 'recording')}, {facts['local']['n_frames']:,} frames: {verdict}")


@datasets.command()
def verify(name: Name, data: DataDir = None, json: options.Json = False) -> None:
    """Compare a copy with what is expected: counts, rate, the scores of a constant. Exit code 1 if it differs.

    Example: rondo datasets verify mocap --data data
    """
    import numpy as np

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
        print(f"{listing.name}: as expected ({listing.sources})")
        return
    found = differences(listing, counts)
    for line in found[:_MOST_LINES]:
        print(line)
    if len(found) > _MOST_LINES:
        print(f"and {len(found) - _MOST_LINES} more (--json lists all)")
    has_other_length = any(check.what == "frames" and not check.agrees for check in checks)
    if has_other_length and listing.name not in EXPECTED_FRAMES:  # then only a person can tell which recording it is
        print("frames of each recording: " + ", ".join(f"{id} {frames}" for id, frames in counts.frames.items()))
    print(f"{listing.name}: differs from what is expected ({listing.sources})")


@datasets.command()
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
    from rondo_bench.data_sets.catalogue import find_data_set, folders_of
    from rondo_bench.data_sets.fetch import download as fetch_all
    from rondo_bench.data_sets.fetch import offers
    from rondo_bench.data_sets.read import data_directory

    listing = find_data_set(name)
    offer = offers()[listing.name]
    data = data_directory(data)
    if data is None:
        raise SettingError("where to? Give the folder of data sets with --data or the variable RONDO_DATA")
    here = folders_of(listing, data) if data.is_dir() else []
    folder = here[0] if here else data / listing.name
    print(f"{listing.title}\npage: {offer.page}\nlicence: {offer.licence}")
    accepted = offer.by_hand or accept_licence or (sys.stdin.isatty() and typer.confirm("Do you accept this licence?"))
    if not accepted:
        what = f"the licence of {offer.name} was not accepted"
        raise SettingError(f"{what}: read {offer.page}, then add --accept-licence")
    with progress() as tell:
        fetched = fetch_all(offer, folder, tell)
    print(f"{counted(fetched, 'file')} fetched to {folder}" if fetched else f"complete already in {folder}")
    print(f"check it: rondo datasets verify {listing.name} --data {data}")
