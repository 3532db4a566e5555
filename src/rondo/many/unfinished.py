"""unfinished.json: what a run over many files is about, written first, so that the same command can continue it.

Engine, workers and progress are no part of it. A run in a bucket is not continued.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rondo.errors import OutputError, RecordingError, SettingError
from rondo.files.inputs import RecordingFile
from rondo.run.bucket import check_free_place, whole_run
from rondo.run.summary import SUMMARY, UNFINISHED
from rondo.store.folder import PartFolder, check_free
from rondo.store.locations import is_url, states_of
from rondo.store.lock import locked
from rondo.version import __version__

_LOCK = ".rondo-run.lock"
_WAIT = "wait for it, or choose another --out"
_BUSY = f"another process is working on this run; {_WAIT}"
_LONGEST_NAME = 40  # in the name of its lock: a name may have 255 bytes, a character four


@dataclass(frozen=True)
class RunRecord:
    """What makes two commands the same."""

    command: str  # discover or label
    settings: Mapping[str, Any]  # plain values
    files: Mapping[str, str]  # what changes when each file does, by its URL

    @classmethod
    def of(cls, command: str, settings: Mapping[str, Any], files: Sequence[RecordingFile]) -> RunRecord:
        """Of a command as it is given now."""
        return cls(command, json.loads(json.dumps(settings)), _versions(files))

    def as_bytes(self) -> bytes:
        """As it is stored."""
        return json.dumps(vars(self) | {"rondo_version": __version__}, indent=1).encode()


def _versions(files: Sequence[RecordingFile]) -> dict[str, str]:
    """By URL; "" for what cannot be looked at: it fails when it is read, and is a row then."""
    try:
        return {url: state.version for url, state in states_of([file.url for file in files]).items()}
    except RecordingError:
        if len(files) == 1:
            return {files[0].url: ""}
        return {url: version for file in files for url, version in _versions([file]).items()}


@contextmanager
def opened_run(out: str | Path, record: RunRecord) -> Iterator[PartFolder]:
    """The folder of this run, new or to be continued; that of another run is refused, and one that is in use.

    A run in a bucket is made here and copied when it is whole.
    """
    check_place(out)
    if is_url(out):
        with whole_run(out) as draft:
            yield PartFolder(draft)
        return
    folder = PartFolder(Path(out))
    with locked(folder.path, _LOCK, _BUSY):
        folder.clear_drafts()
        if (folder.path / UNFINISHED).exists():
            _refuse_other(folder, record)
        else:
            folder.write(UNFINISHED, record.as_bytes())
        try:
            yield folder
        except (RecordingError, SettingError):  # the same command would end the same way, and another one can begin
            _abandon(folder)
            raise


@contextmanager
def reserved(out: str | Path | None) -> Iterator[None]:
    """Keep other commands from the folder of a run while it is made in memory; it does not exist until it is whole."""
    if out is None or is_url(out):
        yield
        return
    place = Path(os.path.realpath(out))
    name = place.name[:_LONGEST_NAME]
    with locked(place.parent, f".{name}.lock", f"another process is writing {place.name}; {_WAIT}"):
        check_free(Path(out))  # who was first may have ended by now
        yield


def check_place(out: str | Path) -> None:
    """Refuse an output folder before any work is done for it, unless an unfinished run is there."""
    if is_url(out):
        check_free_place(out)
        return
    folder = PartFolder(Path(out))
    with suppress(OSError):  # a name too long, no right to look: `check_free` says so
        if (folder.path / UNFINISHED).exists():
            return
        if (folder.path / _LOCK).exists() and folder.names() == {_LOCK}:
            return  # killed before it began; drafts do not count
    check_free(folder.path)


def _refuse_other(folder: PartFolder, record: RunRecord) -> None:
    """One line that says in what this command differs from the one that began the run."""
    where = f"{folder.path}: an unfinished run"
    again = "give the same command again to go on, choose another --out, or remove the folder"
    try:
        begun = json.loads(folder.read(UNFINISHED))
        before = RunRecord(begun["command"], begun["settings"], begun["files"])
        version = begun["rondo_version"]
    except (ValueError, KeyError, TypeError, OSError):
        raise OutputError(f"{where} whose {UNFINISHED} cannot be read; remove the folder") from None
    if version != __version__:
        raise OutputError(f"{where} of Rondo {version}, this is {__version__}; {again}")
    if before.command != record.command:
        raise OutputError(f"{where} of `rondo {before.command}`; {again}")
    if changed := _different(before.settings, record.settings):
        raise OutputError(f"{where} with other settings ({', '.join(sorted(changed)[:4])}); {again}")
    if changed := _different(before.files, record.files):
        raise OutputError(
            f"{where} over other files, or files that have changed since ({changed[0]}; {len(changed)} in all); {again}"
        )


def _different(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [name for name in {**before, **after} if before.get(name) != after.get(name)]


def _abandon(folder: PartFolder) -> None:
    """Take away what was written, and last the file that says what it was about."""
    for name in sorted(folder.names() - {UNFINISHED, _LOCK}):
        under, slash, _ = name.partition("/")
        folder.remove_under(under) if slash else folder.remove(name)
    folder.remove(UNFINISHED)


def close_run(folder: PartFolder) -> None:
    """Remove what only an unfinished run needs, and last the file that says so."""
    folder.remove_under("parts")
    folder.remove(UNFINISHED)


def is_whole(folder: PartFolder) -> bool:
    """Whether a run that was killed had nothing left to do but to tidy up."""
    return (folder.path / SUMMARY).exists()
