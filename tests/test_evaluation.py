"""`rondo.evaluate`: truth in any form against a result; comparisons; scores that stay with a result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rondo
from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError, SettingError
from rondo.evaluation import compared, only, scored
from rondo.metrics.meaning import shared_scores
from rondo.metrics.scores import evaluate as score
from rondo.result import Result, make_result
from rondo.run.labelling import nothing_shared
from tests.cli.running import waves

KINDS = np.arange(900) // 150 % 3


@pytest.fixture(scope="module")
def result() -> Result:
    recordings = [Recording(waves(900, seed=i), 50, id=id) for i, id in enumerate(("p", "q"))]
    quick = {"evidence.surrogates": 0, "encoder.shape_channels": 0}  # shapes split these short windows
    return rondo.discover(recordings, window=40, settings=quick | {"windows.step": 20})


def test_truth_may_be_arrays_annotations_files_or_a_folder(result: Result, tmp_path: Path) -> None:
    shared = shared_scores({"p": KINDS, "q": KINDS}, {one.recording_id: one.motifs for one in result})
    expected = score({one.recording_id: (KINDS, one.motifs) for one in result}).as_dict() | {"shared": shared.as_dict()}
    (tmp_path / "truth").mkdir()
    for id in ("p", "q"):
        np.save(tmp_path / "truth" / f"{id}.npy", KINDS)
    names = np.array(["sit", "walk", "run"])[KINDS]
    for truth in (
        {"p": KINDS, "q": KINDS},
        {"p": Annotation(names), "q": names},
        tmp_path / "truth",
        str(tmp_path / "truth"),
    ):
        assert rondo.evaluate(truth, result).as_dict() == expected
    result.save(tmp_path / "run")
    assert rondo.evaluate(tmp_path / "truth", tmp_path / "run").as_dict() == expected
    assert rondo.evaluate({"q": KINDS}, result, level="unit").as_dict()["n_recordings"] == 1


@pytest.mark.parametrize("held", [pd.Series, lambda names: pd.Series(names).astype("category"), pl.Series, list])
def test_names_may_be_held_by_any_library(result: Result, held: Callable[[list[str]], object]) -> None:
    names = np.array(["sit", "walk", "run"])[KINDS].tolist()
    expected = rondo.evaluate({"p": np.array(names)}, result).as_dict()
    assert rondo.evaluate({"p": held(names)}, result).as_dict() == expected


@pytest.mark.parametrize("other", [None, float("nan"), 3])
def test_what_is_no_name_among_names_is_refused(result: Result, other: object) -> None:
    names = pd.Series(["sit"] * 899 + [other], dtype=object)
    with pytest.raises(AnnotationError, match="expected whole numbers or names"):
        rondo.evaluate({"p": names}, result)


def test_shared_scores_are_for_groups_that_share_a_vocabulary(result: Result) -> None:
    truth = {"p": KINDS, "q": KINDS}
    assert rondo.evaluate({"q": KINDS}, result).shared is None  # one recording
    assert rondo.evaluate(truth, result, group_by={"p": "ann", "q": "ann"}).shared is None
    assert rondo.evaluate({"p": KINDS, "q": np.array(["a", "b", "c"])[KINDS]}, result).shared is None
    found = rondo.evaluate(truth, result, group_by={"p": "ann", "q": "bob"}, level="unit").shared
    assert found is not None and found.n_groups == 2 and found.meaning > 90
    recordings = [Recording(waves(900, seed=i), 50, id=id) for i, id in enumerate(("p", "q"))]
    groups = {"p": "ann", "q": "ann"}
    one_person = make_result("some", recordings, list(result), groups=groups)
    assert [one.group for one in one_person.recordings] == ["ann", "ann"]
    assert rondo.evaluate(truth, one_person).shared is None  # the groups of the run


def test_ids_that_no_two_recordings_share_score_the_same(result: Result) -> None:
    recordings = [Recording(waves(900, seed=i), 50, id=id) for i, id in enumerate(("p", "q"))]
    apart = make_result("some", recordings, nothing_shared(list(result)))
    assert not {*apart["p"].units} & {*apart["q"].units} - {-1}
    truth = dict.fromkeys(("p", "q"), KINDS)
    for level in ("unit", "motif"):
        found, expected = (rondo.evaluate(truth, one, level=level) for one in (apart, result))
        assert (found.average, found.recordings, found.clock) == (expected.average, expected.recordings, expected.clock)


def test_one_array_is_the_truth_of_one_recording(result: Result) -> None:
    one = make_result("some", [Recording(waves(900, seed=1), 50, id="q")], [result["q"]])
    assert rondo.evaluate(KINDS, one).as_dict() == score({"q": (KINDS, result["q"].motifs)}).as_dict()
    with pytest.raises(AnnotationError, match="classes for 2 recordings"):
        rondo.evaluate(KINDS, result)
    with pytest.raises(AnnotationError, match="recording 'r'"):
        rondo.evaluate({"r": KINDS}, result)
    with pytest.raises(AnnotationError):
        rondo.evaluate(KINDS[:-1], one)


def test_files_that_do_not_fit_are_told(result: Result, tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", KINDS)
    with pytest.raises(AnnotationError, match="one file for 2 recordings"):
        rondo.evaluate(tmp_path / "p.npy", result)
    with pytest.raises(AnnotationError, match="called 'q'"):
        rondo.evaluate(tmp_path, result)
    np.save(tmp_path / "q.npy", KINDS[:-1])
    with pytest.raises(AnnotationError, match=r"899 frames, .*'q' has 900"):
        rondo.evaluate(tmp_path, result)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("time;a;b;label\n{}", "utf-8"),
        ("# made by a logger\n# on a bus\ntime;a;b;label\ns;mV;°C;\n{}", "cp1252"),
    ],
)
def test_a_csv_is_read_as_discover_reads_it(result: Result, tmp_path: Path, text: str, encoding: str) -> None:
    """Classes in the recording itself, in a table that only the reader of recordings understands."""
    rows = "".join(f"{i / 50:.2f};{i % 7},5;1,0;kind {kind}\n".replace(".", ",") for i, kind in enumerate(KINDS))
    (tmp_path / "q.csv").write_bytes(text.format(rows).encode(encoding))
    found = rondo.read(tmp_path / "q.csv")
    assert isinstance(found, Recording) and found.n_frames == 900
    expected = score({"q": (KINDS, result["q"].motifs)}).as_dict()
    assert rondo.evaluate(tmp_path / "q.csv", only(result, "q")).as_dict() == expected


def test_annotations_in_seconds_lie_on_frames(result: Result, tmp_path: Path) -> None:
    spans = "".join(f"{i * 3}\t{i * 3 + 3}\tkind{i % 3}\n" for i in range(6))
    (tmp_path / "q.txt").write_text(spans)
    found = rondo.evaluate(tmp_path / "q.txt", only(result, "q"))
    assert found.as_dict() == score({"q": (KINDS, result["q"].motifs)}).as_dict()


def test_a_comparison_tells_the_class_of_each_entry(result: Result) -> None:
    found = compared(result, {"p": KINDS, "q": KINDS}, level="unit")
    assert found.purity > 0.8 and {row.id for row in found.entries} >= {0, 1, 2}
    assert compared(result, {"q": KINDS}, level="unit", recording="q").frames.sum() == 900
    with pytest.raises(SettingError, match=r"'r'; .*p, q"):
        compared(result, KINDS, recording="r")
    with pytest.raises(SettingError, match="--level"):
        compared(result, KINDS, level="states")  # type: ignore[arg-type]


def test_scores_and_truth_stay_with_the_result(result: Result, tmp_path: Path) -> None:
    told = scored(result, {id: (KINDS.astype(np.int32), KINDS.astype(np.int32)) for id in ("p", "q")})
    assert (
        told.summary.scores is not None
        and told.summary.scores.units.ari == score({one.recording_id: (KINDS, one.units) for one in result}).average.ari
    )
    assert result.summary.scores is None and "truth" not in result.run.tables
    told.save(tmp_path / "run")
    loaded = Result.load(tmp_path / "run")
    assert loaded.summary.scores == told.summary.scores
    assert loaded.run.tables["truth"][["recording", "level", "id", "start_frame"]].equals(
        told.run.tables["truth"][["recording", "level", "id", "start_frame"]]
    )
    assert "true units" in (tmp_path / "run" / "report.html").read_text()
