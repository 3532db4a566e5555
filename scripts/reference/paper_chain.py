"""The picture of the paper's chain, docs/pictures/paper_chain.svg: boxes that show on light and dark pages."""

from __future__ import annotations

_WIDTH, _HEIGHT = 960, 500
_GREY = "#7d838c"  # arrows and captions: about as far from white as from the dark page
_NET, _CLUSTER, _DATA, _STREAM = "#1f5f8b", "#8a4b08", "#4a5560", "#2f6b3c"
_STEP = 188  # from box to box

# (row, column, colour, heading, lines)
_BOXES = (
    (0, 0, _DATA, "Windows", ("X → u₁, u₂, …", "L frames each")),
    (0, 1, _NET, "Encoder", ("TS2Vec, Time-MAE", "or MantisV2 → y")),
    (0, 2, _NET, "UnitAlign", ("adaptor y → h → z", "init, then refine")),
    (0, 3, _CLUSTER, "DeepDPM", ("32 dimensions →", "unit vocabulary U")),
    (0, 4, _DATA, "Unit timeline", ("Viterbi,", "unit centroids")),
    (1, 4, _NET, "MotifFormer", ("subsequences of", "2, 3, …, 10 windows")),
    (1, 3, _CLUSTER, "DeepDPM", ("at each length,", "10 down to 2")),
    (1, 2, _CLUSTER, "Soft coverage", ("w(q) = 1 − ρ(q) for", "the next length")),
    (1, 1, _DATA, "Match and fuse", ("radius, posterior;", "score s over lengths")),
    (1, 0, _DATA, "Motifs", ("one per window,", "or OTHER")),
    (2, 0, _STREAM, "Match", ("windows to units,", "sequences to motifs")),
    (2, 1, _STREAM, "Refine", ("accepted: prototype,", "radius, statistics")),
    (2, 2, _STREAM, "Buffer", ("micro-clusters whose", "support decays")),
    (2, 3, _STREAM, "Recurs?", ("support, extent,", "several regions")),
    (2, 4, _STREAM, "Merge, promote", ("within 1.25 radii,", "else a new entry")),
)
_TOPS, _LEFT, _BOX = (44, 176, 366), 20, (166, 84)


def paper_chain() -> str:
    parts = [*_arrows(), *_captions(), *(line for box in _BOXES for line in _box(*box))]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="14" text-anchor="middle">\n'
        "<title>The chain of the RONDO paper</title>\n"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{_GREY}"/></marker></defs>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _box(row: int, column: int, colour: str, heading: str, lines: tuple[str, ...]) -> list[str]:
    x, y = _LEFT + column * _STEP, _TOPS[row]
    width, height = _BOX
    centre = x + width // 2
    texts = [f'<text x="{centre}" y="{y + 50 + 19 * i}">{line}</text>' for i, line in enumerate(lines)]
    return [
        f'<g fill="#fff"><rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{colour}"/>',
        f'<text x="{centre}" y="{y + 27}" font-weight="700" font-size="16">{heading}</text>',
        *texts,
        "</g>",
    ]


def _arrows() -> list[str]:
    width, height = _BOX
    right, left = _LEFT + width, _LEFT  # of the first column
    first, second, third = (top + height // 2 for top in _TOPS)
    middle = width // 2

    def x(column: int, edge: int) -> int:
        return edge + column * _STEP

    last = x(4, left) + middle
    paths = [
        *(f"M{x(c, right)} {first}H{x(c + 1, left)}" for c in range(4)),
        f"M{last} {_TOPS[0] + height}V{_TOPS[1]}",
        *(f"M{x(c, left)} {second}H{x(c - 1, right)}" for c in (4, 3, 2, 1)),
        f"M{x(0, right)} {third}H{x(1, left)}",
        f"M{x(0, left) + middle} {_TOPS[2] + height}v26H{x(2, left) + middle}v-26",
        f"M{x(2, right)} {third}H{x(3, left)}",
        f"M{x(3, right)} {third}H{x(4, left)}",
        # from a cluster back to the network that it teaches
        f"M{x(3, left) + middle} {_TOPS[0]}v-18H{x(2, left) + middle}v18",
        f"M{x(2, left) + middle} {_TOPS[1] + height}v18H{x(3, left) + middle}v-18",
    ]
    drawn = f'fill="none" stroke="{_GREY}" stroke-width="2" marker-end="url(#tip)"'
    rule = f'<path d="M{left} 316H{x(4, right)}" stroke="{_GREY}" stroke-dasharray="5 5"/>'
    return [f'<path d="{path}" {drawn}/>' for path in paths] + [rule]


def _captions() -> list[str]:
    width, height = _BOX
    between = _LEFT + 2 * _STEP + width + (_STEP - width) // 2  # of the third and the fourth column
    captions = (
        (between, _TOPS[0] - 25, "middle", "pseudo-labels, until they stay"),
        (between, _TOPS[1] + height + 34, "middle", "accepted intervals"),
        (_LEFT, 350, "start", "Continual vocabularies, of units and of motifs of each length"),
        (_LEFT + _STEP + width // 2, _TOPS[2] + height + 44, "middle", "rejected"),
    )
    return [
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{_GREY}" font-weight="600">{text}</text>'
        for x, y, anchor, text in captions
    ]
