"""Cases about files that try to run code, to read other files, or to fill the memory."""

import gzip
import io
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.fuzz.outside_base import Base
from tests.fuzz.outside_checks import Case


class _Touch:
    """Unpickled, it makes a file: what reads it has run code."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return (os.mkdir, ("PWNED",))


def hostile_content(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """Files that try to run code, to read other files, or to fill the memory."""
    kind = (
        "npy pickle",
        "npz pickle",
        "gz bomb",
        "npz bomb",
        "npy huge header",
        "h5 external",
        "xlsx entity",
        "gpx entity",
        "h5 link",
        "npz path",
        "deep json",
        "long line",
        "parquet huge",
        "mat func",
    )[n % 14]
    secret = work / "secret.bin"
    secret.write_bytes(np.arange(3000, dtype="<f8").tobytes())
    if kind == "npy pickle":
        np.save(work / "h.npy", np.array([_Touch()] * 4, dtype=object), allow_pickle=True)
        path = work / "h.npy"
    elif kind == "npz pickle":
        np.savez(
            path := work / "h.npz", X=base.values, channels=np.array([_Touch()] * 3, dtype=object), allow_pickle=True
        )
    elif kind == "gz bomb":
        with gzip.open(path := work / "h.csv.gz", "wb", 9) as opened:
            opened.write(b"time,a\n")
            for _ in range(400):
                opened.write(b"0" * (1 << 20))
    elif kind == "npz bomb":
        with (
            zipfile.ZipFile(path := work / "h.npz", "w", zipfile.ZIP_DEFLATED) as held,
            held.open("X.npy", "w", force_zip64=True) as opened,
        ):
            np.lib.format.write_array_header_1_0(
                opened, {"descr": "<f8", "fortran_order": False, "shape": (6_000_000_000, 2)}
            )
            for _ in range(200):
                opened.write(bytes(1 << 20))
    elif kind == "npy huge header":
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (10**15, 3)})
        (path := work / "h.npy").write_bytes(head.getvalue() + bytes(900))
    elif kind in ("h5 external", "h5 link"):
        import h5py

        with h5py.File(path := work / "h.h5", "w") as opened:
            if kind == "h5 external":
                opened.create_dataset("X", (1000, 3), "f8", external=[("secret.bin", 0, h5py.h5f.UNLIMITED)])
            else:
                opened["X"] = h5py.ExternalLink("secret.bin", "/X")
    elif kind in ("xlsx entity", "gpx entity"):
        bomb = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
            f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">' for i in range(8)
        )
        if kind == "gpx entity":
            (path := work / "h.gpx").write_text(
                bomb + ']><gpx version="1.1"><trk><trkseg><name>&i;</name></trkseg></trk></gpx>'
            )
        else:
            with zipfile.ZipFile(path := work / "h.xlsx", "w") as held:
                held.writestr("[Content_Types].xml", bomb + "]><Types>&i;</Types>")
                held.writestr("xl/workbook.xml", bomb + "]><workbook>&i;</workbook>")
    elif kind == "npz path":
        with zipfile.ZipFile(path := work / "h.npz", "w") as held:
            data = io.BytesIO()
            np.save(data, base.values)
            held.writestr("../../X.npy", data.getvalue())
    elif kind == "deep json":
        (path := work / "h.jsonl").write_text(('{"a":' * 50_000 + "1" + "}" * 50_000 + "\n") * 3)
    elif kind == "long line":
        (path := work / "h.csv").write_text("time,a\n0," + "1" * 30_000_000 + "\n1,2\n")
    elif kind == "parquet huge":
        import pyarrow as pa
        import pyarrow.parquet as pq

        one = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000_000, dtype="int32")), pa.array([1.5]))
        pq.write_table(pa.table({f"c{i}": one for i in range(12)}), path := work / "h.parquet")
    else:
        data = (
            struct.pack("<124sHH", b"MATLAB 5.0 MAT-file", 0x0100, 0x4D49)
            + struct.pack("<II", 14, 0xFFFFFFF0)
            + bytes(64)
        )
        (path := work / "h.mat").write_bytes(data)
    command = [("discover", "--out", "o", "--method", "clock"), ("suggest",)][int(rng.integers(2))]
    reads = command[0] == "discover"
    either = ("npz path", "parquet huge", "long line")
    return Case(
        f"hostile:{kind}",
        (*command, path.name),
        "o" if reads else None,
        "run" if reads else "",
        "either" if kind in either else "refused",
    )
