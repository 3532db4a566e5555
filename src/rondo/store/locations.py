"""Where recordings lie: files, folders and patterns, of this machine or in a bucket, all asked in the same way.

Buckets (s3://, gs://, az://, …) are reached through fsspec; all that can fail on the way becomes one line. Credentials
and endpoints are found by the drivers, in the environment and the files of the user, and never kept here.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import reprlib
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rondo.errors import InputError, MissingExtraError, OutputError, RecordingError, SettingError

# A server that says nothing is given up after half a minute, one that refuses after seconds.
_S3_CONFIG = {"connect_timeout": 5, "read_timeout": 10, "retries": {"mode": "standard", "total_max_attempts": 3}}
_NO_STORES = ("data", "dir", "file", "filecache", "ftp", "http", "https", "local", "memory", "reference", "simplecache")
_CREDENTIALS = {"NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError", "ProfileNotFound"}
_DENIED = {"403", "AccessDenied", "AllAccessDisabled", "ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch"}
_UNREACHED = {
    "ClientConnectorError", "ConnectionClosedError", "ConnectTimeoutError", "EndpointConnectionError",
    "ProxyConnectionError", "ReadTimeoutError", "ServiceRequestError", "gaierror",
}  # of botocore, aiohttp and azure, by name: none of them need be installed  # fmt: skip

Location = Path | str  # a URL is text: `s3://bucket/day1.csv`

# two characters or more: one is a drive of Windows; a Path of "s3://" keeps no slash
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?:/|$)")


def as_location(where: str | Path) -> Location:
    """A path as a Path, a URL as text, also where someone has made a Path of it, which keeps one slash of two.

    >>> as_location(Path("s3://bucket/day1.csv"))
    's3://bucket/day1.csv'
    >>> as_location("days/day1.csv").name
    'day1.csv'
    """
    text = where.as_posix() if isinstance(where, Path) else where
    if isinstance(text, os.PathLike):
        text = os.fspath(text)
    if not isinstance(text, str) or not _is_name(text):
        raise InputError(f"expected a path, got {reprlib.repr(where)}; give the name of a file or folder")
    found = _SCHEME.match(text)
    if found is None or Path(f"{found[1]}:").exists():  # a folder may be called so
        return Path(text)
    return f"{found[1].lower()}://{text[found.end() :].removeprefix('/')}"


def _is_name(text: str) -> bool:
    """Whether the system can have such a name: no zero in it, and no half of a pair."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def is_url(where: str | Path) -> bool:
    """Whether a place is in a bucket."""
    return isinstance(as_location(where), str)


def joined(folder: str | Path, name: str) -> Location:
    """A file in a folder.

    >>> joined("s3://bucket/run/", "report.html")
    's3://bucket/run/report.html'
    """
    place = as_location(folder)
    return place / name if isinstance(place, Path) else f"{place.rstrip('/')}/{name}"


def refuse_url(where: str | Path, why: str) -> None:
    """An OutputError where a folder of this machine is needed and a URL was given."""
    place = as_location(where)
    if isinstance(place, str):
        raise OutputError(f"{place}: {why}")


# ---------------------------------------------------------------- buckets


def connected(url: str) -> tuple[Any, str]:
    """The fsspec file system that serves a URL, and the path in it; nothing is sent yet."""
    scheme, _, rest = url.partition("://")
    if not rest.strip("/"):
        scheme = scheme.rstrip(":/")
        raise SettingError(f"{scheme}://: expected a bucket and a place in it, as {scheme}://bucket/run, got no bucket")
    if ":" in rest.partition("/")[0].rpartition("@")[0]:
        raise SettingError(
            f"a {scheme}:// URL holds a password, which the run would show; give credentials as the driver expects "
            "them (environment, profile)"
        )
    try:
        import fsspec
        from fsspec.registry import known_implementations  # the attribute `fsspec.registry` is no module
    except ImportError as error:
        raise MissingExtraError(f"a URL ({scheme}://)", "fsspec", "cloud") from error
    if scheme in _NO_STORES or "::" in url or scheme not in fsspec.available_protocols():
        raise SettingError(
            f"{url}: unknown scheme '{scheme}'; expected a path of this machine, or a bucket: s3://, gs://, az:// or "
            "another that fsspec has a driver for"
        )
    try:
        fsspec.get_filesystem_class(scheme)
    except ImportError as error:
        package = known_implementations[scheme]["class"].partition(".")[0]
        raise MissingExtraError(f"a URL ({scheme}://)", package, "cloud" if package == "s3fs" else "") from error
    is_s3, options = scheme in ("s3", "s3a"), {}
    if is_s3:  # unless the configuration of fsspec says otherwise
        options["config_kwargs"] = _S3_CONFIG | fsspec.config.conf.get(scheme, {}).get("config_kwargs", {})
    system, path = fsspec.core.url_to_fs(url, use_listings_cache=False, **options)
    if is_s3:
        system.retries = 1  # botocore tries again by itself
    return system, path.rstrip("/")


@contextmanager
def reaching(url: str, kind: type[InputError], named: bool = False) -> Iterator[None]:
    """Turn what fails on the way to a bucket into one line, `named` with the URL; a FileNotFoundError stays one."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        why = _why(error, url)
        if why is None:
            raise
        raise kind(f"{url}: {why}" if named else why) from error


def _why(error: Exception, url: str) -> str | None:
    """What happened and what to do; None for a missing object, and for what this machine has to say about itself."""
    names: set[str] = set()
    codes: set[str] = set()  # what a store answered, as botocore keeps it
    cause: BaseException | None = error
    while cause is not None:
        names.add(type(cause).__name__)
        response = getattr(cause, "response", None)
        if isinstance(response, dict):
            codes.add(str(response.get("Error", {}).get("Code", "")))
        cause = cause.__cause__ or cause.__context__
    bucket, _, inside = url.partition("://")[2].rstrip("/").partition("/")
    if names & _CREDENTIALS:
        return "no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or what your store expects"
    if codes & _DENIED or (isinstance(error, PermissionError) and error.errno is None):
        return f"access is denied; check the credentials and their rights on '{bucket}'"
    if "NoSuchBucket" in codes or (isinstance(error, FileNotFoundError) and not inside):
        return f"there is no bucket '{bucket}'; check its name and the endpoint"
    if names & _UNREACHED or isinstance(error, ConnectionError | TimeoutError):
        return "the server cannot be reached; check the network and the endpoint (AWS_ENDPOINT_URL)"
    if isinstance(error, FileNotFoundError):
        return None
    if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
        return None  # about a file of this machine, as no room for a copy: only then is a file named
    return f"the store gave an error ({type(error).__name__}: {' '.join(str(error).split())[:160]}); try again"


def _info(url: str) -> dict[str, Any] | None:
    """What the store says about an object or folder; None where there is none."""
    system, path = connected(url)
    try:
        with reaching(url, RecordingError):
            about: dict[str, Any] = system.info(path)
    except FileNotFoundError:
        return None
    return about


# ---------------------------------------------------------------- what lies there


class Listing(NamedTuple):
    """What lies at a place: itself, the files directly in a folder, or those that match a pattern, sorted."""

    kind: Literal["file", "folder", "pattern", "nothing"]
    files: list[Location]
    folders: list[Path] = []  # noqa: RUF012  # of this machine, in the folder or matching the pattern; never changed


def listing(place: Location) -> Listing:
    """What lies there. A name with `*`, `?` or `[` is a pattern unless there is a file or folder of that name."""
    return _in_bucket(place) if isinstance(place, str) else _on_disk(place)


def _on_disk(path: Path) -> Listing:
    if path.is_dir():
        inside = sorted(path.iterdir())
        return Listing("folder", [one for one in inside if one.is_file()], [one for one in inside if one.is_dir()])
    if path.exists():
        return Listing("file", [path])
    if not glob.has_magic(str(path)):
        return Listing("nothing", [])
    found = sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207  # absolute patterns too
    return Listing("pattern", [one for one in found if one.is_file()], [one for one in found if one.is_dir()])


def _in_bucket(url: str) -> Listing:
    system, path = connected(url)
    about = _info(url)
    with reaching(url, RecordingError):
        if about is not None and (about["type"] == "directory" or url.endswith("/")):
            return Listing("folder", _files(url, path, system.ls(path, detail=True)))
        if about is not None:
            return Listing("file", [url])
        if not glob.has_magic(path):
            return Listing("nothing", [])
        return Listing("pattern", _files(url, path, system.glob(path, detail=True).values()))


def _files(url: str, path: str, found: Any) -> list[Location]:
    """The URLs of those that are objects; an empty one whose name ends with a slash only stands for a folder."""
    before = url.rstrip("/").removesuffix(path)
    names = sorted(one["name"] for one in found if one["type"] == "file" and not one["name"].endswith("/"))
    return [f"{before}{name}" for name in names if name != path]


@contextmanager
def local_file(place: Location) -> Iterator[Path]:
    """The file itself, or a copy of an object under the same name that is removed when the block ends."""
    if isinstance(place, Path):
        yield place
        return
    system, path = connected(place)
    with tempfile.TemporaryDirectory(prefix="rondo-") as folder:
        copy = Path(folder) / Path(path).name
        with reaching(place, RecordingError):
            system.get_file(path, str(copy))
        yield copy


# ---------------------------------------------------------------- changed since


class FileState(NamedTuple):
    """By which a file that has changed is noticed."""

    size: int  # bytes
    version: str


def size_of(where: str | Path) -> int:
    """Bytes of a file or object; RecordingError where there is none, or its store cannot be reached."""
    return _state(as_location(where)).size


def states_of(places: Sequence[str | Path]) -> dict[str, FileState]:
    """Size and version of many files, by their names as text; one question for each folder of a bucket."""
    states: dict[str, FileState] = {}
    folders: dict[str, set[str]] = defaultdict(set)
    for place in map(as_location, places):
        if isinstance(place, Path):
            states[str(place)] = _state(place)
        else:
            folders[place.rpartition("/")[0]].add(place)
    for folder, urls in folders.items():
        if len(urls) == 1:
            states |= {url: _state(url) for url in urls}
            continue
        system, path = connected(folder)
        before = folder.removesuffix(path)
        with _named(folder), reaching(folder, RecordingError):
            inside = {f"{before}{about['name']}": _object_state(about) for about in system.ls(path, detail=True)}
        for url in sorted(urls):
            if url not in inside:
                raise RecordingError(f"{url}: there is no such file; check the path")
            states[url] = inside[url]
    return states


def _state(place: Location) -> FileState:
    with _named(place):
        if isinstance(place, Path) and place.is_dir():
            return _folder_state(place)
        if isinstance(place, Path):
            status = place.stat()
            return FileState(status.st_size, f"{status.st_size}-{status.st_mtime_ns}")
        about = _info(place)
        if about is None:
            raise FileNotFoundError
        return _object_state(about)


def _folder_state(folder: Path) -> FileState:
    """Of all files directly in it: a session has changed when one of them has."""
    states = [(file.name, file.stat()) for file in sorted(folder.iterdir()) if file.is_file()]
    known = "".join(f"{name}\n{status.st_size}-{status.st_mtime_ns}\n" for name, status in states)
    version = hashlib.sha256(known.encode("utf-8", "surrogateescape")).hexdigest()
    return FileState(sum(status.st_size for _, status in states), version)


def _object_state(about: Mapping[str, Any]) -> FileState:
    """Of what a driver says about an object; each has its own words."""
    size = int(about.get("size") or 0)
    known = next((about[key] for key in ("ETag", "etag", "LastModified", "last_modified", "mtime") if key in about), "")
    return FileState(size, f"{size}-{str(known).strip(chr(34))}")


@contextmanager
def _named(place: Location) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise RecordingError(f"{place}: there is no such file; check the path") from None
    except OSError as error:
        raise RecordingError(f"{place}: it cannot be read ({error.strerror}); check its permissions") from error
    except RecordingError as error:
        raise RecordingError(f"{place}: {error}") from error
