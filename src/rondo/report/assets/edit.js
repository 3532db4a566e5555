// Edit mode: boundaries are dragged, occurrences relabelled or ticked in the timeline; the panel has the rest. Whatever is done to
// frames is a relabel of them. Nothing that was learned changes, and every edit can be undone.
"use strict"

const REACH = 6, LEAST_WIDE = 9 // pixels: how near to an edge it is taken, and of what a segment needs to have handles
const idAt = (lane, frame) => {
  const at = firstEndingAfter(lane, frame)
  return at < lane.starts.length && lane.starts[at] <= frame ? idOf(lane.entries[lane.entry[at]].name) : -1
}
const isFound = (lane) => (lane.kind === "unit" || lane.kind === "motif") && lane.run === "" && lane.in_labels

// A pointer that is held: until it is let go.
function followPointer(canvas, event, moved, ended) {
  const over = new AbortController(), {signal} = over, stop = (it) => { over.abort(); ended(it) }
  canvas.setPointerCapture(event.pointerId)
  canvas.addEventListener("pointermove", moved, {signal})
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, stop, {signal})
}

class Editor {
  constructor(page, store, data) {
    this.page = page
    this.store = store
    this.teaching = new Teaching(this, data)
    this.isOn = false
    this.several = new Map() // entries of one level that are ticked in the list of all, to be merged or named: key -> id
    this.ticked = new Map() // occurrences that are to become a new entry: "level|recording|start|end" -> span
    this.drag = null // the boundary that is being moved: {timeline, lane, band, old, now}
    this.pointer = {x: 0, y: 0} // where the page was last pressed
    this.button = page.tools("edit", "edit mode: rename, merge, divide, relabel, teach", () => this.toggle())
    this.button.setAttribute("aria-pressed", "false")
    this.menu = htmlOf("div", {id: "edit-menu", hidden: true})
    document.body.append(this.menu)
    this.listen()
  }

  listen() {
    document.addEventListener("pointerdown", (event) => {
      this.pointer = {x: event.clientX, y: event.clientY}
      if (!this.menu.contains(event.target)) this.menu.hidden = true
    }, true)
    document.addEventListener("pointermove", (event) => this.point(event))
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.menu.hidden = true
      const isUndo = event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey
      if (!this.isOn || !isUndo || event.target.matches?.("input, select, textarea")) return
      event.preventDefault()
      this.undo()
    })
  }

  toggle() {
    this.isOn = !this.isOn
    this.button.setAttribute("aria-pressed", String(this.isOn))
    this.menu.hidden = true
    this.ticked.clear()
    this.several.clear()
    this.page.choose(this.page.chosen) // the panel with or without what edits
  }

  // ------------------------------------------------------------ making edits

  make(...wanted) {
    return this.follow(async () => {
      if (!await this.store.add(...wanted)) return
      this.ticked.clear()
      this.several.clear()
    })
  }

  // Change the run, and show what has become of it.
  async follow(change) {
    this.menu.hidden = true
    const chosen = this.chosenEntry(), before = this.store.history.length
    await change()
    if (this.store.trouble || !this.store.isServed) return this.show()
    if (this.page.panel.contains(document.activeElement)) document.activeElement.blur() // else the panel stays as it is
    await rondoPlugins.find((it) => it.live)?.live.takeIn().catch(() => {}) // the server has ended: the page says so itself
    const made = this.store.history.slice(before).find((it) => it.new)
    const key = this.keyOf(made ? {level: made.level, id: made.ids[0]} : chosen)
    if (key !== this.page.chosen) this.page.choose(key)
    else this.show()
  }

  async undo() {
    if (this.store.pending.length) { await this.store.undo(); this.show() }
    else if (this.store.canUndo) await this.make({kind: "undo", number: this.store.lastInForce})
  }

  chosenEntry() {
    const entry = this.page.chosen === null ? null : this.page.entries[this.page.chosen]
    return entry ? {level: entry.level, id: idOf(entry.name)} : null
  }

  // An entry that was renamed has another key; one that was merged away has none.
  keyOf(wanted) {
    if (!wanted) return null
    return Object.keys(this.page.entries).find((key) => {
      const {level, name, absorbed} = this.page.entries[key], ids = [idOf(name), ...absorbed ?? []]
      return level === wanted.level && ids.includes(wanted.id)
    }) ?? null
  }

  // ------------------------------------------------------------ the panel

  show() {
    const {panel} = this.page, old = panel.querySelector("#edit")
    this.button.textContent = this.store.pending.length ? `edit (${this.store.pending.length})` : "edit"
    this.page.redraw()
    this.coarseness?.follow()
    if (!this.isOn) return old?.remove()
    const section = editSection(this), facts = panel.querySelector(".facts")
    if (old) old.replaceWith(section)
    else if (facts) facts.after(section)
    else panel.prepend(section)
    const entry = this.page.chosen === null ? null : this.page.entries[this.page.chosen]
    if (entry?.in_labels && !old && this.store.hasFrames) tickCells(this, entry)
    if (!entry) tickEntries(this)
  }

  // ------------------------------------------------------------ occurrences that are ticked

  isTicked(level, span) { return this.ticked.has(`${level}|${span.join("|")}`) }

  tick(level, span) {
    const key = `${level}|${span.join("|")}`
    if (!this.ticked.delete(key)) this.ticked.set(key, {level, span})
    this.show()
  }

  // Those of an entry: what is ticked elsewhere is none of it.
  chosenSpans(entry) {
    const own = [...this.ticked.values()].filter(({level, span}) => level === entry.level && this.isOf(entry, level, span))
    return own.map(({span}) => span)
  }

  isOf(entry, level, [recording, start]) {
    const place = this.page.places.findIndex((_, i) => this.page.dataOf(i).id === recording)
    const lane = this.page.lanesOf(this.page.dataOf(place)).find((it) => it.kind === level && it.run === "")
    return idAt(lane, start) === idOf(entry.name)
  }

  // ------------------------------------------------------------ the timeline

  // The boundary near a point: {timeline, lane, band, old}, or null.
  edgeAt(timeline, x, y) {
    const band = timeline.bandAt(y)
    if (!this.isOn || !this.store.hasFrames || !band || !isFound(band.lane) || x < timeline.left) return null
    const {lane} = band, reach = REACH * timeline.framesPerPixel, frame = timeline.frameAt(x)
    let best = null, nearest = REACH
    for (let i = firstEndingAfter(lane, frame - reach - 1); i < lane.starts.length && lane.starts[i] <= frame + reach; i++) {
      if (band.kind === "row" && lane.entry[i] !== band.entry) continue
      if ((lane.ends[i] - lane.starts[i]) / timeline.framesPerPixel < LEAST_WIDE) continue
      for (const old of [lane.starts[i], lane.ends[i]]) {
        const away = Math.abs(timeline.xOf(old) - x)
        const isBetween = old > 0 && old < timeline.nFrames && idAt(lane, old - 1) !== idAt(lane, old)
        if (isBetween && away < nearest) [best, nearest] = [{timeline, lane, band, old}, away]
      }
    }
    return best
  }

  // A boundary moves between the ones before and after it.
  limitsOf({timeline, lane, old}) {
    let low = 0, high = timeline.nFrames
    for (let i = Math.max(0, firstEndingAfter(lane, old - 1) - 1); i < lane.starts.length && lane.starts[i] <= high; i++) {
      for (const frame of [lane.starts[i], lane.ends[i]]) {
        if (frame < old) low = Math.max(low, frame)
        if (frame > old) high = Math.min(high, frame)
      }
    }
    return [low + 1, high - 1]
  }

  pressed(timeline, event, found) {
    if (!this.isOn) return false
    const edge = event.shiftKey ? null : this.edgeAt(timeline, event.offsetX, event.offsetY)
    if (edge) { this.startDrag(edge, event); return true }
    if (!event.shiftKey || !this.store.hasFrames || event.offsetX < timeline.left) return false
    this.teaching.drag(timeline, event, () => this.tickAt(timeline, found))
    return true
  }

  tickAt(timeline, found) {
    if (!found || !isFound(found.lane) || isOther(found.lane, found.lane.entry[found.place])) return
    const {lane, place} = found
    const key = this.page.keyOf(lane, lane.entry[place])
    if (key !== this.page.chosen) this.page.choose(key)
    this.tick(lane.kind, [timeline.data.id, lane.starts[place], lane.ends[place]])
    this.page.choose(key)
  }

  startDrag(edge, event) {
    const {timeline, old} = edge, [low, high] = this.limitsOf(edge)
    this.drag = {...edge, now: old}
    const moved = (it) => {
      this.drag.now = Math.min(high, Math.max(low, Math.round(timeline.frameAt(it.offsetX))))
      this.page.tip([`${timeline.timeOf(this.drag.now)}, frame ${this.drag.now}`], it.clientX, it.clientY)
      timeline.later()
    }
    const ended = (it) => {
      const {now, lane} = this.drag
      this.drag = null
      this.page.tip(null)
      timeline.later()
      if (it.type !== "pointerup" || now === old) return
      const ids = [idAt(lane, now > old ? old - 1 : old)] // the frames between belong to the one that has grown
      this.make({kind: "relabel", level: lane.kind, ids, spans: [[timeline.data.id, Math.min(old, now), Math.max(old, now)]]})
    }
    followPointer(timeline.canvas, event, moved, ended)
  }

  // The pointer says where a boundary can be taken.
  point(event) {
    if (!this.isOn || this.drag) return
    const timeline = this.page.drawn.find((it) => it.canvas === event.target)
    if (timeline && this.edgeAt(timeline, event.offsetX, event.offsetY)) timeline.canvas.style.cursor = "ew-resize"
  }

  // What can be done to the occurrence that was pressed, beside the pointer.
  openMenu({timeline, frame}) {
    const chosen = this.page.entries[this.page.chosen]
    const lane = timeline.lanes.find((it) => isFound(it) && it.kind === chosen.level)
    if (!lane || !this.store.hasFrames) return
    const place = firstEndingAfter(lane, frame)
    const span = [timeline.data.id, lane.starts[place], lane.ends[place]], level = lane.kind
    const options = entriesOf(this.page, level).filter(([id]) => id !== idOf(chosen.name))
    const other = entrySelect("relabel this occurrence as", [...options, [-1, "OTHER"]])
    const relabel = pressable("relabel", "this occurrence only", () =>
      this.make({kind: "relabel", level, ids: [Number(other.value)], spans: [span]}))
    const tick = pressable(this.isTicked(level, span) ? "untick" : "tick", "choose it for a new entry (Shift and press)", () => {
      this.menu.hidden = true
      this.tick(level, span)
      this.page.choose(this.page.chosen)
    })
    this.menu.replaceChildren(htmlOf("strong", {textContent: `This ${chosen.name.split(" ")[0]}`}), editRow(other, relabel), editRow(tick))
    this.menu.hidden = false
    this.page.tip(null)
    this.placeMenu()
    this.teaching.select(span)
  }

  placeMenu() {
    const {offsetWidth: width, offsetHeight: height} = this.menu, {x, y} = this.pointer
    this.menu.style.left = `${Math.max(4, Math.min(x + 10, innerWidth - width - 8))}px`
    this.menu.style.top = `${y + 24 + height > innerHeight ? Math.max(4, y - height - 12) : y + 24}px`
  }

  // ------------------------------------------------------------ on the canvas

  painted(timeline, pen) {
    if (!this.isOn && !this.store.pending.length) return
    pen.save()
    pen.beginPath()
    pen.rect(timeline.left, 0, timeline.plotWidth, timeline.height)
    pen.clip()
    for (const band of timeline.bands) if (this.isOn && isFound(band.lane)) this.paintHandles(timeline, pen, band)
    for (const {level, span} of this.ticked.values()) this.paintSpan(timeline, pen, level, span, theme.ink, [])
    for (const edit of this.store.pending) for (const span of edit.spans ?? []) this.paintSpan(timeline, pen, edit.level, span, theme.mark, [4, 3])
    if (this.isOn) this.teaching.painted(timeline, pen)
    if (this.drag?.timeline === timeline) {
      pen.fillStyle = theme.mark
      pen.fillRect(timeline.xOf(this.drag.now) - 1, 0, 2, timeline.height - AXIS)
    }
    pen.restore()
  }

  // Both ends of everything that is wide enough to be taken.
  paintHandles(timeline, pen, {lane, y, height, kind, entry}) {
    if (kind === "more" || kind === "fewer" || !this.store.hasFrames) return
    pen.fillStyle = theme.ink
    for (let i = firstEndingAfter(lane, timeline.view.start); i < lane.starts.length && lane.starts[i] < timeline.view.end; i++) {
      if ((kind === "row" && lane.entry[i] !== entry) || isOther(lane, lane.entry[i])) continue
      const left = timeline.xOf(lane.starts[i]), right = timeline.xOf(lane.ends[i])
      if (right - left < LEAST_WIDE) continue
      for (const x of [left, right]) pen.fillRect(x - 1, y + 1, 2, height - 3)
    }
  }

  paintSpan(timeline, pen, level, [recording, from, to], colour, dash) {
    const lane = recording === timeline.data.id ? timeline.lanes.find((it) => isFound(it) && it.kind === level) : null
    if (!lane || !lane.starts.length) return
    const at = Math.min(lane.starts.length - 1, firstEndingAfter(lane, from)), box = timeline.boxOf(lane, at)
    const [left, right] = [from, to].map((frame) => timeline.xOf(frame))
    if (!box) return
    Object.assign(pen, {strokeStyle: colour, lineWidth: 2})
    pen.setLineDash(dash)
    pen.strokeRect(left, box.top, Math.max(1, right - left), box.bottom - box.top - 1)
    pen.setLineDash([])
  }
}

addRondoPlugin({
  started(page) {
    const data = JSON.parse(document.getElementById("edit-data").textContent)
    if (!data) return // two runs side by side
    const server = JSON.parse(document.getElementById("server-data").textContent)
    this.editor = new Editor(page, new EditStore(data, server), data)
    this.editor.show()
  },
  painted(timeline, pen) { this.editor?.painted(timeline, pen) },
  pressed(timeline, event, found) { return this.editor?.pressed(timeline, event, found) ?? false },
  chosen(page, key, origin) {
    if (!this.editor) return
    this.editor.show()
    if (this.editor.isOn && key && origin?.timeline) this.editor.openMenu(origin)
  },
  async renewed(page, found) {
    await this.editor?.store.look()
    this.editor?.teaching.renew(JSON.parse(found.getElementById("edit-data").textContent))
    this.editor?.show()
  },
})
