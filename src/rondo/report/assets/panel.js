// The panel beside the timelines: the entry that is chosen, or all of them where none is. Pictures are SVG, so that their
// colours follow the style sheet.
"use strict"

const STRIP = 15, CELL = 100, CURVE = 300, CURVE_HEIGHT = 40, MOST_LISTED = 60

function htmlOf(kind, properties = {}, ...children) {
  const made = Object.assign(document.createElement(kind), properties)
  made.append(...children.filter((it) => it !== null))
  return made
}

function svgOf(kind, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

function swatchOf({colour, pattern}, className = "swatch") {
  const swatch = htmlOf("span", {className: `${className} ${pattern}`})
  swatch.style.backgroundColor = colour
  return swatch
}

// A button that chooses an entry; where nothing is known about it, its name.
function entryButton(page, key, name) {
  if (!key || !page.entries[key]) return htmlOf("span", {textContent: name})
  const button = htmlOf("button", {type: "button", className: "entry", textContent: name})
  button.dataset.key = key
  button.setAttribute("aria-pressed", String(key === page.chosen))
  button.addEventListener("click", () => page.choose(key))
  return button
}

// ---------------------------------------------------------------- nothing chosen: what there is

function showLegend(element, page) {
  const levels = page.places.length && page.dataOf(0).lanes.some((lane) => lane.kind === "motif")
    ? [["motif", "Motifs"], ["unit", "Units"]] : [["unit", "Units"]]
  const parts = levels.map(([level, heading]) => legendOf(page, level, heading)).filter((it) => it !== null)
  element.replaceChildren(...parts.length ? parts : [htmlOf("p", {className: "quiet", textContent: "Nothing was found."})])
}

function legendOf(page, level, heading) {
  const own = Object.entries(page.entries).filter(([, entry]) => entry.level === level)
    .sort(([, one], [, other]) => other.part - one.part)
  if (!own.length) return null
  const isOwn = own.some(([, entry]) => entry.recording)
  const head = htmlOf("tr", {}, ...[heading, "share", "times", "lasts"].map((it) => htmlOf("th", {textContent: it})))
  head.children[3].title = "median duration"
  const rows = own.slice(0, MOST_LISTED).map(([key, entry]) => {
    const name = htmlOf("td", {}, swatchOf(entry), entryButton(page, key, entry.name))
    if (isOwn) name.append(htmlOf("span", {className: "quiet", textContent: ` ${entry.recording}`}))
    const row = htmlOf("tr", {}, name, ...[entry.share, entry.n, entry.lasts].map((it) => htmlOf("td", {textContent: it})))
    if (entry.unproven) Object.assign(row, {className: "unproven", title: `Recurrence: ${entry.unproven}`})
    return row
  })
  const more = own.length > MOST_LISTED
    ? htmlOf("p", {className: "quiet", textContent: `${own.length - MOST_LISTED} more in the tables below.`}) : null
  return htmlOf("section", {}, htmlOf("table", {className: "legend"}, htmlOf("thead", {}, head), htmlOf("tbody", {}, ...rows)),
    more)
}

// ---------------------------------------------------------------- one entry

function showPanel(element, entry, page, origin) {
  const key = page.chosen, codes = bytesOf(entry.data)
  const close = htmlOf("button", {type: "button", className: "close", textContent: "✕", title: "show all entries (Esc)"})
  close.setAttribute("aria-label", "show all entries")
  close.addEventListener("click", () => page.choose(null))
  const facts = htmlOf("div", {className: "facts"}, htmlOf("h2", {}, swatchOf(entry), entry.name),
    htmlOf("p", {textContent: `${entry.facts}.`}))
  facts.setAttribute("aria-live", "polite")
  if (entry.evidence) {
    facts.append(htmlOf("p", {className: entry.unproven ? "evidence quiet" : "evidence", textContent: `Recurs? ${entry.evidence}.`}))
  }
  if (entry.taken_for) facts.append(htmlOf("p", {className: "quiet", textContent: `Often taken for ${entry.taken_for}.`}))
  const grid = gridOf(entry, codes, page)
  element.replaceChildren(close, facts, stepping(page, key, entry, origin), ...[
    compositionSection(page, key), alignedSection(entry), durationSection(entry), whenSection(entry), grid,
  ].filter((it) => it !== null))
  element.scrollTop = 0
  markPressed(element, origin ? {place: page.timelines.indexOf(origin.timeline), start: origin.frame} : null)
}

function sectionOf(heading, className, ...children) {
  return htmlOf("section", {className}, htmlOf("h3", {textContent: heading}), ...children)
}

function compositionSection(page, key) {
  const found = compositionData().made_of[key]
  const words = found && htmlOf("p", {className: "quiet", textContent: keyToPicture(found)})
  return found ? sectionOf("Made of", "composition", ...pictureOf(page, found), words) : null
}

// Mean and band of 80 % of the occurrences, in the channels that set the entry apart most.
function alignedSection(entry) {
  if (!entry.aligned.length || !entry.rows.length) return null
  const place = htmlOf("div", {className: "curves"}), modes = ["from start", "stretched"]
  const ends = htmlOf("p", {className: "ends quiet"})
  const buttons = modes.map((words, mode) => {
    const button = htmlOf("button", {type: "button", textContent: words})
    button.title = mode ? "all stretched to the median duration" : "all from their start, as long as a quarter of them lasts"
    button.addEventListener("click", () => show(mode))
    return button
  })
  function show(mode) {
    remember("aligned", String(mode))
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === mode)))
    place.replaceChildren(...entry.rows.map((_, row) => curveRow(entry, row, mode)))
    ends.replaceChildren(...(mode ? ["start", `end (median ${entry.median_words})`] : ["start", `${entry.reach_words} later`])
      .map((words) => htmlOf("span", {textContent: words})))
  }
  show(remembered("aligned") === "1" ? 1 : 0)
  const n = `Mean and 10–90 % of ${entry.n_aligned} occurrence${entry.n_aligned === 1 ? "" : "s"}, in deviations from the`
    + " mean of the recording (broken line). d: standardised difference to the rest; 0.8 and more can be seen by eye."
  return sectionOf("Shape, and what sets it apart", "aligned", htmlOf("div", {className: "modes"}, ...buttons), place, ends,
    htmlOf("p", {className: "quiet", textContent: n}))
}

function curveRow(entry, row, mode) {
  const {columns, data} = entry.aligned[mode], codes = bytesOf(data), name = entry.rows[row]
  const head = htmlOf("div", {className: "curve-head"}, htmlOf("span", {className: "channel", textContent: name, title: name}))
  const apart = entry.apart.find((it) => it.channel === name)
  if (apart) head.append(htmlOf("span", {className: "apart", textContent: `${apart.words} (d ${signed(apart.d)})`}), barOf(apart.d))
  const picture = svgOf("svg", {viewBox: `0 0 ${CURVE} ${CURVE_HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${name}: mean of the occurrences${apart ? `, ${apart.words} than elsewhere` : ""}`})
  const [low, high] = entry.extents[row], yOf = (code) => 2 + (CURVE_HEIGHT - 4) * (1 - code / 254)
  if (low < 0 && high > 0) {
    const y = yOf(254 * -low / (high - low))
    picture.append(svgOf("line", {class: "zero", x1: 0, x2: CURVE, y1: y, y2: y}))
  }
  const lines = [0, 1, 2].map((it) => pointsOf(codes, (3 * row + it) * columns, columns, CURVE / columns, yOf))
  picture.append(svgOf("path", {class: "band", d: bandOf(lines[0], lines[2]), fill: entry.colour}),
    svgOf("path", {class: "mean", d: lineOf(lines[1])}))
  return htmlOf("div", {className: "curve"}, head, picture)
}

const signed = (d) => `${d < 0 ? "−" : "+"}${Math.abs(d).toFixed(1)}`

// How far from the rest, to the left or to the right of a line; 2 and more fill it.
function barOf(d) {
  const width = 28 * Math.min(1, Math.abs(d) / 2)
  return svgOf("svg", {class: "apart-bar", viewBox: "0 0 56 8", "aria-hidden": "true"},
    svgOf("rect", {x: d < 0 ? 28 - width : 28, y: 1, width, height: 6}), svgOf("line", {x1: 28, x2: 28, y1: 0, y2: 8}))
}

// Points in the middle of their columns; null where nothing is known.
function pointsOf(codes, at, columns, width, yOf) {
  return Array.from({length: columns}, (_, i) => codes[at + i] === 255 ? null : [(i + 0.5) * width, yOf(codes[at + i])])
}

const written = ([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`

function lineOf(points) {
  let d = "", isOpen = false
  for (const point of points) {
    if (point) d += `${isOpen ? "L" : "M"}${written(point)}`
    isOpen = point !== null
  }
  return d
}

function bandOf(lows, highs) {
  let d = ""
  for (let from = 0; from < lows.length; from++) {
    if (!lows[from]) continue
    let to = from
    while (to + 1 < lows.length && lows[to + 1]) to++
    const around = [...highs.slice(from, to + 1), ...lows.slice(from, to + 1).reverse()]
    d += `M${around.map(written).join("L")}Z`
    from = to
  }
  return d
}

function barsOf(values, title, className = "bars") {
  const most = Math.max(...values.map((it) => it ?? 0)) || 1, width = CURVE / values.length
  const picture = svgOf("svg", {class: className, viewBox: `0 0 ${CURVE} ${CURVE_HEIGHT}`, preserveAspectRatio: "none",
    role: "img"})
  values.forEach((value, i) => {
    const height = value === null ? CURVE_HEIGHT : (CURVE_HEIGHT - 2) * value / most
    picture.append(svgOf("rect", {class: value === null ? "unknown" : "bar", x: i * width, width: width * 0.88,
      y: CURVE_HEIGHT - height, height}, Object.assign(svgOf("title"), {textContent: title(value, i)})))
  })
  return picture
}

const endsOf = (words) => htmlOf("p", {className: "ends quiet"}, ...words.map((it) => htmlOf("span", {textContent: it})))

function durationSection({durations}) {
  if (!durations || durations.counts.length < 2) return null
  const picture = barsOf(durations.counts, (count) => `${count} occurrence${count === 1 ? "" : "s"}`)
  picture.setAttribute("aria-label", `Durations from ${durations.ends[0]} to ${durations.ends[1]}, median ${durations.median}`)
  const x = CURVE * durations.median_at
  picture.append(svgOf("line", {class: "middle", x1: x, x2: x, y1: 0, y2: CURVE_HEIGHT}))
  const [low, high] = durations.ends
  return sectionOf("How long it lasts", "durations", picture, endsOf([low, `median ${durations.median}`,
    durations.logarithmic ? `${high} (log)` : high]))
}

const percentOf = (share) => `${(100 * share).toFixed(share < 0.0995 && share > 0 ? 1 : 0)} %`

function whenSection({when}) {
  if (!when) return null
  const isHour = when.by === "hour", most = Math.max(...when.shares.map((it) => it ?? 0))
  const title = (share, i) => {
    const where = isHour ? `${i} to ${i + 1} h` : `${Math.round(100 * i / when.shares.length)} % of the way`
    return share === null ? `${where}: not recorded` : `${where}: ${percentOf(share)} of the time`
  }
  const picture = barsOf(when.shares, title)
  const heading = isHour ? "Time of day" : when.n_recordings > 1 ? `Place in ${when.n_recordings} recordings` : "Place in the recording"
  picture.setAttribute("aria-label", `${heading}: share of the recorded time, at most ${percentOf(most)}`)
  const middle = `highest bar ${percentOf(most)} of the time`
  return sectionOf(heading, "when", picture, endsOf([when.ends[0], middle, when.ends[1]]))
}

// ---------------------------------------------------------------- single occurrences

function gridOf(entry, codes, page) {
  if (!entry.occurrences.length) return null
  const grid = htmlOf("div", {className: "occurrences"}, ...entry.occurrences.map((one) => cellOf(entry, one, codes, page)))
  const n = entry.occurrences.length < entry.n ? `${entry.occurrences.length} of ${entry.n}, spread over time. ` : ""
  const words = `${n}Each begins at the left; a cell is ${entry.width_words} wide, and those with a broken edge go on. Rows as above. ★: highest scores.`
  return sectionOf("Occurrences", "cells", grid, htmlOf("p", {className: "quiet", textContent: words}))
}

function cellOf(entry, one, codes, page) {
  const cell = htmlOf("button", {type: "button", title: "Show it in the timeline"}, cellPicture(entry, one, codes, page),
    htmlOf("span", {textContent: `${one.exemplar ? "★ " : ""}${one.words}`}))
  Object.assign(cell.dataset, {start: one.start, end: one.end, timeline: one.timeline})
  if (one.end - one.start > entry.width) cell.classList.add("cut") // it goes on
  cell.addEventListener("click", () => goToOccurrence(page, {place: one.timeline, start: one.start, end: one.end}))
  return cell
}

function cellPicture(entry, one, codes, page) {
  const units = entry.level === "motif" ? page.lanesOf(page.dataOf(one.timeline)).find((lane) => lane.kind === "unit") : null
  const rows = STRIP * entry.rows.length, height = Math.max(1, rows + (units ? 9 : 0))
  const width = CELL * (one.end - one.start) / entry.width, column = width / one.columns
  const picture = svgOf("svg", {viewBox: `0 0 ${CELL} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true"},
    svgOf("rect", {class: "ground", x: 0, y: 0, width: Math.min(CELL, width), height: rows}))
  entry.rows.forEach((_, row) => {
    const yOf = (code) => STRIP * row + 1 + (STRIP - 2) * (1 - code / 254), at = one.offset + 2 * row * one.columns
    const [low, high] = [0, 1].map((it) => pointsOf(codes, at + it * one.columns, one.columns, column, yOf))
    picture.append(svgOf("path", {class: "signal", d: bandOf(low, high)}))
  })
  if (units) picture.append(...unitRects(units, one, width, rows + 2))
  return picture
}

function unitRects(lane, one, width, y) {
  const perFrame = width / (one.end - one.start), found = []
  for (let i = firstEndingAfter(lane, one.start); i < lane.starts.length && lane.starts[i] < one.end; i++) {
    const from = Math.max(0, lane.starts[i] - one.start), to = Math.min(one.end, lane.ends[i]) - one.start
    const {colour, name} = lane.entries[lane.entry[i]]
    if (name !== "OTHER") found.push(svgOf("rect", {x: from * perFrame, y, width: (to - from) * perFrame, height: 7, fill: colour}))
  }
  return found
}

function goToOccurrence(page, {place, start, end}) {
  const margin = end - start
  page.goTo(place, start - margin, end + margin, {start, end})
  page.atOccurrence = {key: page.chosen, place, start}
  markPressed(page.panel, {place, start})
}

function markPressed(panel, at) {
  for (const cell of panel.querySelectorAll(".occurrences button")) {
    const isIt = at !== null && Number(cell.dataset.timeline) === at.place && Number(cell.dataset.start) === at.start
    cell.classList.toggle("pressed", isIt)
  }
}

// ---------------------------------------------------------------- from one occurrence to the next

function stepping(page, key, entry, origin) {
  const where = htmlOf("span", {className: "quiet"}), buttons = [["‹ previous", -1], ["next ›", 1]].map(([words, direction]) => {
    const button = htmlOf("button", {type: "button", textContent: words, title: `go to the ${direction < 0 ? "previous" : "next"} occurrence`})
    button.addEventListener("click", () => {
      const found = neighbour(page, key, direction)
      if (!found) return
      goToOccurrence(page, found)
      where.textContent = `${found.i + 1} of ${found.n}${page.places.length > 1 ? ` in ${page.dataOf(found.place).id}` : ""}`
    })
    return button
  })
  if (origin) page.atOccurrence = {key, place: page.timelines.indexOf(origin.timeline), start: origin.frame}
  else if (page.atOccurrence?.key !== key) page.atOccurrence = null
  where.setAttribute("aria-live", "polite")
  return htmlOf("div", {className: "stepping"}, buttons[0], buttons[1], where)
}

// The occurrence before or after the one that is shown, in this recording or in another; round at the ends.
function neighbour(page, key, direction) {
  const n = page.places.length, from = page.atOccurrence ?? {place: direction < 0 ? n - 1 : 0, start: direction < 0 ? Infinity : -1}
  for (let k = 0; k <= n; k++) {
    const place = (from.place + direction * k + n * (n + 1)) % n, spans = spansIn(page, key, place)
    const isHere = k === 0, isBeyond = ([start]) => !isHere || direction * (start - from.start) > 0
    const i = direction > 0 ? spans.findIndex(isBeyond) : spans.findLastIndex(isBeyond)
    if (i >= 0) return {place, start: spans[i][0], end: spans[i][1], i, n: spans.length}
  }
  return null
}

function spansIn(page, key, place) {
  const data = page.dataOf(place), found = []
  for (const lane of page.lanesOf(data)) {
    const entry = lane.entries.findIndex((_, it) => page.keyOf({data}, lane, it) === key)
    for (let i = 0; entry >= 0 && i < lane.starts.length; i++) {
      if (lane.entry[i] === entry) found.push([lane.starts[i], lane.ends[i]])
    }
  }
  return found
}

// ---------------------------------------------------------------- small pictures in the tables

// The channel that sets an entry apart most, mean and band from the start.
function drawSpark(place, entry) {
  if (!entry?.aligned.length || !entry.rows.length) return
  place.replaceChildren(curveRow(entry, 0, 0).lastChild, htmlOf("span", {className: "spark-name", textContent: shortened(entry.rows[0])}))
}

addRondoPlugin({
  started(page) {
    for (const place of document.querySelectorAll(".spark")) drawSpark(place, page.entries[place.dataset.key])
  },
})
