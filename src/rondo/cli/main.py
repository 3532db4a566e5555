"""`rondo`: one file per command; errors are one line on stderr and exit code 2."""

from __future__ import annotations

import os
import sys
import warnings

# More BLAS threads than cores, one pool per library, have cost a factor of fifteen; stages are small.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import click
import typer

from rondo.cli import config, datasets, demo, discover, evaluate, label, report
from rondo.errors import RondoError, RondoWarning

app = typer.Typer(
    name="rondo",
    help="Find what recurs in long, unlabelled sensor recordings: units, motifs, and where each occurs.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("discover")(discover.discover)
app.command("label")(label.label)
app.command("evaluate")(evaluate.evaluate)
app.command("report")(report.report)
app.add_typer(config.app, name="config")
app.add_typer(datasets.app, name="datasets")


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    if version:
        from rondo.provenance import rondo_version

        print(f"rondo {rondo_version()}")
        raise typer.Exit


def run(arguments: list[str] | None = None) -> None:
    """Entry point of the `rondo` command."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]  # it takes more than it needs
    try:
        code = app(args=arguments, standalone_mode=False)
    except RondoError as error:
        _fail(str(error))
    except click.UsageError as error:
        where = f" (see `{error.ctx.command_path} --help`)" if error.ctx is not None else ""
        _fail(error.format_message().rstrip(".") + where)
    except click.ClickException as error:
        _fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        print("stopped", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenPipeError:  # the reader of stdout has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    raise SystemExit(code if isinstance(code, int) else 0)


def _fail(message: str) -> None:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    raise SystemExit(2)


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, RondoWarning):
        print(f"note: {message}", file=sys.stderr)
