"""Cases about command lines: odd values of options, odd places to write to, odd entries and names, odd environments."""

from pathlib import Path

import numpy as np

from tests.fuzz.outside_base import Base, write_csv
from tests.fuzz.outside_checks import Case
from tests.fuzz.outside_words import CONFIGS, ENTRIES, FILES_OUT, LABELS, LENGTHS, NUMBERS, OUTS, PATTERNS, SETTINGS


def _pick(values: tuple[str, ...], n: int) -> str:
    return values[n % len(values)]


def lengths(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    base.give("walk.csv", work)
    option = _pick(("--window", "--step", "--motif-window"), int(rng.integers(3)))
    return Case(
        f"length:{option}",
        ("discover", "walk.csv", f"{option}={_pick(LENGTHS, n)}", "--out", "o", "--json"),
        "o",
        "run",
        rows=1200,
    )


def numbers(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    value = _pick(NUMBERS, n)
    base.give("run", work)
    bare = work / "bare.npy"
    np.save(bare, base.values)
    templates: tuple[tuple[str, ...], ...] = (
        ("discover", "bare.npy", "--method", "clock", "--out", "o", "--rate"),
        ("discover", "bare.npy", "--method", "kmeans", "--out", "o", "--states"),
        ("discover", "bare.npy", "--method", "clock", "--out", "o", "--seed"),
        ("label", "run", "bare.npy", "--out", "o", "--rate"),
        ("stability", "bare.npy", "--method=x", "--seeds"),
        ("suggest", "bare.npy", "--rate"),
        ("view", "run", "--media", "nothing.mp4", "--offset"),
        ("view", "run", "--port"),
        ("undo", "run"),
        ("health", "run", "--stale"),
        ("discover", "bare.npy", "--method", "clock", "--engine", "serial", "--out", "o", "--workers"),
        ("bench", "run", "static", "--dry-run", "--limit"),
    )
    template = templates[int(rng.integers(len(templates)))]
    if template[:2] == ("view", "run") and "--media" not in template:
        template = ("view", "norun", "--port")
    writes = "run" if "--out" in template else ""
    args = (*template, value) if template[-1] == "run" else (*template[:-1], f"{template[-1]}={value}")
    return Case(f"number:{template[0]} {template[-1]}", args, "o" if writes else None, writes, may_change=("run",))


def settings(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    write_csv(work / "walk.csv", base.values[:600])
    value = _pick(SETTINGS, n)
    if rng.random() < 0.25:
        return Case("set:show", ("config", "show", "--set", value))
    return Case("set:discover", ("discover", "walk.csv", "--set", value, "--out", "o"), "o", "run", rows=600)


def configs(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    write_csv(work / "walk.csv", base.values[:600])
    (work / "c.toml").write_bytes(CONFIGS[n % len(CONFIGS)])
    if rng.random() < 0.5:
        return Case("config:show", ("config", "show", "--config", "c.toml", "--json"))
    return Case("config:discover", ("discover", "walk.csv", "--config", "c.toml", "--out", "o"), "o", "run", rows=600)


def patterns(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    value = _pick(PATTERNS, n)
    base.give("pair", work)
    for name in ("walk.csv", "day2.csv"):
        base.give(name, work)
    if rng.random() < 0.6:
        return Case("group:usage", ("usage", "pair", f"--group-by={value}", "--json"))
    return Case(
        "group:label",
        ("label", "pair", "walk.csv", "day2.csv", f"--group-by={value}", "--out", "o"),
        "o",
        "run",
        rows=1200,
    )


def columns(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """Columns named by options: --split-by, --label-column, --keep-column, --key."""
    lines = ["time,who,ax,ay,az"]
    who = _pick(("a", "../x", "=1", "\x1b[2J", "", "NaN", "ü", "a/b", "x" * 300, "-", "A"), n)
    for i, row in enumerate(base.values):
        name = who if i < 600 else "b"
        lines.append(f'{i / 50:g},"{name}",' + ",".join(f"{v:g}" for v in row))
    (work / "who.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    option = _pick(("--split-by", "--label-column", "--keep-column", "--key"), int(rng.integers(4)))
    value = _pick(
        ("who", "time", "ax", "nope", "", "WHO", "time,ax", "\x1b[2J", "who ", "*", "5"), int(rng.integers(11))
    )
    return Case(
        f"column:{option}", ("discover", "who.csv", f"{option}={value}", "--method", "clock", "--out", "o"), "o", "run"
    )


def places(work: Path) -> None:
    """Odd places to write to: a folder without rights, links, a folder with a file in it."""
    for name in ("locked", "empty", "full", "target"):
        (work / name).mkdir()
    (work / "full" / "mine.txt").write_text("precious")
    (work / "link").symlink_to("target")
    (work / "dangling").symlink_to("nowhere/at/all")
    (work / "locked").chmod(0o500)


def outs(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    value = _pick(OUTS, n)
    base.give("walk.csv", work)
    base.give("run", work)
    places(work)
    kind = int(rng.integers(3))
    command = [
        ("discover", "walk.csv", "--method", "clock"),
        ("label", "run", "walk.csv"),
        ("stream", "run", "--source", "walk.csv"),
    ][kind]
    out = value.rstrip("/") if value and not value.startswith(("/", "s3", "http")) and "\0" not in value else None
    touched = {
        "link": ("target", "link"),
        "o/../p": ("o", "p"),
        "..": (),
        ".": ("",),
        "dangling": ("dangling", "nowhere"),
    }.get(value, (out,) if out else ())
    safe = out if out not in ("..", "", " ", None) else None
    return Case(
        f"out:{kind}:{value[:10]!r}",
        (*command, f"--out={value}"),
        safe,
        "",
        rows=None,
        may_change=tuple(t for t in touched if t is not None),
    )


def exports(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    value = _pick(FILES_OUT, n)
    source = _pick(("run", "pair", "own", "live"), int(rng.integers(4)))
    base.give(source, work, "run")
    base.give("walk.csv", work)
    places(work)
    form = _pick(("csv", "parquet", "eaf", "audacity", "label-studio"), int(rng.integers(5)))
    extra = [
        (),
        ("--level", "unit"),
        ("--recording", "walk"),
        ("--level", "nope"),
        ("--recording", "../walk"),
        ("--recording", ""),
    ][int(rng.integers(6))]
    usable = value if value and not value.startswith("/") and "\0" not in value and value not in (".",) else None
    out = usable.rstrip("/") if usable else None
    folder = str(Path(out).parent) if out else ""
    change = (
        ((out, f"{out}.config.xml", out.rsplit(".", 1)[0], out.rsplit(".", 1)[0] + ".config.xml") if out else ())
        + (("target",) if value == "link" else ())
        + (("nowhere",) if value == "dangling" else ())
    )
    return Case(
        f"export:{form}:{value[:10]!r}:{folder[:3]}",
        ("export", "run", "--format", form, f"--out={value}", *extra, "--json"),
        out,
        "",
        may_change=change,
    )


def edits(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    base.give("run", work)
    entry = _pick(ENTRIES, int(rng.integers(len(ENTRIES)))) if rng.random() < 0.6 else "unit:0"
    kind = n % 4
    if kind < 2:
        args: tuple[str, ...] = ("name", "run", "--json", "--", entry, _pick(LABELS, n // 4 * 2 + kind))
    elif kind == 2:
        args = ("merge", "run", "--", entry, _pick(ENTRIES, n // 4))
    else:
        args = ("split", "run", "--", entry)
    return Case(f"edit:{args[0]}", args, may_change=("run",))


def bare(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """Commands without what they need, with too much, and in odd environments."""
    base.give("run", work)
    base.give("walk.csv", work)
    lines: tuple[tuple[str, ...], ...] = (
        (), ("--help",), ("discover", "--help"), ("-h",), ("help",), ("discover", "walk.csv"),
        ("discover", "walk.csv", "walk.csv", "--out", "o"), ("discover", "walk.csv", "./walk.csv", "--out", "o"),
        ("label", "run"), ("label", "walk.csv", "walk.csv", "--out", "o"), ("stream", "run", "--out", "o"),
        ("usage", "walk.csv"), ("usage", "run", "--csv", "--json"), ("usage", "run", "--transitions", "--csv"),
        ("report", "run", "--compare", "run"), ("report", "run", "--recordings", "nope"),
        ("report", "run", "--channels", ",,"), ("evaluate", "run", "run"), ("compare", "run", "run"),
        ("compare", "run", "walk.csv"), ("evaluate", "walk.csv", "run"), ("health", "walk.csv"),
        ("config", "init", "walk.csv"), ("config", "init", "run"), ("config", "init", "a/b/c.toml"),
        ("config", "init", "--", "-x"), ("datasets", "info", "../x"), ("datasets", "download", "nope"),
        ("bench", "table", "static", "--out", "walk.csv"), ("bench", "rows", "--out", "nothing"),
        ("bench", "figure", "scores", "x.bmp"), ("discover", "--out", "o", "''"), ("discover", "", "--out", "o"),
        ("discover", "/dev/zero", "--out", "o"), ("discover", "/dev/null", "--out", "o"),
        ("discover", "/proc/self/mem", "--out", "o"), ("discover", ".", "--out", "o"),
        ("discover", "**/*.csv", "--out", "o"), ("discover", "nope/*.csv", "--out", "o"),
        ("discover", "[", "--out", "o"), ("--version", "discover"),
        ("discover", "walk.csv", "--out", "o", "--method", "nope"),
        ("discover", "walk.csv", "--out", "o", "--method", "clock", "--encoder", "ts2vec"),
        ("discover", "walk.csv", "--out", "o", "--device", "cuda"),
        ("discover", "walk.csv", "--out", "o", "--engine", "nope"),
        ("label", "run", "walk.csv", "--out", "o", "--adapt", "--refit-motifs"),
        ("label", "run", "walk.csv", "--out", "run"), ("name", "run"), ("name", "run", "--history"),
        ("name", "run", "unit:0", "x", "--remove"), ("undo", "run"), ("apply", "run", "walk.csv"),
        ("apply", "run", "run"), ("stream", "run", "--source", "walk.csv", "--out", "o", "--silent", "x=1"),
        ("stream", "run", "--source", "walk.csv", "--out", "o", "--silent", "0"),
        ("stream", "run", "--source", "run", "--out", "o"),
        ("stream", "run", "--source", "mqtt://user:secret@x/y", "--out", "o"),
        ("stream", "run", "--source", "walk.csv", "--out", "o", "--sink", "nope://x"),
        ("stream", "run", "--source", "lsl:", "--out", "o"),
    )  # fmt: skip
    args = lines[n % len(lines)]
    if args[:3] == ("stream", "run", "--source") and args[3] == "lsl:":
        args = ("stream", "run", "--source", "walk.csv", "--out", "o", "--silent", "nope")
    environment = [
        {},
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
        {"COLUMNS": "1"},
        {"TERM": "dumb"},
        {"NO_COLOR": ""},
        {"HOME": "/nonexistent"},
    ][int(rng.integers(6))]
    out = next((args[i + 1] for i, a in enumerate(args[:-1]) if a == "--out"), None)
    out = out if out not in ("walk.csv",) else None
    made = {"config": "a"}.get(args[0] if args else "", "o")
    change = ("run", made, "x.bmp", "-x", "rondo-demo") if args else ()
    known = ("--help", "-h") if args else ()
    return Case(
        f"bare:{' '.join(args)[:40]}",
        args,
        out if args[:1] != ("bench",) else None,
        "",
        codes=(0, 1, 2) if args[:1] == ("health",) else (0, 2),
        may_change=change,
        environment=environment,
        fresh=not known,
    )


FAMILIES = (lengths, numbers, settings, configs, patterns, columns, outs, exports, edits, bare)
