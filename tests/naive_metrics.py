"""Slow, obvious twins of `rondo.metrics`: frame by frame, by the definition, in plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations

Track = Sequence[int]


def segments(track: Track) -> list[tuple[int, int, int]]:
    """(start, stop, id) of every run."""
    found: list[tuple[int, int, int]] = []
    for frame, label in enumerate(track):
        if found and found[-1][2] == label:
            found[-1] = (found[-1][0], frame + 1, label)
        else:
            found.append((frame, frame + 1, label))
    return found


def in_order_of_appearance(track: Track) -> list[int]:
    return list(dict.fromkeys(track))


def mapping(truth: Track, labels: Track) -> dict[int, int]:
    """Cluster -> class of largest overlap; a tie goes to the class that appears first."""
    best = {}
    for cluster in in_order_of_appearance(labels):
        counts = dict.fromkeys(in_order_of_appearance(truth), 0)
        for true, label in zip(truth, labels, strict=True):
            counts[true] += label == cluster
        best[cluster] = max(counts, key=lambda c: counts[c])  # max keeps the first of equals
    return best


def mapped(truth: Track, labels: Track) -> list[int]:
    to_class = mapping(truth, labels)
    return [to_class[label] for label in labels]


def mof(truth: Track, labels: Track) -> float:
    return sum(t == p for t, p in zip(truth, mapped(truth, labels), strict=True)) / len(truth)


def recall_of_classes(truth: Track, predicted: Track) -> dict[int, float]:
    found: dict[int, list[bool]] = {}
    for start, stop, true in segments(truth):
        right = sum(predicted[frame] == true for frame in range(start, stop))
        found.setdefault(true, []).append(right >= (stop - start) / 2)
    return {true: sum(hits) / len(hits) for true, hits in found.items()}


def accuracy_of_classes(truth: Track, predicted: Track) -> dict[int, float]:
    right: dict[int, list[bool]] = {}
    for true, guess in zip(truth, predicted, strict=True):
        right.setdefault(true, []).append(true == guess)
    return {true: sum(hits) / len(hits) for true, hits in right.items()}


def recall(truth: Track, labels: Track) -> float:
    by_class = recall_of_classes(truth, mapped(truth, labels))
    return sum(by_class.values()) / len(by_class)


def edit(truth: Track, labels: Track) -> float:
    """Levenshtein by the textbook recursion, one row of the table at a time."""
    wanted = [s[2] for s in segments(truth)]
    got = [s[2] for s in segments(mapped(truth, labels))]
    row = list(range(len(got) + 1))
    for i, a in enumerate(wanted, start=1):
        above, row = row, [i]
        for j, b in enumerate(got, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b)))
    return 1 - row[-1] / max(len(wanted), len(got))


def f1(truth: Track, labels: Track, iou_percent: int) -> float:
    """Take the best pair of equal class that is still free, again and again."""
    wanted, got = segments(truth), segments(mapped(truth, labels))
    free_wanted, free_got = set(range(len(wanted))), set(range(len(got)))
    n_matched = 0
    while True:
        best, pair = Fraction(0), None
        for i in sorted(free_wanted):
            for j in sorted(free_got):
                a, b = set(range(*wanted[i][:2])), set(range(*got[j][:2]))
                iou = Fraction(len(a & b), len(a | b))
                if wanted[i][2] == got[j][2] and iou > best:
                    best, pair = iou, (i, j)
        if pair is None:
            return 2 * n_matched / (len(wanted) + len(got))
        n_matched += best >= Fraction(iou_percent, 100)
        free_wanted.remove(pair[0])
        free_got.remove(pair[1])


def one_to_one(truth: Track, labels: Track) -> float:
    """The best of all ways to give every class a cluster of its own, or none."""
    classes, clusters = sorted(set(truth)), sorted(set(labels))
    partners: list[int | None] = [*clusters, *([None] * len(classes))]
    shared = {
        (c, k): sum(t == c and p == k for t, p in zip(truth, labels, strict=True)) for c in classes for k in clusters
    }
    best = 0
    for choice in set(permutations(partners, len(classes))):
        best = max(best, sum(shared[c, k] for c, k in zip(classes, choice, strict=True) if k is not None))
    return best / len(truth)


def clock(n_frames: int, n_pieces: int) -> list[int]:
    return [frame * n_pieces // n_frames for frame in range(n_frames)]


def stage(truth: Track, labels: Track, percent: int, by_frame: bool) -> tuple[float, float | None]:
    """Performance on old and on new classes over the first `percent` of the frames."""
    performance_of_classes = accuracy_of_classes if by_frame else recall_of_classes
    predicted = mapped(truth, labels)
    n_initial, n_seen = (max(1, len(truth) * share // 100) for share in (20, percent))
    old_classes = set(truth[:n_initial])
    by_class = performance_of_classes(truth[:n_seen], predicted[:n_seen])
    old = [value for true, value in by_class.items() if true in old_classes]
    new = [value for true, value in by_class.items() if true not in old_classes]
    return sum(old) / len(old), sum(new) / len(new) if new else None


def h_score(truth: Track, labels: Track, percent: int, by_frame: bool) -> float | None:
    old, new = stage(truth, labels, percent, by_frame)
    if new is None:
        return None
    return 0.0 if old + new == 0 else 2 * old * new / (old + new)


def covering(truth: Track, labels: Track) -> float:
    """Of every true segment, as a set of frames, the best Jaccard index; weighted by its frames."""
    predicted = [set(range(start, stop)) for start, stop, _ in segments(labels)]
    total = Fraction(0)
    for start, stop, _ in segments(truth):
        own = set(range(start, stop))
        total += len(own) * max(Fraction(len(own & other), len(own | other)) for other in predicted)
    return float(total / len(truth))


def change_point_f1(truth: Track, labels: Track, margin: float) -> float:
    """By the largest of all one-to-one matchings of change points, found by trying every one."""
    true, predicted = ([start for start, _, _ in segments(track)[1:]] for track in (truth, labels))
    if not true and not predicted:
        return 1.0

    def most(left: list[int], free: list[int]) -> int:
        if not left:
            return 0
        near = [point for point in free if abs(point - left[0]) <= margin * len(truth)]
        return max([most(left[1:], free), *(1 + most(left[1:], [f for f in free if f != p]) for p in near)])

    return 2 * most(true, predicted) / (len(true) + len(predicted))


Tracks = Mapping[str, Track]


def meaning(truth: Tracks, labels: Tracks, groups: Mapping[str, str]) -> Fraction:
    """Frame by frame: is it what its unit mostly is in the frames of everybody else? Mean over groups."""
    shares = []
    for own in sorted(set(groups.values())):
        elsewhere = [(t, p) for id in truth if groups[id] != own for t, p in zip(truth[id], labels[id], strict=True)]
        here = [(t, p) for id in truth if groups[id] == own for t, p in zip(truth[id], labels[id], strict=True)]
        n_right = 0
        for true, label in here:
            classes = [t for t, p in elsewhere if p == label]
            called = max(sorted(set(classes)), key=classes.count) if classes else None  # max keeps the first of equals
            n_right += called == true
        shares.append(Fraction(n_right, len(here)))
    return 100 * sum(shares, Fraction(0)) / len(shares)
