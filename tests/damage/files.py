"""Text files and arrays that a logger, a spreadsheet or an editor has damaged."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd

from tests.damage.case import NAMES, RATE, Clean, Given, case

LINE = 300  # of the file, that is damaged
HEADER = ",".join(("time", *NAMES))


def _lines(clean: Clean, folder: Path) -> list[str]:
    return clean.csv(folder / "clean.csv").read_text().splitlines()


def _text(folder: Path, lines: list[str], end: str = "\n", encoding: str = "utf-8") -> Path:
    path = folder / "day.csv"
    path.write_bytes((end.join(lines) + end).encode(encoding))
    return path


@case("discover", "label", names="last|cut|line")
def the_last_line_torn(clean: Clean, folder: Path) -> Given:
    path = _text(folder, _lines(clean, folder))
    path.write_bytes(path.read_bytes()[:-30])
    return Given(path, np.arange(clean.n - 1), rate=None)


def _with_line(clean: Clean, folder: Path, place: int, *more: str) -> Given:
    lines = _lines(clean, folder)
    return Given(_text(folder, [*lines[:place], *more, *lines[place:]]), np.arange(clean.n), rate=None)


@case("discover", "label", names=f"line {LINE + 1}|heading|header|repeat")
def the_header_again(clean: Clean, folder: Path) -> Given:
    return _with_line(clean, folder, LINE, HEADER)


@case("discover", "label", names=f"line {LINE + 1}")
def stray_text(clean: Clean, folder: Path) -> Given:
    return _with_line(clean, folder, LINE, "WiFi reconnected")


@case("discover", "label", names=r"line 6,?001")
def stray_text_far_down(clean: Clean, folder: Path) -> Given:
    return _with_line(clean, folder, 6_000, "WiFi reconnected")


@case("discover", names=r"line 1,?201")
def stray_text_and_the_header_again(clean: Clean, folder: Path) -> Given:
    return _with_line(clean, folder, 1_200, "logger restarted", HEADER)


@case("discover", "label", names=r"line 1,?7\d\d")
def stray_text_among_lines_of_json(clean: Clean, folder: Path) -> Given:
    lines = clean.timed().round(5).to_json(orient="records", lines=True).splitlines()
    path = folder / "day.jsonl"
    path.write_text("\n".join([*lines[:1_720], "WiFi reconnected", *lines[1_721:]]) + "\n")
    return Given(path, np.delete(np.arange(clean.n), 1_720), rate=None)


@case("discover", names=r"line 5,?0\d\d")
def two_tables_in_one_file(clean: Clean, folder: Path) -> Given:
    lines = _lines(clean, folder)
    second = ["time,temperature,humidity", *(f"{k / 10:g},{20 + k % 7},{50 + k % 3}" for k in range(2_000))]
    return Given(_text(folder, [*lines[:5_001], "", *second]), np.arange(5_000), rate=None)


@case("discover", "label")
def decimal_commas(clean: Clean, folder: Path) -> Path:
    return clean.csv(folder / "day.csv", sep=";", decimal=",")


@case("discover", "label", names="decimal|separator|comma|column")
def decimal_commas_between_commas(clean: Clean, folder: Path) -> Path:
    return clean.csv(folder / "day.csv", sep=",", decimal=",", quoting=0)


@case("discover", "label")
def decimal_commas_with_exponents(clean: Clean, folder: Path) -> Path:
    return clean.csv(folder / "day.csv", sep=";", decimal=",", float_format="%.6e")


@case("discover", "label", names="dot|thousand")
def dots_between_thousands(clean: Clean, folder: Path) -> Given:
    table = clean.frame()
    for name in NAMES:
        table[name] = [f"{round(8_000 * value):,}".replace(",", ".") for value in table[name]]
    return Given(clean.csv(folder / "day.csv", table, sep=";"))


@case("discover", "label", names="comma")
def commas_between_thousands(clean: Clean, folder: Path) -> Path:
    table = clean.timed()
    for name in NAMES:
        table[name] = [f"{round(8_000 * value):,}" for value in table[name]]
    return clean.csv(folder / "day.csv", table)


@case("discover", "label", names=f"{NAMES[2]}|text|missing|no number")
def words_among_the_numbers(clean: Clean, folder: Path) -> Path:
    table = clean.timed().round(5).astype({NAMES[2]: object})
    table.loc[::50, NAMES[2]] = "#REF!"
    return clean.csv(folder / "day.csv", table)


@case("discover", "label", names=f"holds text|lacks.*{NAMES[0]}")
def units_in_the_cells(clean: Clean, folder: Path) -> Path:
    table = clean.timed().round(4)
    for name in NAMES[:3]:
        table[name] = table[name].astype(str) + " g"
    return clean.csv(folder / "day.csv", table)


@case("discover", "label", names=NAMES[0])
def a_mark_behind_some_numbers(clean: Clean, folder: Path) -> Path:
    table = clean.timed().round(4).astype({NAMES[0]: object})
    table.loc[::20, NAMES[0]] = table.loc[::20, NAMES[0]].astype(str) + "*"
    return clean.csv(folder / "day.csv", table)


@case("discover", "label", names="column|text|number")
def minus_signs_of_a_word_processor(clean: Clean, folder: Path) -> Path:
    path = clean.csv(folder / "day.csv")
    path.write_text(path.read_text().replace("-", "\N{MINUS SIGN}"), encoding="utf-8")
    return path


@case("discover", "label", names="column|text|number")
def dates_that_a_spreadsheet_made_of_numbers(clean: Clean, folder: Path) -> Path:
    table = clean.timed().round(2).astype({NAMES[1]: object})
    is_date = table[NAMES[1]].between(1, 9)
    table.loc[is_date, NAMES[1]] = [f"{int(value)}. Jan" for value in table.loc[is_date, NAMES[1]]]
    return clean.csv(folder / "day.csv", table)


@case("discover", "label")
def lines_of_comments(clean: Clean, folder: Path) -> Given:
    lines = _lines(clean, folder)
    return Given(_text(folder, ["# logger 3", "# site: hall 2", *lines]), np.arange(clean.n), rate=None)


@case("discover", "label", names="line 301|#")
def a_comment_among_the_rows(clean: Clean, folder: Path) -> Given:
    return _with_line(clean, folder, LINE, "# battery changed")


@case("discover", "label")
def text_of_utf_16(clean: Clean, folder: Path) -> Path:
    return _text(folder, _lines(clean, folder), encoding="utf-16")


@case("discover")
def a_header_of_latin_1(clean: Clean, folder: Path) -> Path:
    lines = _lines(clean, folder)
    return _text(folder, [lines[0].replace("pressure", "Größe °C"), *lines[1:]], encoding="latin-1")


@case("discover", "label")
def a_byte_order_mark(clean: Clean, folder: Path) -> Path:
    return _text(folder, _lines(clean, folder), encoding="utf-8-sig")


@case("discover", "label")
def lines_that_end_in_three_ways(clean: Clean, folder: Path) -> Path:
    path = _text(folder, _lines(clean, folder), end="\r\n")
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n", 500))
    return path


@case("discover", "label", names="empty|blank|line")
def empty_lines_between(clean: Clean, folder: Path) -> Path:
    return _text(folder, _lines(clean, folder), end="\n\n")


@case("discover", "label", names="line 301|cells|columns")
def a_comma_too_many(clean: Clean, folder: Path) -> Path:
    lines = _lines(clean, folder)
    lines[LINE] = lines[LINE].replace(",", ",,", 1)
    return _text(folder, lines)


@case("discover", "label", names="line|cells|columns")
def a_column_more_from_the_middle(clean: Clean, folder: Path) -> Path:
    lines = _lines(clean, folder)
    return _text(folder, lines[:5_001] + [line.replace(",", ",7,", 1) for line in lines[5_001:]])


@case("discover", "label")
def tabs_in_a_csv(clean: Clean, folder: Path) -> Path:
    return clean.csv(folder / "day.csv", sep="\t")


@case("discover", "label")
def columns_aligned_by_spaces(clean: Clean, folder: Path) -> Path:
    path = folder / "day.txt"
    path.write_text(clean.timed().round(5).to_string(index=False))
    return path


@case("discover", "label", names="ch|name")
def no_header(clean: Clean, folder: Path) -> Path:
    return clean.csv(folder / "day.csv", header=False)


@case("discover", "label", names="valid|True")
def a_column_of_true_and_false(clean: Clean, folder: Path) -> Path:
    return clean.csv(folder / "day.csv", clean.timed(valid=np.arange(clean.n) % 400 < 200))


@case("discover", "label", names="back|restart|split|clock")
def two_recordings_in_one_file(clean: Clean, folder: Path) -> Path:
    half = clean.timed().iloc[:5_000]
    second = clean.timed().iloc[5_000:].assign(time=half.time.to_numpy())
    return clean.csv(folder / "day.csv", pd.concat([half, second]))


@case("discover", "label", names="cut|damaged|end")
def a_packed_file_cut(clean: Clean, folder: Path) -> Path:
    path = folder / "day.csv.gz"
    packed = gzip.compress(clean.csv(folder / "clean.csv").read_bytes())
    path.write_bytes(packed[: len(packed) // 2])
    return path


@case("discover", "label")
def numbers_of_big_machines(clean: Clean, folder: Path) -> Given:
    np.savez(folder / "day.npz", X=np.asfortranarray(clean.values.astype(">f8")), rate=RATE, channels=list(NAMES))
    return Given(folder / "day.npz", rate=None)


@case("discover", "label")
def an_archive_with_labels(clean: Clean, folder: Path) -> Given:
    np.savez(folder / "day.npz", X=clean.values, y=np.arange(clean.n) // 700 % 3, rate=RATE, channels=list(NAMES))
    return Given(folder / "day.npz", rate=None)


@case("discover", names="several|two|key|a, b|'a'")
def an_archive_of_two_arrays(clean: Clean, folder: Path) -> Given:
    np.savez(folder / "day.npz", a=clean.values, b=clean.values[::-1])
    return Given(folder / "day.npz")


@case("discover", "label")
def whole_numbers_in_parquet(clean: Clean, folder: Path) -> Path:
    path = folder / "day.parquet"
    table = clean.frame(clean.values / clean.deviation * 1_000).astype("int16")
    table.assign(time=clean.timed()["time"]).to_parquet(path)
    return path


@case("discover", names=r"day\.csv", by_command=True)
def a_file_of_headers_only(clean: Clean, folder: Path) -> Path:
    return _text(folder, [HEADER])


@case("discover", names=r"day\.csv", by_command=True)
def an_empty_file(clean: Clean, folder: Path) -> Path:
    (folder / "day.csv").touch()
    return folder / "day.csv"


@case("discover", "label", names="65,?535|outside|no measurement|missing|4,?00", by_command=True)
def one_bad_packet(clean: Clean, folder: Path) -> Path:
    table = clean.timed()
    table.iloc[4_000, 1:] = 65_535
    return clean.csv(folder / "day.csv", table)


@case("label", names="does not fit|one activity", by_command=True)
def one_activity_only(clean: Clean, folder: Path) -> Given:
    unit = np.unique(clean.labelled[clean.labelled >= 0])[0]
    rows = np.flatnonzero(clean.labelled == unit)
    table = clean.frame(clean.values[rows])
    return Given(clean.csv(folder / "rest.csv", table), rows)


@case("discover", "label", names=NAMES[1], by_command=True)
def a_stuck_channel_in_a_file(clean: Clean, folder: Path) -> Path:
    table = clean.timed()
    table.loc[3_000:7_000, NAMES[1]] = table.loc[3_000, NAMES[1]]
    return clean.csv(folder / "day.csv", table)
