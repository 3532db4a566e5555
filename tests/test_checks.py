"""`rondo.checks`: parts of Rondo pass, and a part that breaks a promise is caught by the check that names it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rondo.checks
from rondo.annotations.formats import ANNOTATION_FORMATS
from rondo.checks import check_annotation_format, check_encoder, check_format, check_method
from rondo.data.recording import Recording
from rondo.encoders import summary_stats
from rondo.errors import MissingExtraError
from rondo.files.reading import RECORDING_FORMATS, RecordingFormat
from rondo.methods import find_method
from tests.registered import register
from tests.test_methods import ThresholdMethod

SMALL: dict[str, dict[str, Any]] = {"rondo": {"windows.length": 20, "evidence.surrogates": 0}}


def test_every_name_is_there() -> None:
    assert all(hasattr(rondo.checks, name) for name in rondo.checks.__all__)
    with pytest.raises(AttributeError, match="check_everything"):
        rondo.checks.check_everything  # noqa: B018


@pytest.mark.parametrize("name", [name for name, one in ANNOTATION_FORMATS.items() if one.read and one.write])
def test_annotation_formats_keep_their_promises(name: str) -> None:
    try:
        check_annotation_format(ANNOTATION_FORMATS[name])
    except MissingExtraError as error:
        pytest.skip(str(error))


def test_an_encoder_that_sees_its_batch_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = type(summary_stats.ENCODER.build(summary_stats.ENCODER.settings(), 0, "cpu"))
    whole = summary_stats.ENCODER

    class Leaky:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def fit(self, windows: Any, progress: Any = None) -> Any:
            inner = self.inner.fit(windows)
            return LeakyFitted(inner)

        restore = fitted.restore

    class LeakyFitted:
        curves: dict[str, Any] = {}  # noqa: RUF012

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def encode(self, windows: Any) -> Any:
            encoded = self.inner.encode(windows)
            return encoded - encoded.mean(axis=0) if len(encoded) else encoded

        def tensors(self) -> Any:
            return self.inner.tensors()

    broken = replace(whole, build=lambda settings, seed, device: Leaky(whole.build(settings, seed, device)))
    with pytest.raises(AssertionError) as caught:
        check_encoder(broken)
    assert "part_of_a_grid_is_part_of_the_encoding" in caught.value.__notes__[0]


def test_a_method_that_takes_every_setting_is_caught() -> None:
    class Careless(ThresholdMethod):
        def configure(self, options: Any) -> float:
            return 0.5

    with pytest.raises(AssertionError) as caught:
        check_method(Careless())
    assert "an_unknown_setting_is_refused_in_one_line" in caught.value.__notes__[0]


def test_a_method_that_draws_from_global_numbers_is_caught() -> None:
    class Drawing(ThresholdMethod):
        def discover(self, *arguments: Any) -> Any:
            np.random.random()  # noqa: NPY002
            return super().discover(*arguments)

    with pytest.raises(AssertionError) as caught:
        check_method(Drawing())
    assert "all_else_is_left_alone" in caught.value.__notes__[0]


def test_a_format_that_nobody_finds_is_refused(tmp_path: Path) -> None:
    known = next(iter(RECORDING_FORMATS.values()))
    with pytest.raises(AssertionError, match="installed package"):
        check_format(replace(known, help="another"), tmp_path / f"a{known.suffixes[0]}")


def test_a_format_that_reads_anything_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: Path, reading: object) -> Recording:
        return Recording(np.frombuffer(path.read_bytes(), np.uint8)[:, None].astype(np.float32), id=path.stem)

    careless = RecordingFormat(name="careless", suffixes=(".raw",), read=read, help="bytes")
    monkeypatch.setitem(RECORDING_FORMATS._declared, "careless", careless)
    (tmp_path / "a.raw").write_bytes(bytes(range(200)))
    with pytest.raises(AssertionError) as caught:
        check_format(careless, tmp_path / "a.raw")
    assert "a_picture_is_no_recording" in caught.value.__notes__[0]


@pytest.mark.promise
@pytest.mark.parametrize("name", ["rondo", "clock", pytest.param("threshold", id="of another package")])
def test_every_method_keeps_its_promises(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, tmp_path / "site", threshold="tests.test_methods:METHOD")
    check_method(find_method(name), SMALL.get(name))
