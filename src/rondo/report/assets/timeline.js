// One recording on a canvas: signal rows, journal, lanes, scores and axis share one mapping from frames to pixels.
"use strict"

const LEFT = 116, RIGHT = 56, NARROW = 640 // from this width on, names stand beside their rows and not on them
const MOST_ROW = 56, LEAST_ROW = 24, SIGNAL = 318 // pixels: rows share the last, within the first two
const JOURNAL = 26, BREAK = 8, AXIS = 36
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
const EVENT_SIGNS = {promote: "▲", merge: "◆", expire: "▼", gap: "▮", skip: "✕", refine: "·", scaling: "⇄", fit: "◐"}
const EVENT_COLOURS = {promote: "#00916e", merge: "#a05ab5", expire: "#d06a20"}

class Timeline {
  constructor(place, data, page) {
    this.data = data
    this.page = page
    this.place = place
    this.nFrames = data.n_frames
    this.signal = new Signal(data.signal)
    this.scores = new Signal(data.scores)
    this.lanes = page.lanesOf(data)
    this.jumps = jumpsOf(data)
    this.ranges = []
    this.marked = null // what was jumped to: {start, end}, and {lane, place} if it is a segment
    this.view = {start: 0, end: this.nFrames}
    this.canvas = document.createElement("canvas")
    this.canvas.tabIndex = 0
    this.canvas.setAttribute("role", "application")
    this.canvas.setAttribute("aria-label", `Timeline of ${data.id}. Arrow keys move, plus and minus zoom, Home shows`
      + " all, comma and full stop go through the segments, Enter shows all occurrences.")
    this.hair = Object.assign(document.createElement("div"), {className: "hair", hidden: true})
    this.strip = new OverviewStrip(this)
    const plot = Object.assign(document.createElement("div"), {className: "plot", id: `${place.id}-plot`})
    plot.append(this.canvas, this.hair)
    place.replaceChildren(this.strip.canvas, plot)
    this.layOut()
    listen(this)
    new ResizeObserver(() => { this.layOut(); this.draw() }).observe(place)
    this.draw()
  }

  // Which channels have a row, and where everything beneath them is.
  layOut() {
    this.width = this.place.clientWidth || this.width || 1000
    this.isNarrow = this.width < NARROW
    this.left = this.isNarrow ? 0 : LEFT
    this.right = this.isNarrow ? 0 : RIGHT
    this.rows = this.signal.channels.map((_, channel) => channel)
      .filter((channel) => this.page.channels.has(this.signal.channels[channel]))
    this.rowHeight = Math.round(Math.max(LEAST_ROW, Math.min(MOST_ROW, SIGNAL / Math.max(1, this.rows.length))))
    this.top = this.rowHeight * this.rows.length + (this.rows.length ? BREAK : 0)
    this.lanesTop = this.top + (this.data.journal.length ? JOURNAL : 0)
    this.bands = bandsOf(this)
    const last = this.bands[this.bands.length - 1]
    this.scoresTop = (last ? last.y + last.height : this.lanesTop) + 4
    this.nScores = this.page.isFitShown ? this.scores.channels.length : 0
    this.height = this.scoresTop + SCORE * this.nScores + AXIS
  }

  get plotWidth() { return Math.max(50, this.width - this.left - this.right) }
  get framesPerPixel() { return (this.view.end - this.view.start) / this.plotWidth }
  xOf(frame) { return this.left + (frame - this.view.start) / this.framesPerPixel }
  frameAt(x) { return this.view.start + (x - this.left) * this.framesPerPixel }
  boxOf(lane, place) { return boxOf(this, lane, place) }
  get isWhole() { return this.view.end - this.view.start >= this.nFrames }

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

  move(share) { this.moveTo(this.view.start + share * (this.view.end - this.view.start)) }

  // The same length from another start.
  moveTo(from) {
    const length = this.view.end - this.view.start, start = Math.min(Math.max(0, from), this.nFrames - length)
    this.show(start, start + length)
  }

  later() {
    if (this.waiting) return
    this.waiting = true
    requestAnimationFrame(() => { this.waiting = false; this.draw() })
  }

  draw() {
    const density = Math.max(1, window.devicePixelRatio || 1), pen = penOn(this.canvas, this.width, this.height, density)
    drawSignal(this, pen, density)
    pen.save()
    pen.beginPath()
    pen.rect(this.left, 0, this.plotWidth, this.height)
    pen.clip()
    drawLanes(this, pen)
    if (this.data.journal.length) drawJournal(this, pen)
    pen.restore()
    drawScores(this, pen, density)
    drawAxis(this, pen)
    drawChannelNames(this, pen)
    drawLaneNames(this, pen)
    pen.save()
    pen.beginPath()
    pen.rect(this.left - 1, 0, this.plotWidth + 2, this.height)
    pen.clip()
    drawCursor(this, pen)
    pen.restore()
    this.strip.draw(density)
    for (const plugin of this.page.plugins) plugin.painted?.(this, pen)
  }

  // The band under a height, or undefined.
  bandAt(y) { return this.bands.find((band) => y >= band.y && y < band.y + band.height) }

  // The lane and the place in it of what lies under a point, or null.
  segmentAt(x, y) {
    const band = this.bandAt(y)
    if (!band || x < this.left || x > this.left + this.plotWidth) return null
    const {lane} = band, frame = this.frameAt(x), place = firstEndingAfter(lane, frame)
    if (place >= lane.starts.length || lane.starts[place] > frame) return null
    return boxOf(this, lane, place)?.top === band.y ? {lane, place} : null
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
    return momentWords(this.secondsAt(frame), this.data)
  }

  // When a segment that ends before a frame ends: before a jump of the clock, not after it.
  endOf(frame) {
    if (this.data.frame_s === null) return this.timeOf(frame)
    return momentWords(this.secondsAt(frame - 1) + this.data.frame_s, this.data)
  }

  // A line through all rows under the pointer; null takes it away.
  showHair(x) {
    this.hair.hidden = x === null || x < this.left || x > this.left + this.plotWidth
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

// A canvas of this size on a screen of this density, wiped.
function penOn(canvas, wide, tall, density) {
  const [width, height] = [Math.round(wide * density), Math.round(tall * density)]
  if (canvas.width !== width || canvas.height !== height) {
    Object.assign(canvas, {width, height})
    Object.assign(canvas.style, {width: `${wide}px`, height: `${tall}px`})
  }
  const pen = canvas.getContext("2d", {alpha: false})
  pen.setTransform(density, 0, 0, density, 0, 0)
  pen.fillStyle = theme.paper
  pen.fillRect(0, 0, wide, tall)
  return pen
}

function drawJournal(timeline, pen) {
  const y = timeline.top + JOURNAL / 2, bottom = timeline.scoresTop
  Object.assign(pen, {textAlign: "center", textBaseline: "middle", font: `14px ${FONT}`})
  for (const event of timeline.data.journal) {
    const x = timeline.xOf(event.frame)
    if (x < timeline.left - 8 || x > timeline.left + timeline.plotWidth + 8) continue
    pen.fillStyle = EVENT_COLOURS[event.kind] ?? theme.quiet
    if (event.kind !== "refine") pen.fillRect(x - 0.5, timeline.top + JOURNAL - 6, 1, bottom - timeline.top - JOURNAL + 6)
    pen.fillText(EVENT_SIGNS[event.kind], x, y - 2)
  }
}

// Channels often differ at their ends: the middle goes first.
const MOST_LETTERS = 18
const shortened = (name) => name.length <= MOST_LETTERS ? name : `${name.slice(0, 9)}…${name.slice(-8)}`

// Names of one list: long ones lose their beginning, as long as what tells them from their nearest neighbour stays.
function shortNames(names) {
  const alike = (name, other) => { let i = 0; while (i < name.length && name[i] === other[i]) i++; return i }
  const differs = (name) => Math.max(0, ...names.filter((it) => it !== name).map((it) => alike(name, it)))
  const window = (name, from, n) => `…${name.slice(from, from + n)}${from + n < name.length ? "…" : ""}`
  const ways = [
    (name) => window(name, Math.max(1, Math.min(name.length - MOST_LETTERS + 1, differs(name) - 8)), MOST_LETTERS - 2),
    (name) => name.slice(0, 6) + window(name, Math.max(7, Math.min(name.length - 11, differs(name) - 5)), 11),
    shortened,
  ]
  const all = ways.map((way) => names.map((it) => it.length <= MOST_LETTERS ? it : way(it)))
  return all.find((own) => new Set(own).size === new Set(names).size) ?? all[0]
}
