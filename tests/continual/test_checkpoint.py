"""Checkpoints: restored to the bit, whole at every instant, refused when damaged or foreign."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rondo.continual.checkpoint import (
    Checkpoint,
    fingerprint,
    load_checkpoint,
    locked,
    save_checkpoint,
    settings_hash,
)
from rondo.errors import ModelError, OutputError
from rondo.model.rondo import Rondo
from rondo.store import folder as writing
from rondo.store import model_file
from tests.systems import needs_proc

IDENTITY = {"model_sha256": "a" * 64, "settings_sha256": "b" * 64, "source": "file day1"}
PLAIN = {"position": 120, "lengths": {"labels.csv": 3}, "counters": {"n_rows": 5}, "nested": [1, 0.1, None, "ü"]}


def some(n: int = 0) -> Checkpoint:
    return Checkpoint(IDENTITY, PLAIN | {"n": n}, {"x": np.full((2, 3), n, np.float32), "ids": np.arange(n)})


def loaded(folder: Path) -> Checkpoint:
    found = load_checkpoint(folder, IDENTITY)
    assert found is not None
    return found


arrays = hnp.arrays(
    st.sampled_from(["f2", "f4", "f8", "i4", "i8", "u1", "u8", "?"]),
    hnp.array_shapes(min_dims=0, min_side=0, max_side=3),
)  # with NaN, infinities and -0.0


@given(tensors=st.dictionaries(st.sampled_from(["a", "b.c", "d"]), arrays))
def test_every_array_comes_back_to_the_bit(tmp_path_factory: pytest.TempPathFactory, tensors: dict[str, Any]) -> None:
    folder = tmp_path_factory.mktemp("checkpoint")
    save_checkpoint(folder, Checkpoint(IDENTITY, PLAIN, tensors))
    found = loaded(folder)
    assert found.plain == PLAIN
    assert set(found.tensors) == set(tensors)
    for name, tensor in tensors.items():
        again = found.tensors[name]
        assert (again.dtype, again.shape, again.tobytes()) == (tensor.dtype, tensor.shape, tensor.tobytes())


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from rondo.continual.checkpoint import Checkpoint, locked, save_checkpoint
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)  # with the first checkpoint half written
with locked(Path({str(tmp_path)!r})):
    save_checkpoint(Path({str(tmp_path)!r}), Checkpoint({{}}, {{}}, {{}}))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    left = [path.name for path in tmp_path.iterdir()]
    assert len(left) == 2 and ".lock" in left
    assert load_checkpoint(tmp_path, IDENTITY) is None
    with locked(tmp_path):
        save_checkpoint(tmp_path, some())
    assert [path.name for path in tmp_path.iterdir()] == ["000001"]


def test_only_the_newest_is_kept(tmp_path: Path) -> None:
    assert load_checkpoint(tmp_path / "new", IDENTITY) is None
    for n in range(3):
        save_checkpoint(tmp_path / "new", some(n))
        assert loaded(tmp_path / "new").plain["n"] == n
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["000003"]


def calls_of(name: str, monkeypatch: pytest.MonkeyPatch, fail_at: int, of: Any) -> None:
    """Let the call number `fail_at` of a function fail as on a full disk."""
    n_calls, real = 0, getattr(of, name)

    def failing(*arguments: Any, **named: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if n_calls > fail_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments, **named)

    monkeypatch.setattr(of, name, failing)


@pytest.mark.parametrize(
    ("of", "name"),
    [(model_file, "new_file"), (Path, "rename"), (os, "fsync"), (Path, "mkdir"), (writing, "_sync_tree")],
)
@pytest.mark.parametrize("fail_at", [0, 2])
def test_a_full_disk_at_any_step_keeps_a_whole_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: Any, name: str, fail_at: int
) -> None:
    save_checkpoint(tmp_path, some(1))
    calls_of(name, monkeypatch, fail_at, of)
    try:
        save_checkpoint(tmp_path, some(2))
    except OutputError as error:
        assert "No space left" in str(error)
        assert "\n" not in str(error)
    monkeypatch.undo()
    assert loaded(tmp_path).plain["n"] in (1, 2)
    save_checkpoint(tmp_path, some(3))
    assert [path.name for path in tmp_path.iterdir() if not path.name.isdigit()] == []
    assert loaded(tmp_path).plain["n"] == 3


def test_killed_between_the_new_one_and_the_end_of_the_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint(tmp_path, some(1))
    rmtree = shutil.rmtree

    def kills(path: Path, **named: Any) -> None:
        if Path(path).name == "000001":
            raise KeyboardInterrupt
        rmtree(path, **named)

    monkeypatch.setattr(shutil, "rmtree", kills)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(tmp_path, some(2))
    monkeypatch.undo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000001", "000002"]
    assert loaded(tmp_path).plain["n"] == 2
    save_checkpoint(tmp_path, some(3))
    assert [path.name for path in tmp_path.iterdir()] == ["000003"]


@needs_proc
def test_everything_is_on_the_disk_before_it_gets_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def noted_fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    def noted_rename(path: Path, target: Path) -> Path:
        synced.append(f"-> {Path(target).name}")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "rename", noted_rename)
    save_checkpoint(tmp_path / "c", some())
    before = synced[: synced.index("-> 000001")]
    assert {"manifest.json", "tensors.safetensors", "000001"} <= set(before)
    assert synced[-1] == "c"


@pytest.mark.parametrize("name", ["manifest.json", "tensors.safetensors"])
@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, name: str, damage: str) -> None:
    save_checkpoint(tmp_path, some())
    path = tmp_path / "000001" / name
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        flipped = content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
        path.write_bytes(content[:-5] if damage == "cut" else flipped)
    with pytest.raises(ModelError) as refused:
        load_checkpoint(tmp_path, IDENTITY)
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("part", IDENTITY)
def test_a_checkpoint_of_something_else_is_refused_by_name(tmp_path: Path, part: str) -> None:
    save_checkpoint(tmp_path, some())
    with pytest.raises(ModelError, match=f"a checkpoint of another {part.removesuffix('_sha256')}"):
        load_checkpoint(tmp_path, IDENTITY | {part: "another"})


def test_read_while_a_stream_goes_on_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between looking and reading the next one has taken its place."""
    save_checkpoint(tmp_path, some(1))
    load, n_calls = model_file.load, 0

    def overtaken(folder: Path, format: model_file.Format) -> model_file.Artifact:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 1:
            save_checkpoint(tmp_path, some(2))
        return load(folder, format)

    monkeypatch.setattr(model_file, "load", overtaken)
    assert (loaded(tmp_path).plain["n"], n_calls) == (2, 2)


def test_a_model_is_no_checkpoint(tmp_path: Path) -> None:
    model_file.save(tmp_path / "000001", model_file.Artifact({}, {}, {}))
    with pytest.raises(ModelError, match=r"\(it is a model\)"):
        load_checkpoint(tmp_path, IDENTITY)


def test_a_checkpoint_is_no_model(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, some())
    with pytest.raises(ModelError, match=r"\(it is a checkpoint\)"):
        Rondo.load(tmp_path / "000001")
    with pytest.raises(OutputError, match="not a model folder"):
        model_file.save(tmp_path / "000001", model_file.Artifact({}, {}, {}))


def test_a_checkpoint_whose_parts_do_not_fit_is_refused(tmp_path: Path) -> None:
    about = {"plain": {}, "tensors": {"x": ["<f4", [3]]}}
    for tensors in ({}, {"x": np.zeros(2, np.uint32)}):
        stored = model_file.Artifact(dict(IDENTITY), about, tensors)
        model_file.save(tmp_path / "000001", stored, model_file.CHECKPOINT)
        with pytest.raises(ModelError, match="not fit together"):
            load_checkpoint(tmp_path, IDENTITY)


def test_a_folder_with_files_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"got 'notes\.txt'"):
        load_checkpoint(tmp_path, IDENTITY)


def test_a_place_that_cannot_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="expected a folder"):
        save_checkpoint(tmp_path / "file" / "c", some())
    with pytest.raises(ModelError, match="cannot be read"):
        load_checkpoint(tmp_path / "file", IDENTITY)


def test_the_fingerprint_of_a_model_changes_with_any_byte_and_name(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("12")
    (tmp_path / "b").write_text("3")
    prints = [fingerprint(tmp_path)]
    (tmp_path / "b").write_text("4")
    prints.append(fingerprint(tmp_path))
    (tmp_path / "b").rename(tmp_path / "c")
    prints.append(fingerprint(tmp_path))
    (tmp_path / "a").write_text("1")
    (tmp_path / "c").write_text("24")
    prints.append(fingerprint(tmp_path))
    assert len(set(prints)) == 4


def test_the_order_of_settings_does_not_matter() -> None:
    assert settings_hash({"a": 1, "b": 2}) == settings_hash({"b": 2, "a": 1}) != settings_hash({"a": 1, "b": 3})


def test_two_cannot_write_the_same_checkpoint(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(OutputError, match="another process"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass
