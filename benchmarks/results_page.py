"""Sections of the pages in docs/results that a benchmark writes itself.

A page is prose, and sections between two lines:

    <!-- written by benchmarks/few_channels.py: one-to-three-channels -->
    <!-- end -->

`python benchmarks/few_channels.py DATA --page docs/results/units.md` prints its table, as it does without `--page`, and
puts it between these lines: the command without `--page`, the version of Rondo, the date, and the table. A program
lists the names of its sections in `SECTIONS`; tests/docs/test_results_pages.py holds pages and programs together.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from rondo.store.folder import write_text
from rondo.version import __version__

END = "<!-- end -->"
_SECTION = re.compile(r"^<!-- written by (\S+): (\S+) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)


class Table:
    """A Markdown table, printed line by line as it is measured.

    >>> table = Table("set", "ARI")
    | set | ARI |
    |---|---|
    >>> table.add("MoCap", f"{84.6:.0f}")
    | MoCap | 85 |
    >>> str(table)
    '| set | ARI |\\n|---|---|\\n| MoCap | 85 |'
    """

    def __init__(self, *head: str) -> None:
        self._lines: list[str] = []
        self._n_columns = len(head)
        self.add(*head)
        self._put("|---" * len(head) + "|")

    def add(self, *cells: object) -> None:
        if len(cells) > self._n_columns:
            raise ValueError(f"{len(cells)} cells in a table of {self._n_columns} columns")
        texts = [str(cell) for cell in cells] + [""] * (self._n_columns - len(cells))
        self._put("|" + "|".join(f" {text} " if text else " " for text in texts) + "|")

    def _put(self, line: str) -> None:
        self._lines.append(line)
        print(line, flush=True)

    def __str__(self) -> str:
        return "\n".join(self._lines)


def parse(parser: argparse.ArgumentParser, file: str, arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What was typed, with `--page` added, and the command as a page shows it."""
    parser.add_argument("--page", type=Path, metavar="PAGE.md", help="page of docs/results whose section is replaced")
    parser.allow_abbrev = False  # a page shows whole names
    typed = list(sys.argv[1:] if arguments is None else arguments)
    given = parser.parse_args(typed)
    given.program = f"benchmarks/{Path(file).name}"
    given.command = command_of(given, typed)
    if given.page is not None and f"<!-- written by {given.program}: " not in given.page.read_text(encoding="utf-8"):
        raise SystemExit(f"{given.page} has no section that {given.program} writes")  # before hours of measuring
    return given


def command_of(given: argparse.Namespace, typed: Sequence[str]) -> str:
    """The command without `--page`. Folders are others elsewhere: a path is shown as DATA, of several their names.

    >>> given = argparse.Namespace(program="benchmarks/a.py", data=Path("/home/me/sets"), seeds=3, page=Path("b.md"))
    >>> command_of(given, ["/home/me/sets", "--seeds", "3", "--page", "b.md"])[-37:]
    'python benchmarks/a.py DATA --seeds 3'
    """
    names: dict[str, str] = {}
    for name, value in vars(given).items():
        if isinstance(value, Path):
            names[str(value)] = name.upper()
        elif isinstance(value, list):
            names |= {str(path): path.name for path in value if isinstance(path, Path)}
    words = list(typed)
    if "--page" in words:
        at = words.index("--page")
        del words[at : at + 2]
    words = [names.get(str(Path(word)), word) for word in words]
    threads = "OMP_NUM_THREADS=1 " if os.environ.get("OMP_NUM_THREADS") == "1" else ""
    return threads + " ".join(["python", given.program, *words])


def write_section(given: argparse.Namespace, section: str, *parts: object, measured: str = "") -> None:
    """Replace one section of the page that `--page` names; without `--page` nothing is written.

    `measured` says where figures are from, if not from this run.
    """
    if given.page is None:
        return
    now = f"Rondo {__version__}, {date.today().isoformat()}."
    body = "\n\n".join([f"```\n{given.command}\n```", measured or now, *(str(part) for part in parts)])
    replace_section(given.page, given.program, section, body)


def replace_section(page: Path, program: str, section: str, body: str) -> None:
    """Put a text between the two lines of a section; all else stays as it is."""
    text = page.read_text(encoding="utf-8")
    begin = f"<!-- written by {program}: {section} -->"
    found = [match for match in _SECTION.finditer(text) if match.group(1, 2) == (program, section)]
    if len(found) != 1:
        raise SystemExit(f"{page} should have one section of this name, but has {len(found)}: {begin} … {END}")
    new = f"{begin}\n\n{body}\n\n{END}"
    write_text(page, text[: found[0].start()] + new + text[found[0].end() :])
