"""The files of a run, and where they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rondo.data.groups import GroupBy, groups_of
from rondo.formats.kept_columns import KeptColumn
from rondo.formats.recording_file import ExpectedSize, RecordingFile
from rondo.many.unfinished import RunRecord


@dataclass(frozen=True)
class Where:
    """Where tasks run."""

    engine: str = "local"
    workers: int | None = None
    ray_address: str | None = None


@dataclass(frozen=True)
class ManyFiles:
    """The files of a run, with what is known of them before they are read."""

    files: tuple[RecordingFile, ...]
    sizes: tuple[ExpectedSize, ...]
    groups: tuple[str, ...]
    group_by: GroupBy
    where: Where

    @classmethod
    def of(cls, files: Sequence[RecordingFile], where: Where, group_by: GroupBy = None) -> ManyFiles:
        """Look at the headers of all files."""
        groups = groups_of([file.id for file in files], group_by, {file.id: file.url for file in files})
        sizes = tuple(file.expected() for file in files)
        return cls(tuple(files), sizes, tuple(groups[file.id] for file in files), group_by, where)

    @property
    def group_of(self) -> dict[str, str]:
        """The group of each recording, by its id."""
        return dict(zip((file.id for file in self.files), self.groups, strict=True))

    def record(self, command: str, settings: Mapping[str, Any]) -> RunRecord:
        """What makes another command the same as this one."""
        first = self.files[0]
        reading = {"rate": first.rate, "key": first.key, "label_columns": _as_recorded(first.label_columns)}
        reading["session"] = first.session
        return RunRecord.of(command, {**settings, **reading, "group_by": self.group_by}, self.files)


def _as_recorded(label_columns: Sequence[str]) -> list[str]:
    """Columns to leave out, and those to keep, told apart in plain text."""
    return [f"keep {name}" if isinstance(name, KeptColumn) else name for name in label_columns]
