"""Tables of docs/results that show rows of `rondo bench` in another order; nothing is run.

    python benchmarks/stored_tables.py same-methods --page docs/results/peers.md
    python benchmarks/stored_tables.py exemplars-and-published --page docs/results/continual_rules.md

Rows are read from docs/results/static.csv and continual.csv, which `rondo bench` wrote. A cell is the mean over
recordings and seeds.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from results_page import Table, parse, write_section

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
SECTIONS = ("same-methods", "exemplars-and-published")
SCORES = ("ari", "ami", "one_to_one")
SETS = {"mocap": "MoCap", "actrectut": "ActRecTut", "openpack": "OpenPack", "usc_had": "USC-HAD"}
METHODS = {  # of static.csv, and the packages that have the method too
    "rondo": "Rondo",
    "autoplait": "AutoPlait (tsseg)",
    "time2state": "Time2State (tsseg)",
    "e2usd": "E2USD (tsseg)",
    "ticc": "TICC (tsseg)",
    "clap": "CLaP (claspy, tsseg)",
    "denstream": "DenStream (river)",
    "dbstream": "DBSTREAM (river)",
    "clock": "clock, looks at no data",
}
STREAMS = SETS | {"planted": "planted", "planted_motifs": "planted"}  # of continual.csv; it has no MoCap
RULES = {  # method of continual.csv: level, rule
    "rondo": ("units", "exemplars"),
    "rondo-published": ("units", "published"),
    "rondo-published-slow": ("units", "published, slow units"),
    "rondo-motifs": ("motifs", "exemplars"),
    "rondo-published-motifs": ("motifs", "published"),
}
COLUMNS = {
    "ari": "ARI",
    "ami": "AMI",
    "one_to_one": "one-to-one",
    "f1_50": "F1@50",
    "n_clusters": "clusters",
    "h_100": "H@100",
    "forgetting": "M_f",
    "promoted": "promoted",
}

Row = Mapping[str, str]


def rows_of(name: str) -> list[Row]:
    with (RESULTS / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def mean_of(rows: Sequence[Row], column: str) -> str:
    """The mean over rows that have a value.

    >>> mean_of([{"ari": "50.04"}, {"ari": ""}], "ari"), mean_of([], "ari")
    ('50.0', '-')
    """
    values = [float(row[column]) for row in rows if row[column]]
    return f"{mean(values):.1f}" if values else "-"


def same_methods() -> Table:
    """ARI / AMI / one-to-one of the methods that other packages have too."""
    stored = rows_of("static")
    table = Table("method, and where else it is found", *SETS.values())
    for method, title in METHODS.items():
        own = [[row for row in stored if (row["method"], row["data_set"]) == (method, name)] for name in SETS]
        table.add(title, *(" / ".join(mean_of(rows, score) for score in SCORES) if rows else "" for rows in own))
    return table


def exemplars_and_published() -> Table:
    """The two rules of continual learning, by set and level."""
    stored = rows_of("continual")
    table = Table("set", "level", "rule", *COLUMNS.values())
    for name, title in STREAMS.items():
        for method, (level, rule) in RULES.items():
            own = [row for row in stored if (row["method"], row["data_set"]) == (method, name)]
            if own:
                level = "motifs" if name == "planted_motifs" else level  # whose labels are motifs by every method
                table.add(title, level, rule, *(mean_of(own, column) for column in COLUMNS))
    return table


TABLES = {"same-methods": (same_methods, "static"), "exemplars-and-published": (exemplars_and_published, "continual")}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=SECTIONS)
    given = parse(parser, __file__, arguments)
    table, name = TABLES[given.table]
    write_section(given, given.table, table(), measured=f"From the rows of `docs/results/{name}.csv`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
