"""Cases about command lines: odd values of options, odd places to write to, odd entries and names, odd environments."""

import shlex
from pathlib import Path

import numpy as np

from tests.fuzz.outside_base import Base, write_csv
from tests.fuzz.outside_checks import Case

NUMBERS = ("0", "-1", "1e308", "-0.0", "nan", "inf", "-inf", "1e-308", "", " ", "½", "0x10", "1_000", "1,5", "٣",
           "9" * 400, "1e400", "True", "None", "1 2", "--", "2.5")  # fmt: skip
LENGTHS = (
    "0s", "-2s", "2 s", "2S", "500ms", "1e3ms", "1.5min", "2h", "0.0000001s", "1e300s", "nans", "infs", "s", "2ss",
    "auto", "AUTO", "1199", "1200", "1201", "1", "2", "3", "600", "1e2", "2,5s", "12s", "24s", "1ns", "1us", "2m",
    "99999999999999999999", "0.5", "²s",
)  # fmt: skip
PATTERNS = ("(", "[", "*", "(a+)+$", "(.*)*x", "walk", "(walk)|(day)", "(?P<n>w)", "", " ", "missing.csv", "walk.csv",
            ".", "^$", "\\", "(?i)W", "a" * 5000, "\x1b[1m", "()", "(?<=w)a", "{", "é")  # fmt: skip
SETTINGS = (
    "units.dimension=3", "units.dimension=0", "units.dimension=-3", "units.dimension=1e9", "units.dimension=99999",
    "units.dimension=nan", "units.dimension", "=3", "=", "units=3", "units.=3", ".units=3", "units.nope=1",
    "units.method=unit_align", "units.method=", "encoder.name=nope", "encoder.clip=inf", "encoder.clip=nan",
    "encoder.clip=1e-320", "motifs.window=1", "motifs.window=1e9s", "motifs.shuffles=19", "motifs.shuffles=20.5",
    "motifs.significance=1", "seed=4294967295", "seed=4294967296", "seed=-1", "seed=1.0", "seed=true", "device=tpu",
    "windows.length=auto", "windows.length=[1]", "windows.length={}", "preprocess.channels=[]",
    "preprocess.channels=['x']", 'preprocess.channels=["x","x"]', "preprocess.channels=x",
    "preprocess.channels=['nope']", "preprocess.scaling=none", "preprocess.pca_components=2",
    "preprocess.pca_components=999", "preprocess.max_gap=-1s", "preprocess.missing=refuse", "evidence.surrogates=0",
    "evidence.surrogates=1", "units.mixture.component_cap=1", "units.mixture.component_cap=5000",
    "units.mixture.min_weight=0.999", "units.mixture.tolerance=1e308", "units.mixture.concentration=1e-300",
    "units.mixture.concentration=1e300", "units.ridge=0", "units.ridge=1e300", "units.persistence=1e9",
    "units.transition_scale=1e308", "units.transition_scale=nan", "windows.projection=vote",
    "windows.projection=start", "units.pca_dim=1", "motifs.method=none", "units.mixture.max_iterations=1",
    "__class__=1", "seed=1\nseed=2", "units.mixture.covariance=diagonal", "units.window_weight=one",
    "encoder.shape_channels=0", "encoder.shape_weight=1e300", "preprocess.scaling=global",
    "preprocess.statistics=dataset", "motifs.phrase_distance=0",
)  # fmt: skip
CONFIGS = (
    b"", b"seed = 1\n", b"seed = \n", b"[units]\ndimension = 3\n", b"[units\n", b"\xff\xfe\x00",
    b"seed = 1\nseed = 2\n", b"seed = 1979-05-27\n", b"units = 3\n", b"[[units]]\na=1\n", b"a = " + b"[" * 100_000,
    b"seed = 99999999999999999999999\n", b"[windows]\nlength = nan\n", b"[windows]\nlength = inf\n",
    b"[windows]\nlength = -0.0\n", b"\xef\xbb\xbfseed = 1\n", b"seed = 1\r\n", b"seed = '''\n", b"# only a remark",
    b'"\\u001b[2J" = 1\n', b"[units]\nmethod = 'direct'\n", b"seed = true\n", b"[preprocess]\nchannels = [1, 2]\n",
    b"[preprocess]\nchannels = ['x', 3]\n", b"\0" * 100, b"seed: 1\n", b"{\"seed\": 1}",
)  # fmt: skip
ENTRIES = ("unit:0", "unit:99", "unit:-1", "unit:", ":0", "unit", "u0", "motif:0", "Unit:0", "unit:0.0", "unit:00",
           "unit:1e1", "unit:٣", "", "unit:0 ", "unit:9" * 100, "other", "-1", "unit:18446744073709551616", "m0",
           "unit:+1", "unit:0x0")  # fmt: skip
LABELS = (
    "reach", "", " ", "u1", "m3", "unit:2", "OTHER", "-1", "x" * 80, "x" * 81, "a\nb", "\x1b[2J", "=1+1", "../x", "é",
    "e\u0301", "\u202e", "😀", "a,b", 'a"b', "<b>", "</script><script>alert(1)</script>", "\0", "a\tb", "|", "NaN",
    "null", "\ud800", "-x", "--remove", "​", "\u2028",
)  # fmt: skip
OUTS = (
    "o", "o/", "./o", "a/b/c/d", "walk.csv", "walk.csv/x", "run", "run/labels", "/proc/x", "/dev/null", "", " ", ".",
    "..", "o\nx", "-o", "é" * 60, "x" * 300, "o\x1b[2J", "locked/o", "link", "dangling", "empty", "full", "~",
    "$HOME", "o/../p", "s3://", "http://x/y", "file:///tmp/x", "nul\0", "full/o", "o.csv", "C:\\o",
)  # fmt: skip
FILES_OUT = ("x.eaf", "x", "x.csv", "a/b/x.eaf", "walk.csv", "run", "run/segments.csv", "run/model/manifest.json",
             "/dev/null", "", "x.\x1b[2J", "x" * 300, "é.csv", "locked/x.csv", "link", "dangling", ".", "x/", "-x.csv",
             "x.eaf/y", "x.txt", ".hidden")  # fmt: skip
WITH_A_NUMBER = (
    "discover bare.npy --method clock --out o --rate", "discover bare.npy --method kmeans --out o --states",
    "discover bare.npy --method clock --out o --seed", "label run bare.npy --out o --rate",
    "stability bare.npy --method=x --seeds", "suggest bare.npy --rate", "view run --media nothing.mp4 --offset",
    "view norun --port", "undo run", "health run --stale", "bench run static --dry-run --limit",
    "discover bare.npy --method clock --engine serial --out o --workers",
)  # fmt: skip
BARE = (
    "", "--help", "discover --help", "-h", "help", "discover walk.csv", "discover walk.csv walk.csv --out o",
    "discover walk.csv ./walk.csv --out o", "label run", "label walk.csv walk.csv --out o", "stream run --out o",
    "usage walk.csv", "usage run --csv --json", "usage run --transitions --csv", "report run --compare run",
    "report run --recordings nope", "report run --channels ,,", "evaluate run run", "compare run run",
    "compare run walk.csv", "evaluate walk.csv run", "health walk.csv", "config init walk.csv", "config init run",
    "config init a/b/c.toml", "config init -- -x", "datasets info ../x", "datasets download nope",
    "bench table static --out walk.csv", "bench rows --out nothing", "bench figure scores x.bmp",
    "discover --out o ''", "discover /dev/zero --out o", "discover /dev/null --out o",
    "discover /proc/self/mem --out o", "discover . --out o", "discover '**/*.csv' --out o",
    "discover 'nope/*.csv' --out o", "discover [ --out o",
    "--version discover",
    "discover walk.csv --out o --method nope", "discover walk.csv --out o --method clock --encoder ts2vec",
    "discover walk.csv --out o --device cuda", "discover walk.csv --out o --engine nope",
    "label run walk.csv --out o --adapt --refit-motifs",
    "name run", "name run --history", "name run unit:0 x --remove",
    "undo run", "apply run walk.csv", "apply run run", "stream run --source walk.csv --out o --silent x=1",
    "stream run --source walk.csv --out o --silent 0", "stream run --source run --out o",
    "stream run --source mqtt://user:secret@x/y --out o", "stream run --source walk.csv --out o --sink nope://x",
    "stream run --source walk.csv --out o --silent nope",
)  # fmt: skip
ENVIRONMENTS = ({}, {"LC_ALL": "C", "PYTHONUTF8": "0"}, {"COLUMNS": "1"}, {"TERM": "dumb"}, {"NO_COLOR": ""},
                {"HOME": "/nonexistent"})  # fmt: skip


def _pick(values: tuple[str, ...], n: int) -> str:
    return values[n % len(values)]


def _drawn(values: tuple[str, ...], rng: np.random.Generator) -> str:
    return values[int(rng.integers(len(values)))]


def lengths(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    base.give("walk.csv", work)
    option = _drawn(("--window", "--step", "--motif-window"), rng)
    args = ("discover", "walk.csv", f"{option}={_pick(LENGTHS, n)}", "--out", "o", "--json")
    return Case(f"length:{option}", args, "o", "run", rows=1200)


def numbers(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    base.give("run", work)
    np.save(work / "bare.npy", base.values)
    *words, last = _drawn(WITH_A_NUMBER, rng).split()
    value = _pick(NUMBERS, n)
    args = (*words, last, value) if last == "run" else (*words, f"{last}={value}")
    writes = "run" if "--out" in words else ""
    return Case(f"number:{words[0]} {last}", args, "o" if writes else None, writes, may_change=("run",))


def settings(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    write_csv(work / "walk.csv", base.values[:600])
    if rng.random() < 0.25:
        return Case("set:show", ("config", "show", "--set", _pick(SETTINGS, n)))
    args = ("discover", "walk.csv", "--set", _pick(SETTINGS, n), "--out", "o")
    return Case("set:discover", args, "o", "run", rows=600)


def configs(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    write_csv(work / "walk.csv", base.values[:600])
    (work / "c.toml").write_bytes(CONFIGS[n % len(CONFIGS)])
    if rng.random() < 0.5:
        return Case("config:show", ("config", "show", "--config", "c.toml", "--json"))
    return Case("config:discover", ("discover", "walk.csv", "--config", "c.toml", "--out", "o"), "o", "run", rows=600)


def patterns(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    for name in ("pair", "walk.csv", "day2.csv"):
        base.give(name, work)
    group = f"--group-by={_pick(PATTERNS, n)}"
    if rng.random() < 0.6:
        return Case("group:usage", ("usage", "pair", group, "--json"))
    args = ("label", "pair", "walk.csv", "day2.csv", group, "--out", "o")
    return Case("group:label", args, "o", "run", rows=1200)


def columns(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """Columns named by options: --split-by, --label-column, --keep-column, --key."""
    who = _pick(("a", "../x", "=1", "\x1b[2J", "", "NaN", "ü", "a/b", "x" * 300, "-", "A"), n)
    lines = [
        f'{i / 50:g},"{who if i < 600 else "b"}",' + ",".join(f"{v:g}" for v in row)
        for i, row in enumerate(base.values)
    ]
    (work / "who.csv").write_text("\n".join(["time,who,x,y,z", *lines]) + "\n", encoding="utf-8")
    option = _drawn(("--split-by", "--label-column", "--keep-column", "--key"), rng)
    value = _drawn(("who", "time", "x", "nope", "", "WHO", "time,x", "\x1b[2J", "who ", "*", "5"), rng)
    args = ("discover", "who.csv", f"{option}={value}", "--method", "clock", "--out", "o")
    return Case(f"column:{option}", args, "o", "run")


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
    command = _drawn(("discover walk.csv --method clock", "label run walk.csv", "stream run --source walk.csv"), rng)
    is_local = value and not value.startswith(("/", "s3", "http")) and "\0" not in value
    out = value.rstrip("/") if is_local else None
    touched = {"link": ("target", "link"), "o/../p": ("o", "p"), "..": (), ".": ("",)}
    touched["dangling"] = ("dangling", "nowhere")
    return Case(
        f"out:{command}:{value[:10]!r}",
        (*command.split(), f"--out={value}"),
        out if out not in ("..", "", " ", None) else None,
        may_change=touched.get(value, (out,) if out else ()),
    )


def exports(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    value = _pick(FILES_OUT, n)
    base.give(_drawn(("run", "pair", "own", "live"), rng), work, "run")
    base.give("walk.csv", work)
    places(work)
    form = _drawn(("csv", "parquet", "eaf", "audacity", "label-studio"), rng)
    extra = _drawn(("", "--level=unit", "--recording=walk", "--level=nope", "--recording=../walk", "--recording="), rng)
    out = value.rstrip("/") if value not in ("", ".") and not value.startswith("/") else None
    stem = out.rsplit(".", 1)[0] if out else ""
    change = (out, f"{out}.config.xml", stem, f"{stem}.config.xml") if out else ()
    change += {"link": ("target",), "dangling": ("nowhere",)}.get(value, ())
    args = ("export", "run", "--format", form, f"--out={value}", *filter(None, [extra]), "--json")
    return Case(f"export:{form}:{value[:10]!r}", args, out, may_change=change)


def edits(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    base.give("run", work)
    entry = _drawn(ENTRIES, rng) if rng.random() < 0.6 else "unit:0"
    if n % 4 < 2:
        args: tuple[str, ...] = ("name", "run", "--json", "--", entry, _pick(LABELS, n // 4 * 2 + n % 4))
    else:
        args = ("merge", "run", "--", entry, _pick(ENTRIES, n // 4)) if n % 4 == 2 else ("split", "run", "--", entry)
    return Case(f"edit:{args[0]}", args, may_change=("run",))


def bare(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """Commands without what they need, with too much, and in odd environments."""
    base.give("run", work)
    base.give("walk.csv", work)
    args = tuple(shlex.split(_pick(BARE, n)))
    out = args[args.index("--out") + 1] if "--out" in args and args[0] != "bench" else None
    made = {"config": "a"}.get(args[0] if args else "", "o")
    return Case(
        f"bare:{' '.join(args)[:40]}",
        args,
        out,
        codes=(0, 1, 2) if args[:1] == ("health",) else (0, 2),
        may_change=("run", made, "x.bmp", "-x", "rondo-demo") if args else (),
        environment=ENVIRONMENTS[int(rng.integers(len(ENVIRONMENTS)))],
        fresh=not args,
    )


FAMILIES = (lengths, numbers, settings, configs, patterns, columns, outs, exports, edits, bare)
