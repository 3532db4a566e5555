"""Folders of one session, as three programs write them: byte for byte after their published layouts."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

E4_START = 1680686620
LOGGER_START_NS = 1707663721288000000

Wave = Callable[[float], float]


def wave(seconds: float) -> float:
    """Something that turns from one movement into another every 10 s."""
    return math.sin(2 * math.pi * (1.0 if int(seconds) // 10 % 2 else 0.3) * seconds)


def write_e4(folder: Path, seconds: int = 60, start: int = E4_START) -> Path:
    """What E4 connect exports: start and rate in each column of two lines, and no header; HR begins 10 s later."""
    folder.mkdir(parents=True)
    acc = [f"{start}.000000, {start}.000000, {start}.000000", "32.000000, 32.000000, 32.000000"]
    acc += [f"{round(40 * wave(i / 32))},{round(10 * wave(i / 32))},{60 - i % 3}" for i in range(32 * seconds)]
    one = {
        "BVP": (64, "{:.2f}", lambda t: 30 * math.sin(7 * t), 0),
        "EDA": (4, "{:.6f}", lambda t: 0.3 + t / 1000, 0),
        "TEMP": (4, "{:.2f}", lambda t: 31.0 + t / 100, 0),
        "HR": (1, "{:.2f}", lambda t: 80 + t % 7, 10),
    }
    (folder / "ACC.csv").write_text("\n".join(acc) + "\n", newline="")
    for name, (rate, form, value, later) in one.items():
        lines = [f"{start + later}.000000", f"{rate}.000000"]
        lines += [form.format(value(later + i / rate)) for i in range(rate * (seconds - later))]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", newline="")
    (folder / "IBI.csv").write_text(f"{start}.000000, IBI\n26.345312,0.562500\n27.203125,0.468750\n", newline="")
    (folder / "tags.csv").write_text(f"{start + 20}.13\n{start + 40}.82\n", newline="")
    (folder / "info.txt").write_text(".csv files in this archive are in the following format:\n", newline="")
    return folder


def write_phyphox(folder: Path, seconds: int = 20, separator: str = ",", decimal: str = ".") -> Path:
    """What phyphox exports; paused for 100 s after half of the time, which its own clock does not count."""
    (folder / "meta").mkdir(parents=True)

    def row(*cells: float) -> str:
        return separator.join(
            f"{cell:.9E}".replace("E+0", "E").replace("E-0", "E-").replace(".", decimal) for cell in cells
        )

    def table(name: str, columns: list[str], rate: float, late: float) -> None:
        lines = [separator.join(f'"{column}"' for column in columns)]
        times = [late + i / rate for i in range(int(rate * seconds))]
        lines += [row(t, wave(t), 2 * wave(t), t % 1) for t in times]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", newline="")

    table("Accelerometer", ["Time (s)", "X (m/s^2)", "Y (m/s^2)", "Z (m/s^2)"], 100, 0.008)
    table("Gyroscope", ["Time (s)", "X (rad/s)", "Y (rad/s)", "Z (rad/s)"], 50, 0.003)
    spectrum = [separator.join(('"Frequency (Hz)"', '"Amplitude (a.u.)"')), row(0.5, 1), row(1.0, 3), row(1.5, 2)]
    (folder / "FFT.csv").write_text("\n".join(spectrum) + "\n", newline="")
    device = [("property", "value"), ("version", "1.1.16"), ("fileFormat", "1.18"), ("deviceModel", "Pixel 6a")]
    lines = [separator.join(f'"{cell}"' for cell in cells) for cells in device]
    (folder / "meta" / "device.csv").write_text("\n".join(lines) + "\n", newline="")
    half = seconds / 2
    events = [
        ("START", 0.0, 0.0),
        ("PAUSE", half, half),
        ("START", half, half + 100),
        ("PAUSE", seconds, seconds + 100),
    ]
    names = ("event", "experiment time", "system time", "system time text")
    lines = [separator.join(f'"{name}"' for name in names)]
    for event, own, after in events:
        numbers = [f"{own:.15E}".replace(".", decimal), f"{1739381134.0 + after:.15E}".replace(".", decimal)]
        lines.append(separator.join((f'"{event}"', *numbers, '"2025-02-12 19:25:34.000 UTC+02:00"')))
    (folder / "meta" / "time.csv").write_text("\n".join(lines) + "\n", newline="")
    return folder


def write_sensor_logger(folder: Path, seconds: int = 20) -> Path:
    """What Sensor Logger exports: nanoseconds since 1970, seconds since the start, axes from z to x."""
    folder.mkdir(parents=True)

    def table(name: str, columns: str, rate: float, cells: Callable[[float], list[float]]) -> None:
        lines = [f"time,seconds_elapsed,{columns}"]
        for i in range(int(rate * seconds)):
            t = 0.05 + i / rate
            values = ",".join(repr(cell) for cell in (t, *cells(t)))
            lines.append(f"{LOGGER_START_NS + round(t * 1e9)},{values}")
        (folder / f"{name}.csv").write_text("\n".join(lines), newline="")

    table("Accelerometer", "z,y,x", 100, lambda t: [wave(t), 2 * wave(t), t % 1])
    table("Gyroscope", "z,y,x", 59.36, lambda t: [wave(t) / 3, wave(t), (t + 0.5) % 1])
    table("Orientation", "qz,qy,qx,qw,roll,pitch,yaw", 100, lambda t: [wave(t) / k for k in range(1, 8)])
    table("Location", "speed,altitude,longitude,latitude", 1, lambda t: [1.5, 158 + t % 2, -80 + t / 9, 35 + t / 8])
    annotation = f"time,seconds_elapsed,text,millisecond_press_duration\n{LOGGER_START_NS + 10**9},1.0,walk,120"
    (folder / "Annotation.csv").write_text(annotation, newline="")
    about = "version,device name,recording epoch time,recording time,recording timezone,platform,appVersion,device id"
    own = "3,SM-S926U1,1707663721288,2024-02-11_15-02-01,America/New_York,android,1.28,37c29426-27fd-4ad3"
    (folder / "Metadata.csv").write_text(
        f"{about},sensors,sampleRateMs\n{own},Accelerometer|Gyroscope|Orientation|Location|Annotation,10|10|10|0|",
        newline="",
    )
    return folder
