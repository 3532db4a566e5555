"""`rondo suggest`, `rondo stability` and `rondo usage`, as a user meets them; and the estimate before a long run."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import Command, waves, write_csv
from tests.report.run_folders import edit_summary, write_run_folder

SUGGESTED = {
    "window_length_frames", "step_frames", "motif_window_frames", "rate", "typical_period_frames", "n_frames",
    "n_recordings", "curve", "cost",
}  # fmt: skip
ONE_SCALE = ["--set", "motifs.method=none"]


def test_a_window_is_suggested_with_its_curve_and_cost(rondo: Command, here: Path) -> None:
    write_csv(here / "x.csv", waves(4000))
    outcome = rondo("suggest", "x.csv", "--rate", "50", "--quiet")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0].split() == ["window", "seconds", "step", "windows", "cycles", "power", "within"]
    (chosen,) = [line.split() for line in lines if line.startswith("->")]
    assert chosen[1:4] == ["25", "0.5", "6"]
    assert "suggested: --window 25 --step 6 --motif-window 100" in lines
    assert "units: 0.5 s (25 frames), motifs: 2 s (100 frames)" in lines
    assert lines[-1].startswith("`rondo discover` would take about 3 s on one core")
    assert list(here.iterdir()) == [here / "x.csv"]
    facts = json.loads(rondo("suggest", "x.csv", "--rate", "50", "--json").out)
    assert facts.keys() == SUGGESTED
    assert (facts["window_length_frames"], facts["motif_window_frames"]) == (25, 100)
    assert facts["cost"]["seconds"] > 0


@pytest.mark.parametrize(
    ("n_channels", "arguments", "says"),
    [
        (4, [], "The typical period of the signal"),
        (4, [], "a fortieth of the recording, from one to four typical periods (with --rate HZ: from 1.5 to 6 s)"),
        (4, ["--rate", "2"], "a fortieth of the recording, from one to four typical periods."),
        (
            4,
            ["--rate", "50"],
            "a quarter of that of motifs; the window of motifs is a fortieth of the recording, from 1.5",
        ),
        (1, [], "The window of units is 20 typical periods of the signal; the window of motifs is four times as long."),
        (2, ["--rate", "1000"], "The window of units is a twentieth of the longest unbroken stretch (4,000 frames)"),
        (4, ["--rate", "100", "--set", "motifs.window=40"], "is the least there is, 0.3 s or 8 frames"),
        (2, ["--set", "windows.length=40"], "as asked for: --window 40"),
        (2, ["--set", "motifs.window=400"], "the window of motifs is as asked for"),
        (4, ["--rate", "50", "--set", "windows.length=60"], "is two windows of units, the least"),
        (4, ONE_SCALE, "with --rate HZ it would be 1.5 s"),
        (4, ONE_SCALE, " frames, motifs are made of these\nThe typical period of the signal"),
        (4, ["--rate", "2", *ONE_SCALE], "only a handful of frames"),
        (1, ONE_SCALE, "20 typical periods of the signal"),
        (2, ["--rate", "1000", *ONE_SCALE], "A twentieth of the longest unbroken stretch"),
        (2, ["--rate", "50", *ONE_SCALE], "1.5 s did best over our development sets"),
    ],
)
def test_where_the_window_comes_from_is_said(
    rondo: Command, here: Path, n_channels: int, arguments: list[str], says: str
) -> None:
    write_csv(here / "x.csv", waves(4000 if n_channels > 1 else 60_000, n_channels))
    assert says in rondo("suggest", "x.csv", *arguments).out


def test_what_was_done_to_the_data_is_said_before_a_window_is_suggested(rondo: Command, here: Path) -> None:
    (here / "x.csv").write_text("x,label\n" + "".join(f"{value:.4f},1\n" for value in waves(900)[:, 0]))
    assert "column 'label' left out" in rondo("suggest", "x.csv", "--rate", "50").err


@pytest.mark.slow
def test_stability_over_seeds_and_halves(rondo: Command, here: Path) -> None:
    write_csv(here / "x.csv", waves(1500))
    arguments = ["stability", "x.csv", "--window", "50", "--seeds", "2", "--halves"]
    lines = rondo(*arguments, "--quiet").out.splitlines()
    assert lines[0] == "over 2 seeds:"
    assert any("units are stable" in line for line in lines)
    assert lines.count("In all of these fits no motif is longer than a unit.") == 2
    assert not any(line.startswith("  m0") for line in lines)
    assert lines[-1].startswith("Stability does not prove recurrence")
    facts = json.loads(rondo(*arguments, "--json", "--quiet").out)
    assert facts.keys() == {"n_seeds", "window_length_frames", "step_frames", "seeds", "halves"}
    assert facts["seeds"]["units"]["n_entries"] == len(facts["seeds"]["units"]["entries"])
    assert all(0 <= entry["stability"] <= 1 for entry in facts["halves"]["motifs"]["entries"])


@pytest.fixture
def run(here: Path) -> Path:
    return write_run_folder(here / "run", recording_ids=("s1_a", "s1_b", "s2_a", "s2_b"), with_truth=False)


def test_usage_as_text_csv_and_json(rondo: Command, run: Path) -> None:
    assert rondo("usage", run).out.splitlines()[1].split()[:2] == ["s1_a", "m0"]
    rows = list(csv.DictReader(io.StringIO(rondo("usage", run, "--csv").out)))
    facts = json.loads(rondo("usage", run, "--json").out)
    assert facts.keys() == {"motifs_are_units", "recordings"}
    assert facts["motifs_are_units"] is False
    assert len(rows) == len(facts["recordings"])
    assert float(rows[0]["share"]) == facts["recordings"][0]["share"]
    assert "group" not in rows[0]


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


def test_usage_by_group_claims_no_more_than_it_knows(rondo: Command, run: Path) -> None:
    outcome = rondo("usage", run, "--group-by", "s[0-9]")
    last = outcome.out.splitlines()[-1]
    assert last.startswith(
        "No difference between groups stands out from chance (p > 0.05); with so few recordings none"
    )
    facts = json.loads(rondo("usage", run, "--group-by", "s[0-9]", "--json").out)
    assert {one["group"] for one in facts["groups"]} == {"s1", "s2"}
    assert all(one["p"] > 0.05 for one in facts["differences"])
    assert "nothing to compare" in rondo("usage", run, "--group-by", "^s").out
    refused = rondo("usage", run, "--group-by", "q")
    assert (refused.code, refused.out) == (2, "")


def test_a_difference_that_stands_out_is_told_with_its_limits(
    rondo: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rondo.analysis.usage import Difference

    monkeypatch.setattr(
        "rondo.analysis.usage.differences", lambda rows: [Difference("unit", 3, ("s1", "s2"), 0.2, 0.01)]
    )
    said = rondo("usage", run, "--group-by", "s[0-9]").out.splitlines()
    assert said[-2].startswith("u3: +20.0 points of time in 's1' beside 's2' (p = 0.01")
    assert said[-1].endswith("A difference is no cause.")


def with_groups(run: Path) -> Path:
    about = json.loads((run / "summary.json").read_text(encoding="utf-8"))["recordings"]
    edit_summary(run, recordings=[one | {"group": one["id"][:2]} for one in about])
    return run


def test_usage_prints_intervals_and_what_was_compared(rondo: Command, run: Path) -> None:
    lines = rondo("usage", run, "--group-by", "s([0-9])").out.splitlines()
    assert " ".join(lines[0].split()) == "group entry in recordings share 95 % per hour 95 % mean duration"
    assert any(line.startswith("The unit of comparison is the recording") for line in lines)
    facts = json.loads(rondo("usage", run, "--group-by", "s", "--json").out)
    own = [one for one in facts["groups"] if one["share_low"] is not None]
    assert own and all(one["share_low"] <= one["mean_share"] <= one["share_high"] for one in own)
    one_each = rondo("usage", run, "--group-by", ".*").out
    assert "No interval for 's1_a', 's1_b', 's2_a' and 1 more: one recording has no spread." in one_each


def test_usage_takes_the_groups_of_the_run(rondo: Command, run: Path) -> None:
    asked = rondo("usage", run, "--group-by", "^s[0-9]", "--json").out
    assert rondo("usage", with_groups(run), "--json").out == asked
    assert next(csv.DictReader(io.StringIO(rondo("usage", run, "--csv").out)))["group"] == "s1"
    other = json.loads(rondo("usage", run, "--group-by", "[ab]$", "--json").out)
    assert {one["group"] for one in other["groups"]} == {"a", "b"}


def test_transitions_as_text_csv_and_json(rondo: Command, run: Path) -> None:
    lines = rondo("usage", run, "--transitions").out.splitlines()
    assert " ".join(lines[0].split()) == "recording followed by times probability"
    facts = json.loads(rondo("usage", run, "--transitions", "--json").out)
    assert facts.keys() == {"motifs_are_units", "transitions"}
    rows = list(csv.DictReader(io.StringIO(rondo("usage", run, "--transitions", "--csv").out)))
    assert len(rows) == len(facts["transitions"]) and "group" not in rows[0]
    assert float(rows[0]["probability"]) == facts["transitions"][0]["probability"]


def test_transitions_by_group(rondo: Command, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rondo.cli.usage._MOST_LISTED", 5)
    arguments = ("usage", with_groups(run), "--transitions")
    lines = rondo(*arguments).out.splitlines()
    assert " ".join(lines[0].split()) == "group followed by times probability 95 % in recordings"
    assert {line.split()[0] for line in lines if " -> " in line} == {"s1", "s2"}
    per_group = [
        sum(line.startswith(f"{group} ") and "u" in line.split()[1] for line in lines) for group in ("s1", "s2")
    ]
    facts = json.loads(rondo(*arguments, "--json").out)
    assert facts.keys() == {"motifs_are_units", "transitions", "groups", "differences"}
    units = [one["group"] for one in facts["groups"] if one["level"] == "unit"]
    known = [units.count(group) for group in ("s1", "s2")]
    assert per_group == [5, 5] and min(known) > 5
    assert any("less frequent transitions are not listed" in line for line in lines)
    assert lines[-1].startswith("No difference between groups stands out from chance (p > 0.05); with so few")
    rows = list(csv.DictReader(io.StringIO(rondo(*arguments, "--csv").out)))
    assert len(rows) == len(facts["groups"]) and {"low", "high", "n_recordings"} <= rows[0].keys()


def test_a_transition_that_stands_out_is_told(rondo: Command, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rondo.analysis.sequence import TransitionDifference

    found = [TransitionDifference("unit", 3, 1, ("s1", "s2"), 0.2, 0.01)]
    monkeypatch.setattr("rondo.analysis.sequence.transition_differences", lambda rows: found)
    said = rondo("usage", run, "--transitions", "--group-by", "s[0-9]").out.splitlines()
    assert said[-2].startswith("u3 -> u1: +20.0 points of what follows in 's1' beside 's2' (p = 0.01")


# ---------------------------------------------------------------- before a long run


def test_a_long_run_is_announced_and_a_short_one_is_not(
    rondo: Command, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_csv(here / "x.csv", waves())
    arguments = ["discover", "x.csv", "--window", "50", "--set", "evidence.surrogates=0"]
    assert "this will take" not in rondo(*arguments, "--out", "short").err
    monkeypatch.setattr("rondo.cost.WORTH_SAYING_S", 1.0)
    assert rondo(*arguments, "--out", "long").err.startswith("note: this will take about 3 s on one core and 0.3 GB")


def test_the_estimate_minds_what_was_asked_for() -> None:
    from rondo.data.recording import Recording
    from rondo.methods import Options, find_method

    method = find_method("rondo")
    recordings = [Recording(np.tile(waves(), (40, 1)), rate=50, id=str(i)) for i in range(3)]
    assert method.notes(recordings, method.configure(Options())) == []
    (said,) = method.notes(recordings, method.configure(Options(preset="paper")))
    assert "min on one core" in said
