"""What a checkpoint holds of a session beside numbers: checked before anything goes on from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rondo.continual.checkpoint import Checkpoint
from rondo.errors import ModelError

_Count = Annotated[int, Field(ge=0, le=1 << 62)]


class SessionState(BaseModel):
    """The fields of `Checkpoint.plain`; what is inside a stream, an overview or a source, they check themselves."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    finished: bool
    source: dict[str, Any]
    lengths: dict[str, _Count]
    places: Any
    rates: Any
    counters: dict[str, _Count | dict[str, _Count]]
    stream: dict[str, Any]
    overview: dict[str, Any]


def state_in(found: Checkpoint | None, folder: Path) -> Mapping[str, Any]:
    """The plain part of a checkpoint; nothing where there is none."""
    if found is None:
        return {}
    try:
        return vars(SessionState.model_validate(found.plain))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part)[:40] for part in first["loc"])
        raise ModelError(
            f"{folder}: a damaged checkpoint ({where}: {first['msg']}); give another --checkpoint"
        ) from None
