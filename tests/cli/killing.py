"""A process that has everything imported and starts the command in children of its own, which it kills where told.

A fresh Python spends a second on imports; twenty kills would be spent before the first row is read.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType

from tests.systems import LISTENING_PYTHON

ROOT = Path(__file__).resolve().parents[2]

_SERVER = """
import json, os, sys, time
from pathlib import Path
import rondo.live.cli, rondo.continual.stream, rondo.live.session, rondo.model
from rondo.cli.main import run

if sys.argv[1] == "fake":
    from tests.continual.fakes import FakeStream
    rondo.live.session.stream_of = FakeStream.of

rondo.live.session.CHUNK_ROWS, rondo.live.session.WINDOWS_BETWEEN = 50, 3  # many chunks, many checkpoints

def child(order):
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    try:
        run(order["arguments"])
    except SystemExit as stopped:
        sys.stdout.flush()
        os._exit(stopped.code or 0)

def is_time(order, begun):
    if order["until"] is not None:
        return os.path.exists(order["err"]) and order["until"] in Path(order["err"]).read_text()
    if order["once"] is not None:
        path, n_bytes = order["once"]
        return os.path.exists(path) and os.path.getsize(path) >= n_bytes
    return time.monotonic() >= begun + order["after_s"]

print("ready", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    pid = os.fork()
    if pid == 0:
        try:
            child(order)
        finally:
            os._exit(99)
    begun, status = time.monotonic(), None
    is_ended = any(order[name] is not None for name in ("after_s", "once", "until"))
    while is_ended and status is None and not is_time(order, begun):
        time.sleep(0.005)
        done, found = os.waitpid(pid, os.WNOHANG)
        status = found if done else None
    if is_ended and status is None:
        os.kill(pid, order["signal"])  # until it is waited for, the number stays with the child
    status = os.waitpid(pid, 0)[1] if status is None else status
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


class Killer:
    """Runs `rondo` in children, ended after a time, or once a file or stderr has grown."""

    def __init__(self, folder: Path, stream: str) -> None:
        self.out, self.err = folder / "stdout", folder / "stderr"
        self._server = subprocess.Popen(
            [*LISTENING_PYTHON, "-c", _SERVER, stream],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == "ready\n"

    def rondo(
        self,
        *arguments: object,
        after_s: float | None = None,
        once: tuple[Path, int] | None = None,
        until: str | None = None,
        signal: int = 9,
    ) -> int:
        """The exit code of the command, or minus the signal that ended it.

        It is sent after a time, `once` a file has so many bytes, or when stderr holds the text `until`.
        """
        order = {
            "arguments": [str(argument) for argument in arguments],
            "after_s": after_s,
            "once": None if once is None else (str(once[0]), once[1]),
            "until": until,
            "signal": signal,
            "out": str(self.out),
            "err": str(self.err),
        }
        assert self._server.stdin is not None and self._server.stdout is not None
        print(json.dumps(order), file=self._server.stdin, flush=True)
        return int(self._server.stdout.readline())

    def __enter__(self) -> Killer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.kill()
        self._server.communicate()
