// One recording on a canvas: signal rows, journal, lanes and axis share one mapping from frames to pixels.
"use strict"

const LEFT = 128, RIGHT = 104, ROW = 40, LANE = 34, BAR = 26, BREAK = 12, AXIS = 44
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
const INK = 0xff63564a // #4a5663, its bytes from the last to the first
const EVENT_LOOKS = {
  promote: {sign: "▲", colour: "#00755c"}, merge: {sign: "◆", colour: "#7b2a8f"},
  expire: {sign: "▼", colour: "#b04a00"}, gap: {sign: "▮", colour: "#000000"},
  skip: {sign: "✕", colour: "#000000"}, refine: {sign: "·", colour: "#888888"},
}

class Timeline {
  constructor(place, data, page) {
    this.data = data
    this.page = page
    this.nFrames = data.n_frames
    this.signal = new Signal(data.signal)
    this.lanes = data.lanes.map(laneOf)
    this.top = ROW * this.signal.channels.length + (this.signal.channels.length ? BREAK : 0)
    this.lanesTop = this.top + (data.journal.length ? LANE : 0)
    this.height = this.lanesTop + LANE * this.lanes.length + AXIS
    this.view = {start: 0, end: this.nFrames}
    this.canvas = document.createElement("canvas")
    this.canvas.tabIndex = 0
    this.canvas.setAttribute("role", "application")
    this.canvas.setAttribute("aria-label", `Timeline of ${data.id}. Arrow keys move, plus and minus zoom, Home shows`
      + " all, comma and full stop go through the segments, Enter shows all occurrences.")
    place.replaceChildren(this.canvas)
    listen(this)
    new ResizeObserver(() => this.draw()).observe(place)
    this.place = place
    this.draw()
  }

  get plotWidth() { return Math.max(50, this.width - LEFT - RIGHT) }
  get framesPerPixel() { return (this.view.end - this.view.start) / this.plotWidth }
  xOf(frame) { return LEFT + (frame - this.view.start) / this.framesPerPixel }
  frameAt(x) { return this.view.start + (x - LEFT) * this.framesPerPixel }

  show(start, end) {
    const length = Math.min(this.nFrames, Math.max(Math.min(4, this.nFrames), end - start))
    const from = Math.min(Math.max(0, (start + end - length) / 2), this.nFrames - length)
    this.view = {start: from, end: from + length}
    this.page.keep(this)
    this.later()
  }

  zoom(factor, around = (this.view.start + this.view.end) / 2) {
    const {start, end} = this.view
    this.show(around - (around - start) * factor, around + (end - around) * factor)
  }

  move(share) {
    const length = this.view.end - this.view.start
    const start = Math.min(Math.max(0, this.view.start + share * length), this.nFrames - length)
    this.show(start, start + length)
  }

  later() {
    if (this.waiting) return
    this.waiting = true
    requestAnimationFrame(() => { this.waiting = false; this.draw() })
  }

  draw() {
    this.width = this.place.clientWidth || this.width || 1000
    const density = Math.max(1, window.devicePixelRatio || 1), canvas = this.canvas
    const [width, height] = [Math.round(this.width * density), Math.round(this.height * density)]
    if (canvas.width !== width || canvas.height !== height) {
      Object.assign(canvas, {width, height})
      Object.assign(canvas.style, {width: `${this.width}px`, height: `${this.height}px`})
    }
    const pen = canvas.getContext("2d", {alpha: false})
    pen.setTransform(density, 0, 0, density, 0, 0)
    pen.fillStyle = "#fff"
    pen.fillRect(0, 0, this.width, this.height)
    drawSignal(this, pen, density)
    drawAxis(this, pen)
    drawRowNames(this, pen)
    pen.save()
    pen.beginPath()
    pen.rect(LEFT, 0, this.plotWidth, this.height)
    pen.clip()
    if (this.data.journal.length) drawJournal(this, pen)
    this.lanes.forEach((lane, place) => drawLane(this, pen, lane, this.lanesTop + LANE * place + (LANE - BAR) / 2))
    pen.restore()
  }

  // The lane and the place in it of what lies under a point, or null.
  segmentAt(x, y) {
    const lane = this.lanes[Math.floor((y - this.lanesTop) / LANE)]
    if (!lane || x < LEFT || x > LEFT + this.plotWidth || y < this.lanesTop) return null
    const frame = this.frameAt(x), place = firstEndingAfter(lane, frame)
    return place < lane.starts.length && lane.starts[place] <= frame ? {lane, place} : null
  }

  eventAt(x, y) {
    if (!this.data.journal.length || y < this.top || y >= this.lanesTop) return null
    let best = null, nearest = 8
    for (const event of this.data.journal) {
      const away = Math.abs(this.xOf(event.frame) - x)
      if (away < nearest) [best, nearest] = [event, away]
    }
    return best
  }

  timeOf(frame) {
    return this.data.frame_s === null ? `frame ${Math.round(frame)}` : clock(frame * this.data.frame_s, 0.001)
  }
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

function drawSignal(timeline, pen, density) {
  const {signal} = timeline
  if (!signal.channels.length) return
  const level = signal.levelFor(timeline.framesPerPixel, () => timeline.later())
  if (level.bucket <= timeline.framesPerPixel) return drawDots(timeline, pen, level, density)
  pen.save()
  pen.beginPath()
  pen.rect(LEFT, 0, timeline.plotWidth, timeline.top)
  pen.clip()
  signal.channels.forEach((_, channel) => {
    const low = channel * level.width * level.n, high = low + (level.width - 1) * level.n
    drawBuckets(timeline, pen, level, low, high, (code) => ROW * (channel + 0.075 + 0.85 * (1 - code / 254)))
  })
  pen.restore()
}

// Dot by dot into a picture of the whole signal: twelve thousand small bars would take ten times as long.
function drawDots(timeline, pen, level, density) {
  const {signal, view} = timeline, perDot = timeline.framesPerPixel / density, row = ROW * density
  const width = Math.floor(timeline.plotWidth * density), height = Math.ceil(row * signal.channels.length)
  if (timeline.picture?.width !== width) timeline.picture = new ImageData(width, height)
  const dots = new Uint32Array(timeline.picture.data.buffer)
  dots.fill(0xffffffff)
  for (let channel = 0; channel < signal.channels.length; channel++) {
    const low = channel * level.width * level.n, high = low + (level.width - 1) * level.n
    const base = row * (channel + 0.925), scale = 0.85 * row / 254
    let lowBefore = 255, highBefore = -1
    for (let x = 0; x < width; x++) {
      const from = Math.floor((view.start + x * perDot) / level.bucket)
      const to = Math.min(level.n, Math.max(from + 1, Math.ceil((view.start + (x + 1) * perDot) / level.bucket)))
      extremes(level.codes, low, high, from, to)
      const lowest = pair[0], highest = pair[1]
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
}

function drawLane(timeline, pen, lane, y) {
  pen.fillStyle = "#e6e6e6"
  pen.fillRect(timeline.xOf(0), y, timeline.nFrames / timeline.framesPerPixel, BAR)
  const chosen = timeline.page.chosenIn(timeline, lane)
  const named = []
  let drawnTo = -Infinity
  for (let i = firstEndingAfter(lane, timeline.view.start); i < lane.starts.length; i++) {
    if (lane.starts[i] >= timeline.view.end) break
    const left = timeline.xOf(lane.starts[i]), right = timeline.xOf(lane.ends[i])
    const entry = lane.entry[i], isChosen = entry === chosen
    if (right - drawnTo < 0.5 && !isChosen) continue // nothing of it would be seen
    const from = Math.max(left, drawnTo - 0.5)
    pen.globalAlpha = chosen === null || isChosen ? 1 : 0.2
    pen.fillStyle = lane.entries[entry].colour
    pen.fillRect(isChosen ? left : from, y, Math.max(0.5, right - (isChosen ? left : from)), BAR)
    drawnTo = right
    if (right - left > 7 && pen.globalAlpha === 1) named.push([i, left, right])
  }
  pen.globalAlpha = 1
  Object.assign(pen, {font: `11px ${FONT}`, textAlign: "center", textBaseline: "middle"})
  for (const [i, left, right] of named) {
    const {name, ink} = lane.entries[lane.entry[i]]
    pen.fillStyle = "#fff"
    pen.fillRect(right - 0.5, y, 1, BAR)
    const from = Math.max(left, LEFT), to = Math.min(right, LEFT + timeline.plotWidth)
    const shown = to - from < 7 * name.length + 6 ? name.split(" ")[0] : name // the id alone, where its name is too long
    if (name === "OTHER" || to - from < 7 * shown.length + 6) continue
    pen.fillStyle = ink
    pen.fillText(shown, (from + to) / 2, y + BAR / 2 + 0.5)
  }
}

function drawJournal(timeline, pen) {
  const y = timeline.top + LANE / 2
  Object.assign(pen, {textAlign: "center", textBaseline: "middle"})
  for (const event of timeline.data.journal) {
    const x = timeline.xOf(event.frame), look = EVENT_LOOKS[event.kind]
    if (x < LEFT - 8 || x > LEFT + timeline.plotWidth + 8) continue
    pen.fillStyle = look.colour
    if (event.kind !== "refine") pen.fillRect(x - 0.5, timeline.top + LANE - 6, 1, 6 + LANE * timeline.lanes.length)
    pen.font = `15px ${FONT}`
    pen.fillText(look.sign, x, y - 2)
  }
}

function drawRowNames(timeline, pen) {
  const {signal, lanes} = timeline
  const middles = signal.channels.map((_, i) => ROW * (i + 0.5))
  const laneMiddles = lanes.map((_, i) => timeline.lanesTop + LANE * (i + 0.5))
  Object.assign(pen, {fillStyle: "#222", font: `12px ${FONT}`, textAlign: "right", textBaseline: "middle"})
  signal.channels.forEach((name, i) => pen.fillText(shortened(name), LEFT - 8, middles[i]))
  if (timeline.data.journal.length) pen.fillText("journal", LEFT - 8, timeline.top + LANE / 2)
  lanes.forEach((lane, i) => pen.fillText(shortened(lane.title), LEFT - 8, laneMiddles[i]))
  Object.assign(pen, {fillStyle: "#666", font: `10px ${FONT}`, textAlign: "left"})
  signal.extents.forEach((extent, i) => pen.fillText(extent, LEFT + timeline.plotWidth + 6, middles[i], RIGHT - 8))
}

// Channels often differ at their ends: the middle goes first.
const shortened = (name) => name.length <= 18 ? name : `${name.slice(0, 9)}…${name.slice(-8)}`

function drawAxis(timeline, pen) {
  const frame_s = timeline.data.frame_s ?? 1, {start, end} = timeline.view
  const bottom = timeline.height - AXIS + 4, step = niceStep((end - start) * frame_s / Math.max(2, timeline.plotWidth / 110),
    timeline.data.frame_s === null)
  Object.assign(pen, {font: `12px ${FONT}`, textAlign: "center", textBaseline: "top"})
  for (let tick = Math.ceil(start * frame_s / step - 1e-9); tick * step <= end * frame_s * (1 + 1e-12); tick++) {
    const x = timeline.xOf(tick * step / frame_s)
    pen.fillStyle = "#0000001a"
    pen.fillRect(x - 0.5, 0, 1, bottom - 4)
    pen.fillStyle = "#666"
    pen.fillRect(x - 0.5, bottom - 3, 1, 6)
    pen.fillStyle = "#222"
    pen.fillText(timeline.data.frame_s === null ? String(Math.round(tick * step)) : clock(tick * step, step), x, bottom + 5)
  }
  pen.fillStyle = "#555"
  const last = timeline.nFrames * frame_s
  const unit = timeline.data.frame_s === null ? "frame" : last >= 7200 ? "time (h:min:s)" : "time (s)"
  pen.fillText(unit, LEFT + timeline.plotWidth / 2, bottom + 22)
}

function niceStep(least, whole) {
  if (whole && least < 1) return 1
  const sixties = [60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400]
  const power = 10 ** Math.floor(Math.log10(least))
  const plain = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= least * 0.999)
  return !whole && niceStep.inHours && least > 30 ? sixties.find((it) => it >= least) ?? plain : plain
}

// Seconds with as many decimals as steps of this size need; hours and minutes on a page with long recordings.
function clock(seconds, step) {
  const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))
  if (!niceStep.inHours) return seconds.toFixed(decimals)
  const whole = Number(seconds.toFixed(decimals)), pad = (it) => String(it).padStart(2, "0")
  const rest = (whole % 60).toFixed(decimals)
  return `${Math.floor(whole / 3600)}:${pad(Math.floor(whole / 60) % 60)}:${rest.padStart(decimals ? decimals + 3 : 2, "0")}`
}
