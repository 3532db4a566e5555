// Mouse, touch and keys of a timeline.
"use strict"

const PRESSED_PX = 4 // a drag that is shorter is a press

function listen(timeline) {
  const {canvas} = timeline
  listenToWheel(timeline)
  listenToPointers(timeline)
  canvas.addEventListener("pointerleave", () => { timeline.page.tip(null); timeline.showHair(null) })
  canvas.addEventListener("dblclick", () => timeline.show(0, timeline.nFrames))
  canvas.addEventListener("keydown", (event) => onKey(timeline, event))
  canvas.addEventListener("blur", () => { timeline.page.tip(null); timeline.later() })
  canvas.addEventListener("focus", () => timeline.later())
}

// The wheel belongs to the page until someone presses a timeline, or holds a key that says otherwise.
function listenToWheel(timeline) {
  timeline.canvas.addEventListener("wheel", (event) => {
    const isMeant = event.ctrlKey || event.metaKey, isFocused = document.activeElement === timeline.canvas
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX
    const isSideways = event.shiftKey || Math.abs(sideways) > Math.abs(event.deltaY)
    if (isSideways ? timeline.isWhole : !isMeant && !isFocused) return
    if (!isSideways && !isMeant && timeline.isWhole && event.deltaY > 0) return // nothing left to zoom out of
    event.preventDefault()
    if (isSideways) timeline.move(sideways / 1000)
    else timeline.zoom(Math.exp(Math.max(-240, Math.min(240, event.deltaY)) / 400), timeline.frameAt(event.offsetX))
  }, {passive: false})
}

// One pointer drags or presses, two pinch; up and down are the page's own, by the style sheet.
function listenToPointers(timeline) {
  const {canvas} = timeline, held = new Map()
  let from = null, pinch = null
  const xs = () => [...held.values()].map((it) => it.x)
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return
    const found = timeline.segmentAt(event.offsetX, event.offsetY)
    if (timeline.page.plugins.some((plugin) => plugin.pressed?.(timeline, event, found))) return
    held.set(event.pointerId, {x: event.offsetX})
    canvas.setPointerCapture(event.pointerId)
    from = held.size > 1 ? null : {x: event.offsetX, view: timeline.view, moved: false}
    pinch = held.size === 2 ? {frames: xs().map((x) => timeline.frameAt(x))} : null
  })
  canvas.addEventListener("pointermove", (event) => {
    if (!held.has(event.pointerId)) return point(timeline, event)
    held.get(event.pointerId).x = event.offsetX
    if (pinch) return pinched(timeline, pinch.frames, xs())
    if (!from) return
    const away = event.offsetX - from.x
    from.moved ||= Math.abs(away) > PRESSED_PX
    if (!from.moved) return
    timeline.moveTo(from.view.start - away * (from.view.end - from.view.start) / timeline.plotWidth)
    timeline.page.tip(null)
  })
  const letGo = (event) => {
    held.delete(event.pointerId)
    from = pinch = null
  }
  canvas.addEventListener("pointerup", (event) => {
    if (from && !from.moved) press(timeline, event.offsetX, event.offsetY)
    letGo(event)
  })
  canvas.addEventListener("pointercancel", letGo)
}

// The two frames that were taken stay under the two fingers.
function pinched(timeline, frames, xs) {
  const [a, b] = xs, apart = b - a
  if (Math.abs(apart) < 8) return
  const perPixel = (frames[1] - frames[0]) / apart
  if (perPixel <= 0) return
  const start = frames[0] - (a - timeline.left) * perPixel
  timeline.show(start, start + timeline.plotWidth * perPixel)
}

function press(timeline, x, y) {
  const band = timeline.bandAt(y), found = timeline.segmentAt(x, y)
  if (band?.kind === "fewer" || (band?.kind === "more" && !found)) return unfold(timeline)
  if (band?.kind === "row" && x < timeline.left) { // its name
    return timeline.page.choose(timeline.page.keyOf(band.lane, band.entry))
  }
  if (!found) return timeline.page.choose(null)
  choosePlace(timeline, found)
}

function choosePlace(timeline, {lane, place}) {
  timeline.cursor = {lane, place}
  timeline.marked = null
  timeline.page.choose(timeline.page.keyOf(lane, lane.entry[place]), {timeline, frame: lane.starts[place]})
}

// All rows, or those with most time.
function unfold(timeline) {
  timeline.isUnfolded = !timeline.isUnfolded
  timeline.layOut()
  timeline.later()
}

function point(timeline, event) {
  const {offsetX: x, offsetY: y} = event, found = timeline.segmentAt(x, y), told = timeline.eventAt(x, y)
  const band = timeline.bandAt(y), isName = band && band.kind !== "block" && x < timeline.left
  timeline.canvas.style.cursor = found || isName || band?.kind === "more" ? "pointer"
    : timeline.isWhole ? "default" : "grab"
  timeline.showHair(x)
  const words = found ? segmentWords(timeline, found) : told ? told.words : isName ? [band.name]
    : scoreWords(timeline, x, y) ?? signalWords(timeline, x, y)
  timeline.page.tip(words, event.clientX, event.clientY)
}

function segmentWords(timeline, {lane, place}) {
  const start = lane.starts[place], end = lane.ends[place], {frame_s} = timeline.data
  const words = [
    `${lane.title}: ${lane.entries[lane.entry[place]].name}`,
    `${timeline.timeOf(start)} to ${timeline.endOf(end)}`,
    frame_s === null ? `${end - start} frames` : `${durationWords((end - start) * frame_s)}, frames ${start} to ${end}`,
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
    m: () => unfold(timeline),
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
  const key = cursor && page.keyOf(cursor.lane, cursor.lane.entry[cursor.place])
  if (key && key === page.chosen && page.entries[key]) page.enterPanel(timeline.canvas)
  else if (cursor) choosePlace(timeline, cursor)
  else page.choose(null)
}

function changeLane(timeline, by) {
  const lanes = [...new Set(timeline.bands.map((band) => band.lane))]
  if (!lanes.length) return
  const now = timeline.cursor ? lanes.indexOf(timeline.cursor.lane) : by > 0 ? -1 : lanes.length
  const lane = lanes[Math.max(0, Math.min(lanes.length - 1, now + by))]
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
  const box = timeline.canvas.getBoundingClientRect(), own = timeline.boxOf(lane, place)
  const x = Math.max(timeline.left, Math.min(timeline.left + timeline.plotWidth, timeline.xOf((start + end) / 2)))
  timeline.page.tip(segmentWords(timeline, {lane, place}), box.left + x, box.top + own.bottom - 4, true)
}
