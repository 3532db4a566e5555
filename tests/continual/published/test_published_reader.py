"""A stream by the published rule: exact in any chunks, restored to the bit, and what it learns."""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.continual.journal import Event
from rondo.continual.phrases import MotifReader
from rondo.continual.reading import Decision
from rondo.continual.stream import Stream, rule_of
from rondo.continual.updater import Updater
from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.errors import ModelError, SettingError
from rondo.model.method import relabel
from rondo.model.rondo import Rondo
from rondo.paper.continual import PublishedReader

pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")  # training this short does not settle

Values = NDArray[np.float32]
Output = tuple[list[Decision], list[Event]]


@pytest.fixture(scope="module")
def values(published_values: Values) -> Values:
    return published_values


@pytest.fixture(scope="module")
def paper(paper_model: Rondo) -> Rondo:
    return paper_model


@pytest.fixture(scope="module")
def slow(slow_units_model: Rondo) -> Rondo:
    return slow_units_model


@pytest.fixture(params=["paper", "slow"])
def model(request: pytest.FixtureRequest) -> Rondo:
    fitted: Rondo = request.getfixturevalue(request.param)
    return fitted


def with_gaps(values: Values, n: int) -> Values:
    rows = values[12_000 : 12_000 + n].copy()
    rows[500::700, 2] = np.nan  # bridged
    rows[1_500:1_700] = np.nan  # a boundary
    return rows


def fed(stream: Stream, rows: Values, cuts: list[int]) -> Output:
    reports = [stream.feed(rows[start:stop]) for start, stop in pairwise([0, *cuts, len(rows)])]
    reports.append(stream.finish())
    decisions = [decision for report in reports for decision in report.decisions]
    return decisions, [event for report in reports for event in report.events]


def assert_same_state(some: Stream, other: Stream) -> None:
    for own, another in zip(some.state()[0].values(), other.state()[0].values(), strict=True):
        npt.assert_array_equal(own, another)
    assert json.dumps(some.state()[1]) == json.dumps(other.state()[1])


def test_decisions_follow_on_each_other_and_cover_every_frame_once(model: Rondo, values: Values) -> None:
    rows = with_gaps(values, 4_000)
    decisions, _ = fed(model.stream(), rows, [])
    assert all(own.stop_frame > own.start_frame for own in decisions)
    stretches = [(0, 1_500), (1_700, 4_000)]
    starts = {own.start_frame for own in decisions}
    assert {start for start, _ in stretches} <= starts
    for before, after in pairwise(decisions):
        assert after.start_frame == before.stop_frame or (before.stop_frame, after.start_frame) == (1_500, 1_700)
    assert decisions[-1].stop_frame == 4_000


def test_saved_and_loaded_the_model_follows_its_stream_as_if_never_saved(
    model: Rondo, values: Values, tmp_path: Path
) -> None:
    plain, follower = model.stream(), copy.copy(model)
    expected = [plain.feed(values[12_000:14_000]), plain.feed(values[14_000:15_000])]
    found = [follower.partial_fit(values[12_000:14_000])]
    follower.save(tmp_path / "model")
    loaded = Rondo.load(tmp_path / "model")
    assert isinstance(loaded.stream_.reader, PublishedReader)
    found.append(loaded.partial_fit(values[14_000:15_000]))
    assert [own.decisions for own in found] == [own.decisions for own in expected]
    assert_same_state(loaded.stream_, plain)


@pytest.mark.parametrize("damage", ["entries.means", "novel.prototypes", "latents", "motifs"])
def test_a_state_that_does_not_fit_is_refused_in_one_line(
    paper: Rondo, values: Values, tmp_path: Path, damage: str
) -> None:
    from rondo.store import model_file as artifact

    follower = copy.copy(paper)
    follower.partial_fit(values[12_000:13_000])
    follower.save(tmp_path / "model")
    stored = artifact.load(tmp_path / "model")
    tensors = dict(stored.tensors)
    for name in [name for name in tensors if name.startswith(f"stream.reader.{damage}")]:
        del tensors[name]
    artifact.save(tmp_path / "model", artifact.Artifact(stored.config, stored.provenance, tensors))
    with pytest.raises(ModelError, match="not fit together") as refused:
        Rondo.load(tmp_path / "model")
    assert "\n" not in str(refused.value)


def test_the_rule_comes_from_the_model_unless_the_stream_has_its_own(slow: Rondo) -> None:
    assert isinstance(slow.stream().reader, PublishedReader)
    assert isinstance(slow.stream(rule="exemplars").reader, Updater)
    assert rule_of(slow.stream(rule="published").state()[1]) == "published"
    assert rule_of(slow.stream(rule="exemplars").state()[1]) == "exemplars"
    assert "rule" not in slow.stream(rule="exemplars").state()[1]
    with pytest.raises(SettingError, match=r"'best': .*'exemplars' or 'published'"):
        slow.stream(rule="best")  # type: ignore[call-overload]


def test_a_stream_by_another_rule_than_its_model_is_loaded_by_its_own(
    slow: Rondo, values: Values, tmp_path: Path
) -> None:
    follower = copy.copy(slow)
    follower.stream_ = slow.stream(rule="exemplars")
    follower.partial_fit(values[12_000:13_000])
    follower.save(tmp_path / "model")
    assert isinstance(Rondo.load(tmp_path / "model").stream_.reader, Updater)


def test_without_motif_former_motifs_are_read_as_by_the_other_rule(slow: Rondo, values: Values) -> None:
    reader = slow.stream().reader
    assert isinstance(reader, PublishedReader) and isinstance(reader.motifs, MotifReader)
    decisions, _ = fed(slow.stream(), values[12_000:20_000], [])
    motifs = {own.motif for own in decisions}
    assert motifs & set(slow.motif_model_.ids)


def strange(model: Rondo, n_frames: int, seed: int = 0) -> Values:
    """Like nothing that is planted: loud noise; in slow latents, where noise lies everywhere, a fast and large wave."""
    if model.preset == "paper-fast":
        return np.random.default_rng(seed).normal(scale=4, size=(n_frames, 6)).astype(np.float32)
    phase = 2 * np.pi * np.arange(n_frames) / 9
    return np.stack([4 * np.sin(phase + channel) for channel in range(6)], axis=1).astype(np.float32)


def test_what_no_unit_accepts_is_other_and_goes_to_micro_clusters(model: Rondo, values: Values) -> None:
    stream = model.stream()
    decisions, events = fed(stream, np.concatenate([values[12_000:14_000], strange(model, 3_000)]), [])
    late = [own.unit for own in decisions if own.start_frame > 2_400]
    assert np.mean([unit == OTHER for unit in late]) > 0.8 and stream.n_buffered > 50
    assert np.mean([own.unit == OTHER for own in decisions if own.stop_frame < 1_800]) < 0.4
    assert not any(event.kind == "promote" for event in events)  # one visit


def test_a_strange_unit_that_comes_back_is_promoted_and_then_known(model: Rondo, values: Values) -> None:
    """Visits of one kind between stretches, each longer than `apart`, of what is known."""
    parts = []
    for n in range(8):
        parts += [values[12_000 + 600 * n : 12_600 + 600 * n], strange(model, 400, n)]
    rows = np.concatenate(parts)
    stream = model.stream()
    decisions, events = fed(stream, rows, [])
    promoted = {event.ids[0] for event in events if (event.kind, event.level) == ("promote", "unit")}
    assert promoted and min(promoted) >= model.unit_model_.vocabulary.next_id
    assert promoted <= set(stream.reader.unit_ids)
    last = [own.unit for own in decisions if 7_700 < own.start_frame < 7_900]
    assert np.mean([unit in promoted for unit in last]) > 0.7
    units, motifs = stream.timelines(windows_of(model, rows))  # read again: known from its first visit
    first = units.ids[(600 + 60) // 18 : (1_000 - 100) // 18]
    assert np.mean(np.isin(first, list(promoted))) > 0.7
    assert len(motifs.ids) == len(units.ids)


def windows_of(model: Rondo, rows: Values) -> Any:
    return model._windows_of(Recording(rows, rate=50, channels=model.preprocessor_.channels), by_model=True)[1]


def test_relabelled_with_what_was_learned(paper: Rondo, values: Values) -> None:
    follower = copy.copy(paper)
    follower.partial_fit(values[12_000:16_000])
    before = json.dumps(follower.stream_.state()[1])
    result = relabel(follower, Recording(values[12_000:16_000], rate=50))
    assert set(np.unique(result.units)) <= {OTHER, *follower.stream_.reader.unit_ids}
    assert json.dumps(follower.stream_.state()[1]) == before


@pytest.mark.slow
def test_on_planted_novelty_motifs_of_several_lengths_refine_merge_and_grow(paper: Rondo, values: Values) -> None:
    """The stream was chosen: in others (seed 3) only one length promotes, the rest merge."""
    decisions, events = fed(paper.stream(), values[12_000:], [])
    lengths: dict[str, set[int]] = {"refine": set(), "merge": set(), "promote": set()}
    for event in events:
        if event.level == "motif" and event.kind in lengths:
            lengths[event.kind].add(int(event.evidence["length"]))
    assert all(len(own) >= 2 for own in lengths.values()), lengths
    grown = {event.ids[0] for event in events if (event.kind, event.level) == ("promote", "motif")}
    assert not grown & set(paper.motif_model_.ids)
    assert {own.motif for own in decisions} & grown
    assert any((event.kind, event.level) == ("refine", "unit") for event in events)
