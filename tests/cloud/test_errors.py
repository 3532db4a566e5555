"""Whatever keeps a bucket from being read or written is one line with exit code 2, and comes soon."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rondo.errors import InputError
from rondo.result import Result
from rondo.store import locations
from rondo.store.locations import size_of
from tests.cli.running import Command, waves, write_csv
from tests.cloud.conftest import s3_server, use_endpoint

pytestmark = pytest.mark.cloud


def refused(rondo: Command, url: str, says: str) -> None:
    """Reading from a URL, and writing to it, give one line that says so."""
    write_csv(Path("x.csv"), waves(300))
    for place in (f"{url}/a.csv", f"{url}/*.csv", f"{url}/days/"):
        done = rondo("--quiet", "discover", place, "--out", "run")
        assert done.code == 2 and done.err.count("\n") == 1 and says in done.err, done
        assert done.err.startswith("error: ") and not Path("run").exists()
    done = rondo("--quiet", "discover", "x.csv", "--out", f"{url}/run")
    assert done.code == 2 and done.err.count("\n") == 1 and says in done.err, done
    for reach in (
        lambda: Result.load(f"{url}/run"),
        lambda: size_of(f"{url}/a.csv"),
    ):
        with pytest.raises(InputError, match=says) as caught:
            reach()
        assert "\n" not in str(caught.value)


def test_no_bucket(bucket: str, rondo: Command) -> None:
    refused(rondo, f"{bucket}-not", "there is no bucket")


@pytest.fixture
def closed_server(server: str) -> Iterator[str]:
    """One that knows nobody: whoever asks is denied."""
    with s3_server(INITIAL_NO_AUTH_ACTION_COUNT="0") as address:
        yield address


def test_no_rights(closed_server: str, monkeypatch: pytest.MonkeyPatch, rondo: Command) -> None:
    use_endpoint(closed_server, monkeypatch)
    refused(rondo, "s3://bucket", "access is denied")


def test_no_credentials(server: str, monkeypatch: pytest.MonkeyPatch, rondo: Command) -> None:
    use_endpoint(server, monkeypatch)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    refused(rondo, "s3://bucket", "no credentials were found")


def test_nobody_answers(server: str, monkeypatch: pytest.MonkeyPatch, rondo: Command) -> None:
    monkeypatch.setitem(locations._S3_CONFIG, "retries", {"mode": "standard", "total_max_attempts": 1})
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and no listen: whoever connects is refused
        use_endpoint(f"http://127.0.0.1:{closed.getsockname()[1]}", monkeypatch)
        refused(rondo, "s3://bucket", "the server cannot be reached")


@pytest.mark.slow
def test_a_server_that_says_nothing(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(locations._S3_CONFIG, "read_timeout", 0.2)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen(50)
        use_endpoint(f"http://127.0.0.1:{mute.getsockname()[1]}", monkeypatch)
        with pytest.raises(InputError, match="server cannot be reached"):
            size_of("s3://bucket/a.csv")


@pytest.mark.parametrize("url", ["foo://bucket/a.csv", "https://host/a.csv", "file:///a.csv", "s3://b/a::zip://x.csv"])
def test_an_unknown_scheme(url: str, server: str, rondo: Command) -> None:
    for arguments in (("discover", url, "--out", "run"), ("usage", url)):
        done = rondo(*arguments)
        assert done.code == 2 and done.err.count("\n") == 1 and "unknown scheme" in done.err, done.err


def test_a_password_is_not_shown(server: str, rondo: Command) -> None:
    done = rondo("discover", "s3://key:secret@bucket/a.csv", "--out", "run")
    assert done.code == 2 and done.err.count("\n") == 1 and "secret" not in done.err and "holds a password" in done.err


_BLOCK = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
from rondo.cli.main import run
for arguments in {commands}:
    try:
        run(arguments)
    except SystemExit as stopped:
        print(stopped.code)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "blocked", "says"),
    [
        ("s3", "s3fs", "a URL (s3://) needs the package 's3fs': pip install 'rondo-ts[cloud]'"),
        ("s3", "fsspec", "a URL (s3://) needs the package 'fsspec': pip install 'rondo-ts[cloud]'"),
        ("gs", "gcsfs", "a URL (gs://) needs the package 'gcsfs': pip install gcsfs"),
        ("az", "adlfs", "a URL (az://) needs the package 'adlfs': pip install adlfs"),
    ],
)
def test_no_driver(scheme: str, blocked: str, says: str, here: Path) -> None:
    pytest.importorskip("fsspec")
    write_csv(here / "x.csv", waves(300))
    commands = [
        ["discover", f"{scheme}://bucket/a.csv", "--out", "run"],
        ["discover", "x.csv", "--out", f"{scheme}://bucket/run"],
        ["usage", f"{scheme}://bucket/run"],
    ]
    code = _BLOCK.format(names={blocked}, commands=commands)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("2\n" * 3, f"error: {says}\n" * 3)
