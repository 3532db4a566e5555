// How it composes: what motifs are made of, as blocks; what follows what, as a ring of entries with arrows.
"use strict"

const GRAPH = 420, RING = 140, MARGIN = 25, LEAST_LABELLED = 0.3

let readComposition = null
function compositionData() {
  readComposition ??= JSON.parse(document.getElementById("composition-data")?.textContent ?? '{"made_of":{},"graphs":[]}')
  return readComposition
}

// ---------------------------------------------------------------- a motif in its units

// Blocks in order, as wide as their share of the motif's time; or bars, the largest first, where the order is free.
function pictureOf(page, motif) {
  if (!motif.ordered) {
    const order = motif.order ? htmlOf("p", {className: "quiet", textContent: `${motif.order}.`}) : null
    return [htmlOf("ol", {className: "mix"}, ...motif.parts.map(({units: [unit]}) => mixRow(page, unit))), order].filter(Boolean)
  }
  const row = htmlOf("ol", {className: "blocks"}, ...motif.parts.map((part) => partOf(page, part)))
  if (motif.rest >= 0.02) row.append(restOf(motif.rest))
  return [row]
}

// What the signs in it mean, as far as it has them.
function keyToPicture({ordered, parts, rest}) {
  if (!ordered) return "Share of its time, in any order."
  const signs = [parts.some((part) => part.times) ? "↻: repeats" : "",
    parts.some((part) => part.optional) ? "hatched: some occurrences lack it" : "", rest >= 0.02 ? "grey: other units, or none" : ""]
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
  const side = Math.abs(node.x - GRAPH / 2) < 20 ? "middle" : node.x > GRAPH / 2 ? "start" : "end"
  const away = node.radius + 6, up = node.y < GRAPH / 2 ? -1 : 1
  const at = side === "middle" ? [node.x, node.y + up * (away + 4) + 4] : [node.x + (side === "start" ? away : -away), node.y + 4]
  const name = Object.assign(svgOf("text", {x: at[0], y: at[1], "text-anchor": side}), {textContent: shortened(node.name)})
  const made = svgOf("g", {class: "node"}, svgOf("circle", {cx: node.x, cy: node.y, r: node.radius, fill: node.colour}), name,
    Object.assign(svgOf("title"), {textContent: `${node.name}: ${node.share} of the time`}))
  made.dataset.key = node.key
  made.addEventListener("click", () => page.choose(node.key))
  const focus = (isOn) => {
    picture.classList.toggle("focused", isOn)
    for (const {shape, label, from, to} of arrows) for (const it of [shape, label]) it.classList.toggle("own", isOn && (from === i || to === i))
  }
  made.addEventListener("pointerenter", () => focus(true))
  made.addEventListener("pointerleave", () => focus(false))
  return made
}

// From edge to edge of two nodes, bent a little to the right, so that there and back do not lie on each other.
function arrowOf(nodes, {from, to, p, n}) {
  const a = nodes[from], b = nodes[to], curve = from === to ? loopAt(a) : bendBetween(a, b)
  const words = `${a.name} → ${b.name}: ${percentOf(p)} (${n} time${n === 1 ? "" : "s"})`
  const [[x0, y0], [cx, cy], [dx, dy], [x1, y1]] = curve, size = 4 + 4 * p
  const angle = Math.atan2(y1 - dy, x1 - dx), tip = (turn) => `${(x1 - size * 2 * Math.cos(angle + turn)).toFixed(1)},${
    (y1 - size * 2 * Math.sin(angle + turn)).toFixed(1)}`
  const end = [x1 - size * Math.cos(angle), y1 - size * Math.sin(angle)]
  const shape = svgOf("g", {class: "arrow"},
    svgOf("path", {class: "shaft", d: `M${written([x0, y0])}C${written([cx, cy])} ${written([dx, dy])} ${written(end)}`,
      "stroke-width": (1 + 4 * p).toFixed(2), "stroke-opacity": (0.25 + 0.65 * p).toFixed(2)}),
    svgOf("path", {class: "tip", d: `M${written([x1, y1])}L${tip(0.42)}L${tip(-0.42)}Z`, "fill-opacity": (0.4 + 0.6 * p).toFixed(2)}),
    Object.assign(svgOf("title"), {textContent: words}))
  const at = [0, 1].map((i) => 0.216 * curve[0][i] + 0.432 * curve[1][i] + 0.288 * curve[2][i] + 0.064 * curve[3][i]) // at 0.4
  const label = Object.assign(svgOf("text", {class: p >= LEAST_LABELLED ? "p" : "p weak", x: at[0], y: at[1] + 3, "text-anchor": "middle"}),
    {textContent: percentOf(p)})
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
  const buttons = graphs.map(({level}, i) => {
    const button = htmlOf("button", {type: "button", textContent: `${level}s`})
    button.addEventListener("click", () => show(i))
    return button
  })
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
