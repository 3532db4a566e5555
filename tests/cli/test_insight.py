"""`rondo suggest`, `rondo stability` and `rondo usage`, as a user meets them; and the estimate before a long run."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.running import Command, waves, write_csv
from tests.golden_files import Golden
from tests.report.run_folders import edit_summary, write_run_folder

SUGGESTED = {
    "window_length_frames", "step_frames", "motif_window_frames", "rate", "typical_period_frames", "n_frames",
    "n_recordings", "curve", "cost",
}  # fmt: skip


def test_a_window_is_suggested_with_its_curve_and_cost(rondo: Command, here: Path) -> None:
    write_csv(here / "x.csv", waves(4000))
    outcome = rondo("suggest", "x.csv", "--rate", "50", "--quiet")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0].split() == ["window", "time", "step", "windows", "cycles", "power", "within"]
    (chosen,) = [line.split() for line in lines if line.startswith("->")]
    assert chosen[1:5] == ["33", "0.66", "s", "8"]
    assert "suggested: --window 33 --step 8 --motif-window 133" in lines
    assert "0.66 s (33 frames), motifs: 2.66 s (133" in "\n".join(lines)
    assert lines[-1].startswith("`rondo discover` would take")
    assert list(here.iterdir()) == [here / "x.csv"]
    facts = json.loads(rondo("suggest", "x.csv", "--rate", "50", "--json").out)
    assert facts.keys() == SUGGESTED
    assert (facts["window_length_frames"], facts["motif_window_frames"]) == (33, 133)
    assert facts["cost"]["seconds"] > 0


REASONS = """\
4
4 --rate 2
4 --rate 50
1
2 --rate 1000
4 --rate 100 --set motifs.window=40
2 --set windows.length=40
2 --set motifs.window=400
4 --rate 50 --set windows.length=60
4 --set motifs.method=none
4 --rate 2 --set motifs.method=none
1 --set motifs.method=none
2 --rate 1000 --set motifs.method=none
2 --rate 50 --set motifs.method=none"""


def test_where_the_window_comes_from_is_said(rondo: Command, here: Path, golden: Golden) -> None:
    """For as many channels and these options; the curve above the reasons is tested elsewhere."""
    for n_channels in (1, 2, 4):
        write_csv(here / f"{n_channels}.csv", waves(4000 if n_channels > 1 else 60_000, n_channels))
    said = []
    for line in REASONS.splitlines():
        n_channels, *options = line.split()
        lines = rondo("suggest", f"{n_channels}.csv", *options).out.splitlines()
        words = [text for text in lines[:-1] if not text.startswith((" ", "->"))]
        said.append("\n".join([f"$ channels: {line}", *words]))
    golden.check("suggest", "where the window comes from", "\n".join(said))


@pytest.mark.slow
def test_stability_over_seeds_and_halves(rondo: Command, here: Path) -> None:
    write_csv(here / "x.csv", waves(1500))
    arguments = ["stability", "x.csv", "--window", "50", "--seeds", "2", "--halves"]
    lines = rondo(*arguments, "--quiet").out.splitlines()
    assert lines[0] == "over 2 seeds:"
    assert any("units are stable" in line for line in lines)
    halves = lines.index(next(line for line in lines if line.startswith("over") and "hal" in line))
    assert lines[:halves].count("In all of these fits no motif is longer than a unit.") == 1
    assert not any(line.startswith("  m0") for line in lines[:halves])
    assert lines[-1].startswith("Stability does not prove")
    facts = json.loads(rondo(*arguments, "--json", "--quiet").out)
    assert facts.keys() == {"n_seeds", "window_length_frames", "step_frames", "seeds", "halves"}
    assert facts["seeds"]["units"]["n_entries"] == len(facts["seeds"]["units"]["entries"])
    assert all(0 <= entry["stability"] <= 1 for entry in facts["halves"]["motifs"]["entries"])


@pytest.fixture
def run(here: Path) -> Path:
    return write_run_folder(here / "run", recording_ids=("s1_a", "s1_b", "s2_a", "s2_b"), with_truth=False)


def with_groups(run: Path) -> Path:
    about = json.loads((run / "summary.json").read_text(encoding="utf-8"))["recordings"]
    edit_summary(run, recordings=[one | {"group": one["id"][:2]} for one in about])
    return run


USAGE = ("", "--group-by s[0-9]", "--group-by ^s", "--group-by .*", "--transitions", "--transitions --group-by s[0-9]")


def test_usage_in_words(rondo: Command, run: Path, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rondo.cli.usage._MOST_LISTED", 5)
    said = [f"$ rondo usage run {line}\n{rondo('usage', run, *line.split()).out}" for line in USAGE]
    golden.check("usage", "of planted runs", "\n".join(said))
    assert rondo("usage", run, "--group-by", "q").code == 2


def test_a_difference_that_stands_out_is_told_with_its_limits(
    rondo: Command, run: Path, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rondo.analysis.sequence import TransitionDifference
    from rondo.analysis.usage import Difference

    of_usage = [Difference("unit", 3, ("s1", "s2"), 0.2, 0.01)]
    of_transitions = [TransitionDifference("unit", 3, 1, ("s1", "s2"), 0.2, 0.01)]
    monkeypatch.setattr("rondo.analysis.usage.differences", lambda rows: of_usage)
    monkeypatch.setattr("rondo.analysis.sequence.transition_differences", lambda rows: of_transitions)
    arguments = ("usage", run, "--group-by", "s[0-9]")
    said = [rondo(*arguments, *extra).out.splitlines()[-2:] for extra in ((), ("--transitions",))]
    golden.check("usage", "differences that stand out", "\n".join(line for lines in said for line in lines))


def test_usage_and_transitions_are_the_same_in_csv_and_json(rondo: Command, run: Path) -> None:
    for extra, key, share in (((), "recordings", "share"), (("--transitions",), "transitions", "probability")):
        rows = list(csv.DictReader(io.StringIO(rondo("usage", run, *extra, "--csv").out)))
        facts = json.loads(rondo("usage", run, *extra, "--json").out)
        assert facts.keys() == {"motifs_are_units", key}
        assert len(rows) == len(facts[key]) and "group" not in rows[0]
        assert float(rows[0][share]) == facts[key][0][share]
    by_group = ("usage", with_groups(run), "--transitions")
    rows = list(csv.DictReader(io.StringIO(rondo(*by_group, "--csv").out)))
    facts = json.loads(rondo(*by_group, "--json").out)
    assert facts.keys() == {"motifs_are_units", "transitions", "groups", "differences"}
    assert len(rows) == len(facts["groups"]) and {"low", "high", "n_recordings"} <= rows[0].keys()


def test_usage_by_group_claims_no_more_than_it_knows(rondo: Command, run: Path) -> None:
    asked = rondo("usage", run, "--group-by", "^s[0-9]", "--json").out
    facts = json.loads(asked)
    assert {one["group"] for one in facts["groups"]} == {"s1", "s2"}
    assert all(one["p"] > 0.05 for one in facts["differences"])
    spread = [one for one in facts["groups"] if one["share_low"] is not None]
    assert spread and all(one["share_low"] <= one["mean_share"] <= one["share_high"] for one in spread)
    assert rondo("usage", with_groups(run), "--json").out == asked  # the groups of the run, unless others are asked for
    other = json.loads(rondo("usage", run, "--group-by", "[ab]$", "--json").out)
    assert {one["group"] for one in other["groups"]} == {"a", "b"}


@pytest.mark.parametrize("group_by", [(), ("--group-by", "s[0-9]")])
def test_usage_of_motifs_that_are_units_is_printed_once(
    rondo: Command, run: Path, group_by: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rondo.analysis.usage import Difference

    found = [Difference(level, 3, ("s1", "s2"), 0.2, 0.01) for level in ("motif", "unit")]
    monkeypatch.setattr("rondo.analysis.usage.differences", lambda rows: found)
    both = json.loads(rondo("usage", run, *group_by, "--json").out)
    edit_summary(run, motifs_are_units=True)
    lines = rondo("usage", run, *group_by).out.splitlines()
    entries = [line.split()[1] for line in lines if line.startswith("s")]
    assert {entry[0] for entry in entries} == {"u"}
    assert lines[1 + len(entries)] == "Motifs are not listed: no motif is longer than a unit."
    assert not any(line.startswith("m3: ") for line in lines)
    facts = json.loads(rondo("usage", run, *group_by, "--json").out)
    assert facts == both | {"motifs_are_units": True}  # machines get both levels, as ever
    assert {row["level"] for row in facts["recordings"]} == {"motif", "unit"}


# ---------------------------------------------------------------- before a long run


def test_a_long_run_is_announced_and_a_short_one_is_not(
    rondo: Command, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_csv(here / "x.csv", waves())
    arguments = ["discover", "x.csv", "--window", "50", "--set", "evidence.surrogates=0"]
    assert "this will take" not in rondo(*arguments, "--out", "short").err
    monkeypatch.setattr("rondo.cost.WORTH_SAYING_S", 1.0)
    assert rondo(*arguments, "--out", "long").err.startswith("note: this will take about 3 s")
