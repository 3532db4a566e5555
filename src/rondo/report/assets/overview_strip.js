// The whole recording in a strip above its timeline: what is in view is a window in it, which can be dragged and widened.
"use strict"

const STRIP_TALL = 36, STRIP_LABELS = 7, GRIP = 7

class OverviewStrip {
  constructor(timeline) {
    this.timeline = timeline
    this.canvas = Object.assign(document.createElement("canvas"), {className: "strip"})
    this.canvas.setAttribute("aria-hidden", "true") // the timeline beneath does the same with keys
    this.picture = document.createElement("canvas")
    this.listen()
  }

  xOf(frame) { return this.timeline.left + frame / this.timeline.nFrames * this.timeline.plotWidth }
  frameAt(x) {
    const {left, plotWidth, nFrames} = this.timeline
    return Math.max(0, Math.min(1, (x - left) / plotWidth)) * nFrames
  }

  draw(density) {
    const {timeline} = this, {width, page} = timeline
    const state = [width, density, theme.paper, page.chosen, timeline.rows.join(), timeline.signal.levels.length].join("|")
    if (state !== this.state) {
      this.state = state
      this.paint(density)
    }
    const pen = penOn(this.canvas, width, STRIP_TALL, density)
    pen.drawImage(this.picture, 0, 0, width, STRIP_TALL)
    this.drawWindow(pen)
  }

  drawWindow(pen) {
    const {left, plotWidth, view, isWhole} = this.timeline
    const from = this.xOf(view.start), to = Math.max(this.xOf(view.end), from + 2)
    if (!isWhole) {
      pen.fillStyle = theme.paper
      pen.globalAlpha = 0.66
      pen.fillRect(left, 0, from - left, STRIP_TALL - 3)
      pen.fillRect(to, 0, left + plotWidth - to, STRIP_TALL - 3)
      pen.globalAlpha = 1
    }
    Object.assign(pen, {strokeStyle: isWhole ? theme.line : theme.mark, lineWidth: 1})
    pen.strokeRect(from + 0.5, 0.5, Math.max(1, to - from - 1), STRIP_TALL - 4)
    pen.fillStyle = isWhole ? theme.quiet : theme.mark
    for (const x of [from, to - 3]) pen.fillRect(x, STRIP_TALL / 2 - 8, 3, 13)
  }

  // What does not change while the view does.
  paint(density) {
    const {timeline} = this, pen = penOn(this.picture, timeline.width, STRIP_TALL, density)
    this.drawEnvelope(pen)
    const lane = timeline.lanes.find((it) => it.kind === "motif") ?? timeline.lanes.find((it) => it.kind === "unit")
    if (lane) this.drawLabels(pen, lane)
  }

  // The mean over the drawn channels of what each does between its lowest and highest value.
  drawEnvelope(pen) {
    const {signal, rows, left, plotWidth, nFrames} = this.timeline, level = signal.levels[signal.levels.length - 1]
    if (!level || !rows.length) return
    const tall = STRIP_TALL - STRIP_LABELS - 6, perPixel = nFrames / plotWidth
    pen.fillStyle = theme.band
    for (let x = 0; x < plotWidth; x++) {
      let low = 0, high = 0, n = 0
      for (const channel of rows) {
        extremesUnder(level, channel, x * perPixel, (x + 1) * perPixel)
        if (pair[0] === 255) continue
        low += pair[0]
        high += pair[1]
        n++
      }
      if (!n) continue
      const top = 2 + tall * (1 - high / n / 254), bottom = 2 + tall * (1 - low / n / 254)
      pen.fillRect(left + x, top, 1, Math.max(1, bottom - top))
    }
  }

  drawLabels(pen, lane) {
    const {timeline} = this, y = STRIP_TALL - STRIP_LABELS - 4, isBright = brightIn(timeline, lane, chosenSpans(timeline))
    pen.fillStyle = theme.other
    pen.fillRect(timeline.left, y, timeline.plotWidth, STRIP_LABELS)
    let drawnTo = -Infinity
    for (let i = 0; i < lane.starts.length; i++) {
      const right = this.xOf(lane.ends[i]), bright = isBright(i)
      if (isOther(lane, lane.entry[i]) || (!bright && right - drawnTo < 0.8)) continue
      const left = this.xOf(lane.starts[i])
      pen.globalAlpha = bright ? 1 : PALE
      pen.fillStyle = colourOf(lane.entries[lane.entry[i]])
      pen.fillRect(left, y, Math.max(0.7, right - left), STRIP_LABELS)
      drawnTo = right
    }
    pen.globalAlpha = 1
  }

  // What a press at x takes hold of.
  partAt(x) {
    const {view, isWhole} = this.timeline, from = this.xOf(view.start), to = this.xOf(view.end)
    const [nearStart, nearEnd] = [Math.abs(x - from), Math.abs(x - to)]
    if (Math.min(nearStart, nearEnd) <= GRIP) return nearStart < nearEnd ? "start" : "end"
    return !isWhole && x > from && x < to ? "window" : "none"
  }

  listen() {
    const {canvas, timeline} = this
    let held = null
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return
      held = {part: this.partAt(event.offsetX), x: event.offsetX, view: timeline.view}
      canvas.setPointerCapture(event.pointerId)
    })
    canvas.addEventListener("pointermove", (event) => {
      const x = event.offsetX
      canvas.style.cursor = {start: "ew-resize", end: "ew-resize", window: "grab", none: "crosshair"}[held?.part ?? this.partAt(x)]
      if (!held || Math.abs(x - held.x) <= PRESSED_PX && !held.moved) return
      held.moved = true
      const frame = this.frameAt(x), {start, end} = held.view
      if (held.part === "start") timeline.show(Math.min(frame, end - 4), end)
      else if (held.part === "end") timeline.show(start, Math.max(frame, start + 4))
      else if (held.part === "window") timeline.moveTo(start + frame - this.frameAt(held.x))
      else timeline.show(...[this.frameAt(held.x), frame].sort((a, b) => a - b))
    })
    canvas.addEventListener("pointerup", (event) => {
      if (held && !held.moved && !timeline.isWhole) { // a press shows that place, as closely as now
        timeline.moveTo(this.frameAt(event.offsetX) - (timeline.view.end - timeline.view.start) / 2)
      }
      held = null
    })
    canvas.addEventListener("pointercancel", () => { held = null })
    canvas.addEventListener("dblclick", () => timeline.show(0, timeline.nFrames))
  }
}
