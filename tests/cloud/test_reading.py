"""Recordings in a bucket are read as files are: every format, folders, patterns; nothing of the copies stays."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy.testing as npt
import pytest

import rondo
from rondo.data.recording import Recording
from rondo.errors import RecordingError, RondoWarning
from rondo.files.read import find_recordings, read_recording
from rondo.store.locations import size_of, states_of
from tests.cli.running import waves, write_csv
from tests.cloud.conftest import put
from tests.formats.reading import refusal
from tests.formats.test_every_format import SAMPLES

pytestmark = pytest.mark.cloud


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet", ".xlsx"])  # an object is copied, whatever it holds
def test_every_format_is_read_as_from_the_disk(suffix: str, bucket: str, here: Path, temporary: Path) -> None:
    file = here / f"day 1{suffix}"
    SAMPLES[suffix](file)
    url = put(f"{bucket}/days/{file.name}", file)
    local, read = read_recording(file), rondo.read(url)
    assert isinstance(read, Recording)
    npt.assert_array_equal(read.values, local.values)
    assert (read.id, read.rate, read.channels, read.notes) == (local.id, local.rate, local.channels, local.notes)
    assert read.id == "day 1" and read.source == url
    assert list(temporary.iterdir()) == []


def test_folders_and_patterns(bucket: str, here: Path) -> None:
    for name in ("day1.csv", "day2.csv", "night.csv", "day1_labels.csv", "README.txt", ".hidden.csv", "notes.pdf"):
        put(f"{bucket}/days/{name}", write_csv(here / name, waves(30)))
    put(f"{bucket}/days/deep/day3.csv", here / "day1.csv")

    def found(*places: str) -> list[str]:
        return [str(file).removeprefix(f"{bucket}/days/") for file in find_recordings(places)]

    for folder in (f"{bucket}/days/", f"{bucket}/days"):
        assert found(folder) == ["day1.csv", "day2.csv", "night.csv"]
    assert found(f"{bucket}/days/day*.csv") == ["day1.csv", "day2.csv"]
    assert found(f"{bucket}/days/day?.csv", f"{bucket}/days/night.csv") == ["day1.csv", "day2.csv", "night.csv"]
    assert found(f"{bucket}/days/**/day3.*") == ["deep/day3.csv"]
    assert found(f"{bucket}/days/day1_labels.csv") == ["day1_labels.csv"]  # named, it is meant
    with pytest.warns(RondoWarning, match="day1_labels.csv: labels"):
        read = rondo.read(f"{bucket}/days/")
    assert isinstance(read, list) and [one.source for one in read] == [
        f"{bucket}/days/{name}.csv" for name in ("day1", "day2", "night")
    ]


def test_a_name_with_the_signs_of_a_pattern_is_taken_literally(bucket: str, here: Path) -> None:
    file = write_csv(here / "day[1].csv", waves(30))
    url = put(f"{bucket}/{file.name}", file)
    assert find_recordings([url]) == [url]
    assert find_recordings([file]) == [file]
    assert read_recording(url).id == "day[1]"


def test_what_cannot_be_read_names_the_url(bucket: str, here: Path, temporary: Path) -> None:
    damaged = here / "a.parquet"
    damaged.write_bytes(b"PAR1 no parquet at all PAR1")
    empty = here / "empty.csv"
    empty.write_bytes(b"")
    for file, says in ((damaged, "damaged"), (empty, "the file is empty")):
        url = put(f"{bucket}/{file.name}", file)
        said = refusal(lambda url=url: rondo.read(url), naming=url)
        assert says in said and str(temporary) not in said
    assert "no such file" in refusal(lambda: read_recording(f"{bucket}/no.csv"), naming=f"{bucket}/no.csv")
    said = refusal(lambda: rondo.read(f"{bucket}/no.csv"), naming=f"{bucket}/no.csv")
    assert "such file or folder" in said
    assert "unknown suffix" in refusal(lambda: read_recording(f"{bucket}/a.pdf"), naming=bucket)
    assert "pattern matches no file" in refusal(lambda: rondo.read(f"{bucket}/x*.csv"), naming=bucket)
    put(f"{bucket}/x.pdf", empty)
    assert "pattern matches no recordings" in refusal(lambda: rondo.read(f"{bucket}/x*"), naming=bucket)
    assert list(temporary.iterdir()) == []


def test_a_change_is_noticed(bucket: str, here: Path) -> None:
    file = write_csv(here / "a.csv", waves(30))
    urls = [put(f"{bucket}/{name}.csv", file) for name in "ab"]
    before = states_of([*urls, file])
    assert size_of(urls[0]) == size_of(file) == file.stat().st_size == before[urls[0]].size
    assert states_of([urls[0], file]) == {name: before[name] for name in (urls[0], str(file))}
    content = file.read_bytes()
    file.write_bytes(content.replace(b"1", b"2"))  # as long as it was
    put(urls[0], file)
    after = states_of([*urls, file])
    assert [name for name in after if after[name].version != before[name].version] == [str(file), urls[0]]
    for missing in (f"{bucket}/no.csv", here / "no.csv"):
        with pytest.raises(RecordingError, match=r"no\.csv"):
            size_of(missing)
    with pytest.raises(RecordingError, match=r"no\.csv"):
        states_of([*urls, f"{bucket}/no.csv"])


def test_an_object_that_another_process_puts_there_is_seen_at_once(bucket: str, here: Path) -> None:
    file = write_csv(here / "a.csv", waves(30))
    put(f"{bucket}/days/a.csv", file)
    for place in (f"{bucket}/days", f"{bucket}/days/*.csv"):
        assert len(find_recordings([place])) == 1
    code = "import sys; from s3fs import S3FileSystem; S3FileSystem().put_file(*sys.argv[1:])"
    subprocess.run([sys.executable, "-c", code, str(file), f"{bucket}/days/b.csv"], check=True)
    for place in (f"{bucket}/days", f"{bucket}/days/*.csv"):
        assert find_recordings([place]) == [f"{bucket}/days/a.csv", f"{bucket}/days/b.csv"]
