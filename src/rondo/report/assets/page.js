// What ties the page together: timelines, the tooltip, the entry that is chosen, and the panel that shows it.
"use strict"

class Page {
  constructor() {
    this.entries = JSON.parse(document.getElementById("entries-data").textContent)
    this.panel = document.getElementById("panel")
    this.plugins = rondoPlugins
    this.tooltip = document.getElementById("tooltip")
    this.chosen = null
    this.places = [...document.querySelectorAll(".timeline")]
    this.timelines = this.places.map(() => null) // until they are drawn
    this.channels = {has: () => true}
    this.data = new Map()
    this.lanes = new Map()
  }

  start() {
    niceStep.inHours = document.querySelector("main").dataset.hours === "1"
    choosing("choose-channels", (names) => {
      this.channels = new Set(names)
      for (const timeline of this.drawn) { timeline.layOut(); timeline.later() }
    })
    const chooser = choosing("choose-recordings", (places) => this.showRecordings(places.map(Number)))
    if (!chooser) this.showRecordings(this.places.map((_, place) => place))
    this.recordings = chooser
    for (const button of document.querySelectorAll("button.exemplar")) {
      button.addEventListener("click", () => this.goTo(Number(button.dataset.timeline), Number(button.dataset.from),
        Number(button.dataset.to)))
    }
    for (const button of document.querySelectorAll("button.entry")) {
      button.addEventListener("click", (event) => {
        const isAgain = button.dataset.key === this.chosen && event.detail === 0 // by key
        if (isAgain) this.enterPanel(button)
        else this.choose(button.dataset.key)
      })
    }
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") this.choose(null) })
    window.addEventListener("scroll", () => { if (this.isTipFixed) this.tip(null) }, {passive: true})
    window.addEventListener("beforeprint", () => this.drawn.forEach((it) => it.draw()))
    this.help()
    const chosen = remembered("chosen")
    this.choose(chosen && this.entries[chosen] ? chosen : null)
    window.rondoStarted = true
    for (const plugin of this.plugins) plugin.started?.(this)
  }

  // Another button at the right of the title line.
  tools(words, title, action) {
    const button = document.createElement("button")
    Object.assign(button, {type: "button", textContent: words, title})
    button.setAttribute("aria-label", title)
    button.addEventListener("click", action)
    document.getElementById("tools").append(button)
    return button
  }

  help() {
    const help = document.getElementById("help")
    this.tools("?", "help: how to read this page, and its keys", () => help.showModal())
    help.querySelector(".close").addEventListener("click", () => help.close())
  }

  get drawn() { return this.timelines.filter((it) => it !== null) }

  // What a timeline is made of, read when it is first needed.
  dataOf(place) {
    if (!this.data.has(place)) this.data.set(place, JSON.parse(this.places[place].querySelector("script").textContent))
    return this.data.get(place)
  }

  lanesOf(data) {
    if (!this.lanes.has(data)) this.lanes.set(data, data.lanes.map(laneOf))
    return this.lanes.get(data)
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
    this.zoomButtons(this.places[place], timeline)
  }

  // The timeline of a recording, which is drawn from now on.
  timelineAt(place) {
    if (this.places[place].parentNode.hidden) this.recordings.add(String(place))
    return this.timelines[place]
  }

  zoomButtons(place, timeline) {
    const bar = place.parentNode.querySelector(".tools")
    for (const [words, title, action] of [
      ["−", "zoom out", () => timeline.zoom(1.5)],
      ["+", "zoom in", () => timeline.zoom(1 / 1.5)],
      ["all", "show all of it", () => timeline.show(0, timeline.nFrames)],
    ]) {
      const button = document.createElement("button")
      Object.assign(button, {type: "button", textContent: words, title})
      button.setAttribute("aria-label", title)
      button.addEventListener("click", action)
      bar.append(button)
    }
  }

  goTo(place, from, to) {
    const timeline = this.timelineAt(place)
    timeline.show(from, to)
    timeline.place.scrollIntoView({block: "center"})
  }

  // The name under which the entries of a lane are known: nothing is known about those of the truth.
  keyOf(timeline, lane, entry) {
    const shared = `${lane.kind}||${lane.entries[entry].name}`
    const own = `${lane.kind}|${timeline.data.id}|${lane.entries[entry].name}`
    return lane.run ? `${lane.run}${shared}` : this.entries[own] ? own : shared
  }

  chosenIn(timeline, lane) {
    if (this.chosen === null) return null
    const place = lane.entries.findIndex((_, entry) => this.keyOf(timeline, lane, entry) === this.chosen)
    if (place >= 0) return place
    const [run, level] = this.chosen.split("|")[0].match(/^(.*?)((?:true )?(?:unit|motif)|annotation)$/).slice(1)
    return lane.run === run && lane.kind === level ? -1 : null // of its level, but another: drawn pale
  }

  choose(key, origin = null) {
    const isOther = key !== null && key.endsWith("|OTHER") && !key.startsWith("annotation|") // there it is a class
    this.chosen = isOther ? null : key
    const entry = this.chosen === null ? undefined : this.entries[this.chosen]
    if (!entry && this.panel.contains(document.activeElement)) this.cameFrom?.focus({preventScroll: true})
    if (entry && this.isTipFixed) this.tip(null)
    if (entry) showPanel(this.panel, entry, this, origin)
    else showLegend(this.panel, this)
    for (const button of document.querySelectorAll("button.entry")) {
      button.setAttribute("aria-pressed", String(button.dataset.key === this.chosen))
    }
    remember("chosen", this.chosen ?? "")
    for (const timeline of this.drawn) timeline.later()
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
