"""The same numbers in binary formats, written by other libraries or byte by byte: valid, but not the usual way."""

import sqlite3
import struct
from pathlib import Path

import numpy as np

from tests.fuzz.outside_base import NAMES, RATE
from tests.fuzz.outside_texts import Writer


def parquet(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "t.parquet"
    number = [pa.float64(), pa.float32(), pa.decimal128(10, 3)][int(rng.integers(3))]
    columns = {"time": pa.array(np.arange(len(values)) / RATE)}
    for name, column in zip(NAMES, values.T, strict=True):
        plain = pa.array(column)
        columns[name] = (
            plain.cast(number) if not pa.types.is_decimal(number) else plain.cast(pa.float64()).cast(number, safe=False)
        )
    extra = int(rng.integers(5))
    if extra == 1:
        columns["who"] = pa.array(["a"] * len(values)).dictionary_encode()
    elif extra == 2:
        columns["nested"] = pa.array([{"q": [1, 2]}] * len(values))
    elif extra == 3:
        columns["time"] = pa.array(
            (np.arange(len(values)) * 20_000 + 1_700_000_000_000_000).astype("datetime64[us]")
        ).cast(pa.timestamp("us", tz="Europe/London"))
    elif extra == 4:
        columns["nothing"] = pa.nulls(len(values))
    codec = str(rng.choice(["snappy", "zstd", "gzip", "brotli", "none"]))
    pq.write_table(
        pa.table(columns),
        path,
        compression=codec,
        row_group_size=int(rng.integers(7, 2000)),
        data_page_version=str(rng.choice(["1.0", "2.0"])),
    )
    return path


def _any_array(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    kinds = [values, np.asfortranarray(values), values.astype(">f8"), values.astype("<f4"), values[::-1][::-1]]
    return kinds[int(rng.integers(len(kinds)))]


def npz(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.npz"
    save = np.savez if rng.random() < 0.5 else np.savez_compressed
    names = [np.array(NAMES), np.array(NAMES, dtype="S"), np.array(NAMES)[None, :]][int(rng.integers(2))]
    key = str(rng.choice(["X", "values"]))
    save(path, **{key: _any_array(rng, values), "rate": np.float32(RATE), "channels": names})
    return path


def npy(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.npy"
    with path.open("wb") as opened:
        version = [(1, 0), (2, 0), (3, 0)][int(rng.integers(3))]
        np.lib.format.write_array(opened, _any_array(rng, values), version=version)
    return path


def h5(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    import h5py

    path = folder / str(rng.choice(["t.h5", "t.hdf5"]))
    with h5py.File(path, "w", libver=str(rng.choice(["earliest", "latest"]))) as opened:
        where = opened if rng.random() < 0.5 else opened.create_group("deep/down")
        options = [
            {},
            {"chunks": (100, 3), "compression": "gzip", "shuffle": True},
            {"fletcher32": True, "maxshape": (None, 3)},
        ]
        where.create_dataset("X", data=_any_array(rng, values), **options[int(rng.integers(3))])
        where["rate"] = RATE
        where["channels"] = [name.encode() for name in NAMES]
    return path


def mat(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    from scipy.io import savemat

    path = folder / "t.mat"
    held = values if rng.random() < 0.5 else values.T
    form = str(rng.choice(["4", "5"]))
    compress = bool(rng.random() < 0.5) and form == "5"
    savemat(path, {"X": held, "fs": RATE, "channels": list(NAMES)}, format=form, do_compression=compress)
    return path


def xlsx(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    import xlsxwriter

    path = folder / "t.xlsx"
    book = xlsxwriter.Workbook(str(path))
    if rng.random() < 0.5:
        book.add_worksheet("about").write(0, 0, "=not a formula")
    sheet = book.add_worksheet("Daten é")
    top = int(rng.integers(0, 4))
    for line in range(top):
        sheet.write(line, 0, "remark")
    for n, name in enumerate(["time", *NAMES]):
        sheet.write(top, n, name)
    formula = rng.random() < 0.3
    for line, row in enumerate(values):
        sheet.write_number(top + 1 + line, 0, line / RATE)
        for n, value in enumerate(row):
            if formula:
                sheet.write_formula(top + 1 + line, n + 1, f"={value}*1", None, float(value))
            else:
                sheet.write_number(top + 1 + line, n + 1, float(value))
    if rng.random() < 0.5:
        sheet.write(top + len(values) + 30, 0, " ")
    book.close()
    return path


def edf(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    import pyedflib

    kind = str(rng.choice(["edf", "bdf"]))
    path = folder / f"t.{kind}"
    form = pyedflib.FILETYPE_EDFPLUS if kind == "edf" else pyedflib.FILETYPE_BDFPLUS
    writer = pyedflib.EdfWriter(str(path), 3, file_type=form)
    top = 32767 if kind == "edf" else 8388607
    limits = {"dimension": "g", "sample_frequency": RATE, "physical_max": 10.0, "physical_min": -10.0}
    limits |= {"digital_max": top, "digital_min": -top - 1, "transducer": "", "prefilter": ""}
    writer.setSignalHeaders([{"label": name, **limits} for name in NAMES])
    writer.writeSamples([np.ascontiguousarray(column) for column in values.T])
    if rng.random() < 0.5:
        writer.writeAnnotation(1.0, 2.0, "turn")
    writer.close()
    return path


def c3d(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    import ezc3d

    path = folder / "t.c3d"
    held = ezc3d.c3d()
    held["parameters"]["POINT"]["RATE"]["value"] = [RATE]
    held["parameters"]["POINT"]["LABELS"]["value"] = ("a",)
    points = np.ones((4, 1, len(values)))
    points[:3, 0, :] = values.T
    held["data"]["points"] = points
    held.write(str(path))
    return path


def _chunk(tag: int, content: bytes) -> bytes:
    body = struct.pack("<H", tag) + content
    return b"\x04" + struct.pack("<I", len(body)) + body


def xdf(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    """XDF 1.0 by its specification: a file header, a stream header, samples with time stamps, a footer."""
    path = folder / "t.xdf"
    names = "".join(f"<channel><label>{name}</label></channel>" for name in NAMES)
    head = "<?xml version='1.0'?><info><name>imu</name><type>IMU</type><channel_count>3</channel_count>"
    head += f"<nominal_srate>{RATE:g}</nominal_srate><channel_format>double64</channel_format>"
    head += f"<created_at>1</created_at><desc><channels>{names}</channels></desc></info>"
    data = b"XDF:" + _chunk(1, b"<?xml version='1.0'?><info><version>1.0</version></info>")
    data += _chunk(2, struct.pack("<I", 1) + head.encode())
    size = int(rng.integers(20, 300))
    for begin in range(0, len(values), size):
        part = values[begin : begin + size]
        body = struct.pack("<I", 1) + b"\x04" + struct.pack("<I", len(part))
        for n, row in enumerate(part, begin):
            body += b"\x08" + struct.pack("<d", 100 + n / RATE) + struct.pack("<3d", *row)
        data += _chunk(3, body)
    path.write_bytes(
        data + _chunk(6, struct.pack("<I", 1) + b"<?xml version='1.0'?><info><sample_count>1</sample_count></info>")
    )
    return path


def _fit_sum(data: bytes) -> int:
    table = (
        0x0000,
        0xCC01,
        0xD801,
        0x1400,
        0xF001,
        0x3C00,
        0x2800,
        0xE401,
        0xA001,
        0x6C00,
        0x7800,
        0xB401,
        0x5000,
        0x9C01,
        0x8801,
        0x4400,
    )
    total = 0
    for byte in data:
        for nibble in (byte & 15, byte >> 4):
            total = (total >> 4) & 0x0FFF ^ table[total & 15] ^ table[nibble]
    return total


def fit(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    """A FIT file: a definition of `record` messages (time, heart rate, power, cadence), and one of them per second."""
    path = folder / "t.fit"
    body = bytes([0x40, 0, 0]) + struct.pack("<H", 20) + bytes([4, 253, 4, 0x86, 3, 1, 0x02, 7, 2, 0x84, 4, 1, 0x02])
    scaled = np.clip((values + 5) * 20, 1, 250).astype(int)
    for n, row in enumerate(scaled):
        body += bytes([0]) + struct.pack("<IBHB", 1_000_000_000 + n, row[0], row[1], row[2])
    head = struct.pack("<BBHI4s", 14, 0x20, 2132, len(body), b".FIT")
    data = head + struct.pack("<H", _fit_sum(head)) + body
    path.write_bytes(data + struct.pack("<H", _fit_sum(data)))
    return path


def gpx(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.gpx"
    points = []
    for n, row in enumerate(values):
        moment = np.datetime64(1_700_000_000 + n, "s")
        points.append(
            f'<trkpt lat="{50 + row[0] / 100:.6f}" lon="{8 + row[1] / 100:.6f}">'
            f"<ele>{row[2]:.2f}</ele><time>{moment}Z</time></trkpt>"
        )
    space = 'xmlns="http://www.topografix.com/GPX/1/1"' if rng.random() < 0.7 else ""
    path.write_text(
        f'<?xml version="1.0"?><gpx version="1.1" creator="x" {space}>'
        f"<trk><trkseg>{''.join(points)}</trkseg></trk></gpx>"
    )
    return path


def agd(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.agd"
    held = sqlite3.connect(path)
    held.execute("create table settings (settingID integer primary key, settingName text, settingValue text)")
    pairs = [("epochlength", "1"), ("startdatetime", "638000000000000000"), ("epochcount", str(len(values)))]
    held.executemany("insert into settings (settingName, settingValue) values (?, ?)", pairs)
    held.execute("create table data (dataTimestamp integer primary key, axis1 integer, axis2 integer, axis3 integer)")
    counts = np.clip((values + 5) * 100, 0, None).astype(int).tolist()
    held.executemany(
        "insert into data values (?, ?, ?, ?)",
        [(638_000_000_000_000_000 + n * 10_000_000, *row) for n, row in enumerate(counts)],
    )
    held.commit()
    held.close()
    return path


WITH_NAMES: tuple[Writer, ...] = (parquet, npz, h5, mat, xlsx, edf, xdf)  # their channels are those of the reference
OTHERS: tuple[Writer, ...] = (npy, c3d, fit, gpx, agd)
