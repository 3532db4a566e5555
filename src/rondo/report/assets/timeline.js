// One recording on a canvas: signal rows, journal, lanes, scores and axis share one mapping from frames to pixels.
"use strict"

const LEFT = 128, RIGHT = 104, ROW = 40, LANE = 34, BAR = 26, BREAK = 12, AXIS = 44
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
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
    this.scores = new Signal(data.scores)
    this.lanes = page.lanesOf(data)
    this.jumps = jumpsOf(data)
    this.layOut()
    this.view = {start: 0, end: this.nFrames}
    this.canvas = document.createElement("canvas")
    this.canvas.tabIndex = 0
    this.canvas.setAttribute("role", "application")
    this.canvas.setAttribute("aria-label", `Timeline of ${data.id}. Arrow keys move, plus and minus zoom, Home shows`
      + " all, comma and full stop go through the segments, Enter shows all occurrences.")
    this.hair = Object.assign(document.createElement("div"), {className: "hair", hidden: true})
    place.replaceChildren(this.canvas, this.hair)
    listen(this)
    new ResizeObserver(() => this.draw()).observe(place)
    this.place = place
    this.draw()
  }

  // Which channels have a row, and where everything beneath them is.
  layOut() {
    this.rows = this.signal.channels.map((_, channel) => channel)
      .filter((channel) => this.page.channels.has(this.signal.channels[channel]))
    this.top = ROW * this.rows.length + (this.rows.length ? BREAK : 0)
    this.lanesTop = this.top + (this.data.journal.length ? LANE : 0)
    this.scoresTop = this.lanesTop + LANE * this.lanes.length
    this.height = this.scoresTop + SCORE * this.scores.channels.length + AXIS
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
    drawScores(this, pen, density)
    drawAxis(this, pen)
    drawRowNames(this, pen)
    pen.save()
    pen.beginPath()
    pen.rect(LEFT, 0, this.plotWidth, this.height)
    pen.clip()
    if (this.data.journal.length) drawJournal(this, pen)
    this.lanes.forEach((lane, place) => drawLane(this, pen, lane, this.lanesTop + LANE * place + (LANE - BAR) / 2))
    pen.restore()
    for (const plugin of this.page.plugins) plugin.painted?.(this, pen)
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
    if (this.data.frame_s === null) return `frame ${Math.round(frame)}`
    return clock(this.secondsAt(frame), 0.001, this.data.clock?.date)
  }

  // When a segment that ends before a frame ends, with its unit: before a jump of the clock, not after it.
  endOf(frame) {
    const seconds = this.secondsAt(frame - 1) + this.data.frame_s
    return `${clock(seconds, 0.001, this.data.clock?.date)}${niceStep.inHours ? "" : " s"}`
  }

  // The same with its unit.
  momentOf(frame) {
    return `${this.timeOf(frame)}${this.data.frame_s === null || niceStep.inHours ? "" : " s"}`
  }

  // A line through all rows under the pointer; null takes it away.
  showHair(x) {
    this.hair.hidden = x === null || x < LEFT || x > LEFT + this.plotWidth
    if (this.hair.hidden) return
    Object.assign(this.hair.style, {left: `${x}px`, height: `${this.height - AXIS}px`})
  }

  // What the clock of the data shows at a frame, and back; straight lines between the frames where it is known.
  secondsAt(frame) {
    const known = this.data.clock, {frame_s} = this.data
    return known ? along(known.frames, known.seconds, frame, frame_s) : frame * frame_s
  }

  frameOf(seconds) {
    const known = this.data.clock, {frame_s} = this.data
    return known ? along(known.seconds, known.frames, seconds, 1 / frame_s) : seconds / frame_s
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

function drawLane(timeline, pen, lane, y) {
  pen.fillStyle = "#e6e6e6"
  pen.fillRect(timeline.xOf(0), y, timeline.nFrames / timeline.framesPerPixel, BAR)
  const chosen = timeline.page.chosenIn(timeline, lane)
  const named = [], {start, end} = timeline.view, perFrame = 1 / timeline.framesPerPixel
  let drawnTo = -Infinity
  for (let i = firstEndingAfter(lane, timeline.view.start); i < lane.starts.length; i++) {
    if (lane.starts[i] >= end) break
    const right = LEFT + (lane.ends[i] - start) * perFrame
    const entry = lane.entry[i], isChosen = entry === chosen
    if (right - drawnTo < 0.8 && !isChosen) continue // next to nothing of it would be seen
    const left = LEFT + (lane.starts[i] - start) * perFrame
    const from = Math.max(left, drawnTo - 0.5)
    pen.globalAlpha = chosen === null || isChosen ? 1 : 0.2
    pen.fillStyle = fillOf(pen, lane.entries[entry], right - left)
    pen.fillRect(isChosen ? left : from, y, Math.max(0.5, right - (isChosen ? left : from)), BAR)
    drawnTo = right
    if (right - left > 7 && pen.globalAlpha === 1) named.push([i, left, right])
  }
  pen.globalAlpha = 1
  Object.assign(pen, {font: `11px ${FONT}`, textAlign: "center", textBaseline: "middle"})
  for (const [i, left, right] of named) {
    const {name, ink, colour, pattern} = lane.entries[lane.entry[i]]
    pen.fillStyle = "#fff"
    pen.fillRect(right - 0.5, y, 1, BAR)
    const from = Math.max(left, LEFT), to = Math.min(right, LEFT + timeline.plotWidth)
    const isLong = to - from < 7 * name.length + 6 && lane.kind !== "annotation"
    const shown = isLong ? name.split(" ")[0] : name // the id alone, where its name is too long
    if ((name === "OTHER" && lane.kind !== "annotation") || to - from < 7 * shown.length + 6) continue
    if (pattern !== "plain") {
      const width = pen.measureText(shown).width + 4
      pen.fillStyle = colour
      pen.fillRect((from + to - width) / 2, y + 5, width, BAR - 10)
    }
    pen.fillStyle = ink
    pen.fillText(shown, (from + to) / 2, y + BAR / 2 + 0.5)
  }
  drawCursor(timeline, pen, lane, y)
}

// Where the keys are.
function drawCursor(timeline, pen, lane, y) {
  const {cursor, canvas} = timeline
  if (cursor?.lane !== lane || document.activeElement !== canvas) return
  const left = timeline.xOf(lane.starts[cursor.place]), right = timeline.xOf(lane.ends[cursor.place])
  Object.assign(pen, {strokeStyle: "#000", lineWidth: 2})
  pen.strokeRect(left + 1, y - 2, Math.max(2, right - left - 2), BAR + 4)
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
  const {signal, lanes, rows, scores} = timeline
  const middles = rows.map((_, i) => ROW * (i + 0.5))
  const laneMiddles = lanes.map((_, i) => timeline.lanesTop + LANE * (i + 0.5))
  Object.assign(pen, {fillStyle: "#222", font: `12px ${FONT}`, textAlign: "right", textBaseline: "middle"})
  rows.forEach((channel, i) => pen.fillText(shortened(signal.channels[channel]), LEFT - 8, middles[i], LEFT - 10))
  if (timeline.data.journal.length) pen.fillText("journal", LEFT - 8, timeline.top + LANE / 2)
  lanes.forEach((lane, i) => pen.fillText(shortened(lane.title), LEFT - 8, laneMiddles[i], LEFT - 10))
  scores.channels.forEach((name, i) => pen.fillText(shortened(name), LEFT - 8, timeline.scoresTop + SCORE * (i + 0.5),
    LEFT - 10))
  Object.assign(pen, {fillStyle: "#666", font: `10px ${FONT}`, textAlign: "left"})
  const right = LEFT + timeline.plotWidth + 6
  rows.forEach((channel, i) => pen.fillText(signal.extents[channel], right, middles[i], RIGHT - 8))
  scores.channels.forEach((_, i) => pen.fillText("0 … 1", right, timeline.scoresTop + SCORE * (i + 0.5), RIGHT - 8))
}

// Channels often differ at their ends: the middle goes first.
const shortened = (name) => name.length <= 18 ? name : `${name.slice(0, 9)}…${name.slice(-8)}`
