"""Tables against numbers worked out by hand, and the published rows beside them."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.errors import InputError, SettingError
from rondo_bench.experiments.rows import Row
from rondo_bench.experiments.spec import read_data_sets, read_experiment
from rondo_bench.experiments.summary import Summary, holm, signed_rank_p, summarise
from rondo_bench.experiments.tables import latex, markdown, to_csv
from tests.bench.experiments.made_rows import now, row

STATIC = read_experiment("static")
SETS = read_data_sets()


def counted(own: Row, n_segments: int, n_true: int) -> Row:
    return replace(own, counts={**own.counts, "n_segments": n_segments, "n_true_segments": n_true})


def summary(rows: list[Row], **choice: Any) -> Summary:
    return summarise(rows, STATIC, SETS, **choice)


def two_recordings(method: str, values: dict[int, tuple[float, float]]) -> list[Row]:
    """By seed, the scores of two recordings; the first has 4 segments of 2, the second 1 of 8."""
    return [
        counted(row(name, method, value, seed), *segments)
        for seed, own in values.items()
        for name, value, segments in zip(("one", "two"), own, ((4, 2), (1, 8)), strict=True)
    ]


def test_means_over_recordings_then_over_seeds() -> None:
    (section,) = summary(two_recordings("kmeans", {0: (40.0, 60.0), 1: (50.0, 80.0), 2: (30.0, 40.0)})).sections
    (line,) = section.lines
    assert (line.n_seeds, section.n_recordings) == (3, 2)
    assert line.cells["ari"].mean == pytest.approx(50.0)  # of 50, 65 and 35
    assert line.cells["ari"].std == pytest.approx(15.0)
    assert line.clock["ari"] == pytest.approx(25.0)


def test_seg_ratio_is_pooled() -> None:
    (line,) = summary(two_recordings("kmeans", {0: (40.0, 60.0)})).sections[0].lines
    assert line.cells["seg_ratio"].mean == pytest.approx(5 / 10)  # and not the mean of 2 and 1/8
    assert line.cells["seg_ratio"].std is None


def ranks(values: dict[str, float], column: str = "ari") -> dict[str, int]:
    rows = [row("one", method, value) for method, value in values.items()]
    return {line.method: line.ranks.get(column, 0) for line in summary(rows).sections[0].lines}


def test_best_and_second_are_marked_and_the_clock_is_not() -> None:
    assert ranks({"ticc": 50.0, "clap": 70.0, "kmeans": 60.0, "clock": 99.0}) == {
        "ticc": 0, "clap": 1, "kmeans": 2, "clock": 0
    }  # fmt: skip


def test_a_table_is_about_the_recordings_that_all_methods_have() -> None:
    rows = [*two_recordings("kmeans", {0: (40.0, 60.0)}), row("one", "ticc", 10.0)]
    rows.append(Row(row("two", "ticc", 0.0).key, "failed", "no room"))
    (section,) = summary(rows).sections
    assert section.n_recordings == 1
    assert {line.method: line.cells["ari"].mean for line in section.lines} == {"kmeans": 40.0, "ticc": 10.0}
    failed, fewer = section.notes
    assert "ticc failed in 1 row" in failed and "1 of 2 recordings" in fewer


def test_a_seed_that_was_stopped_is_left_out() -> None:
    rows = [*two_recordings("kmeans", {0: (40.0, 60.0)}), row("one", "kmeans", 99.0, seed=1)]
    (section,) = summary(rows).sections
    assert (section.lines[0].n_seeds, section.lines[0].cells["ari"].mean) == (1, 50.0)
    assert [note.partition(":")[0] for note in section.notes] == ["kmeans"] and "seed 1" in section.notes[0]


def test_rows_of_other_settings_are_left_out_whenever_they_were_made() -> None:
    old, new = row("one", "kmeans", 99.0, fingerprint="old"), row("one", "kmeans", 50.0)
    for rows in ([old, new], [new, old]):  # changed, or changed and put back: then nothing is run again
        (section,) = summary(rows).sections
        assert section.lines[0].cells["ari"].mean == 50.0
        (note,) = section.notes
        assert "1 row of kmeans" in note


def test_of_recordings_that_were_joined_the_most_count() -> None:
    rows = [row(name, "compile", 99.0, fingerprint=f"{now('compile')}-1111") for name in ("one", "two")]
    rows.append(row("one", "compile", 50.0, fingerprint=f"{now('compile')}-2222"))  # by itself, later, to try it out
    (section,) = summary(rows).sections
    assert (section.n_recordings, section.lines[0].cells["ari"].mean) == (2, 99.0)
    rows.append(row("two", "compile", 40.0, fingerprint=f"{now('compile')}-2222"))
    assert summary(rows).sections[0].lines[0].cells["ari"].mean == 45.0  # of as many the last


def test_in_transfer_a_target_is_one_observation_whoever_it_is_read_from() -> None:
    about: dict[str, Any] = {"experiment": "transfer", "data_set": "lara"}
    rows = [
        row(
            target,
            method,
            better * i + (source == "S1"),
            source=source,
            fingerprint=f"{now(method, **about)}-{source}",
            **about,
        )
        for method, better in (("rondo", 2.0), ("time2state", 1.0))
        for i, target in enumerate(("a", "b", "c", "d", "e", "f", "g"), start=1)
        for source in ("S1", "S2", "S3")
    ]
    (section,) = summarise(rows, read_experiment("transfer"), SETS).sections
    assert section.n_recordings == 21
    (ari,) = (one for one in section.comparisons if one.score == "ari")
    assert (ari.n_recordings, ari.n_better, ari.difference) == (7, 7, 4.0)
    assert ari.p == pytest.approx(2 * 2.0**-7)  # seven signs; 21 would give 2 * 2 ** -21


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"data_sets": ("lara",)}, "kmeans on mocap"),
        ({"against": "ticc"}, "--against"),
        ({"methods": ("kmeans", "kmean")}, r"'static': 'kmean'.*'kmeans'"),
        ({"methods": ("kmeans", "ticc")}, "no rows of ticc"),
        ({"data_sets": ("mocap", "lara")}, "no rows of lara"),
    ],
)
def test_nothing_to_show(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        summary([row("one", "kmeans", 1.0)], **choice)
    with pytest.raises(InputError, match="no rows of 'static'"):
        summary([], **choice)


def full() -> Summary:
    rows = two_recordings("ticc", {0: (40.0, 60.0)}) + two_recordings("kmeans", {0: (40.0, 70.0), 1: (40.0, 70.5)})
    rows += [
        row(name, "rondo", 90.0, data_set=data_set) for name in ("one", "two") for data_set in ("drive_act", "mocap")
    ]
    return summary([*rows, row("one", "clock", 5.0), row("two", "clock", 5.0)])


def test_markdown_has_the_published_row_under_its_method() -> None:
    lines = markdown(full()).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("| TICC |"))
    assert lines[at].startswith("| TICC | 50.00 | 50.00 | 50.00 | 50.00 | <ins>0.50</ins> | 50.00 |")
    assert lines[at].endswith("| 25.0 / 25.0 / 25.0 | 1 | 1.0 | 0 |")
    assert lines[at + 1].startswith(
        "| TICC (published) | 86.61 ± 0.00 | 84.52 ± 0.00 | 79.39 ± 0.00 | 83.18 ± 0.00 | 2.19 ± 0.00 | – |"
    )
    (kmeans,) = (line for line in lines if line.startswith("| k-means of windows |"))
    assert kmeans.startswith("| k-means of windows | <ins>55.12 ± 0.18</ins> |")
    assert any(line.startswith("| Rondo | **90.00** |") for line in lines)
    assert {line.count("|") for line in lines[at - 2 : at + 3]} == {15}


def test_a_published_row_stands_once_and_under_no_method_of_ours() -> None:
    """Not under Rondo, which is another method, and under the first only of those that are the published chain."""
    own = [row("one", method, 50.0) for method in ("rondo", "rondo-units", "rondo-paper")]
    text = markdown(summary(own))
    titles = [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if line.startswith("| R")]
    assert titles == ["Rondo", "Rondo, units", "RONDO (paper)", "RONDO (published)"]
    assert "paper_mof" not in to_csv(summary(own[:2]))
    assert latex(summary(own)).count("\nRONDO (published) & 88.91") == 1


def is_balanced(text: str) -> bool:
    depth = np.cumsum([{"{": 1, "}": -1}.get(letter, 0) for letter in re.sub(r"\\[{}]", "", text)])
    return bool(depth.min() >= 0 and depth[-1] == 0 and text.count("$") % 2 == 0)


def test_latex_is_balanced_and_escaped() -> None:
    text = latex(full())
    assert is_balanced(text)
    assert text.count("\\begin{tabular}") == text.count("\\end{tabular}") == 2
    assert "Drive\\&Act" in text and "Drive&Act" not in text
    assert not re.search(r"(?<!\\)[%#]", text.split("\n", 1)[1].replace("{%\n", "{"))
    spec = re.search(r"\\begin\{tabular\}\{l(c+)\}", text)
    assert spec is not None
    body = [line for line in text[: text.index("\\end{tabular}")].splitlines() if line.endswith("\\\\")]
    cells = {len(re.findall(r"(?<!\\)&", line)) for line in body if "multicolumn" not in line}
    assert cells == {len(spec[1])}
    assert "\\textbf{90.00}" in text and "\\underline{55.12 $\\pm$ 0.18}" in text


def test_csv_has_every_score_and_the_p_of_every_comparison() -> None:
    rows = [row(f"r_{i}", method, value + i) for i in range(7) for method, value in (("rondo", 9.0), ("ticc", 2.0))]
    rondo, ticc = csv.DictReader(io.StringIO(to_csv(summary(rows))))
    assert (ticc["against"], ticc["p_ari"], rondo["against"], rondo["p_ari"]) == ("rondo", "0.0156", "", "")
    by_method = {line["method"]: line for line in csv.DictReader(io.StringIO(to_csv(full())))}
    kmeans, ticc = by_method["kmeans"], by_method["ticc"]
    assert (kmeans["f1_25"], kmeans["ari_std"], kmeans["clock_ami"]) == ("55.1250", "0.1768", "27.5625")
    assert (ticc["paper_mof"], ticc["paper_seg_ratio"], ticc["ari_std"], ticc["p_mof"]) == ("86.6100", "2.1900", "", "")


def test_six_recordings_all_better() -> None:
    assert signed_rank_p([1, 2, 3, 4, 5, 6]) == pytest.approx(2 / 2**6)
    assert signed_rank_p([1, 2, 3, 4, 5, -6]) == pytest.approx(2 * 14 / 2**6)  # rank sums of at most 6: 14 of 64
    assert signed_rank_p([1, 2, 3, 4, 5]) is None
    assert signed_rank_p([1, 2, 3, 4, 5, 0]) is None


def naive_p(differences: list[int]) -> float:
    """All 2^n signs, by brute force; ranks of differences that all differ in size."""
    order = np.argsort(np.argsort(np.abs(differences))) + 1
    observed = min(order[np.array(differences) > 0].sum(), order[np.array(differences) < 0].sum())
    signs = (np.arange(2 ** len(order))[:, None] >> np.arange(len(order))) & 1
    return min(1.0, 2 * float(((signs * order).sum(axis=1) <= observed).mean()))


@given(st.lists(st.integers(1, 1000), min_size=6, max_size=9, unique=True), st.integers(0, 2**9 - 1))
def test_p_is_that_of_all_signs(sizes: list[int], signs: int) -> None:
    differences = [size if signs >> i & 1 else -size for i, size in enumerate(sizes)]
    assert signed_rank_p(differences) == pytest.approx(naive_p(differences))


def test_rounding_is_no_difference() -> None:
    """The mean of three seeds that are all 0.1 is not 0.1: no method is better for having been run more often."""
    rows = [row(f"r{i}", "ticc", 0.1 + i) for i in range(7)]
    rows += [row(f"r{i}", "kmeans", 0.1 + i, seed=seed) for i in range(7) for seed in range(3)]
    (ari,) = (one for one in summary(rows).sections[0].comparisons if one.score == "ari")
    assert (ari.n_better, ari.p, ari.difference) == (0, None, 0.0)


def test_holm() -> None:
    assert holm([0.01, 0.04, None, 0.03]) == pytest.approx([0.03, 0.06, None, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]


def test_sets_are_compared_together_too() -> None:
    sets = ("mocap", "lara")
    rows = [
        row(f"r{i}", method, value + i, data_set=data_set)
        for data_set in sets
        for i in range(4)
        for method, value in (("rondo", 50.0), ("ticc", 40.0 + i))
    ]
    shown = summary(rows)
    assert all(one.p is None for section in shown.sections for one in section.comparisons)
    (pooled,) = (one for one in shown.pooled if one.score == "ari")
    assert (pooled.n_recordings, pooled.n_better) == (8, 8)
    assert pooled.p is not None and pooled.p < 0.02
    assert "| ticc | 8 | +8.5 (8 of 8), p 0.0" in markdown(shown)
