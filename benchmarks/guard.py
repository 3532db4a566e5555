"""Scores of the default settings on every data set at hand, held against the scores stored in guard.json.

    python benchmarks/guard.py DATA                                  all sets, five seeds; exit code 1 after a drop
    python benchmarks/guard.py DATA --sets MoCap,planted --seeds 1   some sets, one seed
    python benchmarks/guard.py DATA --recordings 2                   a quick look at the first two of each set
    python benchmarks/guard.py DATA --store                          replace the stored scores of the sets that ran

DATA holds a folder per set: .npz recordings (`X`, `y` and perhaps `y2` for scoring) and a meta.json whose `rate_hz` is
the sampling rate. Planted sets are generated. Each recording is fitted and labelled by itself with `Rondo(seed=seed)`.
Both levels of the prediction are scored against both annotations: `y` is the upper level, `y2` the lower one.

Scores are averaged over recordings, then over seeds; sd is the standard deviation over seeds. A pair of level and
annotation is named when the mean of its ARI, AMI and one-to-one is more than 1 point below the stored one. Sets of
which only some recordings ran are printed, but neither compared nor stored. Fewer seeds than stored are compared with
the same seeds. The column `labels` says whether every label equals the stored run's.

With `--cache FILE` each fit is a line of FILE, and a run that was stopped continues from there. Lines written by
another version of the source are ignored. One pass over all sets takes 5 CPU minutes. After `--store`, write the page
with `python benchmarks/pages.py quality`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))  # before numpy

import numpy as np
from numpy.typing import NDArray

import rondo
from rondo import Recording, Rondo
from rondo.metrics import evaluate
from rondo.synthetic import StreamPlan, plant

STORED = Path(__file__).with_name("guard.json")
PLANTED = {  # by the structure of their motifs: rondo.synthetic.motifs
    "planted": StreamPlan(),
    "planted_own": StreamPlan(motifs="own", n_units=16, n_motifs=4),
    "planted_cycles": StreamPlan(motifs="cycles", n_units=12, n_motifs=3),
    "planted_contexts": StreamPlan(motifs="contexts"),
}
PLANTED_SEEDS = range(20, 25)  # constants of the motif search were chosen on streams 0 to 5
PLANTED_FRAMES = 60_000  # twenty minutes
SETS = (
    "MoCap",
    "ActRecTut",
    "OpenPack",
    "USC-HAD",
    "HuGaDB",
    "COMPASS_Suturing",
    "Billboard",
    "PTE",
    "TSSB",
    "MoCap6",
    *PLANTED,
)
ANNOTATIONS = ("y", "y2")
SCORES = ("ari", "ami", "one_to_one")
COLUMNS = (*SCORES, "n_clusters")
MOST_DROP = 1.0  # points
N_SEEDS = 5

Track = NDArray[Any]
Row = dict[str, Any]  # one fit: a line of the cache
Summary = dict[str, Any]  # one set: an entry of guard.json


class Fit(NamedTuple):
    """One fit: a recording of a set and the seed of the model."""

    set: str
    recording: str
    seed: int


def recording_ids(data: Path, name: str) -> list[str]:
    if name in PLANTED:
        return [str(seed) for seed in PLANTED_SEEDS]
    return sorted(path.stem for path in (data / name).glob("*.npz"))


def read(data: Path, fit: Fit) -> tuple[Recording, dict[str, Track]]:
    """A recording and its annotations by name."""
    if fit.set in PLANTED:
        stream = plant(PLANTED[fit.set], n_frames=PLANTED_FRAMES, seed=int(fit.recording))
        return stream.recording, {"y": stream.motif_truth, "y2": stream.unit_truth}
    rate = json.loads((data / fit.set / "meta.json").read_text(encoding="utf-8"))["rate_hz"]
    with np.load(data / fit.set / f"{fit.recording}.npz") as stored:
        tracks = {name: stored[name] for name in ANNOTATIONS if name in stored}
        return Recording(stored["X"], rate, id=fit.recording), tracks


def scored(data: Path, fit: Fit) -> Row:
    """Fit, label and score one recording."""
    warnings.simplefilter("ignore")  # notes on the data, the same in every run
    recording, annotations = read(data, fit)
    start = time.process_time()
    labelling = Rondo(seed=fit.seed).fit(recording).predict(recording)
    seconds = time.process_time() - start
    levels = {"units": labelling.units, "motifs": labelling.motifs}
    pairs = {
        f"{level} vs {name}": scores_of(truth, labels)
        for name, truth in annotations.items()
        for level, labels in levels.items()
    }
    digest = hashlib.sha256(b"".join(np.asarray(labels, np.int32).tobytes() for labels in levels.values()))
    return fit._asdict() | {
        "pairs": pairs,
        "composed": is_composed(labelling.units, labelling.motifs),
        "digest": digest.hexdigest(),
        "cpu_s": seconds,
    }


def scores_of(truth: Track, labels: Track) -> dict[str, Any]:
    scores = evaluate({"recording": (truth, labels)})
    own, clock = scores.average.as_dict(), scores.clock.as_dict()
    return {name: own[name] for name in COLUMNS} | {"clock": {name: clock[name] for name in SCORES}}


def is_composed(units: Track, motifs: Track) -> bool:
    """Whether motifs are more than the units under other ids."""
    pairs, n_units, n_motifs = np.unique(np.stack([units, motifs]), axis=1), np.unique(units), np.unique(motifs)
    return not pairs.shape[1] == n_units.size == n_motifs.size


def source_digest() -> str:
    """Of the source of the package: results of one source are not results of another."""
    folder = Path(rondo.__file__).parent
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".json", ".toml"))
    text = b"".join(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() for path in files)
    return hashlib.sha256(text).hexdigest()[:12]


def cached_rows(cache: Path | None, source: str) -> dict[Fit, Row]:
    """The fits that this source has already done; a line that a killed run left unfinished is ignored."""
    found: dict[Fit, Row] = {}
    text = cache.read_text(encoding="utf-8") if cache is not None and cache.exists() else ""
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:  # torn, or empty
            continue
        if row["source"] == source:
            found[Fit(row["set"], row["recording"], row["seed"])] = row
    return found


def append(cache: Path, row: Row) -> None:
    with cache.open("a", encoding="utf-8") as file:
        file.write("\n" + json.dumps(row))  # a line of its own, even after a torn one


def run_all(data: Path, fits: Sequence[Fit], cache: Path | None, jobs: int) -> dict[Fit, Row]:
    """The row of every fit; those in the cache are not done again."""
    source = source_digest()
    known = cached_rows(cache, source)
    rows = {fit: known[fit] for fit in fits if fit in known}
    missing = [fit for fit in fits if fit not in rows]
    print(f"{len(missing)} fits to do, {len(rows)} in the cache", file=sys.stderr)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(scored, data, fit): fit for fit in missing}
        for number, done in enumerate(as_completed(running), 1):
            fit = running[done]
            try:
                rows[fit] = {"source": source} | done.result()
            except Exception as error:
                pool.shutdown(cancel_futures=True)
                raise RuntimeError(f"{fit.set}, recording {fit.recording}, seed {fit.seed}: {error}") from error
            if cache is not None:
                append(cache, rows[fit])
            print(f"{number}/{len(missing)} {fit.set} {fit.recording} seed {fit.seed}", file=sys.stderr)
    return rows


def summarise(rows: Iterable[Row]) -> Summary:
    """All fits of one set: scores by pair, averaged over recordings, then over seeds."""
    by_seed: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["seed"], row["recording"])):
        by_seed.setdefault(row["seed"], []).append(row)
    every = [row for own in by_seed.values() for row in own]
    return {
        "n_recordings": len(every) // len(by_seed),
        "cpu_s": round(sum(row["cpu_s"] for row in every) / len(by_seed), 1),  # of one pass over the set
        "composed": round(float(np.mean([row["composed"] for row in every])), 3),  # share of the fits
        "rondo": rondo.__version__,
        "source": source_digest(),
        "digests": [joint_digest(own) for own in by_seed.values()],
        "pairs": {pair: pair_summary(pair, list(by_seed.values())) for pair in every[0]["pairs"]},
    }


def pair_summary(pair: str, seeds: Sequence[Sequence[Row]]) -> dict[str, Any]:
    """Scores by seed, their mean and standard deviation; `clock` is the mean of the data-blind control."""
    own = [[row["pairs"][pair] for row in rows] for rows in seeds]
    by_seed = {name: [float(np.mean([row[name] for row in rows])) for rows in own] for name in COLUMNS}
    clock = {name: float(np.mean([[row["clock"][name] for row in rows] for rows in own])) for name in SCORES}
    return {
        "mean": {name: round(float(np.mean(values)), 3) for name, values in by_seed.items()},
        "sd": {name: round(float(np.std(values, ddof=int(len(values) > 1))), 3) for name, values in by_seed.items()},
        "clock": {name: round(value, 3) for name, value in clock.items()},
        "seeds": {name: [round(value, 3) for value in by_seed[name]] for name in SCORES},
    }


def joint_digest(rows: Iterable[Row]) -> str:
    return hashlib.sha256("".join(row["digest"] for row in rows).encode()).hexdigest()[:12]


def differences(found: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, float]:
    """Found minus stored for each score of one pair, and for their mean, over the seeds that both have."""
    n_seeds = min(len(found["seeds"]["ari"]), len(stored["seeds"]["ari"]))
    by_score = {
        name: float(np.mean(found["seeds"][name][:n_seeds]) - np.mean(stored["seeds"][name][:n_seeds]))
        for name in SCORES
    }
    return by_score | {"mean": float(np.mean(list(by_score.values())))}


def drops(found: Mapping[str, Summary], stored: Mapping[str, Summary]) -> list[str]:
    """A line for each pair of the sets found that is stored with a better mean score, or is no longer scored."""
    lines = []
    for name in (name for name in found if name in stored):
        for pair, before in stored[name]["pairs"].items():
            now = found[name]["pairs"].get(pair)
            if now is None:
                lines.append(f"{name}, {pair}: stored, but not scored now")
                continue
            change = differences(now, before)
            if change["mean"] < -MOST_DROP:
                each = ", ".join(f"{score} {change[score]:+.2f}" for score in SCORES)
                lines.append(f"{name}, {pair}: mean score {change['mean']:+.2f} ({each})")
    return lines


def print_table(found: Mapping[str, Summary], stored: Mapping[str, Summary]) -> None:
    """One row for each pair; behind each score its spread over seeds and its distance to the stored one."""
    heads = ("set", "recordings", "pair", "ARI", "AMI", "one-to-one", "change of mean", "clock", "clusters")
    print("| " + " | ".join((*heads, "composed", "labels", "CPU s")) + " |\n" + "|---" * 12 + "|")
    for name, summary in found.items():
        before = stored.get(name)
        for pair, own in summary["pairs"].items():
            known = before["pairs"].get(pair) if before else None
            change = differences(own, known) if known else {}
            cells = [
                f"{own['mean'][score]:.1f} ± {own['sd'][score]:.1f}" + (f" ({change[score]:+.2f})" if change else "")
                for score in SCORES
            ]
            cells += [f"{change['mean']:+.2f}" if change else "not stored"]
            cells += [" / ".join(f"{own['clock'][score]:.0f}" for score in SCORES), f"{own['mean']['n_clusters']:.1f}"]
            cells += [f"{100 * summary['composed']:.0f} %", same_labels(summary, before), f"{summary['cpu_s']:.0f}"]
            print(f"| {name} | {summary['n_recordings']} | {pair} | " + " | ".join(cells) + " |")


def same_labels(found: Summary, stored: Summary | None) -> str:
    if stored is None:
        return ""
    both = zip(found["digests"], stored["digests"], strict=False)  # of the seeds that both have
    return "equal" if all(now == before for now, before in both) else "changed"


def as_text(summaries: Mapping[str, Summary]) -> str:
    """JSON with one line for each pair, so that a change of the file can be read."""
    sets = []
    for name, summary in summaries.items():
        head = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in summary.items() if key != "pairs"]
        pairs = ",\n".join(f"   {json.dumps(pair)}: {json.dumps(own)}" for pair, own in summary["pairs"].items())
        sets.append(f" {json.dumps(name)}: {{\n" + ",\n".join(head) + f',\n  "pairs": {{\n{pairs}\n  }}\n }}')
    return "{\n" + ",\n".join(sets) + "\n}\n"


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=",".join(SETS), help="names with commas between; all unless given")
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--recordings", type=int, help="only the first so many of each set")
    parser.add_argument("--cache", type=Path, help="file of finished fits, to continue from")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--store", action="store_true", help="replace the stored scores of the sets that ran")
    given = parser.parse_args(arguments)
    given.sets = given.sets.split(",")
    unknown = [name for name in given.sets if name not in SETS]
    if unknown:
        parser.error(f"--sets: {unknown[0]} is not known; expected some of {','.join(SETS)}")
    absent = next((name for name in given.sets if not recording_ids(given.data, name)), None)
    if absent:
        parser.error(f"{given.data / absent}: no .npz recordings; give another DATA, or leave the set out with --sets")
    if min(given.seeds, given.jobs, 1 if given.recordings is None else given.recordings) < 1:
        parser.error("--seeds, --jobs and --recordings: expected 1 or more")
    if given.store and given.recordings is not None:
        parser.error("--store: expected all recordings; leave out --recordings")
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    given = parsed(arguments)
    whole = {name: recording_ids(given.data, name) for name in given.sets}
    chosen = {name: ids[: given.recordings] for name, ids in whole.items()}
    fits = [Fit(name, id, seed) for seed in range(given.seeds) for name, ids in chosen.items() for id in ids]
    rows = run_all(given.data, fits, given.cache, given.jobs)
    found = {name: summarise(row for fit, row in rows.items() if fit.set == name) for name in chosen}
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    comparable = {name: own for name, own in stored.items() if name in whole and chosen[name] == whole[name]}
    print_table(found, comparable)
    if given.store:
        STORED.write_text(as_text({name: (stored | found)[name] for name in SETS if name in stored | found}))
    named = drops(found, comparable)
    n_pairs = sum(len(own["pairs"]) for own in comparable.values())
    print(f"{n_pairs} pairs compared, {len(named)} dropped by more than {MOST_DROP:g} point")
    print("".join(f"DROP {line}\n" for line in named), end="")
    return 1 if named and not given.store else 0


if __name__ == "__main__":
    sys.exit(main())
