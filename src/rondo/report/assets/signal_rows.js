// The rows of the signal: one band or line per channel.
"use strict"

const INK = 0xff63564a // #4a5663, its bytes from the last to the first
const SINGLE_PX = 9 // from this width on, frames have dots

function drawSignal(timeline, pen, density) {
  const {signal, rows} = timeline
  if (!rows.length) return
  const level = signal.levelFor(timeline.framesPerPixel, () => timeline.later())
  if (level.bucket <= timeline.framesPerPixel) return drawDots(timeline, pen, level, density)
  pen.save()
  pen.beginPath()
  pen.rect(LEFT, 0, timeline.plotWidth, timeline.top)
  pen.clip()
  rows.forEach((channel, row) => {
    const low = channel * level.width * level.n, high = low + (level.width - 1) * level.n
    drawBuckets(timeline, pen, level, low, high, (code) => ROW * (row + 0.075 + 0.85 * (1 - code / 254)))
  })
  pen.restore()
}

// Dot by dot into a picture of the whole signal: twelve thousand small bars would take ten times as long.
function drawDots(timeline, pen, level, density) {
  const {rows, view} = timeline, perDot = timeline.framesPerPixel / density, tall = ROW * density
  const width = Math.floor(timeline.plotWidth * density), height = Math.ceil(tall * rows.length)
  if (timeline.picture?.width !== width || timeline.picture.height !== height) {
    timeline.picture = new ImageData(width, height)
  }
  const dots = new Uint32Array(timeline.picture.data.buffer)
  const {codes, n} = level, first = view.start / level.bucket, perColumn = perDot / level.bucket
  dots.fill(0xffffffff)
  for (let row = 0; row < rows.length; row++) {
    const low = rows[row] * level.width * level.n, high = low + (level.width - 1) * level.n
    const base = tall * (row + 0.925), scale = 0.85 * tall / 254
    let lowBefore = 255, highBefore = -1
    for (let x = 0; x < width; x++) {
      const from = Math.floor(first + x * perColumn)
      const to = Math.min(n, Math.max(from + 1, Math.ceil(first + (x + 1) * perColumn)))
      let lowest = 255, highest = -1 // as `extremes` does, without a call for each of ten thousand columns
      for (let i = from; i < to; i++) {
        if (codes[low + i] < lowest) lowest = codes[low + i]
        const top = codes[high + i]
        if (top !== 255 && top > highest) highest = top
      }
      if (lowest === 255) { lowBefore = 255; highBefore = -1; continue }
      // a step from one dot to the next is drawn, not left open
      const top = Math.round(base - scale * (lowBefore === 255 ? highest : Math.max(highest, lowBefore)))
      const bottom = Math.round(base - scale * (highBefore < 0 ? lowest : Math.min(lowest, highBefore)))
      for (let at = top * width + x, end = Math.max(bottom, top + 1) * width; at < end; at += width) dots[at] = INK
      lowBefore = lowest
      highBefore = highest
    }
  }
  pen.putImageData(timeline.picture, Math.round(LEFT * density), 0)
}

// Closer than a bucket per pixel: a line through the middles of single frames, or the bands of larger buckets.
function drawBuckets(timeline, pen, level, low, high, yOf) {
  const {start, end} = timeline.view
  const from = Math.max(0, Math.floor(start / level.bucket) - 1), to = Math.min(level.n, Math.ceil(end / level.bucket) + 1)
  pen.beginPath()
  if (level.width === 2) {
    pen.fillStyle = "#8b98a8"
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
  Object.assign(pen, {strokeStyle: "#4a5663", lineWidth: 1.2, lineJoin: "bevel"})
  pen.stroke()
  if (level.bucket / timeline.framesPerPixel < SINGLE_PX) return
  pen.fillStyle = "#4a5663"
  for (let i = from; i < to; i++) { // frames that stand alone are seen as such
    if (level.codes[low + i] === 255) continue
    pen.fillRect(timeline.xOf((i + 0.5) * level.bucket) - 2, yOf(level.codes[low + i]) - 2, 4, 4)
  }
}

// What lies under a point of these rows in words, or null; left of them the name of the channel, whole.
function signalWords(timeline, x, y) {
  const {signal, rows} = timeline, channel = y < 0 ? undefined : rows[Math.floor(y / ROW)]
  if (channel === undefined || y >= ROW * rows.length || x > LEFT + timeline.plotWidth) return null
  if (x < LEFT) return [signal.channels[channel]]
  const from = timeline.frameAt(x), to = from + timeline.framesPerPixel
  extremesUnder(signal.levelFor(timeline.framesPerPixel, () => timeline.later()), channel, from, to)
  const [low, high] = signal.ends[channel] ?? [null, null], frame = Math.floor(from)
  const written = (code) => valueWords(low + code / 254 * (high - low), high - low)
  const value = pair[0] === 255 || low === null ? "no value"
    : pair[0] === pair[1] ? `about ${written(pair[0])}` : `${written(pair[0])} to ${written(pair[1])}`
  return [signal.channels[channel], value, `${timeline.momentOf(frame)}${timeline.data.frame_s === null ? "" : `, frame ${frame}`}`]
}

// A value with as many decimals as the range of its channel needs, as its ends at the right have.
function valueWords(value, range) {
  const decimals = range > 0 ? Math.max(0, 2 - Math.floor(Math.log10(range))) : 2
  return decimals > 6 || Math.abs(value) >= 1e7 ? value.toPrecision(4) : value.toFixed(decimals)
}
