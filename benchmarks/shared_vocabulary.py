"""One vocabulary for several people: does an id mean the same for all of them?

    python benchmarks/shared_vocabulary.py DATA [SET ...] [--seeds 3] [--page docs/results/shared_vocabulary.md]
    python benchmarks/shared_vocabulary.py DATA Suturing PTE MoCap --seeds 1
    python benchmarks/shared_vocabulary.py DATA --classifier

Cells are per-person ARI / pooled ARI (all people scored as one recording) / meaning (`rondo.metrics.meaning`) of the
*units*, means over seeds, with the standard deviation of meaning in brackets, for fits that are separate (without
common ids, so that they have no meaning), joint without places, joint with Harmony (Korsunsky et al. 2019: soft
clusters in which no person dominates, then an offset for each cluster and person, ten times) and joint with places.
`new people`: of the other half of the people, labelled by the model of the first half. The page says
which sets the constants were chosen on; `Suturing`, `PTE` and `MoCap` had no part in that.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section

from rondo.data.recording import Recording
from rondo.metrics.meaning import shared_scores
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant_subjects
from rondo.units import fit as unit_fit

Labels = NDArray[np.int32]
People = list[tuple[Recording, Labels]]
SECTIONS = ("people", "other-sets", "classifier")
UNITS_ONLY = {"evidence.surrogates": 0}  # units at the scale that motifs leave to them
SETS = {  # whether the constants were chosen with its labels in view
    "USC-HAD 1-7": "development",
    "MoCap6": "development",
    "walk": "development",
    "gestures": "development",
    "OpenPack": "development",
    "USC-HAD 8-14": "held out",
    "USC-HAD": "half of each",
    "planted": "held out",
    "planted apart": "held out",
}
OTHER_SETS = dict.fromkeys(("Suturing", "PTE", "MoCap"), "held out")


def people_of(name: str, data: Path) -> People:
    """The recordings of a set, and the class of every frame."""
    if name.startswith("planted"):
        style = 1.0 if name.endswith("apart") else 0.3
        streams = plant_subjects(StreamPlan(style=style), 6, n_frames=30_000, seed=7)
        return [(stream.recording, stream.unit_truth) for stream in streams]
    folder, part, chosen = name.split()[0], "", slice(None)
    if folder == "USC-HAD" and " " in name:
        first, last = map(int, name.split()[1].split("-"))
        chosen = slice(first - 1, last)
    if name in ("walk", "gestures"):
        folder, part = "ActRecTut", name.rstrip("s")
    if name == "Suturing":
        folder = "COMPASS_Suturing"
    rate = json.loads((data / folder / "meta.json").read_text())["rate_hz"]
    found: People = []
    for path in sorted((data / folder).glob("*.npz")):
        if part in path.stem:
            with np.load(path) as stored:
                found.append((Recording(stored["X"], rate, id=path.stem), stored["y"]))
    return found[chosen]


def separate(people: People, seed: int) -> list[Labels]:
    """A vocabulary for each; ids are made different."""
    labels, first = [], 0
    for recording, _ in people:
        own = label_one(Rondo(seed=seed, settings=UNITS_ONLY).fit(recording), recording).units
        labels.append(np.where(own < 0, own, own + first))
        first += int(own.max()) + 1
    return labels


def joint(people: People, seed: int, places: bool) -> list[Labels]:
    """One fit to all."""
    settings = UNITS_ONLY | {"units.places": places}
    result = Rondo(seed=seed, settings=settings).fit_predict([recording for recording, _ in people])
    return [labelling.units for labelling in result]


def new_people(people: People, seed: int) -> list[Labels]:
    """Labels of the second half, by a model of the first."""
    half = len(people) // 2
    model = Rondo(seed=seed, settings=UNITS_ONLY).fit([recording for recording, _ in people[:half]])
    return [label_one(model, recording).units for recording, _ in people[half:]]


def harmony(people: People, seed: int) -> list[Labels]:
    """The joint fit on latents z-scored for each person and moved together by Harmony."""
    plain = unit_fit._plain_latents

    def moved(rows, config, few_channels, own_seed, device, progress):  # type: ignore[no-untyped-def]
        found = plain(rows, config, few_channels, own_seed, device, progress)
        person = np.repeat(np.arange(len(rows.each)), [len(own) for own in rows.each])
        latents = in_harmony(z_scored(found.latents, person), person, np.random.default_rng(own_seed))
        seen.append(latents)
        return unit_fit._Latents(_Given(latents), latents, latents, found.spans)

    seen: list[NDArray[np.float64]] = []
    unit_fit._plain_latents = moved
    try:
        return joint(people, seed, places=False)
    finally:
        unit_fit._plain_latents = plain


class _Given:
    """A projection that knows the latents of the fitted windows only, in their order."""

    def __init__(self, latents: NDArray[np.float64]) -> None:
        self.latents, self.at, self.curves = latents, 0, {}

    def apply(self, representations: NDArray[np.floating]) -> NDArray[np.float64]:
        n = len(representations)
        self.at = 0 if self.at + n > len(self.latents) else self.at
        self.at += n
        return self.latents[self.at - n : self.at]

    embed = apply


def z_scored(latents: NDArray[np.float64], person: NDArray[np.int64]) -> NDArray[np.float64]:
    out = np.empty_like(latents)
    for one in np.unique(person):
        own = latents[person == one]
        out[person == one] = (own - own.mean(axis=0)) / (own.std(axis=0) + 1e-9)
    return out * latents.std(axis=0)


def in_harmony(
    z: NDArray[np.float64],
    person: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    theta: float = 2.0,
    sigma: float = 0.1,
    ridge: float = 1.0,
) -> NDArray[np.float64]:
    """Latents (n_windows, n_dims) with an offset for each soft cluster and person taken off."""
    from sklearn.cluster import KMeans

    one_hot = np.eye(int(person.max()) + 1)[person]
    n_clusters = min(50, len(z) // 15)
    centres = KMeans(n_clusters, n_init=1, random_state=int(rng.integers(2**31))).fit(z).cluster_centers_
    scale, moved = np.square(z).sum(axis=1).mean() / 2, z
    for _ in range(10):
        for _ in range(5):
            distances = ((moved**2).sum(axis=1)[:, None] - 2 * moved @ centres.T + (centres**2).sum(axis=1)) / scale
            near = np.exp(-(distances - distances.min(axis=1, keepdims=True)) / sigma)
            soft = near / near.sum(axis=1, keepdims=True)
            for _ in range(4):
                seen, expected = soft.T @ one_hot, soft.sum(axis=0)[:, None] * one_hot.mean(axis=0)
                soft = near * (((expected + 1) / (seen + 1)) ** theta)[:, person].T
                soft /= soft.sum(axis=1, keepdims=True) + 1e-30
            centres = soft.T @ moved / (soft.sum(axis=0)[:, None] + 1e-12)
        moved = z.copy()
        for k in range(n_clusters):
            sizes, middle = soft[:, k] @ one_hot, soft[:, k] @ z / (soft[:, k].sum() + 1e-12)
            offsets = ((one_hot * soft[:, [k]]).T @ z - sizes[:, None] * middle) / (sizes[:, None] + ridge)
            moved -= soft[:, [k]] * offsets[person]
    return moved


def called_by_classifier(people: People) -> float:
    """Share of windows, in percent, that a linear classifier calls right that was trained on the labels of the others.

    It sees the window statistics of each person, standardised by that person: what places begin with.
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    model = Rondo(seed=0, settings=UNITS_ONLY).fit([recording for recording, _ in people])
    rows, classes = [], []
    for recording, truth in people:
        _, windows = model._windows_of(recording)
        own = model.unit_model_.encoder.encode(windows).astype(np.float64)
        rows.append((own - own.mean(axis=0)) / (own.std(axis=0) + 1e-6))
        middles = windows.grid.starts + windows.grid.length_frames // 2
        classes.append(truth[np.minimum(middles, truth.size - 1)])
    right = []
    for i in range(len(people)):
        others = [j for j in range(len(people)) if j != i]
        fitted = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1).fit(
            np.concatenate([rows[j] for j in others]), np.concatenate([classes[j] for j in others])
        )
        right.append(float((fitted.predict(rows[i]) == classes[i]).mean()))
    return 100 * float(np.mean(right))


WAYS: dict[str, Callable[[People, int], Sequence[Labels]]] = {
    "separate fits": separate,
    "joint, no places": lambda people, seed: joint(people, seed, places=False),
    "Harmony": harmony,
    "places": lambda people, seed: joint(people, seed, places=True),
    "new people": new_people,
}


def cell_of(people: People, way: str, n_seeds: int) -> str:
    """One way on one set."""
    if way == "new people" and len(people) < 4:
        return ""
    seen = people[len(people) // 2 :] if way == "new people" else people
    truth = {recording.id: classes for recording, classes in seen}
    rows = []
    for seed in range(n_seeds):
        labels = WAYS[way](people, seed)
        own = shared_scores(truth, {recording.id: own for (recording, _), own in zip(seen, labels, strict=True)})
        rows.append([own.per_person_ari, own.pooled_ari, own.meaning])
    mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0)
    scores = " / ".join(f"{value:.0f}" for value in (mean[:2] if way == "separate fits" else mean))
    return scores if n_seeds == 1 or way == "separate fits" else f"{scores} ({spread[2]:.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*", default=list(SETS), metavar="SET")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--classifier", action="store_true", help="what labels of the other people could do at most")
    given = parse(parser, __file__)
    if given.classifier:
        table, section = Table("people", "windows classified correctly"), "classifier"
        for name in given.sets:
            table.add(name, f"{called_by_classifier(people_of(name, given.data)):.0f} %")
    else:
        table = Table("people", "", *given.ways)
        section = "other-sets" if set(given.sets) <= set(OTHER_SETS) else "people"
        for name in given.sets:
            people = people_of(name, given.data)
            cells = [cell_of(people, way, given.seeds) for way in given.ways]
            table.add(f"{name} ({len(people)})", (SETS | OTHER_SETS)[name], *cells)
    write_section(given, section, table)


if __name__ == "__main__":
    main()
