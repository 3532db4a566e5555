"""A real S3 server on loopback (moto, in a process of its own), a new bucket for each test, credentials of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.running import Command, command

_OWN = {
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "NO_PROXY": "127.0.0.1",
    "no_proxy": "127.0.0.1",
}


@contextmanager
def s3_server(**variables: str) -> Iterator[str]:
    """The address of a server that lives as long as the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(arguments, env=os.environ | variables, **quiet)  # type: ignore[call-overload]
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert server.poll() is None, "the S3 server has ended"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def use_endpoint(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send all that follows in this test, of child processes too, to this server."""
    from s3fs import S3FileSystem

    for name, value in _OWN.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    S3FileSystem.clear_instance_cache()  # which keeps connections to the server of another test


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    for needed in ("moto", "flask", "s3fs"):
        pytest.importorskip(needed)
    with s3_server() as address:
        yield address


@pytest.fixture
def bucket(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a new bucket."""
    use_endpoint(server, monkeypatch)
    from s3fs import S3FileSystem

    name = f"b{uuid.uuid4().hex}"
    S3FileSystem().mkdir(name)
    return f"s3://{name}"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and an empty place for temporary files in which nothing may stay."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def rondo(capfd: pytest.CaptureFixture[str]) -> Command:
    return command(capfd)


def put(url: str, file: Path) -> str:
    """Copy a file into a bucket, not by the code that is tested."""
    from s3fs import S3FileSystem

    S3FileSystem(use_listings_cache=False).put_file(str(file), url.removeprefix("s3://"))
    return url


def names(url: str) -> set[str]:
    """The objects under a URL."""
    from s3fs import S3FileSystem

    root = url.removeprefix("s3://")
    return {name.removeprefix(f"{root}/") for name in S3FileSystem(use_listings_cache=False).find(root)}


def remove(url: str) -> None:
    from s3fs import S3FileSystem

    S3FileSystem(use_listings_cache=False).rm_file(url.removeprefix("s3://"))
