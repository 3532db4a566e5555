// The rows of the signal: one band or line per channel, each scaled to what of it is in view.
"use strict"

const SINGLE_PX = 9 // from this width on, frames have dots
const LEAST_CODES = 12 // of 254: scaled further, the steps between codes would look like signal
const ROW_PAD = 0.09

function drawSignal(timeline, pen, density) {
  const {signal, rows} = timeline
  if (!rows.length) return
  const level = signal.levelFor(timeline.framesPerPixel, () => timeline.later())
  if (level.bucket <= timeline.framesPerPixel) return drawDots(timeline, pen, level, density)
  pen.save()
  pen.beginPath()
  pen.rect(timeline.left, 0, timeline.plotWidth, timeline.top)
  pen.clip()
  rows.forEach((channel, row) => {
    const low = channel * level.width * level.n, high = low + (level.width - 1) * level.n
    const {start, end} = timeline.view
    extremes(level.codes, low, high, Math.max(0, Math.floor(start / level.bucket)),
      Math.min(level.n, Math.ceil(end / level.bucket)))
    const [bottom, top] = timeline.ranges[row] = rangeOf(timeline, pair[0], pair[1])
    const tall = timeline.rowHeight, scale = (1 - 2 * ROW_PAD) * tall / (top - bottom)
    drawBuckets(timeline, pen, level, low, high, (code) => tall * (row + 1 - ROW_PAD) - scale * (code - bottom))
  })
  pen.restore()
}

// The codes at the bottom and the top of a row in which the lowest and the highest are these; 255 is none.
function rangeOf(timeline, lowest, highest) {
  if (timeline.page.isScaleFixed || lowest === 255) return [0, 254]
  const more = Math.max(0, LEAST_CODES - (highest - lowest)) / 2
  return [lowest - more, highest + more]
}

// Dot by dot into a picture of the whole signal: twelve thousand small bars would take ten times as long.
function drawDots(timeline, pen, level, density) {
  const {rows, view, rowHeight} = timeline, perDot = timeline.framesPerPixel / density, tall = rowHeight * density
  const width = Math.floor(timeline.plotWidth * density), height = Math.ceil(tall * rows.length)
  if (timeline.picture?.width !== width || timeline.picture.height !== height) {
    timeline.picture = new ImageData(width, height)
    timeline.columns = {lows: new Int16Array(width), highs: new Int16Array(width)}
  }
  const dots = new Uint32Array(timeline.picture.data.buffer), {lows, highs} = timeline.columns
  const first = view.start / level.bucket, perColumn = perDot / level.bucket, colour = theme.dots.signal
  dots.fill(theme.dots.paper)
  for (let row = 0; row < rows.length; row++) {
    columnsOf(level, rows[row], first, perColumn, timeline.columns)
    const [bottomCode, topCode] = timeline.ranges[row] = rangeOf(timeline, timeline.columns.lowest,
      timeline.columns.highest)
    const scale = (1 - 2 * ROW_PAD) * tall / (topCode - bottomCode), base = tall * (row + 1 - ROW_PAD) + scale * bottomCode
    let lowBefore = 255, highBefore = -1
    for (let x = 0; x < width; x++) {
      const lowest = lows[x], highest = highs[x]
      if (lowest === 255) { lowBefore = 255; highBefore = -1; continue }
      // a step from one dot to the next is drawn, not left open
      const top = Math.round(base - scale * (lowBefore === 255 ? highest : Math.max(highest, lowBefore)))
      const bottom = Math.round(base - scale * (highBefore < 0 ? lowest : Math.min(lowest, highBefore)))
      for (let at = top * width + x, end = Math.max(bottom, top + 1) * width; at < end; at += width) dots[at] = colour
      lowBefore = lowest
      highBefore = highest
    }
  }
  pen.putImageData(timeline.picture, Math.round(timeline.left * density), 0)
}

// Lowest and highest code under every column of a channel, and of all of them.
function columnsOf(level, channel, first, perColumn, into) {
  const {codes, n} = level, low = channel * level.width * n, high = low + (level.width - 1) * n
  const {lows, highs} = into
  into.lowest = 255
  into.highest = -1
  for (let x = 0; x < lows.length; x++) {
    const from = Math.floor(first + x * perColumn)
    const to = Math.min(n, Math.max(from + 1, Math.ceil(first + (x + 1) * perColumn)))
    let lowest = 255, highest = -1 // as `extremes` does, without a call for each of ten thousand columns
    for (let i = from; i < to; i++) {
      if (codes[low + i] < lowest) lowest = codes[low + i]
      const top = codes[high + i]
      if (top !== 255 && top > highest) highest = top
    }
    lows[x] = lowest
    highs[x] = highest
    if (lowest < into.lowest) into.lowest = lowest
    if (highest > into.highest) into.highest = highest
  }
}

// Closer than a bucket per pixel: a line through the middles of single frames, or the bands of larger buckets.
function drawBuckets(timeline, pen, level, low, high, yOf) {
  const {start, end} = timeline.view
  const from = Math.max(0, Math.floor(start / level.bucket) - 1), to = Math.min(level.n, Math.ceil(end / level.bucket) + 1)
  pen.beginPath()
  if (level.width === 2) {
    pen.fillStyle = theme.band
    for (let i = from; i < to; i++) {
      if (level.codes[low + i] === 255) continue
      const left = timeline.xOf(i * level.bucket), right = timeline.xOf(Math.min(timeline.nFrames, (i + 1) * level.bucket))
      const y = yOf(level.codes[high + i])
      pen.rect(left, y, right - left + 0.3, Math.max(1, yOf(level.codes[low + i]) - y))
    }
    return pen.fill()
  }
  let open = false
  for (let i = from; i < to; i++) {
    const code = level.codes[low + i]
    if (code === 255) { open = false; continue }
    const x = timeline.xOf((i + 0.5) * level.bucket), y = yOf(code)
    if (open) pen.lineTo(x, y)
    else { pen.moveTo(x - 0.5, y); pen.lineTo(x, y) }
    open = true
  }
  Object.assign(pen, {strokeStyle: theme.signal, lineWidth: 1.2, lineJoin: "bevel"})
  pen.stroke()
  if (level.bucket / timeline.framesPerPixel < SINGLE_PX) return
  pen.fillStyle = theme.signal
  for (let i = from; i < to; i++) { // frames that stand alone are seen as such
    if (level.codes[low + i] === 255) continue
    pen.fillRect(timeline.xOf((i + 0.5) * level.bucket) - 2, yOf(level.codes[low + i]) - 2, 4, 4)
  }
}

// Names at the left, the ends of the scale at the right; in a narrow window both inside, at the top of their row.
function drawChannelNames(timeline, pen) {
  const {signal, rows, rowHeight, left, plotWidth} = timeline
  rows.forEach((channel, row) => {
    const y = row * rowHeight, [low, high] = signal.ends[channel] ?? [null, null]
    if (row) {
      pen.fillStyle = theme.grid
      pen.fillRect(left, y, plotWidth, 1)
    }
    const [bottom, top] = timeline.ranges[row] ?? [0, 254]
    const written = (code) => low === null ? "" : valueWords(low + code / 254 * (high - low), (top - bottom) / 254 * (high - low))
    if (timeline.isNarrow) {
      inside(timeline, pen, signal.short[channel], left + 3, y + 2, "left")
      return inside(timeline, pen, low === null ? "no values" : `${written(bottom)} … ${written(top)}`, left + plotWidth - 3, y + 2,
        "right", theme.quiet)
    }
    Object.assign(pen, {fillStyle: theme.ink, font: `12px ${FONT}`, textAlign: "right", textBaseline: "middle"})
    pen.fillText(signal.short[channel], left - 8, y + rowHeight / 2, left - 10)
    Object.assign(pen, {fillStyle: theme.quiet, font: `9.5px ${FONT}`, textAlign: "left"})
    const right = left + plotWidth + 5, room = timeline.right - 7
    if (low === null) return pen.fillText("no values", right, y + rowHeight / 2, room)
    pen.fillText(written(top), right, y + Math.min(7, rowHeight * 0.3), room)
    pen.fillText(written(bottom), right, y + rowHeight - Math.min(6, rowHeight * 0.3), room)
  })
}

// Words that stand on data, on a piece of paper.
function inside(timeline, pen, words, x, y, align, colour = theme.ink) {
  Object.assign(pen, {font: `10px ${FONT}`, textAlign: align, textBaseline: "top"})
  const shown = shortened(words), width = pen.measureText(shown).width
  pen.globalAlpha = 0.75
  pen.fillStyle = theme.paper
  pen.fillRect(align === "left" ? x - 2 : x - width - 2, y - 1, width + 4, 12)
  pen.globalAlpha = 1
  pen.fillStyle = colour
  pen.fillText(shown, x, y)
}

// What lies under a point of these rows in words, or null; left of them the name of the channel, whole.
function signalWords(timeline, x, y) {
  const {signal, rows, left} = timeline, channel = y < 0 ? undefined : rows[Math.floor(y / timeline.rowHeight)]
  if (channel === undefined || x > left + timeline.plotWidth) return null
  if (x < left) return [signal.channels[channel]]
  const from = timeline.frameAt(x), to = from + timeline.framesPerPixel
  const level = signal.levelFor(timeline.framesPerPixel, () => timeline.later())
  extremesUnder(level, channel, from, to)
  const [low, high] = signal.ends[channel] ?? [null, null], frame = Math.floor(from)
  const written = (code) => valueWords(low + code / 254 * (high - low), high - low)
  const value = pair[0] === 255 || low === null ? "no value"
    : pair[0] === pair[1] ? `about ${written(pair[0])}` : `${written(pair[0])} to ${written(pair[1])}`
  const words = [signal.channels[channel], value,
    `${timeline.timeOf(frame)}${timeline.data.frame_s === null ? "" : `, frame ${frame}`}`]
  if (level.bucket > 1 && !signal.packed && level === signal.levels[0] && timeline.framesPerPixel < level.bucket) {
    words.push(`each point of the signal covers ${level.bucket} frames`)
  }
  return words
}

// A value with as many decimals as the range of its channel needs, as its ends at the right have.
function valueWords(value, range) {
  const decimals = range > 0 ? Math.max(0, 2 - Math.floor(Math.log10(range))) : 2
  const written = decimals > 6 || Math.abs(value) >= 1e7 ? value.toPrecision(4) : value.toFixed(decimals)
  return Number(written) === 0 ? written.replace("-", "") : written // no -0.00
}
