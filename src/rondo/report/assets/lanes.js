// What was found: motifs as blocks over an ethogram of their units, one row each; what is true or annotated beneath.
"use strict"

const BLOCK = 24, TRUTH = 18, LANE_GAP = 5, MOST_ROWS = 16
const LEAST_INSIDE = 6, LEAST_EDGED = 16 // pixels of a motif block: fewer, and its tint or its edges would be stripes
const PALE = 0.16
const TITLE = 15 // pixels above a lane, where its name cannot stand beside it
const isOther = (lane, entry) => lane.entries[entry].name === "OTHER" && lane.kind !== "annotation" // there it is a class

// Everything between signal and scores from top to bottom: bands of {lane, y, height, kind, entry, name}. `kind` is "block" (a
// whole lane), "title" (of rows), "row" (one entry of a lane), "more" or "fewer" (rows that are folded, or the way to fold them).
function bandsOf(timeline) {
  const bands = [], ofKind = (kind) => timeline.lanes.filter((lane) => lane.kind === kind)
  const units = ofKind("unit")
  for (const lane of units) {
    const motifs = ofKind("motif").find((it) => it.run === lane.run), isTitled = timeline.isNarrow && units.length > 1
    const gap = (bands.length ? 2 * LANE_GAP : 0) + (isTitled && motifs ? TITLE : 0)
    if (motifs) bands.push({kind: "block", lane: motifs, height: BLOCK, name: motifs.title, gap, isTitled})
    else if (units.length > 1) bands.push({kind: "title", lane, height: TRUTH, name: lane.title, gap}) // whose rows these are
    bands.push(...rowsOf(timeline, lane))
  }
  for (const kind of ["true motif", "true unit", "annotation"]) {
    for (const lane of ofKind(kind)) bands.push({kind: "block", lane, height: TRUTH, name: lane.title,
      gap: timeline.isNarrow ? TITLE : LANE_GAP, isTitled: timeline.isNarrow})
  }
  let y = timeline.lanesTop
  for (const band of bands) {
    band.y = y + (band.gap ?? 0)
    y = band.y + band.height
  }
  return bands
}

// A row for each unit that occurs, in the order of first occurrences; of very many the longest have one.
function rowsOf(timeline, lane) {
  const {order, frames} = orderOf(lane), tall = timeline.isNarrow || order.length <= 10 ? 16 : 14
  const known = order.filter((entry) => !isOther(lane, entry)), others = order.filter((entry) => isOther(lane, entry))
  const isFolded = known.length > MOST_ROWS && !timeline.isUnfolded
  const kept = new Set(isFolded ? [...known].sort((a, b) => frames[b] - frames[a]).slice(0, MOST_ROWS - 1) : known)
  const rowOf = (entry) => ({kind: "row", lane, entry, height: tall, name: lane.entries[entry].name})
  const rows = known.filter((entry) => kept.has(entry)).map(rowOf)
  if (isFolded) rows.push({kind: "more", lane, height: tall, name: `${known.length - kept.size} more ▾`})
  else if (known.length > MOST_ROWS) rows.push({kind: "fewer", lane, height: tall, name: "fewer ▴"})
  rows.push(...others.map(rowOf))
  if (rows.length) rows[0].gap = 3
  else rows.push({kind: "block", lane, height: tall, name: lane.title})
  return rows
}

// Entries in the order of their first occurrences, and the frames of each.
function orderOf(lane) {
  if (lane.order) return lane.order
  const order = [], frames = lane.entries.map(() => 0), seen = new Uint8Array(lane.entries.length)
  for (let i = 0; i < lane.starts.length; i++) {
    const entry = lane.entry[i]
    frames[entry] += lane.ends[i] - lane.starts[i]
    if (!seen[entry]) { seen[entry] = 1; order.push(entry) }
  }
  return lane.order = {order, frames}
}

function laneOf(lane) {
  return {
    ...lane,
    starts: numbersOf(lane.starts, Int32Array), ends: numbersOf(lane.ends, Int32Array),
    entry: numbersOf(lane.entry, Int32Array), sequence: numbersOf(lane.sequence, Int32Array),
    scores: numbersOf(lane.scores, Float32Array),
  }
}

function firstEndingAfter(lane, frame) {
  let from = 0, to = lane.ends.length
  while (from < to) {
    const middle = (from + to) >> 1
    if (lane.ends[middle] > frame) to = middle
    else from = middle + 1
  }
  return from
}

function drawLanes(timeline, pen) {
  const spans = chosenSpans(timeline)
  if (spans) drawShade(timeline, pen, spans)
  for (const lane of new Set(timeline.bands.map((band) => band.lane))) {
    const bands = timeline.bands.filter((band) => band.lane === lane)
    const isBright = brightIn(timeline, lane, spans)
    if (bands[0].kind === "block") drawBlocks(timeline, pen, bands[0], isBright)
    else drawRows(timeline, pen, bands, isBright)
  }
}

// The occurrences of the chosen entry in this timeline, or null.
function chosenSpans(timeline) {
  for (const lane of timeline.lanes) {
    const entry = timeline.page.chosenIn(timeline, lane)
    if (entry === null || entry < 0) continue
    const places = []
    for (let i = 0; i < lane.starts.length; i++) if (lane.entry[i] === entry) places.push(i)
    return {lane, entry, places, starts: places.map((i) => lane.starts[i]), ends: places.map((i) => lane.ends[i])}
  }
  return null
}

// Whether a segment is drawn bright: it is one of the chosen entry, or of another lane and lies with one of those.
function brightIn(timeline, lane, spans) {
  if (timeline.page.chosen === null) return () => true
  const entry = timeline.page.chosenIn(timeline, lane)
  if (entry !== null) return (i) => lane.entry[i] === entry
  if (!spans) return () => true
  let at = 0
  return (i) => { // segments come in order
    while (at > 0 && spans.ends[at - 1] > lane.starts[i]) at--
    while (at < spans.ends.length && spans.ends[at] <= lane.starts[i]) at++
    const shared = at < spans.starts.length ? Math.min(spans.ends[at], lane.ends[i]) - Math.max(spans.starts[at], lane.starts[i]) : 0
    return shared > 0.2 * Math.min(lane.ends[i] - lane.starts[i], spans.ends[at] - spans.starts[at]) // a touch is no share
  }
}

// Where the chosen entry occurs, through the rows of the signal.
function drawShade(timeline, pen, {lane, entry, starts, ends}) {
  if (!timeline.top) return
  pen.fillStyle = colourOf(lane.entries[entry])
  pen.globalAlpha = 0.13
  let drawnTo = -Infinity
  starts.forEach((start, i) => {
    if (ends[i] < timeline.view.start || start > timeline.view.end) return
    const from = Math.max(drawnTo, timeline.xOf(start)), to = timeline.xOf(ends[i])
    if (to - from < 0.4) return
    pen.fillRect(from, 0, to - from, timeline.top - 4)
    drawnTo = to
  })
  pen.globalAlpha = 1
}

// The segments in view as [place, left, right]; of those that share a pixel, the bright ones and the first.
function* inView(timeline, lane, isBright, drawnTo) {
  const {start, end} = timeline.view, perFrame = 1 / timeline.framesPerPixel, {left: origin} = timeline
  for (let i = firstEndingAfter(lane, start); i < lane.starts.length && lane.starts[i] < end; i++) {
    const right = origin + (lane.ends[i] - start) * perFrame, bright = isBright(i), row = drawnTo.of(i)
    if (right - drawnTo.at[row] < 0.8 && !bright) continue // next to nothing of it would be seen
    const left = origin + (lane.starts[i] - start) * perFrame
    if (right - drawnTo.at[row] < 0.4 && right - left < 0.4) continue
    drawnTo.at[row] = right
    yield [i, left, right, bright]
  }
}

function drawBlocks(timeline, pen, {lane, y, height}, isBright) {
  const bar = height - 2, isMotif = lane.kind === "motif", named = []
  pen.fillStyle = theme.other
  pen.fillRect(timeline.xOf(0), y, timeline.nFrames / timeline.framesPerPixel, bar)
  const before = {at: [-Infinity], of: () => 0}
  for (const [i, left, right, bright] of inView(timeline, lane, isBright, before)) {
    const entry = lane.entries[lane.entry[i]]
    if (isOther(lane, lane.entry[i])) continue
    if (!bright) { pen.fillStyle = theme.paper; pen.fillRect(left, y, Math.max(0.5, right - left), bar) }
    pen.globalAlpha = bright ? 1 : PALE
    pen.fillStyle = fillOf(pen, entry, right - left)
    pen.fillRect(left, y, Math.max(0.5, right - left), bar)
    pen.globalAlpha = 1
    if (right - left > 4) named.push([i, left, right, bright])
  }
  pen.font = `${isMotif ? "600 " : ""}11px ${FONT}`
  for (const [i, left, right, bright] of named) {
    pen.fillStyle = theme.paper
    pen.fillRect(right - 0.5, y, 1, bar)
    if (bright) drawBlockName(timeline, pen, lane, i, left, right, y + bar / 2)
  }
}

function drawBlockName(timeline, pen, lane, i, left, right, middle) {
  const {name, ink, colour, pattern} = lane.entries[lane.entry[i]]
  const from = Math.max(left, timeline.left), to = Math.min(right, timeline.left + timeline.plotWidth)
  Object.assign(pen, {textAlign: "center", textBaseline: "middle"})
  const words = [name, ...(lane.kind === "annotation" ? [] : [name.split(" ")[0]])] // the id alone, where the name is too long
  const shown = words.find((it) => to - from > 6 * it.length && pen.measureText(it).width + 6 < to - from)
  if (!shown) return
  if (pattern !== "plain") {
    const width = pen.measureText(shown).width + 4
    pen.fillStyle = colour
    pen.fillRect((from + to - width) / 2, middle - 6, width, 12)
  }
  pen.fillStyle = ink
  pen.fillText(shown, (from + to) / 2, middle + 0.5)
}

// The ethogram: what a motif holds lies between its edges, which go through all rows.
function drawRows(timeline, pen, bands, isBright) {
  const {lane} = bands[0], top = bands[0].y, last = bands[bands.length - 1], bottom = last.y + last.height
  const rowOf = new Int16Array(lane.entries.length).fill(bands.findIndex((band) => band.kind === "more"))
  bands.forEach((band, row) => { if (band.kind === "row") rowOf[band.entry] = row })
  const motifs = timeline.bands.find((band) => band.lane.kind === "motif" && band.lane.run === lane.run)?.lane
  const edges = motifs ? drawInsides(timeline, pen, motifs, top, bottom) : []
  pen.fillStyle = theme.grid
  for (const band of bands.slice(1)) pen.fillRect(timeline.left, band.y - 0.5, timeline.plotWidth, 1)
  const before = {at: new Float64Array(bands.length).fill(-Infinity), of: (i) => rowOf[lane.entry[i]]}
  for (const [i, left, right, bright] of inView(timeline, lane, isBright, before)) {
    const row = rowOf[lane.entry[i]], band = bands[row]
    if (!band) continue
    pen.globalAlpha = bright ? 1 : PALE
    pen.fillStyle = isOther(lane, lane.entry[i]) ? theme.other : fillOf(pen, lane.entries[lane.entry[i]], right - left)
    const wide = Math.max(0.8, right - left)
    pen.fillRect(left, band.y + 2, wide > 3 ? wide - 0.6 : wide, band.height - 4)
  }
  pen.globalAlpha = 1
  for (const [x, colour] of edges) {
    pen.fillStyle = colour
    pen.globalAlpha = 0.55
    pen.fillRect(x - 0.5, top - 5, 1, bottom - top + 5)
  }
  pen.globalAlpha = 1
}

// A tint of each motif block over the rows of its units; returns its edges.
function drawInsides(timeline, pen, motifs, top, bottom) {
  const edges = [], before = {at: [-Infinity], of: () => 0}, isBright = brightIn(timeline, motifs, chosenSpans(timeline))
  for (const [i, left, right, bright] of inView(timeline, motifs, isBright, before)) {
    if (isOther(motifs, motifs.entry[i]) || right - left < LEAST_INSIDE) continue
    pen.fillStyle = colourOf(motifs.entries[motifs.entry[i]])
    pen.globalAlpha = bright ? 0.11 : 0.04
    pen.fillRect(left, top - 5, right - left, bottom - top + 5)
    if (bright && right - left > LEAST_EDGED) edges.push([left + 0.5, pen.fillStyle], [right - 0.5, pen.fillStyle])
  }
  pen.globalAlpha = 1
  return edges
}

// The box of a segment on the canvas, in CSS pixels; null where its lane is not drawn.
function boxOf(timeline, lane, place) {
  const own = timeline.bands.filter((band) => band.lane === lane && band.kind !== "title")
  const band = own.find((it) => it.kind === "block" || it.entry === lane.entry[place]) ?? own.find((it) => it.kind === "more")
  if (!band) return null
  return {left: timeline.xOf(lane.starts[place]), right: timeline.xOf(lane.ends[place]), top: band.y, bottom: band.y + band.height}
}

function drawLaneNames(timeline, pen) {
  for (const band of timeline.bands) {
    const {lane, y, height, name, kind} = band, isUnits = kind !== "block" && kind !== "title"
    const isChosen = kind === "row" && timeline.page.chosenIn(timeline, lane) === band.entry
    if (timeline.isNarrow) {
      if (kind !== "block") inside(timeline, pen, name, timeline.left + 3, y + height / 2 - 5, "left")
      else if (band.isTitled) inside(timeline, pen, name, timeline.left + 3, y - 12, "left")
      continue
    }
    Object.assign(pen, {fillStyle: kind === "more" || kind === "fewer" ? theme.quiet : theme.ink, textAlign: "right",
      font: `${isChosen ? "700 " : ""}${isUnits ? 11 : 12}px ${FONT}`, textBaseline: "middle"})
    pen.fillText(shortened(name), timeline.left - (isUnits ? 20 : 8), y + height / 2, timeline.left - 22)
    if (kind !== "row") continue
    pen.fillStyle = isOther(lane, band.entry) ? theme.other : fillOf(pen, lane.entries[band.entry], height)
    pen.fillRect(timeline.left - 16, y + 3, 9, height - 6)
  }
}

// Where the keys are, and what was jumped to.
function drawCursor(timeline, pen) {
  const {cursor, canvas, marked} = timeline
  if (cursor && document.activeElement === canvas) {
    const box = boxOf(timeline, cursor.lane, cursor.place)
    if (box) outlined(pen, box, theme.ink, 2)
  }
  if (!marked) return
  const left = timeline.xOf(marked.start), right = timeline.xOf(marked.end)
  pen.fillStyle = theme.mark
  for (const x of [left, right]) pen.fillRect(x - 0.5, 0, 1, timeline.height - AXIS)
  const box = marked.lane && boxOf(timeline, marked.lane, marked.place)
  if (box) outlined(pen, box, theme.mark, 2)
  else outlined(pen, {left, right, top: 1, bottom: timeline.height - AXIS - 1}, theme.mark, 1)
}

function outlined(pen, {left, right, top, bottom}, colour, width) {
  Object.assign(pen, {strokeStyle: colour, lineWidth: width})
  pen.strokeRect(left, top + width / 2, Math.max(2, right - left), bottom - top - width)
}
