// Very many recordings: each is one thin lane on a common axis, from its own start; pressed, it opens above them all.
"use strict"

const SHEET_ROW = 13, SHEET_CHUNK = 40 // recordings to a canvas: one for all would be too tall for some browsers

class Sheet {
  constructor(place, page) {
    this.place = place
    this.page = page
    this.opened = null
    const inFrames = page.places.some((_, i) => page.dataOf(i).frame_s === null)
    this.lengths = page.places.map((_, i) => page.dataOf(i).n_frames * (inFrames ? 1 : page.dataOf(i).frame_s))
    this.inFrames = inFrames
    this.longest = Math.max(...this.lengths)
    this.lanes = new Map()
    this.chunks = []
    this.build()
  }

  build() {
    this.place.append(this.head())
    this.seen = new IntersectionObserver((found) => {
      for (const {target, isIntersecting} of found) {
        const chunk = this.chunks[Number(target.dataset.chunk)]
        chunk.isSeen = isIntersecting
        if (isIntersecting) this.drawChunk(chunk)
      }
    }, {rootMargin: "200px"})
    for (let first = 0; first < this.page.places.length; first += SHEET_CHUNK) this.addChunk(first)
    this.axis = Object.assign(document.createElement("canvas"), {className: "sheet-axis"})
    this.place.append(this.axis)
    new ResizeObserver(() => this.draw()).observe(this.place)
  }

  head() {
    const head = Object.assign(document.createElement("div"), {className: "head"})
    const words = Object.assign(document.createElement("h2"), {textContent: `${this.page.places.length} recordings`})
    const about = Object.assign(document.createElement("span"), {className: "quiet about",
      textContent: "each from its own start; press one to open its timeline"})
    const filter = Object.assign(document.createElement("input"), {type: "search", placeholder: "part of a name"})
    filter.setAttribute("aria-label", "Filter recordings")
    filter.addEventListener("input", () => this.filter(filter.value.trim().toLowerCase()))
    const tools = Object.assign(document.createElement("div"), {className: "tools"})
    tools.append(filter)
    head.append(words, about, tools)
    return head
  }

  addChunk(first) {
    const element = Object.assign(document.createElement("div"), {className: "chunk"})
    const canvas = document.createElement("canvas"), names = document.createElement("div")
    const chunk = {element, canvas, names, all: [], places: []}
    element.dataset.chunk = this.chunks.length
    for (let place = first; place < Math.min(first + SHEET_CHUNK, this.page.places.length); place++) {
      const button = addButton(names, this.page.dataOf(place).id, this.page.dataOf(place).id, (event) => {
        this.open(place)
        if (event.detail === 0) this.page.timelines[place].canvas.focus({preventScroll: true}) // by key: keys go on there
      })
      chunk.all.push({place, button, name: this.page.dataOf(place).id.toLowerCase()})
    }
    chunk.places = chunk.all.map((it) => it.place)
    this.listen(chunk)
    element.append(names, canvas)
    this.chunks.push(chunk)
    this.place.append(element)
    this.seen.observe(element)
  }

  filter(part) {
    for (const chunk of this.chunks) {
      for (const one of chunk.all) one.button.hidden = !one.name.includes(part)
      chunk.places = chunk.all.filter((it) => !it.button.hidden).map((it) => it.place)
      chunk.element.hidden = !chunk.places.length
    }
    this.draw()
  }

  // Motifs where the page shows any, else units.
  laneAt(place) {
    if (!this.lanes.has(place)) {
      const {page} = this, own = page.dataOf(place).lanes
      const raw = own.find((lane) => lane.kind === "motif" && page.isShown(lane)) ?? own.find((lane) => lane.kind === "unit")
      this.lanes.set(place, raw ? page.coarse([laneOf(raw)])[0] : null)
    }
    return this.lanes.get(place)
  }

  draw() {
    for (const chunk of this.chunks) if (chunk.isSeen) this.drawChunk(chunk)
    this.drawAxis()
  }

  widthOf(chunk) { return Math.max(60, chunk.element.clientWidth - chunk.names.offsetWidth) }

  drawChunk(chunk) {
    const width = this.widthOf(chunk), density = Math.max(1, window.devicePixelRatio || 1)
    const pen = penOn(chunk.canvas, width, SHEET_ROW * chunk.places.length, density)
    chunk.places.forEach((place, row) => this.drawRow(pen, place, SHEET_ROW * row + 1, width))
    for (const {place, button} of chunk.all) button.setAttribute("aria-pressed", String(place === this.opened))
  }

  drawRow(pen, place, y, width) {
    const lane = this.laneAt(place), data = this.page.dataOf(place), wide = width * this.lengths[place] / this.longest
    pen.fillStyle = theme.other
    pen.fillRect(0, y, wide, SHEET_ROW - 2)
    if (!lane) return
    const perFrame = wide / data.n_frames, chosen = this.page.chosenIn({data}, lane)
    let drawnTo = -Infinity
    for (let i = 0; i < lane.starts.length; i++) {
      const entry = lane.entry[i], right = lane.ends[i] * perFrame, bright = chosen === null || entry === chosen
      if (isOther(lane, entry) || (right - drawnTo < 0.8 && !(bright && chosen !== null))) continue
      const left = lane.starts[i] * perFrame
      pen.globalAlpha = bright ? 1 : PALE
      pen.fillStyle = fillOf(pen, lane.entries[entry], right - left)
      pen.fillRect(left, y, Math.max(0.7, right - left), SHEET_ROW - 2)
      drawnTo = right
    }
    pen.globalAlpha = 1
  }

  drawAxis() {
    const first = this.chunks.find((chunk) => !chunk.element.hidden)
    if (!first) return
    const width = this.widthOf(first), left = first.names.offsetWidth, nTicks = Math.max(2, width / TICK_PX)
    const pen = penOn(this.axis, left + width, AXIS, Math.max(1, window.devicePixelRatio || 1))
    const scale = this.inFrames ? null : elapsedScale(this.longest / nTicks, this.longest)
    const step = scale ? scale.step : Math.max(1, plainStep(this.longest / nTicks))
    Object.assign(pen, {font: `11px ${FONT}`, textBaseline: "top", textAlign: "left"})
    for (const at of ticksEvery(step, 0, this.longest)) {
      const x = left + width * at / this.longest
      pen.fillStyle = theme.quiet
      pen.fillRect(x, 0, 1, 4)
      pen.fillStyle = theme.ink
      const words = scale ? scale.wordsOf(at) : at.toLocaleString("en-US")
      if (x + pen.measureText(words).width < left + width) pen.fillText(words, x, 7)
    }
    pen.fillStyle = theme.quiet
    pen.textAlign = "right"
    pen.fillText(scale ? scale.unit : "frame", left - 8, 7)
  }

  placeAt(chunk, y) { return chunk.places[Math.floor(y / SHEET_ROW)] }

  listen(chunk) {
    chunk.canvas.addEventListener("click", (event) => {
      const place = this.placeAt(chunk, event.offsetY)
      if (place !== undefined) this.open(place)
    })
    chunk.canvas.addEventListener("pointermove", (event) => this.page.tip(this.wordsAt(chunk, event.offsetX, event.offsetY),
      event.clientX, event.clientY))
    chunk.canvas.addEventListener("pointerleave", () => this.page.tip(null))
  }

  wordsAt(chunk, x, y) {
    const place = this.placeAt(chunk, y)
    if (place === undefined) return null
    const data = this.page.dataOf(place), lane = this.laneAt(place)
    const share = x / (this.widthOf(chunk) * this.lengths[place] / this.longest), frame = share * data.n_frames
    const found = lane ? firstEndingAfter(lane, frame) : 0
    const isThere = lane && share <= 1 && found < lane.starts.length && lane.starts[found] <= frame
    const length = this.inFrames ? `${data.n_frames} frames` : durationWords(this.lengths[place])
    return [data.id, length, ...(isThere ? [`${lane.title}: ${lane.entries[lane.entry[found]].name}`] : [])]
  }

  // Its timeline, above the sheet and in place of the one that was there.
  open(place) {
    this.opened = place
    this.page.showRecordings([place])
    this.draw()
    this.page.timelines[place].place.parentNode.scrollIntoView({block: "start"})
  }
}
