from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rondo.annotations.annotation import read_annotated, read_labels
from rondo.errors import AnnotationError
from rondo.metrics.scores import evaluate


def refused(path: Path, key: str | None = None) -> str:
    """The one line with which `read_labels` refuses a file; it always names the file."""
    with pytest.raises(AnnotationError) as caught:
        read_labels(path, key)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def saved_csv(folder: Path, text: str) -> Path:
    path = folder / "day1.csv"
    path.write_text(text, encoding="utf-8")
    return path


def saved_npy(folder: Path, array: object) -> Path:
    path = folder / "day1.npy"
    np.save(path, np.asarray(array))
    return path


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint8", "uint64", "bool", "float16", "float64"])
def test_npy_of_any_whole_numbers(tmp_path: Path, kind: str) -> None:
    labels = read_labels(saved_npy(tmp_path, np.array([1, 1, 0], dtype=kind)))
    assert labels.dtype == np.int64 and labels.tolist() == [1, 1, 0]


def test_npz_reads_y_unless_another_key_is_named(tmp_path: Path) -> None:
    path = tmp_path / "day1.npz"
    np.savez(path, X=np.zeros((3, 2)), y=[0, 0, 1], y2=[4, 5, 5])
    assert read_labels(path).tolist() == [0, 0, 1]
    assert read_labels(path, key="y2").tolist() == [4, 5, 5]
    assert "no array 'y3'" in refused(path, key="y3")
    assert "shape (n_frames,), got (3, 2)" in refused(path, key="X")


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("whatever\n3\n3\n5\n", None, [3, 3, 5]),
        ("time,label,x\n0,3,9\n1,4,9\n", None, [3, 4]),
        ("label,y\n1,2\n", None, [2]),
        ("x,Activity ID\n1,7\n2,8\n", None, [7, 8]),
        ("a,b\n1,7\n2,8\n", "b", [7, 8]),
        ("y\n1.0\n2.0\n", None, [1, 2]),
        ("y\n-1\n4", None, [-1, 4]),
        ("y\r\n 1\r\n2 \r\n", None, [1, 2]),
        ("class\nwalk\nsit\nwalk\n", None, [1, 0, 1]),
        ('class\n"walk, fast"\nsit\n', None, [1, 0]),
        ("class\n1\nsit\n", None, [0, 1]),
    ],
)
def test_csv_columns(tmp_path: Path, text: str, key: str | None, expected: list[int]) -> None:
    assert read_labels(saved_csv(tmp_path, text), key).tolist() == expected


@pytest.mark.parametrize(
    ("text", "key", "complaint"),
    [
        ("", None, "csv"),
        ("y\n", None, "empty"),
        ("y\n1\n\n2\n", None, "line 3: no label in column 'y'"),
        ("t,y\n0,1\n1,\n", None, "line 3: no label in column 'y'"),
        ("t,y\n0,1\n1,2,3\n", None, "csv"),
        ("a,b\n1,2\n", None, "'a', 'b'; name one as the key"),
        ("a,b\n1,2\n", "c", "no column 'c', it has 'a', 'b'"),
        ("3\n3\n4\n", None, "first line is '3'; expected a header"),
        ("y\n1\n2.5\n", None, "whole numbers, got 2.5 in frame 1"),
        ("y\n1\nnan\n", None, "whole numbers, got nan in frame 1"),
        ("y\n1\n99999999999999999999\n", None, "whole numbers"),
    ],
)
def test_bad_csv_is_refused(tmp_path: Path, text: str, key: str | None, complaint: str) -> None:
    assert complaint in refused(saved_csv(tmp_path, text), key)


@pytest.mark.parametrize(
    ("array", "complaint"),
    [
        (np.zeros(0, dtype=int), "empty"),
        (np.zeros((3, 1), dtype=int), "got (3, 1)"),
        (np.array(3), "got ()"),
        (np.array([0.5, 1.0]), "got 0.5 in frame 0"),
        (np.array([1.0, np.inf]), "got inf in frame 1"),
        (np.array([2**63], dtype=np.uint64), "whole numbers"),
        (np.array([1j]), "complex"),
        (np.array([b"walk"]), "S4"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "datetime64"),
        (np.zeros(2, dtype=[("a", int)]), "array of"),
    ],
)
def test_bad_npy_is_refused(tmp_path: Path, array: np.ndarray, complaint: str) -> None:
    assert complaint in refused(saved_npy(tmp_path, array))


def test_a_header_that_promises_endless_empty_names_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "day1.npy"
    with path.open("wb") as stream:
        header = {"descr": "<U0", "fortran_order": False, "shape": (10**15,)}
        np.lib.format.write_array_header_1_0(stream, header)
    assert "U0" in refused(path)


def test_nothing_is_ever_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "day1.npy"
    np.save(path, np.array([1, "walk"], dtype=object), allow_pickle=True)
    assert "Object arrays cannot" in refused(path)
    archive = tmp_path / "day1.npz"
    np.savez(archive, y=np.array([1, None], dtype=object))
    assert "Object arrays cannot" in refused(archive)


def test_missing_foreign_and_misnamed_files_are_refused(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "nowhere.npy")
    assert "not a regular file" in refused(tmp_path)
    text = tmp_path / "notes.txt"
    text.write_text("1\n2\n", encoding="utf-8")
    assert "'.csv', '.npy', '.npz'" in refused(text)
    archive = tmp_path / "archive.npy"
    with archive.open("wb") as stream:
        np.savez(stream, y=[1])
    assert ".npz archive" in refused(archive)
    single = tmp_path / "single.npz"
    with single.open("wb") as stream:
        np.save(stream, [1])
    assert "single .npy array" in refused(single)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv"])
def test_damaged_files_give_labels_or_an_annotation_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"day{suffix}"
    save: dict[str, Callable[..., object]] = {
        ".npy": np.save,
        ".npz": lambda path, y: np.savez(path, y=y),
        ".csv": lambda path, y: path.write_text("y\n1\n2\n"),
    }
    save[suffix](path, np.array([1, 2, 2]))
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(100):
        damaged = np.frombuffer(content, np.uint8).copy()
        damaged[rng.integers(0, damaged.size, rng.integers(0, 4))] = rng.integers(0, 256)
        path.write_bytes(damaged.tobytes()[: rng.integers(0, len(content) + 1)])
        try:
            labels = read_labels(path)
        except AnnotationError as error:
            assert "\n" not in str(error) and str(path) in str(error)
        else:
            assert labels.dtype == np.int64 and labels.ndim == 1 and labels.size > 0


def test_two_files_are_one_pair(tmp_path: Path) -> None:
    truth = saved_csv(tmp_path, "class\nwalk\nsit\nsit\n")
    labels = tmp_path / "predicted.npy"
    np.save(labels, np.array([4, -1, -1], dtype=np.int32))
    found = read_annotated(truth, labels)
    assert list(found) == ["day1"]
    assert found["day1"][0].classes.tolist() == [1, 0, 0] and found["day1"][1].tolist() == [4, -1, -1]


def two_folders(tmp_path: Path) -> tuple[Path, Path]:
    truth, labels = tmp_path / "truth", tmp_path / "run" / "labels"
    truth.mkdir()
    labels.mkdir(parents=True)
    (truth / "meta.json").write_text("{}", encoding="utf-8")
    np.savez(truth / "b.npz", X=np.zeros((2, 1)), y=[0, 1], y2=[5, 5])
    np.savez(truth / "a.npz", X=np.zeros((3, 1)), y=[0, 0, 1], y2=[6, 6, 6])
    np.save(labels / "a.npy", [7, 7, 8])
    np.save(labels / "b.npy", [7, 8])
    return truth, labels


def test_two_folders_are_matched_by_stem(tmp_path: Path) -> None:
    truth, labels = two_folders(tmp_path)
    found = read_annotated(truth, labels, key="y2")
    assert {name: [truth.classes.tolist(), own.tolist()] for name, (truth, own) in found.items()} == {
        "a": [[6, 6, 6], [7, 7, 8]],
        "b": [[5, 5], [7, 8]],
    }


def test_unmatched_files_are_listed(tmp_path: Path) -> None:
    truth, labels = two_folders(tmp_path)
    np.save(labels / "c.npy", [1])
    np.save(labels / "d.npy", [1])
    with pytest.raises(AnnotationError, match=r"truth': .*'c', 'd'"):
        read_annotated(truth, labels)
    for name in "bcd":
        (labels / f"{name}.npy").unlink()
    with pytest.raises(AnnotationError, match=r"labels': .*'b'"):
        read_annotated(truth, labels)


def test_pairs_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    truth, labels = two_folders(tmp_path)
    with pytest.raises(AnnotationError, match="two files or two"):
        read_annotated(truth, labels / "a.npy")
    with pytest.raises(AnnotationError, match="no label tracks"):
        read_annotated(truth, tmp_path / "run")
    with pytest.raises(AnnotationError, match="no such file"):
        read_annotated(truth / "a.npz", tmp_path / "nowhere.npy")
    np.save(labels / "a.npy", [7, 7])
    with pytest.raises(AnnotationError, match=r"a\.npz' has 3 frames, .*a\.npy' has 2"):
        read_annotated(truth, labels)
    (labels / "a.csv").write_text("y\n1\n", encoding="utf-8")
    with pytest.raises(AnnotationError, match="both 'a'; keep one"):
        read_annotated(truth, labels)


def test_a_run_folder_given_instead_of_its_labels_gets_advice(tmp_path: Path) -> None:
    truth, labels = two_folders(tmp_path)
    (labels.parent / "segments.csv").write_text("recording,id\na,1\n", encoding="utf-8")
    with pytest.raises(AnnotationError, match=r"did you mean '.*labels'"):
        read_annotated(truth, labels.parent)


def scores_of(truth: Path, labels: Path) -> dict[str, float]:
    pairs = read_annotated(truth, labels)
    return evaluate({name: (annotation.classes, own) for name, (annotation, own) in pairs.items()}).as_dict()


def test_names_and_numbers_of_classes_score_alike(tmp_path: Path) -> None:
    numbers = np.repeat([10, 2, 10, 3], 5)
    labels = saved_npy(tmp_path, np.repeat([1, 1, 2, 3, 3], 4))
    by_number, by_name = tmp_path / "numbers.csv", tmp_path / "names.csv"
    by_number.write_text("y\n" + "\n".join(map(str, numbers)), encoding="utf-8")
    by_name.write_text("y\n" + "\n".join(f"class {n}" for n in numbers), encoding="utf-8")
    scored = [scores_of(path, labels) for path in (by_number, by_name)]
    assert scored[0] == scored[1]


@pytest.mark.data
def test_real_annotations_score_perfectly_against_themselves(data_dir: Path) -> None:
    folder = data_dir / "MoCap"
    found = scores_of(folder, folder)
    assert found["n_recordings"] == 9
    assert found["mof"] == found["ari"] == found["one_to_one"] == 100.0
