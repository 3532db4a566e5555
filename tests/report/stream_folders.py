"""The --out of a stream that is running, as `rondo stream` writes it."""

from __future__ import annotations

from pathlib import Path

from rondo.continual.journal import Event
from rondo.run.decisions import COLUMNS
from rondo.run.summary import RecordingSummary, RunSummary, StreamSummary
from rondo.run.writer import RunWriter

STEP = 50
EVENTS = (
    Event("refine", "unit", 150, None, (0,), {"windows": 3}),
    Event("promote", "unit", 400, None, (7,), {"support": 9.5, "regions": 3}),
    Event("gap", "input", 600, 12.0, (), {"rule": "bridged", "rows": 4}),
)


def write_stream_folder(folder: Path, n_decisions: int = 20, events: tuple[Event, ...] = EVENTS[1:]) -> Path:
    """Units 0 0 1 1 0 0 1 1 …, motifs 0 … with every fifth decision OTHER; 50 Hz."""
    folder.mkdir(parents=True)
    RunWriter(folder).close(stream_summary(), {})
    (folder / "labels.csv").write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    (folder / "events.jsonl").write_text("".join(event.to_json() + "\n" for event in events), encoding="utf-8")
    add_decisions(folder, n_decisions)
    return folder


def stream_summary(id: str = "live", n_frames: int = 0, *, finished: bool = False) -> RunSummary:
    """What a stream without a signal says of itself beside its labels."""
    about = RecordingSummary(
        id=id, source="live.csv", n_frames=n_frames, channels=(), rate=50.0, duration_s=None, notes=(), share_other=1.0
    )
    return RunSummary(
        rondo_version="0", kind="stream", method="rondo", seed=0, window_length_frames=100, step_frames=STEP,
        recordings=(about,), units=(), motifs=(), stream=StreamSummary(finished=finished, n_windows=20),
    )  # fmt: skip


def add_decisions(folder: Path, n: int) -> None:
    path = folder / "labels.csv"
    done = path.read_text(encoding="utf-8").count("\n") - 1
    with path.open("a", encoding="utf-8") as file:
        for i in range(done, done + n):
            start, end = i * STEP, (i + 1) * STEP
            motif = -1 if i % 5 == 4 else 0
            file.write(f"{start},{end},{start / 50},{end / 50},{i // 2 % 2},{motif},0.5,{0.25 if motif == 0 else 0}\n")
