"""The tables of formats in the documentation say what the registries find, no more and no less."""

from __future__ import annotations

import re
from pathlib import Path

from rondo.annotations.formats import ANNOTATION_FORMATS, suffixes_of_spans
from rondo.files.read import suffixes
from rondo.files.reading import RECORDING_FORMATS
from rondo.report.export import export_formats
from tests.corpus.case import corpus_table

DOCS = Path(__file__).parents[2] / "docs"
FILES = (DOCS / "files.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """Cells of the table under a heading of docs/files.md, its head left out."""
    table = re.search(r"(?:^\|.*\n)+", FILES.partition(f"## {heading}\n")[2], re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines()[2:]]


def test_every_recording_format_has_its_row() -> None:
    expected = [
        [" ".join(f"`{suffix}`" for suffix in one.suffixes), one.help, f"extra `{one.extra}`" if one.extra else ""]
        for one in RECORDING_FORMATS.values()
        if one.suffixes
    ]
    assert rows("Recordings") == expected


def test_every_export_format_has_its_row() -> None:
    named = [name for cells in rows("Segments for other programs") for name in re.findall(r"`([\w-]+)`", cells[0])]
    assert named == list(export_formats())
    programs = {name: cells[1] for cells in rows("Segments for other programs") for name in [cells[0].strip("`")]}
    for name, one in ANNOTATION_FORMATS.items():
        assert name in ("csv", "parquet") or one.write is None or programs[name].startswith(one.program)


def test_every_suffix_of_annotations_is_listed() -> None:
    listed = {suffix for cells in rows("Annotations as ground truth") for suffix in re.findall(r"`(\.\w+)`", cells[0])}
    assert listed == set(suffixes_of_spans())


def test_every_program_of_the_corpus_has_its_row() -> None:
    listed = (DOCS / "results" / "programs.md").read_text(encoding="utf-8").partition("\n| ")
    lines, expected = f"| {listed[2]}".strip().splitlines(), corpus_table()
    assert lines[:2] == expected[:2]
    assert sorted(lines[2:]) == sorted(expected[2:])


def test_the_page_is_no_longer_than_people_read() -> None:
    assert len(re.findall(r"\w[\w.:'’-]*", FILES)) <= 2500


def test_the_first_page_names_every_suffix_of_recordings() -> None:
    start = (DOCS / "start.md").read_text(encoding="utf-8")
    said = re.search(r"\| \*\*format\*\* \| (.*?); with `pip install '\.\[io\]'` also (.*?)\. ", start)
    assert said is not None
    plain, extra = ([f".{word}" for word in part.split(", ")] for part in said.groups())
    assert plain + extra == list(suffixes())
    assert extra == [suffix for one in RECORDING_FORMATS.values() if one.extra for suffix in one.suffixes]
