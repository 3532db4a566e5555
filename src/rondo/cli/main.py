"""`rondo`: one file per command; errors are one line on stderr and exit code 2."""

from __future__ import annotations

import inspect
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from types import FrameType
from typing import Any, NoReturn

import typer

from rondo.cli import compare, config, demo, edit, evaluate, find, learn, show, stability, suggest, teach, usage
from rondo.cli.options import FilledHelp, filled, help_without_command
from rondo.cli.terminal import Verbosity, global_first, heeded_signals, is_verbose, print, set_verbosity, to_stderr
from rondo.errors import NoteWarning, OutputError, RondoError, RondoWarning, SettingError
from rondo.version import __version__
from rondo.wording import in_utf8, is_utf8, printable

# More BLAS threads than cores, one pool per library, have cost a factor of fifteen; stages are small. No command
# has loaded numpy yet: each imports what it needs when it runs.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
_SHOW, _INSTALL = "--show-completion", "--install-completion"
_READER_GONE = 141  # 128 + SIGPIPE, as other programs end in `| head`; Windows has no such signal

# Newer versions of typer carry a click of their own: what a user typed wrong is known only by this base class.
_UsageError: type[Any] = typer.BadParameter.__mro__[1]

_EPILOG = (
    "Example: rondo discover walk.csv --out run\n\n"
    "Exit codes: 0 done; 1 what was compared differs (datasets verify), or a fault of ours; 2 bad input or setting, "
    "with one line that says what to do; 130 interrupted (143: asked to end, 141: the reader of stdout has gone). "
    "Nothing half-written is left behind."
)


app = typer.Typer(
    name="rondo",
    help="Find what recurs in long, unlabelled sensor recordings: units, motifs, and where each occurs.",
    epilog=_EPILOG,
    add_completion=True,
    pretty_exceptions_enable=False,
)
_GROUPS: dict[str, tuple[Callable[..., None], ...]] = {  # headings of `rondo --help`, in its order
    "Find": (demo.demo, suggest.suggest, learn.discover, learn.label),
    "Look": (show.view, show.report, usage.usage, find.find, show.export),
    "Edit": (edit.name, edit.merge, edit.split, edit.apply, edit.undo, teach.teach),
    "Judge": (evaluate.evaluate, compare.compare, stability.stability),
}
_GROUP_OF_ADDED = {"stream": "Stream", "health": "Stream", "bench": "Benchmark", "datasets": "Benchmark"}
for _group, _functions in _GROUPS.items():
    for _function in _functions:
        app.command(_function.__name__, rich_help_panel=_group)(_function)
for _added in sorted(entry_points(group="rondo.commands")):  # commands of rondo.live, rondo_bench and other packages
    _command, _group = _added.load(), _GROUP_OF_ADDED.get(_added.name, "Added by packages")
    if isinstance(_command, typer.Typer):
        app.add_typer(_command, name=_added.name, rich_help_panel=_group)
    else:
        app.command(_added.name, rich_help_panel=_group)(_command)
app.add_typer(config.app, name="config", rich_help_panel="Settings")


def _let_help_flow(commands: typer.Typer) -> None:
    """Join the lines of every paragraph of help: typer would end lines where the source does, whatever the terminal.

    And let every command ask the registries for the words that its help leaves open.
    """
    for command in commands.registered_commands:
        command.cls = FilledHelp
        paragraphs = (inspect.getdoc(command.callback) or "").split("\n\n")
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _let_help_flow(group.typer_instance)


_let_help_flow(app)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True, metavar=""),
    quiet: bool = typer.Option(
        False, "--quiet", help="No progress: only the result, notes on the data, and errors.", metavar=""
    ),
    verbose: bool = typer.Option(
        False, "--verbose", help="Details too: files, settings, time of each stage, where an error began.", metavar=""
    ),
) -> None:
    if quiet and verbose:
        raise SettingError("--quiet and --verbose contradict each other; give one")
    set_verbosity(Verbosity.QUIET if quiet else Verbosity.VERBOSE if verbose else Verbosity.NORMAL)
    if version:
        print(f"rondo {__version__}")
        raise typer.Exit
    help_without_command(context)


class _Stopped(BaseException):
    """Ctrl-C or SIGTERM; no library mistakes it for an error of its own, so every `finally` gets its turn."""

    def __init__(self, number: int) -> None:
        self.exit_code = 128 + number


def run(arguments: list[str] | None = None) -> NoReturn:
    """Entry point of the `rondo` command."""
    _open_closed_streams()
    set_verbosity(Verbosity.NORMAL)
    given, stdout = global_first(sys.argv[1:] if arguments is None else arguments), sys.stdout
    try:
        _refuse_undecodable(given)
        with _stoppable(), warnings.catch_warnings():
            warnings.showwarning = _show_warning
            warnings.simplefilter("always", RondoWarning)
            warnings.simplefilter("ignore", NoteWarning)  # commands print notes where they print results
            code = 0 if completion_of_named_shell(given) else app(args=given, prog_name="rondo", standalone_mode=False)
            sys.stdout.flush()  # now, where a full disk or a closed pipe can still be told
    except RondoError as error:
        _fail(error.said("--out") if isinstance(error, OutputError) else str(error), error.exit_code)
    except _UsageError as error:
        context = getattr(error, "ctx", None)
        where = f" (see `{context.command_path} --help`)" if context is not None else ""
        _fail(error.format_message().rstrip(".") + _next_step(error, given) + where)
    except _Stopped as stopped:
        print("stopped", file=sys.stderr)
        raise SystemExit(stopped.exit_code) from None
    except BrokenPipeError:  # the reader of stdout has gone, as with `| head`
        _forget_stdout()
        raise SystemExit(_READER_GONE) from None
    except SystemExit:
        if sys.stdout is not stdout:  # typer has met that first: it wraps stdout and ends with 1
            raise SystemExit(_READER_GONE) from None
        raise
    except MemoryError:
        _fail("not enough memory; give shorter recordings or a longer --step")
    except OSError as error:
        _forget_stdout()
        _fail(f"{error.filename or 'stdout'}: {error.strerror or error}; check the disk and its permissions")
    raise SystemExit(code if isinstance(code, int) else 0)


def _open_closed_streams() -> None:
    """Where stdin, stdout or stderr was closed (`>&-`), Python has None, and the next file would get its number."""
    for closed, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, closed) is None:
            setattr(sys, closed, open(os.devnull, mode))  # noqa: PTH123, SIM115  # a device, open as long as we are


def _refuse_undecodable(given: Sequence[str]) -> None:
    """Names of files that are not UTF-8 cannot be written into summaries and reports: say so before the work."""
    wrong = next((one for one in given if not is_utf8(one)), None)
    if wrong is not None:
        raise SettingError(f"'{in_utf8(wrong)}': the name is not UTF-8; rename the file or folder")


def _next_step(error: Any, given: list[str]) -> str:
    """What a missing option is for; or the command that was forgotten before a file."""
    purpose = getattr(getattr(error, "param", None), "help", None)
    if "Missing" in error.format_message() and purpose:
        return f": {filled(purpose).rstrip('.')}"
    first = next((one for one in given if not one.startswith("-")), "")
    if error.format_message().startswith("No such command") and os.path.exists(first):  # noqa: PTH110  # any text
        return f"; did you mean `rondo discover {first} --out run`?"
    return ""


def _fail(message: str, exit_code: int = 2) -> NoReturn:
    if is_verbose() and sys.exc_info()[1] is not None:
        print(traceback.format_exc(), end="", file=sys.stderr)
    print("error: " + " ".join(printable(message).split()), file=sys.stderr)
    raise SystemExit(exit_code)


def _forget_stdout() -> None:
    """Point stdout nowhere, or Python would complain on its way out about what it could not write."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123  # a device, not a path
        os.dup2(nowhere.fileno(), 1)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the command alike: remove temporary folders and print one line."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise _Stopped(number)

    if threading.current_thread() is not threading.main_thread():  # only the main thread may listen to signals
        yield
        return
    before = {number: signal.signal(number, stop) for number in heeded_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, RondoWarning):
        to_stderr(f"note: {message}")


def completion_of_named_shell(given: Sequence[str]) -> bool:
    """Show or install the completion where the arguments name a shell; False where they ask for something else.

    typer alone completes for the shell that it detects and ignores a name (`rondo --show-completion zsh`).
    """
    if len(given) != 2 or given[0] not in (_SHOW, _INSTALL):
        return False
    if given[1] not in SHELLS:
        raise SettingError(f"there is no completion for a shell '{given[1]}'; known are {', '.join(SHELLS)}")
    from typer._completion_shared import get_completion_script, install

    option, shell = given
    if option == _SHOW:
        print(get_completion_script(prog_name="rondo", complete_var="_RONDO_COMPLETE", shell=shell))
    else:
        _, path = install(shell=shell, prog_name="rondo", complete_var="_RONDO_COMPLETE")
        print(f"{shell} completion: {path}; it takes effect in a new terminal")
    return True
