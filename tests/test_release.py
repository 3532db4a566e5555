"""What a release consists of: wheel and sdist as they are built, the README in them, and workflows pinned by commit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

import rondo
from tests.docs.links import is_elsewhere

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
REPOSITORY = "https://example.org/owner/name"


@pytest.fixture(scope="module", params=["", REPOSITORY])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The repository that links lead to, and the folder with the wheel and the sdist."""
    pytest.importorskip("hatchling", reason="hatchling is not installed: it builds the wheel")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"RONDO_LINKS": request.param}, check=True, capture_output=True)
    return request.param, folder


def names_in(folder: Path) -> set[str]:
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        return set(wheel.namelist())


@pytest.mark.promise
def test_links_of_the_built_readme_are_absolute_or_plain_words(built: tuple[str, Path]) -> None:
    repository, folder = built
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        metadata = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        shown = HeaderParser().parsestr(wheel.read(metadata).decode("utf-8"))
    assert shown["Description-Content-Type"] == "text/markdown"
    links, own = (LINK.findall(text) for text in (shown.get_payload(), (ROOT / "README.md").read_text("utf-8")))
    assert [address for _, _, address in links if not is_elsewhere(address) and address[0] != "#"] == []
    places = {"": "blob", "!": "raw"}
    wanted = [(sign, words, f"{repository}/{places[sign]}/v{rondo.__version__}/{path}") for sign, words, path in own]
    assert len(own) > 15 and links == (wanted if repository else [])


@pytest.mark.promise
def test_the_wheel_has_the_packages_whole_and_nothing_else(built: tuple[str, Path]) -> None:
    names = names_in(built[1])
    src = ROOT / "src"
    files = {path for package in ("rondo", "rondo_bench") for path in (src / package).rglob("*") if path.is_file()}
    wanted = {path.relative_to(src).as_posix() for path in files if "__pycache__" not in path.parts}
    assert {name for name in names if ".dist-info/" not in name} == wanted
    assert any(name.endswith("/licenses/LICENSE") for name in names)


@pytest.mark.promise
def test_the_sdist_holds_what_builds_and_tests_it(built: tuple[str, Path]) -> None:
    with tarfile.open(next(built[1].glob("*.tar.gz"))) as sdist:
        inside = {name.partition("/")[2] for name in sdist.getnames()}
    wanted = {"packaging/readme.py", "README.md", "tests/test_release.py", "scripts/check.py", "docs/index.md"}
    assert wanted <= inside


def test_every_action_is_pinned_to_a_commit_with_its_version() -> None:
    texts = [path.read_text("utf-8") for path in sorted((ROOT / ".github/workflows").glob("*.yml"))]
    used = [line.strip() for text in texts for line in re.findall(r"uses: (.*)", text)]
    assert len(used) > 15
    pinned = re.compile(r"(\./\S+)|([\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+)")
    assert [line for line in used if not pinned.fullmatch(line)] == []


def test_only_the_job_that_publishes_may_write() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed (zensical brings it)")
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        workflow = yaml.safe_load(path.read_text("utf-8"))
        assert workflow["permissions"] == {"contents": "read"}
        assert {name for name, job in workflow["jobs"].items() if "permissions" in job} <= {"publish"}


@pytest.mark.parametrize("tag", ["v0.0.1", "0.0.1", "nightly"])
def test_a_tag_that_is_not_the_version_is_refused(tag: str) -> None:
    done = subprocess.run(
        [sys.executable, "scripts/release.py", "version", tag], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and tag in done.stderr
