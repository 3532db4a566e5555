"""Runs `rondo` commands in forks of a process that has its modules loaded: real processes, in a fraction of the time.

Every command has a process of its own (working folder, pipes, memory limit, session), is started by the entry point
that the `rondo` script calls, and can be killed. `Warm` is the side that asks; `python -m
tests.fuzz.warm_process` the side that forks.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADDRESS_SPACE = 12 << 30
CALLS = Path(__file__).with_name("failing_calls.c")
KILL = 0  # in the place of an error
NOT_LOADED = ("__main__", "torch", "nets", "ray", "mqtt", "kafka", "lsl")
LIBRARIES = ("pandas", "sklearn.mixture", "sklearn.cluster", "scipy.signal", "scipy.io", "h5py", "pyarrow.parquet")
BENCH = ("rondo_bench.cli", "rondo_bench.experiments.run", "rondo_bench.baselines.window_clusters")


@dataclass(frozen=True)
class Outcome:
    """What one command did, as seen from outside."""

    args: tuple[str, ...]
    code: int
    stdout: bytes
    stderr: bytes
    seconds: float
    peak_mb: float
    timed_out: bool = False
    n_calls: int = 0  # that touched files below its folder; 0 where it was killed, and without a C compiler
    failed_call: str = ""  # the one that failed, or before which it was killed


def stop(pid: int) -> None:
    """End a command and whatever it has started; each command leads a session of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


class Warm:
    """A process that forks commands.

    `sees_calls`: whether the calls of commands that touch files are counted and can fail, which takes Linux and `cc`.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        environment = dict(os.environ)
        if library := _failing_calls(Path(self._folder.name)):
            environment["LD_PRELOAD"] = str(library)
        self.sees_calls = library is not None
        ask, self._ask = os.pipe()
        self._answer, answer = os.pipe()
        command = [sys.executable, "-m", "tests.fuzz.warm_process", str(ask), str(answer)]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            pass_fds=(ask, answer),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        os.close(ask)
        os.close(answer)
        self._answers = os.fdopen(self._answer, "r")

    def close(self) -> None:
        os.close(self._ask)
        self._answers.close()
        self._process.wait()
        self._folder.cleanup()

    def run(
        self,
        args: Sequence[str],
        folder: Path,
        *,
        scratch: Path,
        stdin: Sequence[bytes] | None = (),
        environment: Mapping[str, str] | None = None,
        timeout_s: float = 120.0,
        during: Callable[[int, float], None] | None = None,
        patches: Mapping[str, object] | None = None,
        fail_at: int = 0,
        error: int = KILL,
    ) -> Outcome:
        """Run `rondo *args` in `folder`; `stdin` is fed chunk by chunk, None closes it.

        `during` gets the id of the process. `patches` are values of constants: {"rondo.live.session:CHUNK_ROWS": 50}.
        The `fail_at`-th call that touches a file below `folder` fails with this error, or the process is killed there.
        """
        scratch.mkdir(parents=True, exist_ok=True)
        paths = {name: scratch / name for name in ("stdin", "stdout", "stderr")}
        feeder = _feeder(paths["stdin"], stdin)
        asked = {"args": list(args), "folder": str(folder), "environment": dict(environment or {})}
        asked |= {name: str(path) for name, path in paths.items()} | {"closed": stdin is None}
        asked |= {"patches": dict(patches or {}), "fail_at": fail_at, "error": error, "sees_calls": self.sees_calls}
        tally, failed = scratch / "tally", scratch / "failed"
        for path in (tally, failed):
            path.unlink(missing_ok=True)
        asked |= {"tally": str(tally), "failed": str(failed)}
        began = time.monotonic()
        os.write(self._ask, (json.dumps(asked) + "\n").encode())
        pid = int(json.loads(self._answers.readline())["pid"])
        late = threading.Event()
        timer = threading.Timer(timeout_s, lambda: (late.set(), stop(pid)))
        timer.start()
        watcher = threading.Thread(target=during, args=(pid, began)) if during else None
        if watcher:
            watcher.start()
        ended = json.loads(self._answers.readline())
        seconds = time.monotonic() - began
        timer.cancel()
        if watcher:
            watcher.join()
        if feeder:
            feeder.join(timeout=5)
        code = os.waitstatus_to_exitcode(ended["status"])
        peak = ended["peak_kb"] / 1024
        said = (paths["stdout"].read_bytes(), paths["stderr"].read_bytes())
        n_calls = int(tally.read_text() or 0) if tally.exists() else 0  # empty where it was killed while writing
        call = failed.read_text(errors="replace") if failed.exists() else ""
        return Outcome(tuple(args), code, *said, seconds, peak, late.is_set(), n_calls, call)


def _failing_calls(folder: Path) -> Path | None:
    """The library of `failing_calls.c`; None where it cannot be made."""
    compiler, library = shutil.which("cc"), folder / "failing_calls.so"
    if sys.platform != "linux" or compiler is None:
        return None
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(CALLS), "-ldl"]
    return library if subprocess.run(command, check=False).returncode == 0 else None


def _feeder(path: Path, chunks: Sequence[bytes] | None) -> threading.Thread | None:
    """Put what is piped in at `path`: a file where it comes at once, a pipe that is fed where it comes in pieces."""
    path.unlink(missing_ok=True)
    if chunks is None or len(chunks) < 2:
        path.write_bytes(b"".join(chunks or ()))
        return None
    os.mkfifo(path)

    def feed() -> None:
        with contextlib.suppress(OSError):
            target = os.open(
                path, os.O_RDWR
            )  # does not wait for a reader, so a command that never reads leaves no thread
            try:
                for chunk in chunks:
                    os.write(target, chunk[:4096])
                    time.sleep(0.005)
                time.sleep(0.2)
            finally:
                os.close(target)

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    return thread


def _lines(source: int) -> Iterator[str]:
    """Lines of a pipe, without a buffer that a fork would inherit half-read."""
    held = b""
    while data := os.read(source, 65536):
        held += data
        while b"\n" in held:
            line, held = held.split(b"\n", 1)
            yield line.decode()


def _load() -> None:
    """Import what commands import, without using it: no thread may be running when a command is forked."""
    import rondo

    for name in (*LIBRARIES, *BENCH):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for module in pkgutil.walk_packages(rondo.__path__, "rondo.", onerror=lambda name: None):
        if not any(word in module.name for word in NOT_LOADED):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)


class Calls:
    """Those of this process that touch files below a folder: counted by the library that was loaded before it."""

    def __init__(self, asked: Mapping[str, object]) -> None:
        self._tally = Path(str(asked["tally"]))
        self._library = ctypes.CDLL(None) if asked["sees_calls"] else None
        if self._library is not None:
            names = [os.fsencode(str(asked[name])) for name in ("folder", "failed")]
            self._library.failing_calls_begin(*names, ctypes.c_long(asked["fail_at"]), ctypes.c_int(asked["error"]))  # type: ignore[arg-type]

    def end(self) -> None:
        if self._library is not None:
            self._tally.write_text(str(self._library.failing_calls_end()))


def _become(asked: dict[str, object], others: Sequence[int]) -> Calls:
    """In the fork: take the place, the pipes and the limits that were asked for, then be `rondo`."""
    for number in others:
        os.close(number)
    os.setsid()
    os.chdir(str(asked["folder"]))
    opened = os.open(str(asked["stdin"]), os.O_RDONLY)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, name in ((1, "stdout"), (2, "stderr")):
        target = os.open(str(asked[name]), flags, 0o600)
        os.dup2(target, number)
        os.close(target)
    os.dup2(opened, 0)
    os.close(opened)
    if asked["closed"]:
        os.close(0)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ.update(asked["environment"])  # type: ignore[call-overload]
    tempfile.tempdir = None
    for place, value in asked["patches"].items():  # type: ignore[attr-defined]
        module, _, name = place.partition(":")
        setattr(importlib.import_module(module), name, value)
    sys.argv = ["rondo", *asked["args"]]  # type: ignore[misc]
    return Calls(asked)


def _be_rondo(calls: Calls) -> None:
    """Run the command and end as it ends, without taking the loaded modules apart one by one, which takes a second."""
    from rondo.cli.main import run

    code = 0
    try:
        run()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  # as the interpreter does at the end of a script
        traceback.print_exc()
        code = 1
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    calls.end()
    os._exit(code)


def serve(ask: int, answer: int) -> Calls:
    """Fork a command for every line that asks for one; returns in the fork, which then is that command."""
    gc.freeze()
    for line in _lines(ask):
        asked = json.loads(line)
        pid = os.fork()
        if pid == 0:
            return _become(asked, (ask, answer))
        os.write(answer, (json.dumps({"pid": pid}) + "\n").encode())
        _, status, usage = os.wait4(pid, 0)
        os.write(answer, (json.dumps({"status": status, "peak_kb": usage.ru_maxrss}) + "\n").encode())
    os._exit(0)


if __name__ == "__main__":
    _load()
    _be_rondo(serve(int(sys.argv[1]), int(sys.argv[2])))
