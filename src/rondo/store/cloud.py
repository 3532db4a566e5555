"""Buckets (s3://, gs://, az://, …), reached through fsspec; all that can fail on the way becomes one line.

Credentials and endpoints are found by the drivers, in the environment and the files of the user, and never kept here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rondo.errors import InputError, MissingExtraError, SettingError

# A server that says nothing is given up after half a minute, one that refuses after seconds.
_CONNECT_S, _READ_S, _ATTEMPTS = 5, 10, 3
_NO_STORES = ("data", "dir", "file", "filecache", "ftp", "http", "https", "local", "memory", "reference", "simplecache")
_CREDENTIALS = {"NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError", "ProfileNotFound"}
_DENIED = {"403", "AccessDenied", "AllAccessDisabled", "ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch"}
_UNREACHED = {
    "ClientConnectorError",
    "ConnectionClosedError",
    "ConnectTimeoutError",
    "EndpointConnectionError",
    "ProxyConnectionError",
    "ReadTimeoutError",
    "ServiceRequestError",
    "gaierror",
}  # of botocore, aiohttp and azure, by name: none of them need be installed


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
    except ImportError as error:
        raise MissingExtraError(f"a URL ({scheme}://)", "fsspec", "cloud") from error
    if scheme in _NO_STORES or "::" in url or scheme not in fsspec.available_protocols():
        raise SettingError(
            f"{url}: unknown scheme '{scheme}'; expected a path of this machine, or a bucket: s3://, gs://, az:// or "
            "another that fsspec has a driver for"
        )
    _require_driver(scheme)
    system, path = fsspec.core.url_to_fs(url, use_listings_cache=False, **_options(scheme))
    if scheme in ("s3", "s3a"):
        system.retries = 1  # botocore tries again by itself
    return system, path.rstrip("/")


def _require_driver(scheme: str) -> None:
    from fsspec.registry import get_filesystem_class, known_implementations

    try:
        get_filesystem_class(scheme)
    except ImportError as error:
        package = known_implementations[scheme]["class"].partition(".")[0]
        extra = "cloud" if package == "s3fs" else ""
        raise MissingExtraError(f"a URL ({scheme}://)", package, extra) from error


def _options(scheme: str) -> dict[str, Any]:
    """Short timeouts and few attempts, unless the configuration of fsspec says otherwise."""
    if scheme not in ("s3", "s3a"):
        return {}
    from fsspec.config import conf

    own = {
        "connect_timeout": _CONNECT_S,
        "read_timeout": _READ_S,
        "retries": {"mode": "standard", "total_max_attempts": _ATTEMPTS},
    }
    return {"config_kwargs": own | conf.get(scheme, {}).get("config_kwargs", {})}


@contextmanager
def copied_here(url: str, kind: type[InputError]) -> Iterator[Path]:
    """An object as a file of this machine under its own name, removed when the block ends."""
    system, path = connected(url)
    with tempfile.TemporaryDirectory(prefix="rondo-") as folder:
        copy = Path(folder) / Path(path).name
        with reaching(url, kind):
            system.get_file(path, str(copy))
        yield copy


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


def _why(error: BaseException, url: str) -> str | None:
    """What happened and what to do; None for a missing object, and for what this machine has to say about itself."""
    causes = list(_chain(error))
    names = {type(cause).__name__ for cause in causes}
    codes = {_code(cause) for cause in causes}
    bucket, _, inside = url.partition("://")[2].rstrip("/").partition("/")
    if names & _CREDENTIALS:
        return "no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or what your store expects"
    if codes & _DENIED or (isinstance(error, PermissionError) and error.errno is None):
        return f"access is denied; check the credentials and their rights on '{bucket}'"
    if "NoSuchBucket" in codes or (isinstance(error, FileNotFoundError) and not inside):
        return f"there is no bucket '{bucket}'; check its name and the endpoint"
    if names & _UNREACHED or isinstance(error, ConnectionError | TimeoutError):
        return "the server cannot be reached; check the network and the endpoint (AWS_ENDPOINT_URL)"
    if isinstance(error, FileNotFoundError) or (isinstance(error, OSError) and _is_local(error)):
        return None
    return f"the store gave an error ({type(error).__name__}: {' '.join(str(error).split())[:160]}); try again"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _code(error: BaseException) -> str:
    """What a store answered, as botocore keeps it."""
    answer = getattr(error, "response", None)
    return str(answer.get("Error", {}).get("Code", "")) if isinstance(answer, dict) else ""


def _is_local(error: OSError) -> bool:
    """Whether it is about a file here, as no room for a copy: only then is a file named."""
    return error.errno is not None and error.filename is not None
