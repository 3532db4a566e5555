"""The container without Docker: what its files ask for, and the steps of compose.yaml as real processes."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rondo.live.prometheus import prometheus_text
from rondo.run.health import HEALTHY, judged, read_health
from tests.cli.running import call
from tests.live.servers import mosquitto_path, mosquitto_server, wait_until

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "packaging" / "container"
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed (zensical brings it)")
    found: dict[str, dict[str, Any]] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return found


def test_the_image_runs_without_root_and_asks_for_its_health() -> None:
    user = re.findall(r"^USER (\d+)", DOCKERFILE, re.MULTILINE)
    assert user and int(user[-1]) > 0
    assert DOCKERFILE.rindex("USER") > DOCKERFILE.rindex("RUN")  # nothing is built as that user, all is run as it
    (health,) = re.findall(r'HEALTHCHECK .* CMD \["rondo", (.*)\]', DOCKERFILE)
    arguments = [part.strip('" ') for part in health.split(",")]
    assert call(*arguments).code == 2  # a valid command: there is no such stream


def test_what_the_build_copies_is_in_its_context() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied = {name for line in re.findall(r"^COPY (?!--)(.*) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()}
    assert copied == allowed and all((ROOT / name).exists() for name in copied)


def test_every_service_is_read_only_and_has_no_privilege(services: dict[str, dict[str, Any]]) -> None:
    for service in services.values():
        assert service["read_only"] is True and service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "privileged" not in service and "ports" not in service


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """The volume; all else that the services see is read only for them, but /tmp."""
    folder = tmp_path / "data"
    folder.mkdir()
    yield folder


@pytest.mark.slow
@pytest.mark.broker
def test_the_services_of_the_compose_file_work_together(
    data: Path, tmp_path: Path, services: dict[str, dict[str, Any]]
) -> None:
    environment = os.environ | {"HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}

    def fleet(*arguments: str) -> None:
        command = [sys.executable, "-P", str(FOLDER / "fleet.py"), *arguments]
        subprocess.run(command, cwd=data, env=environment, check=True, timeout=300)

    fleet("model")
    before = (data / "run/summary.json").stat().st_mtime_ns
    fleet("model")  # a second start finds it
    assert (data / "run/summary.json").stat().st_mtime_ns == before
    with mosquitto_server(tmp_path) as server:
        old = "" if mosquitto_path() else "?version=3"  # what amqtt speaks
        command = [part.replace("mqtt://broker", server.address) for part in services["stream"]["command"]]
        command = [f"{part}{old}" if part.endswith("#") else part for part in command]
        with (tmp_path / "notes.txt").open("wb") as notes:
            stream = subprocess.Popen(
                [sys.executable, "-P", "-m", "rondo", *command], cwd=data, env=environment, stderr=notes
            )
        try:
            wait_until(lambda: "connected" in (tmp_path / "notes.txt").read_text(), "a stream that listens")
            fleet("presses", f"{server.host}:{server.port}", "0")
            devices = [data / f"live/devices/{press}/labels.csv" for press in ("press1", "press2")]
            wait_until(lambda: all(path.exists() and path.stat().st_size > 9_000 for path in devices), "labels of both")
            wait_until(
                lambda: (health := read_health(data / "live")) is not None and health.n_rows == 30_000, "all rows"
            )
            health = read_health(data / "live")
            assert judged(health, 60.0, 0.0)[0] == HEALTHY and "rondo_up 1" in prometheus_text(health, [], HEALTHY, 0.0)
        finally:
            stream.terminate()
            assert stream.wait(120) == 0, (tmp_path / "notes.txt").read_text()
    assert devices[0].read_bytes() == devices[1].read_bytes()  # both presses send the same rows
    assert sorted(path.name for path in data.iterdir()) == ["live", "run"], shlex.join(command)
