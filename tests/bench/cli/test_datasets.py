"""`rondo datasets verify` and `download`, as they are typed."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from rondo_bench.data_sets.catalogue import find_data_set
from rondo_bench.data_sets.fetch import Offer, offers
from rondo_bench.data_sets.motion import MOCAP_SEGMENTS
from rondo_bench.data_sets.verify import EXPECTED_FRAMES, EXPECTED_IDS
from tests.bench.data_sets.file_server import serving
from tests.bench.data_sets.test_fetch import packed
from tests.cli.running import Command


def mocap_files() -> dict[str, bytes]:
    """Files of the right length in the published form, filled with noise; the annotations are the true ones."""
    rng = np.random.default_rng(0)
    files = {}
    for name, segments in MOCAP_SEGMENTS.items():
        rows = rng.integers(-9, 9, (segments[-1][0], 4))
        files[f"4d/{name}.4d"] = "\n".join(" ".join(map(str, row)) for row in rows.tolist()).encode()
    return files


def knowing(monkeypatch: pytest.MonkeyPatch, name: str, checksums: dict[str, str]) -> None:
    """The offer of a data set as if these were the published checksums."""
    monkeypatch.setitem(offers(), name, replace(offers()[name], files=checksums, unpacked={}))


def test_verify_compares_files_with_the_published_ones(
    rondo: Command, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = mocap_files()
    knowing(monkeypatch, "mocap", {Path(name).name: f"sha256:{sha256(own).hexdigest()}" for name, own in files.items()})
    for name, content in files.items():
        path = here / "data" / "mocap" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    good = rondo("datasets", "verify", "mocap", "--data", "data")
    assert good.code == 0 and ["as", "published", "9", "files", "9", "files", "ok"] in map(
        str.split, good.out.splitlines()
    )
    path.write_bytes(content.replace(b" ", b"  "))
    bad = rondo("datasets", "verify", "mocap", "--data", "data")
    assert bad.code == 1 and ["as", "published", "9", "files", "8", "files", "DIFFERS"] in map(
        str.split, bad.out.splitlines()
    )
    assert [line.partition(": ")[0] for line in bad.out.splitlines() if "checksum" in line] == [f"data/mocap/{name}"]


def test_the_official_files_of_opportunity_are_known() -> None:
    known = offers()["opportunity"].unpacked
    assert {name.removesuffix(".dat") for name in known} == set(EXPECTED_IDS["opportunity"])
    assert all(len(checksum) == len("sha256:") + 64 for checksum in known.values()) and len(set(known.values())) == 24
    assert sum(EXPECTED_FRAMES["opportunity"].values()) == find_data_set("opportunity").n_frames
    archived = Path("data/opportunity/OpportunityUCIDataset/dataset/S1-ADL1.dat")
    assert offers()["opportunity"].checksum_of(archived) == known["S1-ADL1.dat"]


def test_the_rate_of_actrectut_is_not_the_papers() -> None:
    assert "42 Hz" in find_data_set("actrectut").sources
    assert find_data_set("mocap").sources == "paper"


def test_verify_says_what_agrees_and_what_differs(rondo: Command, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    knowing(monkeypatch, "mocap", {})
    for name, content in mocap_files().items():
        path = here / "data" / "mocap" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    good = rondo("datasets", "verify", "MoCap", "--data", "data")
    assert good.code == 0
    assert good.out.splitlines()[-1] == "mocap: as expected (paper)"
    lines = [line.split() for line in good.out.splitlines()]
    assert ["frames", "65,611", "65,611", "ok"] in lines
    assert ["constant", "recall", "20.32", "20.32", "ok"] in lines
    (here / "data" / "mocap" / "4d" / "amc_86_14.4d").unlink()
    bad = rondo("datasets", "verify", "mocap", "--data", "data")
    assert bad.code == 1
    lines = [line.split() for line in bad.out.splitlines()]
    assert ["recordings", "9", "8", "DIFFERS"] in lines
    assert ["frames", "65,611", "59,556", "DIFFERS"] in lines
    assert ["channels", "4", "4", "ok"] in lines
    assert "missing: recording amc_86_14" in bad.out.splitlines()
    folder = Path("data") / "mocap"
    again = f"to get it again, move {folder} away and run: rondo datasets download mocap --data data"
    assert bad.out.splitlines()[-1] == again
    (here / "data" / "mocap" / "4d" / "amc_86_11.4d").write_text("1 2 3 4\n1 2\n")
    torn = rondo("datasets", "verify", "mocap", "--data", "data")
    assert torn.code == 1
    assert ["readable", "8", "7", "DIFFERS"] in [line.split() for line in torn.out.splitlines()]
    assert "amc_86_11.4d: expected 4 numbers" in torn.out
    as_json = rondo("datasets", "verify", "mocap", "--data", "data", "--json")
    facts = json.loads(as_json.out)
    assert (as_json.code, facts["agrees"], facts["frames"]["amc_86_02"]) == (1, False, 10_617)
    assert (facts["missing"], list(facts["unreadable"])) == (["amc_86_14"], ["amc_86_11"])
    assert {check["what"]: check["agrees"] for check in facts["checks"]}["classes"]


def test_verify_refuses_what_it_cannot_read(rondo: Command, here: Path) -> None:
    assert rondo("datasets", "verify", "mocap").code == 2
    missing = rondo("datasets", "verify", "mocap", "--data", "nowhere")
    assert (missing.code, missing.out) == (2, "")
    assert "nowhere: no such folder" in missing.err
    (here / "data").mkdir()
    assert "rondo datasets download lara" in rondo("datasets", "verify", "lara", "--data", "data").err
    np.savez(here / "data" / "a.npz", X=np.ones((5, 2)))
    assert "folder of your own" in rondo("datasets", "verify", here / "data").err


def broken(path: Path, **changes: object) -> None:
    with np.load(path) as stored:
        np.savez(path, **({name: stored[name] for name in stored.files} | changes))


def test_verify_names_the_file_that_differs_and_how_to_get_it_again(rondo: Command, here: Path) -> None:
    rng, path = np.random.default_rng(0), here / "data" / "HuGaDB" / "various_01_00.npz"
    path.parent.mkdir(parents=True)
    whole = rng.normal(size=(3142, 38))
    np.savez(path, X=whole, y=np.arange(3142) % 4)
    shown, page = Path("data") / "HuGaDB" / "various_01_00.npz", "(page: https://github.com/romanchereshnev/HuGaDB)"
    assert rondo("datasets", "verify", "hugadb", "--data", "data").code == 0
    for changes, expected in (
        ({"X": whole[:3000], "y": np.arange(3000) % 4}, f"{shown}: 3,000 frames, expected 3,142"),
        ({"X": whole[:, :37]}, f"{shown}: 37 channels, expected 38"),
        ({"rate": 100.0}, f"{shown}: 100 Hz, expected 60 Hz"),
    ):
        broken(path, **changes)
        found = rondo("datasets", "verify", "hugadb", "--data", "data")
        assert found.code == 1
        assert expected in found.out.splitlines()
        assert found.out.splitlines()[-1].startswith("to get it again, ")
        assert found.out.splitlines()[-1].endswith(page)
        as_json = json.loads(rondo("datasets", "verify", "hugadb", "--data", "data", "--json").out)
        assert as_json["differences"] == [expected]
        np.savez(path, X=whole, y=np.arange(3142) % 4)
    path.write_bytes(path.read_bytes()[:5000])
    assert f"{shown}: it is damaged" in rondo("datasets", "verify", "hugadb", "--data", "data").out


def test_download_then_verify(rondo: Command, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(mocap__zip=packed(mocap_files())) as server:
        offer = Offer("mocap", "https://example.org", "free for all", server.address, {"mocap.zip": ""}, ("*.4d",))
        monkeypatch.setitem(offers(), "mocap", offer)
        server.cuts = [100_000, 50_000]
        refused = rondo("datasets", "download", "mocap", "--data", "data")
        assert refused.code == 2
        assert "licence: free for all" in refused.out
        assert "was not accepted" in refused.err
        assert server.asked == []
        monkeypatch.setattr("rondo_bench.data_sets.fetch.FIRST_WAIT_S", 0.0)
        done = rondo("datasets", "download", "mocap", "--data", "data", "--accept-licence")
        assert (done.code, done.out.splitlines()[-2]) == (0, f"1 file fetched to {Path('data') / 'mocap'}")
        assert len(server.asked) == 3
        again = rondo("datasets", "download", "mocap", "--data", "data", "--accept-licence")
        assert "complete already" in again.out
        assert len(server.asked) == 3
    assert rondo("datasets", "verify", "mocap", "--data", "data").code == 0


def test_a_licence_is_accepted_by_hand(rondo: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with serving(a__4d=b"1 2 3 4\n") as server:
        monkeypatch.setitem(offers(), "mocap", Offer("mocap", "page", "free", server.address, {"a.4d": ""}))
        monkeypatch.setattr("sys.stdin", Terminal("n\n"))
        assert rondo("datasets", "download", "mocap", "--data", "data").code == 2
        monkeypatch.setattr("sys.stdin", Terminal("y\n"))
        accepted = rondo("datasets", "download", "mocap", "--data", "data")
        assert accepted.code == 0
        assert len(server.asked) == 1


def test_download_needs_a_place_and_says_what_a_person_must_do(rondo: Command, here: Path) -> None:
    assert "where to?" in rondo("datasets", "download", "mocap").err
    by_hand = rondo("datasets", "download", "hugadb", "--data", "data")
    assert by_hand.code == 2
    assert "page: https://github.com/romanchereshnev/HuGaDB" in by_hand.out
    assert "fetched by hand" in by_hand.err
    assert not (here / "data").exists()


@pytest.mark.data
@pytest.mark.slow
def test_real_copies_are_verified(rondo: Command, data_dir: Path) -> None:
    for name in ("mocap", "actrectut", "openpack", "hugadb", "mocap6", "tssb"):
        outcome = rondo("datasets", "verify", name, "--data", data_dir)
        assert outcome.code == 0, outcome.out
