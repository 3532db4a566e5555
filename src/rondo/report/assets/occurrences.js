// The drawer: all occurrences of an entry side by side, each from its start, on one scale of time and of values.
"use strict"

const CELL = 150, STRIP = 22, UNITS = 10

function showOccurrences(drawer, entry, page, origin) {
  const facts = drawer.querySelector(".facts")
  facts.replaceChildren()
  const add = (kind, words, parent = facts) => {
    const made = document.createElement(kind)
    made.textContent = words
    parent.append(made)
    return made
  }
  const heading = add("h2", entry.name)
  heading.prepend(swatchOf(entry))
  add("p", entry.facts)
  if (entry.composition.length) {
    const made = add("p", "Made of: ")
    made.className = "composition"
    for (const part of entry.composition) {
      const span = add("span", part.name ? part.text.replace(/u\d+/, part.name) : part.text, made)
      if (part.colour) { span.className = "part"; span.prepend(swatchOf(part)) }
      made.append(" ")
    }
    if (entry.composition_key) add("p", `Here ${entry.composition_key}.`).className = "quiet"
  }
  if (entry.taken_for) add("p", `Often taken for: ${entry.taken_for}`)
  if (entry.apart.length) {
    const apart = add("p", "Set apart from the rest by:")
    apart.className = "apart"
    apart.title = "d: difference of means over the standard deviation; 0.8 and more can be seen by eye"
    const list = add("ol", "")
    for (const one of entry.apart) add("li", `${one.channel}: ${one.words} (d = ${one.d})`, list)
  }
  const grid = drawer.querySelector(".occurrences")
  grid.replaceChildren()
  drawer.querySelector(".key").replaceChildren()
  if (!entry.occurrences.length) return add("p", "No occurrence of it is drawn on this page.", grid)
  drawer.querySelector(".key").replaceChildren(...keyRows(entry))
  const codes = bytesOf(entry.data)
  entry.occurrences.forEach((one) => grid.append(cellOf(entry, one, codes, page)))
  add("p", `Each begins at the left; a cell is ${entry.width_words} wide. ★: its exemplars, which have the highest`
    + " scores. Under each, when it begins and its score.").className = "quiet"
  const near = origin && [...grid.querySelectorAll("button")].find((it) =>
    Number(it.dataset.start) === origin.frame && Number(it.dataset.timeline) === page.timelines.indexOf(origin.timeline))
  if (near) near.classList.add("pressed")
}

function swatchOf({colour, pattern}) {
  const swatch = document.createElement("span")
  swatch.className = `swatch ${pattern}`
  swatch.style.backgroundColor = colour
  return swatch
}

// The names of the rows, once, at the left.
function keyRows(entry) {
  return entry.rows.map((name) => {
    const row = document.createElement("div")
    row.style.height = `${STRIP}px`
    row.textContent = shortened(name)
    row.title = name
    return row
  })
}

function cellOf(entry, one, codes, page) {
  const cell = document.createElement("button"), canvas = document.createElement("canvas")
  cell.type = "button"
  cell.dataset.start = one.start
  cell.dataset.end = one.end
  cell.dataset.timeline = one.timeline
  drawCell(canvas, entry, one, codes, page)
  const words = document.createElement("span")
  words.textContent = `${one.exemplar ? "★ " : ""}${one.words}`
  cell.append(canvas, words)
  cell.title = "Show it in the timeline"
  cell.addEventListener("click", () => {
    const margin = one.end - one.start, timeline = page.timelineAt(one.timeline)
    timeline.show(one.start - margin, one.end + margin)
    timeline.place.scrollIntoView({block: "nearest"})
    for (const other of cell.parentNode.children) other.classList.toggle("pressed", other === cell)
  })
  return cell
}

function drawCell(canvas, entry, one, codes, page) {
  const density = Math.max(1, window.devicePixelRatio || 1)
  const units = entry.level === "motif" ? page.lanesOf(page.dataOf(one.timeline)).find((lane) => lane.kind === "unit") : null
  const height = STRIP * entry.rows.length + (units ? UNITS + 2 : 0)
  Object.assign(canvas, {width: CELL * density, height: height * density})
  Object.assign(canvas.style, {width: `${CELL}px`, height: `${height}px`})
  const pen = canvas.getContext("2d")
  pen.scale(density, density)
  const width = CELL * (one.end - one.start) / entry.width
  pen.fillStyle = "#f4f4f4"
  pen.fillRect(0, 0, width, STRIP * entry.rows.length)
  pen.fillStyle = "#4a5663"
  entry.rows.forEach((_, row) => {
    const column = width / one.columns
    const yOf = (code) => STRIP * row + 2 + (STRIP - 4) * (1 - code / 254)
    const at = one.offset + 2 * row * one.columns
    let before = null
    for (let i = 0; i < one.columns; i++) {
      let low = codes[at + i], high = codes[at + one.columns + i]
      if (low === 255) { before = null; continue }
      const now = [low, high]
      if (before) [low, high] = [Math.min(low, before[1]), Math.max(high, before[0])]
      before = now
      const y = yOf(high)
      pen.fillRect(i * column, y - 0.5, Math.max(1, column), Math.max(1, yOf(low) - y + 1))
    }
  })
  if (units) drawUnits(pen, units, one, width, height - UNITS)
  if (width <= CELL) return
  pen.clearRect(CELL - 12, 0, 12, height) // it goes on
  Object.assign(pen, {fillStyle: "#222", font: `14px ${FONT}`, textBaseline: "middle"})
  pen.fillText("…", CELL - 11, height / 2)
}

// Some occurrences over each other, in the channel that sets the entry apart most.
function drawSpark(canvas, entry) {
  const width = 132, height = 40, density = Math.max(1, window.devicePixelRatio || 1)
  Object.assign(canvas, {width: width * density, height: height * density})
  Object.assign(canvas.style, {width: `${width}px`, height: `${height}px`})
  if (!entry || !entry.occurrences.length) return
  const pen = canvas.getContext("2d"), codes = bytesOf(entry.data)
  pen.scale(density, density)
  Object.assign(pen, {strokeStyle: "#4a566399", lineWidth: 1})
  const every = Math.max(1, Math.floor(entry.occurrences.length / 6))
  for (const one of entry.occurrences.filter((_, i) => i % every === 0).slice(0, 6)) {
    const column = width * (one.end - one.start) / entry.width / one.columns
    pen.beginPath()
    for (let i = 0; i < one.columns; i++) {
      const low = codes[one.offset + i], high = codes[one.offset + one.columns + i]
      if (low === 255) continue
      pen.lineTo((i + 0.5) * column, 2 + (height - 4) * (1 - (low + high) / 508))
    }
    pen.stroke()
  }
  canvas.title = `${entry.rows[0]}, up to six occurrences from their starts`
  const name = document.createElement("span")
  Object.assign(name, {className: "spark-name", textContent: shortened(entry.rows[0])})
  canvas.after(name)
}

function drawUnits(pen, lane, one, width, y) {
  const perFrame = width / (one.end - one.start)
  for (let i = firstEndingAfter(lane, one.start); i < lane.starts.length && lane.starts[i] < one.end; i++) {
    const from = Math.max(0, lane.starts[i] - one.start), to = Math.min(one.end, lane.ends[i]) - one.start
    pen.fillStyle = fillOf(pen, lane.entries[lane.entry[i]], (to - from) * perFrame)
    pen.fillRect(from * perFrame, y, (to - from) * perFrame, UNITS)
  }
}
