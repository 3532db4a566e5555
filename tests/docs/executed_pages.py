"""Pages whose examples are executed: blocks of commands and of Python, in order, in one folder for each page.

    ```console     lines that begin with `$ ` are run; what stands below one is what it writes to stdout
    ```python      run as it stands, in one namespace for the page; what it prints may follow in a ```text block
    ```text        output of the block before, or else a picture in letters
    ```toml        a piece of a file, to be read

Blocks of Python with `>>>` are left to doctest, which runs them in every page. `...` in an output stands for anything,
and blanks count as one. A comment in the line before a block says what is special about it:

    <!-- not run: why -->                    left out
    <!-- run in full only: why -->           left out of the daily run, for its data or its length
    <!-- exit code 137 -->                   the last command ends with this code instead of 0

`rondo` runs in this process, since a fresh one spends seconds on importing torch; all else, pipes among it, in a shell.
"""

from __future__ import annotations

import doctest
import io
import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from tests.cli.running import Outcome, call

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("console", "python", "text", "toml")

_BLOCK = re.compile(r"(?:<!-- ([^\n]*?) -->\n)?^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"exit code (\d+)")
_DECIMAL = re.compile(r"\d+\.\d+")
_LEEWAY = 0.1  # of a score: where rounding tips one choice of a search, another CPU finds a few segments otherwise
_BOTH = " 2>&1"  # what a reader sees: notes on stderr, which come first, and the result
_SHELL = re.compile(r"[|&;<>*$]")


@dataclass(frozen=True)
class Command:
    """One line that a reader types, and what he is told it will write."""

    line: str
    output: str


@dataclass(frozen=True)
class Block:
    """One fenced block of a page: its language, its text, the comment before it, and where it begins."""

    language: str
    text: str
    mark: str
    where: str

    def runs(self, in_full: bool) -> bool:
        if self.language not in ("console", "python") or self.text.startswith(">>> "):
            return False
        return not self.mark.startswith(("not run: ",) if in_full else ("not run: ", "run in full only: "))

    @property
    def exit_code(self) -> int:
        told = _CODE.fullmatch(self.mark)
        return int(told[1]) if told else 0

    @property
    def commands(self) -> list[Command]:
        _, *pieces = re.split(r"^\$ ", self.text, flags=re.MULTILINE)
        return [Command(*piece.partition("\n")[::2]) for piece in pieces]


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page in order.

    >>> import tempfile
    >>> page = Path(tempfile.mkdtemp()) / "page.md"
    >>> _ = page.write_text("<!-- not run: a network -->\\n```console\\n$ ls\\nrun\\n$ pwd\\n```\\n")
    >>> [block] = blocks_of(page)
    >>> block.commands, block.runs(in_full=True)
    ([Command(line='ls', output='run\\n'), Command(line='pwd', output='')], False)
    """
    text = page.read_text()
    found = _BLOCK.finditer(text)
    return [
        Block(match[2].strip(), match[3], match[1] or "", f"{page.name}:{text.count(chr(10), 0, match.start()) + 1}")
        for match in found
    ]


def run_page(page: Path, compared: bool, in_full: bool = False) -> None:
    """Every block of a page that runs, in the folder where we are; outputs are compared where that is asked for."""
    namespace: dict[str, object] = {"__name__": "__page__"}
    blocks = blocks_of(page)
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if not block.runs(in_full):
            continue
        if block.language == "python":
            printed = printed_by(block, namespace)
            if compared and following is not None and following.language == "text":
                check_output(following.where, following.text, printed)
            continue
        for command, outcome in outcomes_of(block):
            if compared:
                check_output(f"{block.where}: {command.line}", command.output, outcome.out)


def outcomes_of(block: Block) -> Iterator[tuple[Command, Outcome]]:
    """Run the commands of a block one after the other; one that ends otherwise than the page says is an error."""
    commands = block.commands
    assert commands, f"{block.where}: no line begins with '$ '"
    for command in commands:
        outcome = _run(command.line)
        expected = block.exit_code if command is commands[-1] else 0
        told = f"{block.where}: {command.line}\nended with {outcome.code}, not {expected}:\n{outcome.err}{outcome.out}"
        assert outcome.code == expected, told
        yield command, outcome


def _run(line: str) -> Outcome:
    typed = line.removesuffix(_BOTH)
    if typed.startswith("rondo ") and not _SHELL.search(typed):
        outcome = call(*shlex.split(typed, comments=True)[1:])
        return outcome if typed == line else outcome._replace(out=outcome.err + outcome.out)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ended = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env=os.environ | {"PATH": path}, check=False
    )
    code = ended.returncode if ended.returncode >= 0 else 128 - ended.returncode  # killed: what a shell would say
    return Outcome(code, ended.stdout, ended.stderr)


def printed_by(block: Block, namespace: dict[str, object]) -> str:
    """Run a block of Python in the namespace of its page; what it prints."""
    printed = io.StringIO()
    code = compile(block.text, block.where, "exec")
    with redirect_stdout(printed):
        exec(code, namespace)
    return printed.getvalue()


def check_output(where: str, want: str, got: str) -> None:
    """Equal but for blanks, `...`, and, where an output is shown whole, a tenth of each decimal."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    shown = want or "..."
    if "..." in shown:
        same = doctest.OutputChecker().check_output(shown, got, flags)
    else:
        told, wrote = (_DECIMAL.sub("#", text) for text in (shown, got))
        pairs = zip(_DECIMAL.findall(shown), _DECIMAL.findall(got), strict=False)
        same = doctest.OutputChecker().check_output(told, wrote, flags)
        same = same and all(math.isclose(float(a), float(b), rel_tol=_LEEWAY, abs_tol=0.02) for a, b in pairs)
    assert same, f"{where}\nthe page says:\n{want}\nbut it wrote:\n{got}"
