"""The pages of docs/results that show what `rondo bench table` prints, written from the rows beside them.

    python benchmarks/table_pages.py                  all of them
    python benchmarks/table_pages.py static transfer  some

NAME.csv holds the rows, as `rondo bench rows` printed them after `rondo bench run NAME`; NAME.md shows their table
between two lines. Nothing is run. tests/docs/test_table_pages.py says when a page is stale.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from results_page import replace_section

from rondo_bench.experiments.rows import read_rows
from rondo_bench.experiments.spec import read_data_sets, read_experiment
from rondo_bench.experiments.summary import summarise
from rondo_bench.experiments.tables import markdown

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
PROGRAM = "benchmarks/table_pages.py"
NAMES = tuple(path.stem for path in sorted(RESULTS.glob("*.csv")))


def body_of(name: str) -> str:
    """The table with its headings one level up, as the page has a title of its own."""
    rows = read_rows(RESULTS / f"{name}.csv")
    printed = markdown(summarise(rows, read_experiment(name), read_data_sets(None)))
    _title, _, rest = printed.partition("\n\n")
    return rest.replace("\n### ", "\n## ").strip()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=(*NAMES, []), metavar="NAME")
    for name in parser.parse_args(arguments).names or NAMES:
        replace_section(RESULTS / f"{name}.md", PROGRAM, name, body_of(name))
        print(f"docs/results/{name}.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
