"""unfinished.json: what a run over many files is about, written before anything else, so that it can be gone on with.

The same command on the same files goes on where a killed run stopped. Engine, workers and progress are no part of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rondo.errors import OutputError, RecordingError, SettingError
from rondo.files.inputs import RecordingFile
from rondo.run.summary import SUMMARY, UNFINISHED
from rondo.store.cloud_folder import CloudFolder, check_free_in_cloud
from rondo.store.folder import LocalFolder, PartFolder, check_free, part_folder, remove_under
from rondo.store.locations import states_of
from rondo.store.lock import locked
from rondo.version import __version__

_LOCK = ".rondo-run.lock"
_BUSY = "another process is working on this run; wait for it, or choose another --out"


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
        return {file.url: _version(file.url) for file in files}


def _version(url: str) -> str:
    try:
        return states_of([url])[url].version
    except RecordingError:
        return ""


@contextmanager
def opened_run(out: str | Path, record: RunRecord) -> Iterator[PartFolder]:
    """The folder of this run, begun or gone on with; another run's is refused, and one that is worked on."""
    check_place(out)
    folder = part_folder(out)
    lock = locked(folder.path, _LOCK, _BUSY) if isinstance(folder, LocalFolder) else nullcontext()
    with lock:
        if isinstance(folder, LocalFolder):
            folder.clear_drafts()
        if _is_unfinished(folder):
            _refuse_other(folder, record)
        else:
            folder.write(UNFINISHED, record.as_bytes())
        try:
            yield folder
        except (RecordingError, SettingError):  # the same command would end the same way, and another one can begin
            _abandon(folder)
            raise


def check_place(out: str | Path) -> None:
    """Refuse an output folder before any work is done for it, unless an unfinished run is there."""
    folder = part_folder(out)
    if not _is_unfinished(folder):
        _refuse_occupied(folder)


def _is_unfinished(folder: PartFolder) -> bool:
    return _is_there(folder.path / UNFINISHED) if isinstance(folder, LocalFolder) else UNFINISHED in folder.names()


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long, no right to look: `check_free` says so
        return False


def _refuse_occupied(folder: PartFolder) -> None:
    if isinstance(folder, LocalFolder):
        if _is_there(folder.path / _LOCK) and folder.names() == {_LOCK}:
            return  # killed before it began; drafts do not count
        check_free(folder.path)
    elif isinstance(folder, CloudFolder):
        check_free_in_cloud(folder)
    elif folder.names():
        raise OutputError(f"{folder.url}: it is not empty; choose another --out or remove it first")


def _refuse_other(folder: PartFolder, record: RunRecord) -> None:
    """One line that says in what this command differs from the one that began the run."""
    where = f"{folder.url}: an unfinished run"
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
    changed = [name for name in {**before.settings, **record.settings} if _differs(before, record, name)]
    if changed:
        raise OutputError(f"{where} with other settings ({', '.join(sorted(changed)[:4])}); {again}")
    if before.files != record.files:
        other = [url for url in {**before.files, **record.files} if before.files.get(url) != record.files.get(url)]
        raise OutputError(
            f"{where} over other files, or files that have changed since ({other[0]}; {len(other)} in all); {again}"
        )


def _differs(before: RunRecord, record: RunRecord, name: str) -> bool:
    return bool(before.settings.get(name) != record.settings.get(name))


def _abandon(folder: PartFolder) -> None:
    """Take away what was written, and last the file that says what it was about."""
    inside = {name.partition("/")[0] for name in folder.names() if "/" in name}
    for under in sorted(inside):
        remove_under(folder, under)
    for name in sorted(folder.names() - {UNFINISHED, _LOCK}):
        folder.remove(name)
    folder.remove(UNFINISHED)


def close_run(folder: PartFolder) -> None:
    """The run is whole: what only an unfinished one needs goes, and last the file that says so."""
    remove_under(folder, "parts")
    folder.remove(UNFINISHED)


def is_whole(folder: PartFolder) -> bool:
    """Whether a run that was killed had nothing left to do but to tidy up."""
    if isinstance(folder, LocalFolder):
        return (folder.path / SUMMARY).exists()
    return SUMMARY in folder.names()
