"""Many devices: each has its own stream, nothing is lost and nothing is labelled twice, whatever is killed when."""

from __future__ import annotations

import errno
import json
import random
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rondo.continual.checkpoint import fingerprint
from rondo.errors import OutputError, SettingError
from rondo.live import fleet as fleet_module
from rondo.live import session
from rondo.live.fleet import Fleet, Told, fleet_address, folder_of
from rondo.live.source import Message
from tests.live.memory_feed import files_of, memory_kind, numbered, run_to_end, sent, signal, small_model

pytestmark = pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
Opened = Callable[..., Fleet]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model(tmp_path_factory.mktemp("model") / "m")[1]


@pytest.fixture
def opened(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    def begin(messages: Sequence[Message], out: Path, at_once: int = 7, **more: Any) -> Fleet:
        monkeypatch.setattr(fleet_module, "feed_kind", lambda where: memory_kind(messages, at_once))
        options = more.pop("options", "")
        monkeypatch.setattr(session, "WINDOWS_BETWEEN", 20)
        return Fleet(*small_model(model_folder), f"memory:{options}", out, **more)

    return begin


def mixed(n_rows: int = 1500, n_messages: int = 40, devices: Sequence[str] = ("a", "b/c", "ü")) -> list[Message]:
    """Messages of several devices in one partition."""
    payloads = [sent(name, signal(i + 1, n_rows), n_messages) for i, name in enumerate(devices)]
    return numbered([own for together in zip(*payloads, strict=True) for own in together])


def undisturbed(opened: Opened, messages: Sequence[Message], out: Path, **more: Any) -> dict[str, bytes]:
    with closing(opened(messages, out, **more)) as fleet:
        run_to_end(fleet)
        fleet.stop()
    return files_of(out)


@pytest.mark.slow
def test_every_device_has_its_own_stream(opened: Opened, tmp_path: Path) -> None:
    """Alone or among others, a device is labelled alike."""
    together = undisturbed(opened, mixed(), tmp_path / "all")
    assert {name.split("/")[1] for name in together} == {"a", "b%2Fc", "%C3%BC"}
    for place, device in enumerate(("a", "b/c", "ü")):
        alone = undisturbed(opened, numbered(sent(device, signal(place + 1, 1500), 40)), tmp_path / f"{place}")
        assert alone == {
            name: own for name, own in together.items() if name.startswith(f"devices/{folder_of(device)}/")
        }
    assert min(own.count(b"\n") for name, own in together.items() if name.endswith("csv")) > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_killed_at_any_moment_nothing_is_lost_and_nothing_comes_twice(
    opened: Opened, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = mixed()
    expected = undisturbed(opened, messages, tmp_path / "once")
    monkeypatch.setattr(fleet_module, "_MARKS_AFTER_S", 0.0)
    draw = random.Random(seed)
    for _ in range(8):
        fleet = opened(messages, tmp_path / "killed", draw.randint(1, 25))
        run_to_end(fleet, draw.randint(1, 4))
        for device in list(fleet.devices.values()):
            if draw.random() < 0.5:
                fleet._keep(device)
        if draw.random() < 0.5:
            fleet._put_marks()
        fleet.close()  # without `stop`: what is in no checkpoint is forgotten
    assert undisturbed(opened, messages, tmp_path / "killed") == expected


@pytest.mark.slow
def test_marks_never_pass_what_is_in_no_checkpoint(opened: Opened, tmp_path: Path) -> None:
    """The broker is told of an offset when every message before it is in a checkpoint on the disk."""
    messages = mixed()
    with closing(opened(messages, tmp_path, 1)) as fleet:
        while fleet.feed.backlog:
            fleet.step(0.0)
            fleet._put_marks()
            told = max((marks["p"] for marks in fleet.feed.settled), default=0)  # type: ignore[attr-defined]
            kept = {device.name: device.session._saved.n_rows for device in fleet.devices.values()}
            rows_before = dict.fromkeys(kept, 0)
            for message in messages[:told]:
                rows_before[message.device] += len(json.loads(message.payload))
            held = 64  # rows that tell how the text is written are kept in the bookmark
            assert all(rows_before[name] <= kept[name] + held for name in kept)
        fleet.stop()
        assert fleet.feed.settled[-1] == {"p": len(messages)}  # type: ignore[attr-defined]


@pytest.mark.slow
def test_few_open_at_once_make_no_difference(opened: Opened, tmp_path: Path) -> None:
    expected = undisturbed(opened, mixed(), tmp_path / "all")
    assert undisturbed(opened, mixed(), tmp_path / "one", most_open=1) == expected


@pytest.mark.slow
def test_a_partition_that_another_gets_is_given_up_first(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes on one folder: when the first lets go of a partition, the second goes on with its devices."""
    some = numbered(sent("a", signal(1, 1500), 40), "p/0")
    others = numbered(sent("b", signal(2, 1500), 40), "p/1")
    once = undisturbed(opened, [*some, *others], tmp_path / "once")
    first = opened([*some, *others], tmp_path / "both", 50)
    first.step(0.0)
    first.revoke({"p/1"})
    assert "b" not in first.devices and "a" in first.devices
    second = opened(others, tmp_path / "both", 50)
    run_to_end(second)
    second.stop()
    monkeypatch.setattr(fleet_module, "_BUSY_S", 0.1)
    with pytest.raises(OutputError, match="another process is writing"):
        run_to_end(first)  # it still gives messages of p/1 in this test: the device is busy, and no message is lost
    first.close()
    second.close()
    undisturbed(opened, [*some, *others], tmp_path / "both")
    assert files_of(tmp_path / "both") == once


@pytest.mark.slow
def test_devices_in_disorder_disturb_no_other(opened: Opened, tmp_path: Path) -> None:
    """One sends a message twice, one late, two in the wrong order, falls silent, comes back; others send nonsense."""
    good, odd = (sent(name, signal(seed, 1600), 32) for seed, name in enumerate(("good", "odd")))
    odd = [*odd[:12], odd[11], odd[3], odd[13], odd[12], *odd[14:20], ("odd", b'{"x": '), *odd[26:]]
    bad = [("bad", b'{"time": 1, "w": 2}'), ("worse", b"\0\1\2")]
    messages = [message for n, one in enumerate(good) for message in (one, *odd[n : n + 1], *bad)]
    found = undisturbed(opened, numbered(messages), tmp_path / "all")
    for alone in (good, odd):
        assert undisturbed(opened, numbered(alone), tmp_path / alone[0][0]).items() <= found.items()
    events = [json.loads(line) for line in found["devices/worse/events.jsonl"].splitlines()]
    assert sum(event["evidence"]["n_lines"] for event in events) == len(good)
    events = [json.loads(line) for line in found["devices/odd/events.jsonl"].splitlines()]
    dropped = [event["evidence"] for event in events if event["kind"] == "skip"]
    assert sum(skip.get("rows", 0) for skip in dropped) == 3 * 50  # twice, late, and the second in the wrong order
    assert sum(skip.get("n_lines", 0) for skip in dropped) == 1
    silence = [event["evidence"]["seconds"] for event in events if event["kind"] == "gap"]
    assert max(silence) == pytest.approx(6 * 50 / 32, abs=0.1)


@pytest.mark.slow
def test_devices_by_a_field_of_the_payload(opened: Opened, tmp_path: Path) -> None:
    rows = {name: signal(place, 1500) for place, name in enumerate("ab")}
    payloads = []
    for parts in zip(*(np.array_split(own, 40) for own in rows.values()), strict=True):
        both = [
            {"id": name} | dict(zip(("time", "x", "y", "z"), row, strict=True))
            for name, part in zip(rows, parts, strict=True)
            for row in part.tolist()
        ]
        payloads.append(("hub", json.dumps(both).encode()))
    said: list[str] = []
    payloads.append(("hub", b'{"time": 3, "x": 1}'))
    split = undisturbed(opened, numbered(payloads), tmp_path / "split", options="?key=id", told=Told(said.append))
    plain = [own for pair in zip(*(sent(name, rows[name], 40) for name in rows), strict=True) for own in pair]
    assert split == undisturbed(opened, numbered(plain), tmp_path / "plain")
    assert said == ["1 messages so far belong to no device (no field 'id' that names the device); they are left out"]


def test_another_model_is_refused(opened: Opened, tmp_path: Path) -> None:
    opened(mixed(), tmp_path).close()
    (tmp_path / "model" / "manifest.json").write_text("{}")
    with pytest.raises(OutputError, match="begun with another model"):
        opened(mixed(), tmp_path)


def test_a_fleet_killed_while_it_copied_the_model_begins_again(
    opened: Opened, model_folder: Path, tmp_path: Path
) -> None:
    """`copy_model` writes the manifest last; the draft is of another machine, so nobody may clear it away."""
    own = tmp_path / "model"
    own.mkdir()
    draft = own / f".tensors.safetensors.00000000-1-{'0' * 16}.draft"
    draft.write_bytes(b"half")
    for _ in range(2):
        opened(mixed(), tmp_path).close()
        assert fingerprint(own) == fingerprint(model_folder)
    assert draft.exists()


@pytest.mark.parametrize("name", ["..", ".", ".lock", "a/../b", "x" * 300, "CON", "tab\tend", "%2E"])
def test_folders_of_devices_lie_in_the_folder_of_the_fleet(name: str) -> None:
    assert Path(folder_of(name)).name == folder_of(name) and not folder_of(name).startswith(".")
    assert len(folder_of(name)) < 200


def test_different_devices_have_different_folders() -> None:
    names = ["..", "%2E%2E", ".", "%2E", ".a.b", "%2Ea%2Eb", "a/b", "a%2Fb", "x" * 300, "x" * 301]
    assert len({folder_of(name) for name in names}) == len(names)


@pytest.mark.parametrize("kind", ["time+float32", "time%2Bfloat32", "int16"])
def test_packed_numbers_are_chosen_as_the_address_says(kind: str) -> None:
    assert fleet_address(f"mqtt://host/topic?payload={kind}")[1].payload == kind.replace("%2B", "+")


@pytest.mark.parametrize("options", ["payload=float3", "gap=soon", "gap=-1s"])
def test_options_about_messages_are_checked(options: str) -> None:
    with pytest.raises(SettingError, match=options.split("=")[0]):
        fleet_address(f"mqtt://host/topic?{options}")


# ---------------------------------------------------------------- one device that cannot be written


@pytest.mark.filterwarnings("ignore")
def test_a_field_that_names_a_device_with_no_text_is_left_out(opened: Opened, tmp_path: Path) -> None:
    names = ["\ud800", "", "a\ud800b", None, ["a"], {"a": 1}]
    odd = [("hub", json.dumps({"id": name, "time": 1.0, "x": 1, "y": 1, "z": 1}).encode()) for name in names]
    with closing(opened(numbered(odd), tmp_path, options="?key=id")) as fleet:
        run_to_end(fleet)
        assert (fleet.n_unreadable, list(fleet.devices)) == (len(odd), [])


NAMES_OF_THE_FLEET = ("health.json", "summary.json", "model", "feed", "sinks", "devices", "feed.sqlite", ".lock")


def test_no_device_takes_a_name_of_the_fleet(opened: Opened, tmp_path: Path) -> None:
    rows = signal(1, 300)
    messages = [own for name in ("a", *NAMES_OF_THE_FLEET) for own in sent(name, rows, 3)]
    for _ in range(2):  # the same command again goes on
        with closing(opened(numbered([*messages, ("x/health.json", b""), ("health.json", b"")]), tmp_path)) as fleet:
            run_to_end(fleet)
            fleet.stop()
            assert not fleet.refused
    found = files_of(tmp_path)
    for name in NAMES_OF_THE_FLEET:
        assert found[f"devices/{folder_of(name)}/labels.csv"] == found["devices/a/labels.csv"]


def a_file(place: Path) -> None:
    place.write_text("mine")


def a_folder_of_someone(place: Path) -> None:
    place.mkdir()
    (place / "notes.txt").write_text("mine")


def a_link(place: Path) -> None:
    (place.parent.parent / "elsewhere").mkdir()
    place.symlink_to("../elsewhere")


def a_link_to_nowhere(place: Path) -> None:
    place.symlink_to("../nowhere")


def a_checkpoint_that_is_a_link(place: Path) -> None:
    place.mkdir()
    (place.parent.parent / "elsewhere").mkdir()
    (place / "checkpoint").symlink_to("../../elsewhere")


def a_checkpoint_that_is_a_file(place: Path) -> None:
    place.mkdir()
    (place / "checkpoint").write_text("mine")


@pytest.mark.parametrize(
    "obstacle",
    [a_file, a_folder_of_someone, a_link, a_link_to_nowhere, a_checkpoint_that_is_a_link, a_checkpoint_that_is_a_file],
)
def test_a_device_whose_folder_cannot_be_used_is_refused_alone(
    opened: Opened, tmp_path: Path, obstacle: Callable[[Path], None]
) -> None:
    out, refused = tmp_path / "out", list[tuple[str, str]]()
    (out / "devices").mkdir(parents=True)
    obstacle(out / "devices" / "b")
    told = Told(refused=lambda device, reason: refused.append((device, reason)))
    with closing(opened(mixed(600, 10, ("a", "b", "c")), out, told=told)) as fleet:
        run_to_end(fleet)
        fleet.stop()
    assert [device for device, _ in refused] == ["b"] and refused[0][1].count("\n") == 0
    found = files_of(out)
    assert {name.split("/")[1] for name in found} == {"a", "c"}
    assert min(content.count(b"\n") for name, content in found.items() if name.endswith("csv")) > 10
    assert not (tmp_path / "nowhere").exists() and [*(tmp_path / "out" / "elsewhere").glob("*")] == []


@pytest.mark.parametrize("what", ["labels.csv", "checkpoint"])
def test_a_device_whose_folder_is_taken_away_is_refused_alone(
    opened: Opened, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rondo.live.growing_run._SECONDS_BETWEEN_LOOKS", 0.0)
    with closing(opened(mixed(1500, 40, ("a", "b")), tmp_path)) as fleet:
        run_to_end(fleet, 4)
        gone = tmp_path / "devices" / "b" / what
        gone.rename(tmp_path / "kept")
        if what == "checkpoint":
            gone.symlink_to(tmp_path / "kept")
        run_to_end(fleet)
        fleet.stop()
        assert list(fleet.refused) == ["b"]
    assert files_of(tmp_path / "devices" / "a")["labels.csv"].count(b"\n") > 40


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_full_or_broken_disk_ends_the_run_and_loses_no_message(
    opened: Opened, tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would meet every device: none is refused, and the same command reads what came again."""

    def full(descriptor: int, content: bytes) -> int:
        raise OSError(number, "the disk")

    messages = mixed(600, 10, ("a", "b"))
    expected = undisturbed(opened, messages, tmp_path / "once")
    with closing(opened(messages, tmp_path / "out")) as fleet:
        fleet.step(0.0)
        with monkeypatch.context() as patch, pytest.raises(OutputError, match="cannot be written"):
            patch.setattr("os.write", full)
            run_to_end(fleet)
        assert not fleet.refused
    assert undisturbed(opened, messages, tmp_path / "out") == expected
