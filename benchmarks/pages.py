"""Pages of docs/results: sections that benchmarks write, and tables that are printed from stored rows.

    python benchmarks/pages.py                    write every table that is made of stored rows; runs nothing
    python benchmarks/pages.py static quality     some of them
    python benchmarks/pages.py readme             print the table of the README

A page is prose and sections. A section lies between two lines and is replaced as a whole:

    <!-- written by benchmarks/studies.py: dropouts -->
    <!-- end -->

`python benchmarks/studies.py dropouts DATA --page docs/results/units.md` prints its table and puts it between these
lines with the command, the version of Rondo and the date. A program lists its sections in `SECTIONS`.

Stored rows are benchmarks/guard.json and peers.json (quality) and docs/results/*.csv, the rows of `rondo bench rows`.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import mean
from typing import Any

from rondo import __version__

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "results"
SCORES = ("ari", "ami", "one_to_one")
_SECTION = re.compile(r"^<!-- written by (\S+): (\S+) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)

Json = Mapping[str, Any]


class Table:
    """A Markdown table, printed line by line as it is measured.

    >>> table = Table("set", "ARI")
    | set | ARI |
    |---|---|
    >>> table.add("MoCap", f"{84.6:.0f}")
    | MoCap | 85 |
    """

    def __init__(self, *head: str, show: bool = True) -> None:
        self._lines: list[str] = []
        self._n_columns, self._show = len(head), show
        self.add(*head)
        self._put("|---" * len(head) + "|")

    def add(self, *cells: object) -> None:
        if len(cells) > self._n_columns:
            raise ValueError(f"{len(cells)} cells in a table of {self._n_columns} columns")
        texts = [str(cell) for cell in cells] + [""] * (self._n_columns - len(cells))
        self._put("|" + "|".join(f" {text} " if text else " " for text in texts) + "|")

    def _put(self, line: str) -> None:
        self._lines.append(line)
        if self._show:
            print(line, flush=True)

    def __str__(self) -> str:
        return "\n".join(self._lines)


Part = Callable[[argparse.Namespace], None]
Argument = tuple[str, dict[str, Any]]  # name, and what `add_argument` takes


def program(file: str, doc: str | None, parts: Mapping[str, Part], arguments: Sequence[Argument]) -> tuple[Any, Any]:
    """`parsed` and `main` of a program whose first word names one of its parts."""

    def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
        parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("what", choices=parts, metavar="WHAT", help=", ".join(parts))
        for name, about in arguments:
            parser.add_argument(name, **about)
        return parse(parser, file, words)

    def main(words: Sequence[str] | None = None) -> None:
        options = parsed(words)
        warnings.simplefilter("ignore")
        parts[options.what](options)

    return parsed, main


def parse(parser: argparse.ArgumentParser, file: str, arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line with `--page` added; `command` is the command as a page shows it."""
    parser.add_argument("--page", type=Path, metavar="PAGE.md", help="page of docs/results whose section is replaced")
    parser.allow_abbrev = False  # a page shows whole names
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(words)
    options.program = f"benchmarks/{Path(file).name}"
    options.command = command_of(options, words)
    if options.page is not None and f"<!-- written by {options.program}: " not in options.page.read_text("utf-8"):
        raise SystemExit(f"{options.page} has no section that {options.program} writes")  # before hours of measuring
    return options


def command_of(options: argparse.Namespace, words: Sequence[str]) -> str:
    """The command without `--page`. A path is shown by the name of its option, several paths by their last part.

    >>> options = argparse.Namespace(program="benchmarks/a.py", data=Path("/home/me/sets"), seeds=3, page=Path("b.md"))
    >>> command_of(options, ["/home/me/sets", "--seeds", "3", "--page", "b.md"])[-37:]
    'python benchmarks/a.py DATA --seeds 3'
    """
    names: dict[str, str] = {}
    for name, value in vars(options).items():
        if isinstance(value, Path):
            names[str(value)] = name.upper()
        elif isinstance(value, list):
            names |= {str(path): path.name for path in value if isinstance(path, Path)}
    shown = list(words)
    if "--page" in shown:
        at = shown.index("--page")
        del shown[at : at + 2]
    threads = "OMP_NUM_THREADS=1 " if os.environ.get("OMP_NUM_THREADS") == "1" else ""
    return threads + " ".join(["python", options.program, *(names.get(str(Path(word)), word) for word in shown)])


def write_section(options: argparse.Namespace, section: str, *parts: object) -> None:
    """Replace one section of the page that `--page` names; without `--page` write nothing."""
    if options.page is not None:
        measured = f"Rondo {__version__}, {date.today().isoformat()}."
        body = "\n\n".join([f"```\n{options.command}\n```", measured, *(str(part) for part in parts)])
        replace_section(options.page, options.program, section, body)


def replace_section(page: Path, program: str, section: str, body: str) -> None:
    """Put a text between the two lines of a section; the rest of the page stays."""
    text = page.read_text(encoding="utf-8")
    begin = f"<!-- written by {program}: {section} -->"
    found = [match for match in _SECTION.finditer(text) if match.group(1, 2) == (program, section)]
    if len(found) != 1:
        raise SystemExit(f"{page} should have one section of this name, but has {len(found)}: {begin} … <!-- end -->")
    new = f"{begin}\n\n{body}\n\n<!-- end -->"
    page.write_text(text[: found[0].start()] + new + text[found[0].end() :], encoding="utf-8")


LONGER = {  # labels against the longer annotation, `y`
    "MoCap": "MoCap, exercises",
    "HuGaDB": "HuGaDB, activities",
    "ActRecTut": "ActRecTut, gestures and walks",
    "OpenPack": "OpenPack, operations",
    "COMPASS_Suturing": "Suturing, gestures",
    "PTE": "PTE, exercises",
    "Billboard": "Billboard songs, sections",
    "TSSB": "TSSB, states of one channel",
    "USC-HAD": "USC-HAD, activities",
    "MoCap6": "MoCap6, exercises",
}
SHORTER = {  # units against the shorter annotation, `y2`
    "OpenPack": "OpenPack, actions",
    "COMPASS_Suturing": "Suturing, primitives",
    "PTE": "PTE, repetitions",
    "Billboard": "Billboard songs, chords",
}
PLANTED = {
    "planted": "motifs share units",
    "planted_own": "each motif has its own units",
    "planted_cycles": "fixed cycles",
    "planted_contexts": "long contexts, units in any order",
}
METHODS = {
    "kmeans": "k-means",
    "hdbscan": "HDBSCAN",
    "time2state": "Time2State",
    "e2usd": "E2USD",
    "ticc": "TICC",
    "autoplait": "AutoPlait",
    "clap": "CLaP",
    "clasp2feat": "ClaSP2Feat",
    "hdp-hsmm": "HDP-HSMM",
    "dbstream": "DBSTREAM",
    "denstream": "DenStream",
}
ROWS = [*((name, title, "motifs", "y") for name, title in LONGER.items())]
ROWS += [(name, title, "units", "y2") for name, title in SHORTER.items()]


def stored_scores() -> tuple[Json, Json]:
    guard, peers = (json.loads((HERE / name).read_text(encoding="utf-8")) for name in ("guard.json", "peers.json"))
    return guard, peers


def quality_text(guard: Json, peers: Json) -> str:
    """The tables of quality.md, each headed by the command that measures it."""
    parts = [
        "Written by `python benchmarks/pages.py quality` from `benchmarks/guard.json` and `benchmarks/peers.json`. "
        "Scores are ARI/AMI/one-to-one in percent, means over recordings. The labels of these sets were in view when "
        "Rondo's settings were chosen.",
        "## Rondo, the best peer and the clock",
        "```\npython benchmarks/guard.py DATA --store\n"
        "python benchmarks/peers.py levels DATA --cache FILE --store\n```",
        f"Rondo: default settings, {seeds_of(guard)}. Best peer: the highest mean of the three scores among all rows "
        "of the set below, one seed. Clock: as many equal pieces as Rondo has segments.",
        quality_table(guard, peers),
        "## Each peer over the rows it has",
        "The mean of the three scores, averaged over the rows above on which the method was run.",
        averages_table(guard, peers),
        "## Planted streams",
        "```\npython benchmarks/guard.py DATA --sets planted,planted_own,planted_cycles,planted_contexts --store\n```",
        "Streams of 20 minutes, seeds 20 to 24.",
        planted_table(guard),
        "## All peers",
        "```\npython benchmarks/peers.py levels DATA --cache FILE --store\n```",
        "Default settings, one seed. *short* and *long* are the two windows that Rondo chooses for the recording. "
        "USC-HAD: rows of [static](static.md), windows of the paper. TSSB: rows of [the CLaP suite]"
        "(static.md#one-channel-the-clap-suite), labels stored by the CLaP paper; TICC, ClaSP2Feat and AutoPlait were "
        "given the number of states or changes.",
        *(text for name in LONGER if name in peers for text in (f"### {name}", peers_table(peers[name]))),
    ]
    return "\n\n".join(parts)


def quality_table(guard: Json, peers: Json) -> str:
    """One row for each set and level."""
    table = Table("annotation", "level", "recordings", "Rondo", "best peer", "clock", show=False)
    for name, title, level, track in ROWS:
        scores, best = guard[name]["pairs"][f"{level} vs {track}"], best_of(peers, name, track)
        peer = f"{triple(best[1])} ({titled(best[0])})" if best else "not run"
        table.add(title, level, guard[name]["n_recordings"], triple(scores["mean"]), peer, triple(scores["clock"]))
    return str(table)


def best_of(peers: Json, name: str, track: str) -> tuple[str, Json] | None:
    """The peer with the highest mean of the three scores. The annotation decides, so the choice favours peers."""
    by_method = {method: scores[track] for method, scores in peers.get(name, {}).items() if track in scores}
    return max(by_method.items(), key=lambda item: mean_score(item[1]), default=None)


def averages(guard: Json, peers: Json) -> dict[str, list[tuple[float, float]]]:
    """For every peer, its mean score and Rondo's on each row that it has."""
    found: dict[str, list[tuple[float, float]]] = {}
    for name, _, level, track in ROWS:
        ours = mean_score(guard[name]["pairs"][f"{level} vs {track}"]["mean"])
        for method, scores in peers.get(name, {}).items():
            if track in scores:
                found.setdefault(method, []).append((mean_score(scores[track]), ours))
    return found


def seeds_of(guard: Mapping[str, Any]) -> str:
    """Over how many seeds all sets were stored."""
    n = min(len(pair["seeds"]["ari"]) for own in guard.values() for pair in own["pairs"].values())
    return "one seed" if n == 1 else f"{n} seeds"


def averages_table(guard: Json, peers: Json) -> str:
    table = Table("method", "rows", "mean", "Rondo on the same rows", show=False)
    for method, pairs in sorted(averages(guard, peers).items(), key=lambda item: -len(item[1])):
        table.add(titled(method), len(pairs), *(f"{mean(column):.1f}" for column in zip(*pairs, strict=True)))
    return str(table)


def planted_table(guard: Json) -> str:
    table = Table("planted motifs", "units", "motifs", "clock, motifs", show=False)
    for name, title in PLANTED.items():
        units, motifs = (guard[name]["pairs"][pair] for pair in ("units vs y2", "motifs vs y"))
        table.add(title, triple(units["mean"]), triple(motifs["mean"]), triple(motifs["clock"]))
    return str(table)


def peers_table(by_method: Json) -> str:
    tracks = {"y": "longer annotation", "y2": "shorter annotation"}
    tracks = {track: title for track, title in tracks.items() if track in next(iter(by_method.values()))}
    table = Table("method", *tracks.values(), show=False)
    for method, scores in by_method.items():
        table.add(titled(method), *(triple(scores[track]) for track in tracks))
    return str(table)


def mean_score(scores: Json) -> float:
    return mean([scores[score] for score in SCORES])


def titled(method: str) -> str:
    name, _, window = method.partition(", ")
    return METHODS[name] + (f", {window}" if window else "")


def triple(scores: Json) -> str:
    """
    >>> triple({"ari": 86.155, "ami": 85.25, "one_to_one": 91.648, "n_clusters": 5.7})
    '86.2/85.2/91.6'
    """
    return "/".join(f"{scores[score]:.1f}" for score in SCORES)


SETS = {"mocap": "MoCap", "actrectut": "ActRecTut", "openpack": "OpenPack", "usc_had": "USC-HAD"}
SAME_METHODS = {  # of static.csv, and the packages that have the method too
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
RULES = {  # method of continual.csv: level, rule
    "rondo": ("units", "exemplars"),
    "rondo-published-slow": ("units", "published, units of Rondo"),
    "rondo-motifs": ("motifs", "exemplars"),
    "rondo-paper": ("motifs", "published, RONDO (paper)"),
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


def stored_rows(experiment: str) -> dict[tuple[str, str], list[Mapping[str, str]]]:
    """The rows of docs/results/EXPERIMENT.csv by method and data set."""
    rows: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    with (RESULTS / f"{experiment}.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.setdefault((row["method"], row["data_set"]), []).append(row)
    return rows


def mean_of(rows: Sequence[Mapping[str, str]], column: str) -> str:
    """The mean over rows that have a value.

    >>> mean_of([{"ari": "50.04"}, {"ari": ""}], "ari"), mean_of([], "ari")
    ('50.0', '-')
    """
    values = [float(row[column]) for row in rows if row[column]]
    return f"{mean(values):.1f}" if values else "-"


def same_methods() -> str:
    """ARI / AMI / one-to-one of the methods that other packages have too."""
    rows = stored_rows("static")
    table = Table("method, and where else it is found", *SETS.values(), show=False)
    for method, title in SAME_METHODS.items():
        by_set = [rows.get((method, name), []) for name in SETS]
        table.add(title, *(" / ".join(mean_of(cell, score) for score in SCORES) if cell else "" for cell in by_set))
    return f"From the rows of `docs/results/static.csv`.\n\n{table}"


def exemplars_and_published() -> str:
    """The two rules of continual learning, by set and level."""
    rows = stored_rows("continual")
    table = Table("set", "level", "rule", *COLUMNS.values(), show=False)
    for name, title in (SETS | {"planted": "planted", "planted_motifs": "planted"}).items():
        for method, (level, rule) in RULES.items():
            if cells := rows.get((method, name)):
                level = "motifs" if name == "planted_motifs" else level  # its labels are motifs by every method
                table.add(title, level, rule, *(mean_of(cells, column) for column in COLUMNS))
    return f"From the rows of `docs/results/continual.csv`.\n\n{table}"


def experiment_text(name: str) -> str:
    """What `rondo bench table` prints for the stored rows of an experiment, without its title."""
    from rondo_bench.experiments.rows import read_rows
    from rondo_bench.experiments.spec import read_data_sets, read_experiment
    from rondo_bench.experiments.summary import summarise
    from rondo_bench.experiments.tables import markdown

    printed = markdown(summarise(read_rows(RESULTS / f"{name}.csv"), read_experiment(name), read_data_sets(None)))
    return printed.partition("\n\n")[2].strip()


PROGRAM = "benchmarks/pages.py"
SECTIONS: dict[str, Callable[[], str]] = {
    "quality": lambda: quality_text(*stored_scores()),
    "same-methods": same_methods,
    "exemplars-and-published": exemplars_and_published,
    **{path.stem: lambda name=path.stem: experiment_text(name) for path in sorted(RESULTS.glob("*.csv"))},
}


def page_of(section: str) -> Path:
    """The page in which this program writes a section."""
    begin = f"<!-- written by {PROGRAM}: {section} -->"
    return next(page for page in sorted(RESULTS.glob("*.md")) if begin in page.read_text(encoding="utf-8"))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=(*SECTIONS, "readme", []), metavar="NAME")
    names = parser.parse_args(arguments).names
    if names == ["readme"]:
        print(quality_table(*stored_scores()))
        return 0
    for name in names or SECTIONS:
        page = page_of(name)
        replace_section(page, PROGRAM, name, SECTIONS[name]())
        print(f"docs/results/{page.name}: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
