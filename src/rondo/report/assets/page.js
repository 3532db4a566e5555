// What ties the page together: timelines, the tooltip, the entry that is chosen, and the panel that shows it.
"use strict"

class Page {
  constructor() {
    this.entries = JSON.parse(document.getElementById("entries-data").textContent)
    this.panel = document.getElementById("panel")
    this.tooltip = document.getElementById("tooltip")
    this.plugins = rondoPlugins
    this.chosen = null
    this.places = [...document.querySelectorAll(".timeline")]
    this.timelines = this.places.map(() => null) // until they are drawn
    this.channels = {has: () => true}
    this.isScaleFixed = remembered("scale") === "fixed" // else rows are scaled to what is in view
    this.isFitShown = remembered("fit") === "shown"
    this.data = new Map()
    this.lanes = new Map()
    this.coarse = (lanes) => lanes // as motifs are merged now
    this.kind = remembered("kind") // "unit": no motifs
  }

  start() {
    document.addEventListener("click", ({target}) => { if (this.kindButtons.includes(target)) this.showKind(target.dataset.kind) })
    this.markKind()
    startTheme(this, (isNow) => this.redraw(isNow))
    this.help()
    choosing("choose-channels", (names) => { this.channels = new Set(names); this.layOut() })
    const sheet = document.getElementById("sheet")
    this.sheet = sheet ? new Sheet(sheet, this) : null
    this.recordings = choosing("choose-recordings", (places) => this.showRecordings(places.map(Number)))
    if (!this.recordings && !this.sheet) this.showRecordings(this.places.map((_, place) => place))
    this.listen()
    const chosen = remembered("chosen")
    this.choose(chosen && this.entries[chosen] ? chosen : null)
    window.rondoStarted = true
    for (const plugin of this.plugins) plugin.started?.(this)
  }

  listen() {
    this.listenTo(document)
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") this.choose(null) })
    window.addEventListener("scroll", () => { if (this.isTipFixed) this.tip(null) }, {passive: true})
  }

  // The buttons in a part of the page, which may be new.
  listenTo(part) {
    for (const button of part.querySelectorAll("button.exemplar")) {
      button.addEventListener("click", () => {
        const {timeline, from, to} = button.dataset, key = button.closest("tr")?.querySelector("button.entry")?.dataset.key
        if (key && key !== this.chosen) this.choose(key) // whose exemplar it is: the mark shows which of them all
        this.goTo(Number(timeline), Number(from), Number(to))
      })
    }
    for (const button of part.querySelectorAll("main button.entry")) {
      button.addEventListener("click", (event) => {
        const isAgain = button.dataset.key === this.chosen && event.detail === 0 // by key
        if (isAgain) this.enterPanel(button)
        else this.choose(button.dataset.key)
      })
    }
  }

  // Another button at the right of the title line.
  tools(words, title, action) {
    return addButton(document.getElementById("tools"), words, title, action)
  }

  help() {
    const help = document.getElementById("help")
    this.tools("?", "help: how to read this page, and its keys", () => help.showModal())
    help.querySelector(".close").addEventListener("click", () => help.close())
    help.addEventListener("click", (event) => { if (event.target === help) help.close() }) // beside it
  }

  get kindButtons() { return [...document.querySelectorAll("#kinds button")] }
  get kinds() { return this.kindButtons.map((it) => it.dataset.kind) }
  get drawn() { return this.timelines.filter((it) => it !== null) }

  redraw(isNow = false) {
    for (const timeline of this.drawn) isNow ? timeline.draw() : timeline.later()
    this.sheet?.draw()
  }

  layOut() {
    for (const timeline of this.drawn) { timeline.layOut(); timeline.later() }
  }

  // What a timeline is made of, read when it is first needed.
  dataOf(place) {
    if (!this.data.has(place)) this.data.set(place, JSON.parse(this.places[place].querySelector("script").textContent))
    return this.data.get(place)
  }

  // The lanes that are drawn: of motifs, those of the kind that is shown.
  lanesOf(data) {
    if (!this.lanes.has(data)) this.lanes.set(data, this.coarse(data.lanes.map(laneOf)))
    return this.lanes.get(data).filter((lane) => this.isShown(lane))
  }

  isShown({kind, of}) { return kind !== "motif" || of === this.kind || !this.kinds.includes(of) }

  // Phrases, contexts or units alone; a chosen motif of another kind is left.
  showKind(kind) {
    this.kind = kind
    remember("kind", kind)
    this.markKind()
    this.renewLanes()
    const chosen = this.entries[this.chosen]
    this.choose(chosen && !this.isShown({kind: chosen.level, of: chosen.of}) ? null : this.chosen)
  }

  // The switch of a newer page: an edit can bring another kind.
  takeKinds(found) {
    const [old, now] = [document, found].map((it) => it.getElementById("kinds"))
    if (old?.textContent === now?.textContent) return
    old?.remove()
    document.getElementById("tools").prepend(now ?? "")
    this.markKind()
  }

  renewLanes() {
    for (const timeline of this.drawn) {
      Object.assign(timeline, {lanes: this.lanesOf(timeline.data), cursor: null, marked: null})
      timeline.strip.state = null
    }
    this.sheet?.lanes.clear()
    this.layOut()
  }

  markKind() {
    if (!this.kinds.includes(this.kind)) this.kind = this.kinds[0] ?? ""
    for (const button of this.kindButtons) button.setAttribute("aria-pressed", String(button.dataset.kind === this.kind))
  }

  showRecordings(places) {
    this.places.forEach((place, i) => { place.parentNode.hidden = !places.includes(i) })
    for (const place of places) this.draw(place)
  }

  draw(place) {
    if (this.timelines[place]) return
    const data = this.dataOf(place), timeline = new Timeline(this.places[place], data, this)
    this.timelines[place] = timeline
    const kept = JSON.parse(remembered(`view ${data.id}`) ?? "null")
    if (kept) timeline.show(kept.start, kept.whole ? data.n_frames : kept.end)
    this.timelineTools(this.places[place].parentNode.querySelector(".tools"), timeline)
  }

  // The timeline of a recording, which is drawn from now on.
  timelineAt(place) {
    if (this.places[place].parentNode.hidden) {
      if (this.sheet) this.sheet.open(place)
      else this.recordings.add(String(place))
    }
    return this.timelines[place]
  }

  timelineTools(bar, timeline) {
    const toggle = (words, title, isOn, change) => {
      const button = addButton(bar, words, title, () => {
        change()
        for (const it of document.querySelectorAll(`[data-toggle="${words}"]`)) it.setAttribute("aria-pressed", String(isOn()))
        this.layOut()
      })
      button.dataset.toggle = words
      button.setAttribute("aria-pressed", String(isOn()))
    }
    if (timeline.scores.channels.length) {
      toggle("fit", "show how well each window fits", () => this.isFitShown, () => {
        this.isFitShown = !this.isFitShown
        remember("fit", this.isFitShown ? "shown" : "")
      })
    }
    if (timeline.signal.channels.length) {
      toggle("fix y", "scale rows to the whole recording, not to what is in view", () => this.isScaleFixed, () => {
        this.isScaleFixed = !this.isScaleFixed
        remember("scale", this.isScaleFixed ? "fixed" : "")
      })
    }
    addButton(bar, "−", "zoom out", () => timeline.zoom(1.5))
    addButton(bar, "+", "zoom in", () => timeline.zoom(1 / 1.5))
    addButton(bar, "all", "show all of it", () => timeline.show(0, timeline.nFrames))
  }

  // Show frames of a recording; `mark` {start, end} is what was looked for in them, else the chosen entry in the middle.
  goTo(place, from, to, mark = null) {
    const timeline = this.timelineAt(place), third = (to - from) / 3
    timeline.show(from, to)
    timeline.marked = markOf(timeline, mark ?? {start: from + third, end: to - third}, mark !== null)
    timeline.place.parentNode.scrollIntoView({block: "nearest"})
  }

  // The name under which the entries of a lane are known: nothing is known about those of the truth.
  keyOf(lane, entry) {
    return `${lane.run ?? ""}${lane.kind}|${lane.entries[entry].name}`
  }

  chosenIn(timeline, lane) {
    if (this.chosen === null) return null
    const place = lane.entries.findIndex((_, entry) => this.keyOf(lane, entry) === this.chosen)
    if (place >= 0) return place
    const [run, level] = this.chosen.split("|")[0].match(/^(.*?)((?:true )?(?:unit|motif)|annotation)$/).slice(1)
    return lane.run === run && lane.kind === level ? -1 : null // of its level, but another: drawn pale
  }

  choose(key, origin = null) {
    const isOther = key !== null && key.endsWith("|OTHER") && !key.startsWith("annotation|") // there it is a class
    this.chosen = isOther ? null : key
    const entry = this.chosen === null ? undefined : this.entries[this.chosen]
    if (entry && !this.isShown({kind: entry.level, of: entry.of})) return this.showKind(entry.of)
    if (!entry && this.panel.contains(document.activeElement)) this.cameFrom?.focus({preventScroll: true})
    if (entry && this.isTipFixed) this.tip(null)
    if (!entry) for (const timeline of this.drawn) timeline.marked = null
    if (entry) showPanel(this.panel, entry, this, origin)
    else showLegend(this.panel, this)
    for (const button of document.querySelectorAll("button.entry")) {
      button.setAttribute("aria-pressed", String(button.dataset.key === this.chosen))
    }
    remember("chosen", this.chosen ?? "")
    this.redraw()
    for (const plugin of this.plugins) plugin.chosen?.(this, this.chosen, origin)
  }

  // With keys, from what chose an entry into the panel that shows it; Esc leads back.
  enterPanel(from) {
    this.cameFrom = from
    const first = this.panel.querySelector(".occurrences button") ?? this.panel.querySelector("button")
    first?.focus()
  }

  keep(timeline) {
    const {start, end} = timeline.view
    const kept = {start, end, whole: end >= timeline.nFrames}
    remember(`view ${timeline.data.id}`, JSON.stringify(kept))
  }

  // `isFixed`: it does not follow a pointer, so it goes when what it speaks of moves.
  tip(words, x = 0, y = 0, isFixed = false) {
    this.isTipFixed = words !== null && isFixed
    this.tooltip.hidden = words === null
    if (words === null) return
    this.tooltip.replaceChildren(...words.map((it) => Object.assign(document.createElement("div"), {textContent: it})))
    const {offsetWidth, offsetHeight} = this.tooltip
    this.tooltip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - offsetWidth - 8))}px`
    this.tooltip.style.top = `${y + 18 + offsetHeight > innerHeight ? y - offsetHeight - 10 : y + 18}px`
  }
}

function addButton(bar, words, title, action) {
  const button = document.createElement("button")
  Object.assign(button, {type: "button", textContent: words, title})
  button.setAttribute("aria-label", title)
  button.addEventListener("click", action)
  bar.append(button)
  return button
}

// The segment that is most like some frames: of the chosen entry, or of any where none is chosen and the frames are exact.
function markOf(timeline, {start, end}, isExact) {
  let best = null, most = 0
  for (const lane of timeline.lanes) {
    const chosen = timeline.page.chosenIn(timeline, lane)
    if (chosen === null ? !isExact || timeline.page.chosen !== null : chosen < 0) continue
    for (let i = firstEndingAfter(lane, start); i < lane.starts.length && lane.starts[i] < end; i++) {
      const shared = Math.min(end, lane.ends[i]) - Math.max(start, lane.starts[i])
      const share = shared / (end - start + lane.ends[i] - lane.starts[i] - shared) // of what either covers
      if ((chosen === null || lane.entry[i] === chosen) && share > most) {
        [best, most] = [{start: lane.starts[i], end: lane.ends[i], lane, place: i}, share]
      }
    }
  }
  return best ?? (isExact ? {start, end} : null)
}

// Zooming in should not have to wait: fine levels are unpacked one after the other as soon as nothing else is to be done.
async function unpackAll(timelines) {
  for (const timeline of timelines) {
    await new Promise((done) => (window.requestIdleCallback ?? setTimeout)(done))
    for (const signal of [timeline.signal, timeline.scores]) {
      if (signal.packed) await signal.unpack().then(() => timeline.later())
    }
  }
}

const rondoPage = new Page()
rondoPage.start()
requestAnimationFrame(() => setTimeout(() => {
  window.rondoDrawn = true
  unpackAll(rondoPage.drawn).then(() => { window.rondoUnpacked = true })
}))
