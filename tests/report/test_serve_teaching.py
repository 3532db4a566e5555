"""Teaching and searching through the server of a page: what it takes, what it answers, and to whom."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rondo import edit
from rondo.edit import edits_in, teach_run
from rondo.result import Result
from rondo.view.serve import PageServer
from tests.report.asking import PATIENCE_S, Got, ask, serving

SPAN = {"recording": "day", "start_frame": 10, "end_frame": 130}
MARK = SPAN | {"name": "reach"}


@pytest.fixture
def server(run: Path) -> Iterator[PageServer]:
    with serving(PageServer(run)) as server:
        yield server


def post(server: PageServer, path: str, content: Any, **headers: str | None) -> Got:
    return ask(server, path, "POST", json.dumps(content).encode(), **headers)


def next_in(text: str) -> Any:
    return json.loads(text.split('id="edit-data">')[1].split("</script>")[0])["next"]


def test_marks_teach_the_run_and_an_undo_takes_it_back(server: PageServer, run: Path) -> None:
    before = Result.load(run).motifs.tolist()
    assert next_in(ask(server, "/").text) == Result.load(run).suggest_spans(3).to_numpy().tolist()
    assert next_in((run / "report.html").read_text(encoding="utf-8")) == []  # on disk once it was taught
    got = post(server, "/teach", [MARK])
    told = json.loads(got.text)
    assert got.status == 200 and told["edits"][-1]["marks"] == [["day", 10, 130, 1000]]
    taught = Result.load(run)
    assert set(taught.motifs[10:130].tolist()) == {1000} and taught.motifs.tolist() != before
    expected = taught.suggest_spans(3).to_numpy().tolist()
    assert next_in(ask(server, "/").text) == next_in((run / "report.html").read_text(encoding="utf-8")) == expected
    post(server, "/edits", [{"kind": "undo", "number": told["edits"][-1]["number"]}])
    assert Result.load(run).motifs.tolist() == before


def test_what_is_like_a_span_is_ranked(server: PageServer, run: Path, fitted: Path) -> None:
    found = json.loads(post(server, "/find", [SPAN]).text)["found"]
    assert found[0][:3] == ["day", 10, 130] and found[0][5:7] == [1.0, True]
    expected = Result.load(run).find("day", 10, 130, most=20).astype(object)
    assert found == expected.where(expected.notna(), None).to_numpy().tolist()
    moved = (fitted.parent / "day.csv").rename(fitted.parent / "elsewhere.csv")
    got = post(server, "/find", [SPAN])
    moved.rename(fitted.parent / "day.csv")
    error = json.loads(got.text)["error"]
    assert got.status == 400 and "day.csv" in error and "\n" not in error


@pytest.mark.parametrize("path", ["/teach", "/find"])
@pytest.mark.parametrize(
    "body",
    [
        b"", b"nonsense", b'"/etc/passwd"', b"null", b"{}", b"[]", b"[1]", b"[{}]", b"\xff", b"[" * 100_000,
        {"data": "/etc/passwd"}, {"start_time": "2026-01-31"}, {"recording": 3}, {"name": None}, {"start_frame": True},
        {"start_frame": "0"}, {"start_frame": -1}, {"end_frame": 10}, {"end_frame": 10**400}, {"end_frame": 1e3},
        {"end_frame": float("nan")},
    ],
)  # fmt: skip
def test_what_is_no_list_of_spans(server: PageServer, path: str, body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edit, "teach_run", lambda *_: pytest.fail("taught"))
    monkeypatch.setattr(Result, "find", lambda *_, **__: pytest.fail("searched"))
    span = MARK if path == "/teach" else SPAN
    got = ask(server, path, "POST", body if isinstance(body, bytes) else json.dumps([span | body]).encode())
    assert (got.status, list(json.loads(got.text))) == (400, ["error"])


@pytest.mark.parametrize("wrong", [{"recording": "night"}, {"end_frame": 9_000}, {"end_frame": 11}])
def test_what_the_run_does_not_hold_is_one_line(server: PageServer, run: Path, wrong: dict[str, Any]) -> None:
    for path, span in (("/find", SPAN | wrong), ("/teach", MARK | wrong | {"recording": "night"})):
        got = post(server, path, [span])
        error = json.loads(got.text)["error"]
        assert got.status == 400 and error and "\n" not in error
    assert not Result.load(run).run.edits.history


@pytest.mark.parametrize("path", ["/teach", "/find"])
def test_only_the_page_itself_may_ask(server: PageServer, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edit, "teach_run", lambda *_: pytest.fail("taught"))
    monkeypatch.setattr(Result, "find", lambda *_, **__: pytest.fail("searched"))
    assert post(server, path, [MARK], X_Rondo_Token=None).status == 403
    assert post(server, f"{path}?token={server.token}", [MARK], X_Rondo_Token=None).status == 403
    assert post(server, path, [MARK], Origin="http://elsewhere.example").status == 403
    assert post(server, path, [MARK], Host="elsewhere.example").status == 403
    assert post(server, path, [MARK], Sec_Fetch_Site="cross-site").status == 403
    assert ask(server, path).status == 404


def test_it_does_one_thing_at_a_time(server: PageServer, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began, go = threading.Event(), threading.Event()

    def slow(*given: Any) -> Result:
        assert not began.is_set()
        began.set()
        assert go.wait(PATIENCE_S)
        return teach_run(*given)

    monkeypatch.setattr(edit, "teach_run", slow)
    first = threading.Thread(target=post, args=(server, "/teach", [MARK]))
    first.start()
    assert began.wait(PATIENCE_S)
    assert post(server, "/teach", [MARK]).status == post(server, "/find", [SPAN]).status == 409
    go.set()
    first.join(PATIENCE_S)
    assert len(edits_in(run)) == 1 and post(server, "/find", [SPAN]).status == 200
