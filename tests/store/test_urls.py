"""Paths and URLs are told apart by their text; a Path that was made of a URL is that URL."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rondo.errors import SettingError
from rondo.store.locations import as_location, connected
from tests.cli.running import call


@pytest.mark.parametrize(
    ("where", "url"),
    [
        ("s3://bucket/a b.csv", "s3://bucket/a b.csv"),
        (Path("s3://bucket/days"), "s3://bucket/days"),
        ("S3://bucket/days/", "s3://bucket/days/"),
        ("s3://bucket//twice/*.csv", "s3://bucket//twice/*.csv"),
        ("abfs://box@account.net/x", "abfs://box@account.net/x"),
        (Path("s3://"), "s3://"),  # `--out s3://$BUCKET` where the variable is not set
    ],
)
def test_urls(where: str | Path, url: str) -> None:
    assert as_location(where) == url


@pytest.mark.parametrize("where", ["a.csv", "days/*.csv", "/days/a:b.csv", "c:/days/a.csv", "12:30.csv", Path("x:y")])
def test_paths(where: str | Path) -> None:
    assert as_location(where) == Path(where)


def test_a_folder_may_be_called_like_a_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:").mkdir()
    assert as_location("s3:/a.csv") == Path("s3:/a.csv")


def test_a_url_without_a_bucket_is_refused_and_makes_no_folder_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for url in ("s3://", "s3:", "s3:///"):
        with pytest.raises(SettingError, match="s3://: expected a bucket"):
            connected(url)
    np.save("a.npy", np.random.default_rng(0).normal(size=(300, 2)))
    done = call("discover", "a.npy", "--method", "clock", "--out", "s3://")
    assert done.code == 2 and "expected a bucket" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]
