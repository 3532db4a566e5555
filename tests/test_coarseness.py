"""Moving along the tree of motifs: at, coarser and finer; as an edit that is kept, carried, undone and combined."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

import rondo
from rondo.analysis.coarseness import coarseness_of
from rondo.edit import apply_edits, coarsen_run, edits_in, undo_edit
from rondo.editing.edits import Edits
from rondo.errors import ModelError, SettingError
from rondo.model.rondo import Rondo
from rondo.result import Result
from rondo.synthetic import StreamPlan, plant

QUICK = {"evidence.surrogates": 0}
STREAM = plant(StreamPlan(motifs="contexts"), n_frames=20_000, seed=20)


@pytest.fixture(scope="module", params=["contexts", "flat", "phrases"])
def result(request: pytest.FixtureRequest) -> Result:
    """Each kind of motif that labels can show."""
    settings = QUICK | ({"motifs.method": "none"} if request.param == "flat" else {})
    own = plant(StreamPlan(motifs="own", n_units=16, n_motifs=4), n_frames=20_000, seed=20)
    recording = own.recording if request.param == "phrases" else STREAM.recording
    found = rondo.discover(recording, settings=settings)
    kinds = {one.kind for one in found.summary.shown_motifs}
    assert {"contexts": "context", "flat": "unit", "phrases": "phrase"}[request.param] in kinds
    return found


def n_motifs(result: Result) -> int:
    return len({*result.motifs.tolist()} - {-1})


def test_every_place_has_so_many_motifs_and_they_are_nested(result: Result) -> None:
    most, finer = n_motifs(result), result
    for n in range(most, 1, -1):
        own = result.at(n)
        assert n_motifs(own) == len(own.summary.shown_motifs) == n
        assert {*own.motifs.tolist()} <= {*finer.motifs.tolist()}  # ids are those of the parts
        pairs = {*zip(finer.motifs.tolist(), own.motifs.tolist(), strict=True)}
        assert len(pairs) == len({one for one, _ in pairs})  # whatever was one stays one
        npt.assert_array_equal(own.motifs, finer.coarser().motifs if n < most else finer.motifs)
        npt.assert_array_equal(own.units, result.units)
        assert set(own.segments.query("level == 'motif'")["id"]) == {*own.motifs.tolist()} - {-1}
        finer = own
    npt.assert_array_equal(finer.at(most).motifs, result.motifs)
    npt.assert_array_equal(result.coarser().finer().motifs, result.motifs)
    assert result.at(most).run.edits == result.run.edits and len(result.coarser().finer().run.edits.history) == 2


@pytest.mark.parametrize("n", [1, 0, 99, 2.5, True, "3"])
def test_other_numbers_are_refused(result: Result, n: int) -> None:
    most = n_motifs(result)
    with pytest.raises(SettingError, match=rf"this run has {most} motifs, and can show 2 to {most}; got"):
        result.at(n)


def test_saved_loaded_labelled_streamed_and_undone(result: Result, tmp_path: Path) -> None:
    coarse, recording = result.at(3), next(iter(result.at_hand.values()))
    run = Path(coarse.save(tmp_path / "run"))
    loaded = Result.load(run)
    npt.assert_array_equal(loaded.motifs, coarse.motifs)
    npt.assert_array_equal(loaded.finer().motifs, result.at(4).motifs)
    assert loaded.model.motif_tree_.steps == result.model.motif_tree_.steps
    labelled = rondo.label(run, recording)
    npt.assert_array_equal(labelled.motifs, coarse.edited(labelled.run.edits).motifs)
    assert n_motifs(labelled) <= 3 and labelled.at(2).summary.shown_motifs
    kept = {id: loaded.run.edits.kept("motif", id) for id in (-1, *result.model.motifs_)}
    fine, own = (list(model.stream(recording.values[:3_000][i : i + 500] for i in range(0, 3_000, 500)))
                 for model in (result.model, loaded.model))  # fmt: skip
    assert [d.motif for part in own for d in part.decisions] == [
        kept.get(d.motif, d.motif) for part in fine for d in part.decisions
    ]
    undo_edit(run)
    npt.assert_array_equal(Result.load(run).motifs, result.motifs)
    coarsen_run(run, 2)
    coarsen_run(run, 3)  # replaces it
    npt.assert_array_equal(Result.load(run).motifs, coarse.motifs)
    npt.assert_array_equal(np.load(next((run / "labels").iterdir())), coarse.motifs)
    undo_edit(run)
    assert n_motifs(Result.load(run)) == 2
    assert [row["undone"] for row in edits_in(run)] == [True, False, False, True, False]


def test_names_merges_and_teaching_stay(result: Result) -> None:
    first = coarseness_of(result).places[0]["next"]
    kept, absorbed = f"motif:{first['kept']}", f"motif:{first['absorbed']}"
    edits = Edits().named(absorbed, "reach").coarsened(coarseness_of(result).places[1]["groups"])
    assert edits.name("motif", first["kept"]) == "reach"  # the only name in the group
    both = edits.named(kept, "walk")
    assert [both.name("motif", first[one]) for one in ("kept", "absorbed")] == ["walk", "walk"]
    fine = both.coarsened(())
    assert [fine.name("motif", first[one]) for one in ("kept", "absorbed")] == ["walk", "reach"]
    apart = edits.split(absorbed)
    assert apart.kept("motif", first["absorbed"]) == first["absorbed"]
    ids = sorted(one.id for one in result.summary.shown_motifs)
    by_hand = result.edited(Edits().merged([f"motif:{ids[0]}", f"motif:{ids[-1]}"]))
    most = len(by_hand.summary.shown_motifs)
    for n in range(most, coarseness_of(by_hand).fewest - 1, -1):
        own = by_hand.at(n)
        assert n_motifs(own) == n and own.run.edits.kept("motif", ids[-1]) == own.run.edits.kept("motif", ids[0])
    spans = [{"name": "new", "start_frame": 0, "end_frame": 400}]
    taught = result.teach(spans)
    assert set(taught.coarser().motifs[:400]) == set(taught.motifs[:400])
    assert n_motifs(taught.coarser()) == n_motifs(taught) - 1


def test_suggestions_lead_from_here_to_two_motifs(result: Result) -> None:
    table, tree = result.suggest_merges(), result.model.motif_tree_
    assert table["n_motifs"].tolist() == list(range(n_motifs(result) - 1, 1, -1))
    assert table["confused"].between(0, 1).all()
    places = coarseness_of(result)  # a merge of a motif that is not shown leaves as many as before
    assert places.n_suggested == tree.best
    assert table["suggested"].sum() == n_motifs(result) - places.n_motifs_suggested
    for row in table.itertuples():
        assert n_motifs(result.at(row.n_motifs)) == row.n_motifs
        assert row.kept in result.at(row.n_motifs).motifs and row.absorbed not in result.at(row.n_motifs).motifs
    assert result.at(3).suggest_merges()["n_motifs"].tolist() == [2]


def test_runs_without_a_tree_say_so(tmp_path: Path) -> None:
    clock = rondo.discover(STREAM.recording, "clock", settings={"n_states": 4})
    with pytest.raises(SettingError, match="this run has no tree of motifs"):
        clock.at(2)
    assert clock.suggest_merges().empty


def test_wanted_groups_are_checked(tmp_path: Path) -> None:
    result = rondo.discover(STREAM.recording, settings=QUICK)
    run = result.save(tmp_path / "run")
    wrong = [[0]], [[0, 0]], [[0, 1], [1, 2]], [[0, 99]], "ab", [[0, True]], [0, 1]
    whys = "groups", "ids", "ids", "no motif:99", "ids", "ids", "iterable"
    for groups, why in zip(wrong, whys, strict=True):
        with pytest.raises(SettingError, match=why):
            apply_edits(run, [{"kind": "coarsen", "level": "motif", "groups": groups}])
    apply_edits(run, [{"kind": "coarsen", "level": "motif", "groups": [[1, 0]]}])
    assert edits_in(run)[-1]["what"] == "motifs coarsened: m0, m1"
    model = Rondo.load(Path(run) / "model")
    assert model.edits_.carried().coarsening == model.edits_.coarsening
    assert model.edits_.among({"motif": [0]}).coarsening is None
    tensors = {"ids": np.array([0, 500]), "steps": np.zeros((0, 5))}
    model.motif_tree_ = type(model.motif_tree_).restore(tensors)
    model.save(tmp_path / "odd")
    with pytest.raises(ModelError, match="a tree of the motifs"):
        Rondo.load(tmp_path / "odd")


@pytest.mark.parametrize("n_frames", [40, 120, 250])
def test_a_recording_of_few_windows_has_a_tree(n_frames: int) -> None:
    values = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), n_frames // 4, axis=0)
    values = values + 0.01 * np.random.default_rng(1).normal(size=values.shape)
    found = rondo.discover(values, rate=10, settings={"motifs.window": "40s", "evidence.surrogates": 0})
    n_motifs = len(np.unique(found.motifs[found.motifs >= 0]))
    assert len(found.suggest_merges()) in (0, max(0, n_motifs - 2))  # none where no window fits
