// Small pictures of many occurrences: their mean with its band, and bars. They are SVG, so that their colours follow the
// style sheet.
"use strict"

const CURVE = 300, CURVE_HEIGHT = 40

// One channel of an entry: its name, what sets the entry apart there, mean and band.
function curveRow(entry, row, mode) {
  const name = entry.rows[row], apart = entry.apart.find((it) => it.channel === name)
  const head = htmlOf("div", {className: "curve-head"},
    htmlOf("span", {className: "channel", textContent: name, title: name}))
  if (apart) {
    const words = `${apart.words} (d ${apart.d < 0 ? "−" : "+"}${Math.abs(apart.d).toFixed(1)})`
    head.append(htmlOf("span", {className: "apart", textContent: words}), apartBar(apart.d))
  }
  return htmlOf("div", {className: "curve"}, head, curveOf(entry, row, mode))
}

function curveOf(entry, row, mode) {
  const {columns, data} = entry.aligned[mode], codes = bytesOf(data), [low, high] = entry.extents[row]
  const picture = svgOf("svg", {viewBox: `0 0 ${CURVE} ${CURVE_HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${entry.rows[row]}: mean and band of the occurrences`})
  const yOf = (code) => 2 + (CURVE_HEIGHT - 4) * (1 - code / 254)
  if (low < 0 && high > 0) {
    const y = yOf(254 * -low / (high - low))
    picture.append(svgOf("line", {class: "zero", x1: 0, x2: CURVE, y1: y, y2: y}))
  }
  const lines = [0, 1, 2].map((it) => pointsOf(codes, (3 * row + it) * columns, columns, CURVE / columns, yOf))
  picture.append(svgOf("path", {class: "band", d: bandOf(lines[0], lines[2]), fill: entry.colour}),
    svgOf("path", {class: "mean", d: lineOf(lines[1])}))
  return picture
}

// How far from the rest, to the left or to the right of a line; 2 and more fill it.
function apartBar(d) {
  const width = 28 * Math.min(1, Math.abs(d) / 2)
  return svgOf("svg", {class: "apart-bar", viewBox: "0 0 56 8", "aria-hidden": "true"},
    svgOf("rect", {x: d < 0 ? 28 - width : 28, y: 1, width, height: 6}),
    svgOf("line", {x1: 28, x2: 28, y1: 0, y2: 8}))
}

// Points in the middle of their columns; null where nothing is known.
function pointsOf(codes, at, columns, width, yOf) {
  return Array.from({length: columns}, (_, i) =>
    codes[at + i] === 255 ? null : [(i + 0.5) * width, yOf(codes[at + i])])
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

// A bar for each value, null for what is not known; `title` gives the words of a bar.
function barsOf(values, title, label) {
  const most = Math.max(...values.map((it) => it ?? 0)) || 1, width = CURVE / values.length
  const picture = svgOf("svg", {class: "bars", viewBox: `0 0 ${CURVE} ${CURVE_HEIGHT}`, preserveAspectRatio: "none",
    role: "img", "aria-label": label})
  values.forEach((value, i) => {
    const height = value === null ? CURVE_HEIGHT : (CURVE_HEIGHT - 2) * value / most
    picture.append(svgOf("rect", {class: value === null ? "unknown" : "bar", x: i * width, width: width * 0.88,
      y: CURVE_HEIGHT - height, height}, svgText("title", title(value, i))))
  })
  return picture
}

// In the tables: the channel that sets an entry apart most.
function drawSpark(place, entry) {
  if (!entry?.aligned.length || !entry.rows.length) return
  place.replaceChildren(curveOf(entry, 0, 0),
    htmlOf("span", {className: "spark-name", textContent: shortened(entry.rows[0])}))
}

addRondoPlugin({
  started(page) {
    for (const place of document.querySelectorAll(".spark")) drawSpark(place, page.entries[place.dataset.key])
  },
})
