"""Which kinds of source there are, and which one an address means.

A kind is the `SOURCE` of a module in `rondo.live.sources`, or of another package that names it as an entry point:

    [project.entry-points."rondo.sources"]
    mqtt = "my_package.mqtt_source:SOURCE"
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from rondo.errors import RecordingError, SettingError
from rondo.live import sources
from rondo.live.base import Request, Source, SourceKind
from rondo.registry import Registry

GROUP = "rondo.sources"


def source_kinds() -> tuple[SourceKind, ...]:
    """All kinds, those of other packages first: so they can take files that ours would read otherwise."""
    return tuple(Registry(SourceKind, (sources.__name__,), GROUP).values())


def source_help() -> str:
    """What `--source` takes, for its help.

    >>> print(source_help())  # doctest: +ELLIPSIS
    Where rows come from. ... -: ...
    """
    return "Where rows come from. " + " ".join(f"{kind.address}: {kind.help}." for kind in source_kinds())


def source_kind(where: str) -> tuple[str, str]:
    """Kind and id of the source that `--source` names, before it is opened."""
    kind = _kind_of(where)
    if kind is None:  # of a stream that is finished, the file may be gone
        return "file", Path(where).stem
    id = kind.id_of(where)
    if not id or Path(id).name != id:
        raise SettingError(f"{where}: the source '{kind.name}' gives it the id '{id}', which cannot name a file")
    return kind.name, id


def open_source(where: str, request: Request) -> Source:
    """The source that `--source` names, from its beginning or from a bookmark on."""
    kind = _kind_of(where)
    if kind is None:
        raise RecordingError(f"{where}: {_why_none(where)}; --source takes {_addresses()}")
    if request.follow and not kind.can_follow:
        raise RecordingError(f"{where}: a source of the kind '{kind.name}' cannot be followed; leave --follow away")
    return kind.open(where, request)


def _kind_of(where: str) -> SourceKind | None:
    try:
        return next((kind for kind in source_kinds() if kind.matches(where)), None)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RecordingError(f"{where}: cannot be read ({reason}); check --source") from None


def _why_none(where: str) -> str:
    scheme, is_address, _ = where.partition("://")
    if is_address:
        schemes = [kind.address.partition("://")[0] for kind in source_kinds() if "://" in kind.address]
        near = get_close_matches(scheme, schemes, n=1)
        hint = (
            f"did you mean {near[0]}://?" if near else f"is the package that adds it installed (entry point {GROUP})?"
        )
        return f"no source takes {scheme}:// addresses; {hint}"
    path = Path(where)
    if path.exists():
        return "it is not a regular file; pipe it into --source -"
    beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    near = get_close_matches(path.name, beside, n=1)
    return "there is no such file or folder" + (f"; did you mean '{path.parent / near[0]}'?" if near else "")


def _addresses() -> str:
    *most, last = [kind.address for kind in source_kinds()]
    return f"{', '.join(most)} or {last}"
