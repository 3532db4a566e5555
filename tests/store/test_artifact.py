"""A model folder: written whole or not at all, read with every fault named, and nothing in it is ever run."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as tensors_of
from safetensors.numpy import save as bytes_of

from rondo.data.recording import Recording
from rondo.errors import ModelError, OutputError
from rondo.model.rondo import Rondo
from rondo.store.model_file import Artifact, load, save
from rondo.synthetic.streams import plant
from tests.store.left_drafts import names_in

MANIFEST, TENSORS = "manifest.json", "tensors.safetensors"
SMALL = Artifact({"seed": 3}, {"python": "3"}, {"a.b": np.arange(6.0).reshape(2, 3), "ids": np.array([1, 2])})
RECORDING = plant(n_frames=4_000, seed=1).recording

quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def small(tmp_path: Path) -> Path:
    save(tmp_path / "model", SMALL)
    return tmp_path / "model"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that Rondo fitted; tests copy it before they damage it."""
    folder = tmp_path_factory.mktemp("whole") / "model"
    Rondo(window=75, seed=0).fit(RECORDING).save(folder)
    return folder


def sealed(folder: Path, manifest: dict[str, Any], tensors: bytes | None = None) -> None:
    """Write a model folder whose checksums fit, as someone would who wants to be let in."""
    if tensors is not None:
        (folder / TENSORS).write_bytes(tensors)
    manifest = {name: value for name, value in manifest.items() if name != "manifest_sha256"}
    manifest["tensors_sha256"] = hashlib.sha256((folder / TENSORS).read_bytes()).hexdigest()
    manifest["manifest_sha256"] = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def manifest_of(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return manifest


# ---------------------------------------------------------------- there and back


def test_what_is_saved_is_loaded(small: Path) -> None:
    again = load(small)
    assert (again.config, again.provenance, again.tensors.keys()) == (
        SMALL.config,
        SMALL.provenance,
        SMALL.tensors.keys(),
    )
    for name, tensor in SMALL.tensors.items():
        npt.assert_array_equal(again.tensors[name], tensor)
        assert again.tensors[name].dtype == tensor.dtype
    assert names_in(small) == [MANIFEST, TENSORS]
    assert names_in(small.parent) == ["model"]


def test_arrays_need_not_be_contiguous(tmp_path: Path) -> None:
    turned = np.arange(6.0).reshape(2, 3).T
    save(tmp_path / "m", Artifact({}, {}, {"t": turned}))
    npt.assert_array_equal(load(tmp_path / "m").tensors["t"], turned)


# ---------------------------------------------------------------- saving


@pytest.mark.parametrize("name", [MANIFEST, "model/thesis.txt"])
def test_other_folders_are_not_replaced(small: Path, name: str) -> None:
    path = small.parent / name
    path.write_text("the only copy")
    with pytest.raises(OutputError, match="not a model folder"):
        save(path.parent, SMALL)
    assert path.read_text() == "the only copy"


def test_a_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("a file")
    with pytest.raises(OutputError, match="not a model folder"):
        save(tmp_path / "model", SMALL)
    with pytest.raises(OutputError, match="cannot be written"):
        save(tmp_path / "model" / "inner", SMALL)


@pytest.mark.parametrize("n_good", [0, 1], ids=["the old cannot be moved", "the new cannot be moved"])
@pytest.mark.parametrize("kind", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["disk", "Ctrl-C"])
def test_a_failure_while_replacing_leaves_the_old_model(
    small: Path, monkeypatch: pytest.MonkeyPatch, n_good: int, kind: BaseException
) -> None:
    before = {name: (small / name).read_bytes() for name in names_in(small)}
    rename, calls = Path.rename, iter(range(9))

    def failing(self: Path, target: Path) -> Path:
        if next(calls) == n_good:
            raise kind
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OutputError if isinstance(kind, OSError) else KeyboardInterrupt):
        save(small, Artifact({"seed": 4}, {}, {}))
    assert {name: (small / name).read_bytes() for name in names_in(small)} == before
    assert names_in(small.parent) == ["model"]


# ---------------------------------------------------------------- faults, by name


def _replaced_by_pickle(folder: Path) -> None:
    blob = pickle.dumps(_Bomb(folder.parent / "exploded"))
    sealed(folder, manifest_of(folder), blob)


class _Bomb:
    """Unpickling this leaves a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return (Path.touch, (self.path,))


def _tensor(name: str, change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        tensors = tensors_of((folder / TENSORS).read_bytes())
        tensors[name] = np.ascontiguousarray(change(tensors[name]))
        sealed(folder, manifest_of(folder), bytes_of(tensors))

    return edit


def _swapped(folder: Path) -> None:
    tensors = tensors_of((folder / TENSORS).read_bytes())
    one, two = "units.projection.mean", "units.vocabulary.centres"
    tensors[one], tensors[two] = tensors[two], tensors[one]
    sealed(folder, manifest_of(folder), bytes_of(tensors))


def _without(prefix: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        tensors = tensors_of((folder / TENSORS).read_bytes())
        kept = {name: tensor for name, tensor in tensors.items() if not name.startswith(prefix)}
        assert len(kept) < len(tensors)
        sealed(folder, manifest_of(folder), bytes_of(kept))

    return edit


def _edited(folder: Path) -> None:
    text = (folder / MANIFEST).read_text(encoding="utf-8")
    (folder / MANIFEST).write_text(text.replace('"seed": 0', '"seed": 1'), encoding="utf-8")


def _manifest(**changes: Any) -> Callable[[Path], None]:
    return lambda folder: sealed(folder, manifest_of(folder) | changes)


def _provenance(**changes: Any) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        manifest = manifest_of(folder)
        sealed(folder, manifest | {"provenance": manifest["provenance"] | changes})

    return edit


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (shutil.rmtree, "no such model folder"),
    "a file": (lambda f: (shutil.rmtree(f), f.write_text("x")), "no such model folder"),
    "empty": (lambda f: [p.unlink() for p in f.iterdir()], MANIFEST),
    "no manifest": (lambda f: (f / MANIFEST).unlink(), MANIFEST),
    "no tensors": (lambda f: (f / TENSORS).unlink(), TENSORS),
    "truncated manifest": (lambda f: os.truncate(f / MANIFEST, 100), "not JSON"),
    "empty manifest": (lambda f: os.truncate(f / MANIFEST, 0), "not JSON"),
    "truncated tensors": (lambda f: os.truncate(f / TENSORS, 100), "truncated or changed"),
    "foreign manifest": (lambda f: (f / MANIFEST).write_text('{"name": "app"}'), "not a Rondo model"),
    "a manifest that is a list": (lambda f: (f / MANIFEST).write_text("[1]"), "not a Rondo model"),
    "a very deep manifest": (lambda f: (f / MANIFEST).write_text("[" * 100_000), "not JSON"),
    "a manifest of other bytes": (lambda f: (f / MANIFEST).write_bytes(b"\xff\xfe{}"), "not JSON"),
    "a manifest that is a folder": (lambda f: ((f / MANIFEST).unlink(), (f / MANIFEST).mkdir()), "regular file"),
    "tensors that are a pipe": (lambda f: ((f / TENSORS).unlink(), os.mkfifo(f / TENSORS)), "regular file"),
    "a link to nowhere": (lambda f: ((f / TENSORS).unlink(), (f / TENSORS).symlink_to("gone")), TENSORS),
    "a link to a device": (lambda f: ((f / TENSORS).unlink(), (f / TENSORS).symlink_to("/dev/zero")), "a link"),
    "a link to itself": (lambda f: ((f / TENSORS).unlink(), (f / TENSORS).symlink_to(TENSORS)), TENSORS),
    "edited": (_edited, "edited"),
    "another schema": (_manifest(schema=2), "model schema 2, this version of Rondo reads 1"),
    "no schema": (_manifest(schema=None), "model schema None"),
    "no configuration": (_manifest(config=None), "edited"),
    "an unknown setting": (_manifest(config={"sneed": 1}), "sneed"),
    "a pickle": (_replaced_by_pickle, "not a safetensors file"),
    "no centres": (_without("units.vocabulary.centres"), "centres"),
    "no motifs": (_without("motifs."), "do not fit together"),
    "swapped tensors": (_swapped, "fit"),
    "a tensor of another shape": (_tensor("units.projection.matrix", lambda t: t[:, :-1]), "do not fit together"),
    "a tensor with NaN": (_tensor("units.projection.matrix", lambda t: t * np.nan), "non-finite"),
    "an id twice": (_tensor("units.vocabulary.ids", np.zeros_like), "ids"),
    "no window": (_provenance(window_length_frames=0), "window"),
    "a window without end": (_provenance(window_length_frames=10**15), "window"),
    "no step": (_provenance(step_frames=0), "step"),
    "a rate of words": (_provenance(rate="fast"), "fast"),
    "no channels": (_provenance(channels=[]), "channels"),
    "channels that repeat": (_provenance(channels=["ch0"] * 6), "ch0"),
    "truncated edits": (lambda f: (f / "edits.json").write_text('{"format": "rondo-edits"'), "edits.json: not JSON"),
    "edits of other bytes": (lambda f: (f / "edits.json").write_bytes(b"\xff\xfe{}"), "edits.json: not JSON"),
    "very deep edits": (lambda f: (f / "edits.json").write_text("[" * 100_000), "edits.json: not JSON"),
    "edits that are a list": (lambda f: (f / "edits.json").write_text("[1]"), "edits.json: not a list of edits"),
    "edits that are a folder": (lambda f: (f / "edits.json").mkdir(), "edits.json: cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_refused_by_name(whole: Path, tmp_path: Path, fault: str) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "model"))
    damage, says = FAULTS[fault]
    damage(folder)
    with pytest.raises(ModelError) as refused:
        Rondo.load(folder)
    assert says in str(refused.value)
    assert str(folder) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "exploded").exists()


# ---------------------------------------------------------------- fuzz


def assert_refused_or_working(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # absurd numbers may overflow, as long as nothing breaks
        try:
            model = Rondo.load(folder)
        except ModelError as refused:
            assert "\n" not in str(refused)
            return
        values = np.random.default_rng(0).normal(size=(300, len(model.preprocessor_.channels)))
        recording = Recording(values, rate=model.rate_, channels=model.preprocessor_.channels)
        assert model.predict(recording).motifs.shape == (300,)


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "model"))


@quick
@given(name=st.sampled_from([MANIFEST, TENSORS]), data=st.data())
def test_any_changed_byte_is_noticed(whole: Path, copy: Path, name: str, data: st.DataObject) -> None:
    blob = bytearray((whole / name).read_bytes())
    if data.draw(st.booleans(), label="cut"):
        blob = blob[: data.draw(st.integers(0, len(blob) - 1), label="length")]
    else:
        at = data.draw(st.integers(0, len(blob) - 1), label="at")
        blob[at] ^= data.draw(st.integers(1, 255), label="flip")
    (copy / name).write_bytes(blob)
    other = MANIFEST if name == TENSORS else TENSORS
    (copy / other).write_bytes((whole / other).read_bytes())
    if name == TENSORS:
        with pytest.raises(ModelError, match="truncated or changed"):
            Rondo.load(copy)
    else:
        assert_refused_or_working(copy)  # white space in JSON may change as it likes


@quick
@given(data=st.data())
def test_changed_tensors_under_a_fitting_checksum(whole: Path, copy: Path, data: st.DataObject) -> None:
    blob = bytearray((whole / TENSORS).read_bytes())
    header = int.from_bytes(blob[:8], "little")
    for _ in range(data.draw(st.integers(1, 4), label="flips")):
        end = data.draw(st.sampled_from([8, 8 + header, len(blob)]), label="part")
        blob[data.draw(st.integers(0, end - 1), label="at")] = data.draw(st.integers(0, 255), label="byte")
    sealed(copy, manifest_of(whole), bytes(blob))
    assert_refused_or_working(copy)


NUMBERS = st.integers(-(10**6), 10**6) | st.floats()  # windows beyond all memory stand in the table above
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.sampled_from(["auto", "2s", "none"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [place for key, each in inner for place in _places(each, (*path, key))]


@quick
@given(data=st.data())
def test_changed_manifests_under_a_fitting_checksum(whole: Path, copy: Path, data: st.DataObject) -> None:
    manifest = manifest_of(whole)
    *path, last = data.draw(st.sampled_from(_places(manifest)), label="place")
    inside: Any = manifest
    for key in path:
        inside = inside[key]
    if data.draw(st.booleans(), label="remove"):
        del inside[last]
    else:
        inside[last] = data.draw(JSON, label="value")
    sealed(copy, manifest, (whole / TENSORS).read_bytes())
    assert_refused_or_working(copy)
