// How it composes: what motifs are made of, as blocks; what follows what, as a ring of entries with arrows.
"use strict"

const GRAPH = 420, RING = 140, MARGIN = 25, LEAST_LABELLED = 0.3
const LABEL_AT = [0.216, 0.432, 0.288, 0.064] // of the four points of a Bézier curve: two fifths along it

let readComposition = null
function compositionData() {
  readComposition ??= JSON.parse(document.getElementById("composition-data")?.textContent ?? '{"made_of":{},"graphs":[]}')
  return readComposition
}

// ---------------------------------------------------------------- a motif in its units

// Blocks in order, as wide as their share of the motif's time; or bars, the largest first, where the order is free.
function pictureOf(page, motif) {
  if (!motif.ordered) {
    const rows = motif.parts.map(({units: [unit]}) => mixRow(page, unit))
    return [htmlOf("ol", {className: "mix"}, ...rows), ...motif.order ? [quietly(`${motif.order}.`)] : []]
  }
  const row = htmlOf("ol", {className: "blocks"}, ...motif.parts.map((part) => partOf(page, part)))
  if (motif.rest >= 0.02) row.append(restOf(motif.rest))
  return [row]
}

// What the signs in it mean, as far as it has them.
function keyToPicture({ordered, parts, rest}) {
  if (!ordered) return "Share of its time, in any order."
  const signs = [
    parts.some((part) => part.times) ? "↻: repeats" : "",
    parts.some((part) => part.optional) ? "hatched: some occurrences lack it" : "",
    rest >= 0.02 ? "grey: other units, or none" : "",
  ]
  return `${["In order; width is the mean share of its time", ...signs.filter(Boolean)].join("; ")}.`
}

function partOf(page, {units, times, optional}) {
  const part = htmlOf("li", {className: optional ? "part optional" : "part"})
  const blocks = htmlOf("span", {className: "cycle"}, ...units.map((unit) => blockOf(page, unit, optional)))
  part.style.flexGrow = growthOf(units.reduce((sum, unit) => sum + unit.share, 0))
  part.append(blocks)
  if (times) part.append(htmlOf("span", {className: "times", textContent: `↻ ${times}`}))
  return part
}

const growthOf = (share) => String(Math.max(1, 1000 * share)) // together far above 1, below which rows are not filled

function blockOf(page, unit, optional) {
  const block = entryButton(page, unit.key, "")
  block.classList.add("block", unit.pattern)
  block.style.backgroundColor = unit.colour
  block.style.flexGrow = growthOf(unit.share)
  block.append(htmlOf("span", {textContent: unit.name.split(" ")[0]}))
  const words = `${unit.name}: ${percentOf(unit.share)} of its time${optional ? ", in some occurrences only" : ""}`
  block.title = words
  block.setAttribute("aria-label", words)
  return block
}

function restOf(share) {
  const rest = htmlOf("li", {className: "part rest", title: `${percentOf(share)} of its time in other units or in none`})
  rest.style.flexGrow = growthOf(share)
  return rest
}

function mixRow(page, unit) {
  const bar = swatchOf(unit, "bar")
  bar.style.width = `${100 * unit.share}%`
  return htmlOf("li", {}, entryButton(page, unit.key, unit.name), htmlOf("span", {className: "track"}, bar),
    htmlOf("span", {className: "quiet", textContent: percentOf(unit.share)}))
}

// ---------------------------------------------------------------- what follows what

function graphOf(page, graph) {
  const picture = svgOf("svg", {class: "graph", viewBox: `0 ${MARGIN} ${GRAPH} ${GRAPH - 2 * MARGIN}`, role: "img",
    "aria-label": `What follows what, ${graph.level}s; the table holds the same`})
  const nodes = graph.nodes.map((node) => ({...node, x: GRAPH / 2 + RING * node.x, y: GRAPH / 2 + RING * node.y,
    radius: 7 + 15 * Math.sqrt(node.part)}))
  const arrows = graph.arrows.map((arrow) => arrowOf(nodes, arrow))
  picture.append(...arrows.map((it) => it.shape), ...nodes.map((node, i) => nodeOf(page, node, i, arrows, picture)),
    ...arrows.map((it) => it.label))
  return picture
}

function nodeOf(page, node, i, arrows, picture) {
  const [x, y] = [node.x - GRAPH / 2, node.y - GRAPH / 2].map((it) => it / RING), away = node.radius + 7 // outwards
  const side = x > 0.3 ? "start" : x < -0.3 ? "end" : "middle"
  const at = {x: node.x + away * x, y: node.y + (away + 3) * y + 4, "text-anchor": side}
  const made = svgOf("g", {class: "node"},
    svgOf("circle", {cx: node.x, cy: node.y, r: node.radius, fill: node.colour}),
    svgText("text", shortened(node.name), at), svgText("title", `${node.name}: ${node.share} of the time`))
  made.dataset.key = node.key
  made.addEventListener("click", () => page.choose(node.key))
  const focus = (isOn) => {
    picture.classList.toggle("focused", isOn)
    for (const {shape, label, from, to} of arrows) {
      for (const it of [shape, label]) it.classList.toggle("own", isOn && (from === i || to === i))
    }
  }
  made.addEventListener("pointerenter", () => focus(true))
  made.addEventListener("pointerleave", () => focus(false))
  return made
}

// From edge to edge of two nodes, bent a little to the right, so that there and back do not lie on each other.
function arrowOf(nodes, {from, to, p, n}) {
  const a = nodes[from], b = nodes[to], curve = from === to ? loopAt(a) : bendBetween(a, b)
  const [start, leaving, coming, [x, y]] = curve, size = 4 + 4 * p
  const angle = Math.atan2(y - coming[1], x - coming[0])
  const behind = (length, turn) => written([x - length * Math.cos(angle + turn), y - length * Math.sin(angle + turn)])
  const shape = svgOf("g", {class: "arrow"},
    svgOf("path", {class: "shaft", "stroke-width": 1 + 4 * p, "stroke-opacity": 0.25 + 0.65 * p,
      d: `M${written(start)}C${written(leaving)} ${written(coming)} ${behind(size, 0)}`}),
    svgOf("path", {class: "tip", "fill-opacity": 0.4 + 0.6 * p,
      d: `M${written([x, y])}L${behind(2 * size, 0.42)}L${behind(2 * size, -0.42)}Z`}),
    svgText("title", `${a.name} → ${b.name}: ${percentOf(p)} (${n} time${n === 1 ? "" : "s"})`))
  const at = [0, 1].map((i) => LABEL_AT.reduce((sum, weight, k) => sum + weight * curve[k][i], 0))
  const label = svgText("text", percentOf(p), {class: p >= LEAST_LABELLED ? "p" : "p weak", x: at[0], y: at[1] + 3,
    "text-anchor": "middle"})
  return {shape, label, from, to}
}

function bendBetween(a, b) {
  const dx = b.x - a.x, dy = b.y - a.y, length = Math.hypot(dx, dy) || 1, [ux, uy] = [dx / length, dy / length]
  const bend = 0.12 * length + 6, [px, py] = [-uy * bend, ux * bend]
  const start = [a.x + ux * a.radius, a.y + uy * a.radius], end = [b.x - ux * (b.radius + 2), b.y - uy * (b.radius + 2)]
  return [start, [a.x + dx * 0.3 + px, a.y + dy * 0.3 + py], [a.x + dx * 0.7 + px, a.y + dy * 0.7 + py], end]
}

// Outwards, away from the ring.
function loopAt(node) {
  const x = node.x - GRAPH / 2, y = node.y - GRAPH / 2, length = Math.hypot(x, y) || 1, [ux, uy] = [x / length, y / length]
  const at = (along, aside) => [node.x + along * ux - aside * uy, node.y + along * uy + aside * ux], r = node.radius
  return [at(0.5 * r, -0.87 * r), at(r + 30, -22), at(r + 30, 22), at(0.5 * r, 0.87 * r)]
}

// One level at a time, where there are two.
function showGraphs(page, place) {
  const {graphs} = compositionData(), tables = [...place.querySelectorAll(".follows")]
  const picture = place.querySelector(".ring")
  const show = (i) => {
    picture.replaceChildren(graphOf(page, graphs[i]))
    tables.forEach((table, j) => { table.hidden = i !== j })
    buttons.forEach((button, j) => button.setAttribute("aria-pressed", String(i === j)))
    markNodes(place, page.chosen)
  }
  const buttons = graphs.map(({level}, i) => pressable(`${level}s`, `what follows what among ${level}s`, () => show(i)))
  if (graphs.length > 1) place.querySelector(".modes").append(...buttons)
  show(0)
}

function markNodes(place, key) {
  for (const node of place.querySelectorAll(".node")) node.classList.toggle("chosen", node.dataset.key === key)
}

addRondoPlugin({
  started(page) {
    for (const place of document.querySelectorAll(".motif-picture")) {
      place.replaceChildren(...pictureOf(page, compositionData().made_of[place.dataset.key]))
    }
    const place = document.getElementById("follows")
    if (place) showGraphs(page, place)
  },
  chosen(page, key) {
    const place = document.getElementById("follows")
    if (place) markNodes(place, key)
  },
})
