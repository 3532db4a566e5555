// Mouse, touch and keys of a timeline.
"use strict"

const PRESSED_PX = 4 // a drag that is shorter is a press

function listen(timeline) {
  const {canvas} = timeline
  let from = null
  canvas.addEventListener("wheel", (event) => {
    const isWhole = timeline.view.end - timeline.view.start >= timeline.nFrames
    if (isWhole && event.deltaY > 0 && !event.ctrlKey) return // nothing left to zoom out of: let the page scroll
    event.preventDefault()
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX
    if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey) timeline.move(sideways / 1000)
    else timeline.zoom(Math.exp(Math.max(-240, Math.min(240, event.deltaY)) / 400), timeline.frameAt(event.offsetX))
  }, {passive: false})
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return
    const found = timeline.segmentAt(event.offsetX, event.offsetY)
    if (timeline.page.plugins.some((plugin) => plugin.pressed?.(timeline, event, found))) return
    from = {x: event.offsetX, y: event.offsetY, view: timeline.view, moved: false}
    canvas.setPointerCapture(event.pointerId)
  })
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return point(timeline, event)
    const away = event.offsetX - from.x
    from.moved ||= Math.abs(away) > PRESSED_PX
    if (!from.moved) return
    const length = from.view.end - from.view.start
    const start = Math.min(Math.max(0, from.view.start - away * length / timeline.plotWidth), timeline.nFrames - length)
    timeline.show(start, start + length)
    timeline.page.tip(null)
  })
  canvas.addEventListener("pointerup", (event) => {
    if (from && !from.moved) press(timeline, timeline.segmentAt(event.offsetX, event.offsetY))
    from = null
  })
  canvas.addEventListener("pointercancel", () => { from = null })
  canvas.addEventListener("pointerleave", () => { timeline.page.tip(null); timeline.showHair(null) })
  canvas.addEventListener("dblclick", () => timeline.show(0, timeline.nFrames))
  canvas.addEventListener("keydown", (event) => onKey(timeline, event))
  canvas.addEventListener("blur", () => { timeline.page.tip(null); timeline.later() })
  canvas.addEventListener("focus", () => timeline.later())
}

function press(timeline, found) {
  if (!found) return timeline.page.choose(null)
  const {lane, place} = found
  timeline.cursor = {lane, place}
  timeline.page.choose(timeline.page.keyOf(timeline, lane, lane.entry[place]), {timeline, frame: lane.starts[place]})
}

function point(timeline, event) {
  const found = timeline.segmentAt(event.offsetX, event.offsetY)
  const told = timeline.eventAt(event.offsetX, event.offsetY)
  timeline.canvas.style.cursor = found ? "pointer" : "grab"
  timeline.showHair(event.offsetX)
  const words = found ? segmentWords(timeline, found) : told ? told.words
    : scoreWords(timeline, event.offsetX, event.offsetY) ?? signalWords(timeline, event.offsetX, event.offsetY)
  timeline.page.tip(words, event.clientX, event.clientY)
}

function segmentWords(timeline, {lane, place}) {
  const start = lane.starts[place], end = lane.ends[place], {frame_s} = timeline.data
  const words = [
    `${lane.title}: ${lane.entries[lane.entry[place]].name}`,
    `${timeline.timeOf(start)} to ${frame_s === null ? timeline.timeOf(end) : timeline.endOf(end)}`,
    frame_s === null ? `${end - start} frames` : `${((end - start) * frame_s).toFixed(3)} s, frames ${start} to ${end}`,
  ]
  if (!Number.isNaN(lane.scores[place])) words.push(`score ${lane.scores[place].toPrecision(3)}`)
  if (lane.sequences[lane.sequence[place]]) words.push(lane.sequences[lane.sequence[place]])
  return words
}

function onKey(timeline, event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return
  const actions = {
    ArrowLeft: () => timeline.move(event.shiftKey ? -1 : -0.2),
    ArrowRight: () => timeline.move(event.shiftKey ? 1 : 0.2),
    "+": () => zoomByKey(timeline, 1 / 1.5), "=": () => zoomByKey(timeline, 1 / 1.5),
    "-": () => zoomByKey(timeline, 1.5),
    ArrowUp: () => changeLane(timeline, -1), ArrowDown: () => changeLane(timeline, 1),
    Home: () => timeline.show(0, timeline.nFrames),
    ",": () => step(timeline, -1), ".": () => step(timeline, 1),
    Enter: () => enter(timeline),
  }
  if (!actions[event.key]) return
  event.preventDefault()
  timeline.page.tip(null) // it stands where the segment was
  actions[event.key]()
}

// Around the segment that the keys are at, if it is in sight.
function zoomByKey(timeline, factor) {
  const {view, cursor} = timeline
  const middle = cursor && (cursor.lane.starts[cursor.place] + cursor.lane.ends[cursor.place]) / 2
  timeline.zoom(factor, cursor && middle >= view.start && middle <= view.end ? middle : undefined)
}

// Once shows all occurrences, once more goes to them.
function enter(timeline) {
  const {page, cursor} = timeline
  const key = cursor && page.keyOf(timeline, cursor.lane, cursor.lane.entry[cursor.place])
  if (key && key === page.chosen && page.entries[key]) page.enterPanel(timeline.canvas)
  else press(timeline, cursor ?? null)
}

function changeLane(timeline, by) {
  const now = timeline.cursor ? timeline.lanes.indexOf(timeline.cursor.lane) : by > 0 ? -1 : timeline.lanes.length
  const lane = timeline.lanes[Math.max(0, Math.min(timeline.lanes.length - 1, now + by))]
  const middle = timeline.cursor ? timeline.cursor.lane.starts[timeline.cursor.place] : timeline.view.start
  goTo(timeline, lane, firstEndingAfter(lane, middle))
}

function step(timeline, by) {
  if (!timeline.cursor) return changeLane(timeline, 1)
  const {lane} = timeline.cursor, chosen = timeline.page.chosenIn(timeline, lane)
  let place = timeline.cursor.place + by // with an entry chosen, from one of its occurrences to the next
  while (chosen !== null && place >= 0 && place < lane.starts.length && lane.entry[place] !== chosen) place += by
  goTo(timeline, lane, place)
}

function goTo(timeline, lane, place) {
  if (place < 0 || place >= lane.starts.length) return
  timeline.cursor = {lane, place}
  const start = lane.starts[place], end = lane.ends[place], {view} = timeline
  if (start < view.start || end > view.end) {
    const half = Math.max(view.end - view.start, 1.2 * (end - start)) / 2
    timeline.show((start + end) / 2 - half, (start + end) / 2 + half)
  }
  timeline.later()
  const box = timeline.canvas.getBoundingClientRect()
  const x = Math.max(LEFT, Math.min(LEFT + timeline.plotWidth, timeline.xOf((start + end) / 2)))
  timeline.page.tip(segmentWords(timeline, {lane, place}), box.left + x, box.top + timeline.lanesTop
    + LANE * (timeline.lanes.indexOf(lane) + 0.9), true)
}
