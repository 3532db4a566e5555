"""`rondo bench`: every experiment of the paper, resumable, beside the published numbers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rondo.cli import options
from rondo.cli.progress import is_quiet
from rondo.cli.terminal import print, print_data
from rondo.errors import OutputError, SettingError
from rondo.wording import counted

if TYPE_CHECKING:
    from rondo_bench.experiments.plan import Plan
    from rondo_bench.experiments.rows import Row
    from rondo_bench.experiments.run import Pending, Told
    from rondo_bench.experiments.spec import SetSpec

app = typer.Typer(help="Every experiment of the paper, resumable, beside the published numbers.")
app.callback(invoke_without_command=True)(options.help_without_command)

_BETWEEN_LINES_S = 1.0
ExperimentName = Annotated[
    str,
    typer.Argument(
        metavar="EXPERIMENT",
        help="static, continual, transfer, ablation, representation, qualitative, readings, pca, clap_suite, aioi, "
        "mocap6, synseg, "
        "or a .toml file.",
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
Sets = Annotated[
    Path | None,
    typer.Option("--sets", metavar="FILE", help="Windows, channels and axes of data sets, as `show` prints."),
]


@app.command()
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
    device: options.Device = None,
) -> None:
    """Run what is missing of an experiment, one row per method, recording and seed.

    Example: rondo bench run static --datasets mocap --methods rondo,ticc --data data --out bench
    """
    from rondo.many.driver import engine_of
    from rondo.many.pool import n_cores
    from rondo_bench.experiments.plan import Choice, plan
    from rondo_bench.experiments.rows import FILE, open_rows, read_rows
    from rondo_bench.experiments.run import made_from_other_folders, made_under_other_names, pending
    from rondo_bench.experiments.run import run as run_pending
    from rondo_bench.experiments.spec import read_data_sets, read_experiment

    chosen = Choice(_listed(datasets), _listed(methods), _listed(only), limit, seeds)
    planned = plan(
        read_experiment(experiment),
        read_data_sets(sets),
        chosen,
        _absolute(data),
        out.absolute(),
        device or "auto",
        mantis,
    )
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
        n_failed = run_pending(left, store, runner, _teller())
    if n_failed:
        raise OutputError(
            f"{n_failed} of {counted(left.n_missing, 'row')} failed; `rondo bench rows --failed --out {out}` says why, "
            "--retry runs them again"
        )


@app.command()
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
    sets: Sets = None,
) -> None:
    """Print the table of an experiment, the paper's values beside ours.

    Example: rondo bench table static --out bench
    """
    from rondo_bench.experiments.rows import read_rows
    from rondo_bench.experiments.spec import read_data_sets, read_experiment
    from rondo_bench.experiments.summary import summarise
    from rondo_bench.experiments.tables import FORMATS, notes_of

    if format not in FORMATS:
        raise SettingError(f"--format must be {', '.join(FORMATS)}, got '{format}'")
    spec, known, there = read_experiment(experiment), read_data_sets(sets), read_rows(out)
    chosen = _set_names(datasets, known, there)
    summary = summarise(there, spec, known, chosen, _listed(methods), against, all_scores=all_scores)
    if format == "csv":
        for note in notes_of(summary):
            print(f"note: {note}", file=sys.stderr)
    print_data(FORMATS[format](summary))


@app.command()
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
    from rondo_bench.experiments.plan import Choice
    from rondo_bench.experiments.rows import read_rows
    from rondo_bench.experiments.spec import read_data_sets, read_experiment

    if kind not in FIGURES:
        raise SettingError(f"the figure must be {', '.join(FIGURES)}, got '{kind}'")
    spec = read_experiment(experiment or FIGURES[kind])
    known, there = read_data_sets(sets), read_rows(out)
    chosen = _set_names(datasets, known, there)
    draw(kind, file, there, spec, known, Choice(chosen, _listed(methods), _listed(only)))
    print(f"{file}")


@app.command()
def rows(
    out: RowsAt = Path("bench"),
    failed: Annotated[bool, typer.Option("--failed", metavar="", help="Only those that failed.")] = False,
) -> None:
    """Print the rows as CSV.

    Example: rondo bench rows --failed --out bench
    """
    from rondo_bench.experiments.rows import read_rows, to_csv

    print_data(to_csv([row for row in read_rows(out) if not (failed and row.is_ok)]))


@app.command()
def show(
    experiment: Annotated[str, typer.Argument(metavar="NAME", help="An experiment, or data_sets.")],
) -> None:
    """Print the file of an experiment, to read or to copy and change.

    Example: rondo bench show static
    """
    from rondo_bench.experiments.spec import text_of

    print(text_of(experiment), end="")


# ---------------------------------------------------------------- what is said meanwhile


def _listed(given: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (given or "").split(",") if part.strip())


def _set_names(given: str | None, known: Mapping[str, SetSpec], rows: Sequence[Row]) -> tuple[str, ...]:
    """Data sets by the names that rows have, whatever way they were written."""
    from rondo_bench.experiments.plan import refuse_unknown, set_name

    there = list(dict.fromkeys(row.key.data_set for row in rows))

    def name_in_rows(name: str) -> str:
        if name in there:
            return name
        try:
            return Path(set_name(name, known)).name
        except SettingError:
            refuse_unknown([name], [*there, *known], "data set")
            raise

    return tuple(map(name_in_rows, _listed(given)))


def _absolute(path: Path | None) -> Path | None:
    return None if path is None else path.absolute()


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
    total, longest = sum(left.seconds), max(left.seconds, default=0.0)
    wall = max(longest, total / workers)
    print(f"about {estimate_in_words(total)} of one core; {estimate_in_words(wall)} with {counted(workers, 'worker')}")


def _teller() -> Callable[[Told], None]:
    last = -_BETWEEN_LINES_S

    def tell(told: Told) -> None:
        nonlocal last
        from rondo.wording import duration_in_words, estimate_in_words

        now, key = time.monotonic(), told.row.key
        if told.row.is_ok and (is_quiet() or (now - last < _BETWEEN_LINES_S and told.n_done < told.n_total)):
            return
        last = now
        source = f"{key.source} -> " if key.source else ""
        what = f"{key.data_set} {source}{key.recording} {key.method} seed {key.seed}"
        how = (
            f"ARI {told.row.scores['ari']:.1f}, {duration_in_words(told.row.seconds)}"
            if told.row.is_ok
            else told.row.error
        )
        left = f"; about {estimate_in_words(told.left_s)} left" if told.n_done < told.n_total else ""
        print(f"[{told.n_done}/{told.n_total}] {what}: {how}{left}", file=sys.stderr, flush=True)

    return tell
