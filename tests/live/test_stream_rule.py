"""`rondo stream --set continual.rule=published`: the rule of a stream, from its model or from the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rondo.continual.updater import Updater
from rondo.live.session import Session, SessionPaths
from rondo.model.method import grown_model
from rondo.model.rondo import Rondo
from rondo.paper.continual import PublishedReader
from tests.cli.running import Command, waves, write_csv

RULE = "continual.rule=published"


@pytest.fixture
def rows(here: Path) -> Path:
    values = waves(2_400, seed=5)
    for start in range(200, 2_400, 600):  # a kind that nobody has seen, four times
        values[start : start + 160] = 6 + 4 * np.sin(0.7 * np.arange(160))[:, None]
    return write_csv(here / "day.csv", values)


@pytest.mark.slow
def test_a_stored_model_is_streamed_by_the_rule_of_the_command(
    rondo: Command, here: Path, rows: Path, model: Path
) -> None:
    done = rondo("stream", model, "--source", rows, "--out", "live", "--set", RULE)
    assert done.code == 0, done.err
    events = [json.loads(line) for line in (here / "live" / "events.jsonl").read_text().splitlines()]
    assert ("promote", "unit") in {(event["kind"], event["level"]) for event in events}
    grown = grown_model(here / "live" / "model")
    assert isinstance(grown.stream_.reader, PublishedReader)  # the checkpoint knows; the model says exemplars
    assert grown.config_.continual.rule == "exemplars"
    assert rondo("label", "live", rows, "--out", "again").code == 0
    assert rondo("stream", model, "--source", rows, "--out", "plain").code == 0
    assert isinstance(grown_model(here / "plain" / "model").stream_.reader, Updater)
    assert (here / "plain" / "labels.csv").read_bytes() != (here / "live" / "labels.csv").read_bytes()


@pytest.mark.slow
def test_stopped_and_started_again_it_writes_the_same_bytes(
    rondo: Command, here: Path, rows: Path, model: Path
) -> None:
    assert rondo("stream", model, "--source", rows, "--out", "whole", "--set", RULE).code == 0
    loaded = Rondo.load(model)
    continual = loaded.config_.continual.model_copy(update={"rule": "published"})
    loaded.config_ = loaded.config_.model_copy(update={"continual": continual})
    place = SessionPaths(str(rows), here / "parts")
    session = Session(loaded, model, place)
    session.step()
    session.stop()
    session.close()
    assert 0 < session.counters.n_rows < 2_400
    refused = rondo("stream", model, "--source", rows, "--out", "parts")
    assert refused.code == 2 and "checkpoint of another" in refused.err
    assert rondo("stream", model, "--source", rows, "--out", "parts", "--set", RULE).code == 0
    for name in ("labels.csv", "events.jsonl"):
        assert (here / "parts" / name).read_bytes() == (here / "whole" / name).read_bytes()


@pytest.mark.slow
def test_a_model_fitted_with_the_rule_streams_by_it(rondo: Command, here: Path, rows: Path) -> None:
    first = write_csv(here / "first.csv", waves(900))
    quick = ("--rate", 50, "--window", 40, "--step", 20, "--set", "evidence.surrogates=0")
    assert rondo("discover", first, *quick, "--out", "run", "--set", RULE).code == 0
    assert rondo("stream", "run", "--source", rows, "--out", "live").code == 0
    assert isinstance(grown_model(here / "live" / "model").stream_.reader, PublishedReader)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("units.dimension=3", "a stream takes settings of the section continual"),
        ("continual.rule=best", "continual.rule"),
        ("continual.rul=published", "continual.rule"),
    ],
)
def test_other_settings_are_refused_in_one_line(
    rondo: Command, here: Path, rows: Path, model: Path, given: str, said: str
) -> None:
    done = rondo("stream", model, "--source", rows, "--out", "live", "--set", given)
    assert done.code == 2 and said in done.err and len(done.err.strip().splitlines()) == 1
    assert not (here / "live").exists()
