// Single occurrences in the panel: a cell for each, and the way from one to the next.
"use strict"

const STRIP = 15, CELL = 100, UNITS = 7

function gridOf(entry, page) {
  if (!entry.occurrences.length) return null
  const codes = bytesOf(entry.data), {length} = entry.occurrences
  const grid = htmlOf("div", {className: "occurrences"},
    ...entry.occurrences.map((one) => cellOf(entry, one, codes, page)))
  const words = `${length < entry.n ? `${length} of ${entry.n}, spread over time. ` : ""}Each begins at the left; a cell is `
    + `${entry.width_words} wide, and those with a broken edge go on. Rows as above. ★: highest scores.`
  return sectionOf("Occurrences", "cells", grid, quietly(words))
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
  const units = entry.level === "motif"
    ? page.lanesOf(page.dataOf(one.timeline)).find((lane) => lane.kind === "unit") : null
  const rows = STRIP * entry.rows.length, height = Math.max(1, rows + (units ? UNITS + 2 : 0))
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
    const {colour, name} = lane.entries[lane.entry[i]], box = {x: from * perFrame, width: (to - from) * perFrame}
    if (name !== "OTHER") found.push(svgOf("rect", {...box, y, height: UNITS, fill: colour}))
  }
  return found
}

function goToOccurrence(page, {place, start, end}) {
  const margin = end - start
  page.goTo(place, start - margin, end + margin, {start, end})
  page.atOccurrence = {key: page.chosen, place, start}
  markPressed(page.panel, page.atOccurrence)
}

function markPressed(panel, at) {
  for (const cell of panel.querySelectorAll(".occurrences button")) {
    const isIt = Number(cell.dataset.timeline) === at?.place && Number(cell.dataset.start) === at?.start
    cell.classList.toggle("pressed", isIt)
  }
}

// Buttons to the previous and the next occurrence, from where one was shown last.
function stepping(page, key, origin) {
  if (origin) page.atOccurrence = {key, place: page.timelines.indexOf(origin.timeline), start: origin.frame}
  else if (page.atOccurrence?.key !== key) page.atOccurrence = null
  const where = htmlOf("span", {className: "quiet"})
  where.setAttribute("aria-live", "polite")
  const step = (direction) => {
    const found = neighbour(page, key, direction)
    if (!found) return
    goToOccurrence(page, found)
    where.textContent = `${found.i + 1} of ${found.n}${page.places.length > 1 ? ` in ${page.dataOf(found.place).id}` : ""}`
  }
  return htmlOf("div", {className: "stepping"}, pressable("‹ previous", "go to the previous occurrence", () => step(-1)),
    pressable("next ›", "go to the next occurrence", () => step(1)), where)
}

// The occurrence before or after the one that is shown, in this recording or in another; round at the ends.
function neighbour(page, key, direction) {
  const n = page.places.length, isBack = direction < 0
  const from = page.atOccurrence ?? {place: isBack ? n - 1 : 0, start: isBack ? Infinity : -1}
  for (let k = 0; k <= n; k++) {
    const place = (from.place + direction * k + n * (n + 1)) % n, spans = spansIn(page, key, place)
    const isBeyond = ([start]) => k > 0 || direction * (start - from.start) > 0
    const i = isBack ? spans.findLastIndex(isBeyond) : spans.findIndex(isBeyond)
    if (i >= 0) return {place, start: spans[i][0], end: spans[i][1], i, n: spans.length}
  }
  return null
}

function spansIn(page, key, place) {
  const data = page.dataOf(place), found = []
  for (const lane of page.lanesOf(data)) {
    const entry = lane.entries.findIndex((_, it) => page.keyOf(lane, it) === key)
    for (let i = 0; entry >= 0 && i < lane.starts.length; i++) {
      if (lane.entry[i] === entry) found.push([lane.starts[i], lane.ends[i]])
    }
  }
  return found
}
