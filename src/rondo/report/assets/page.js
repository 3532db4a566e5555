// What ties the page together: timelines, the tooltip, the entry that is chosen, and the drawer that shows it.
"use strict"

class Page {
  constructor() {
    this.entries = JSON.parse(document.getElementById("entries-data").textContent)
    this.drawer = document.getElementById("drawer")
    this.tooltip = document.getElementById("tooltip")
    this.chosen = null
    this.timelines = []
  }

  start() {
    const places = [...document.querySelectorAll(".timeline")]
    const data = places.map((place) => JSON.parse(place.querySelector("script").textContent))
    niceStep.inHours = data.some((it) => it.frame_s !== null && it.n_frames * it.frame_s >= 7200)
    places.forEach((place, i) => {
      const timeline = new Timeline(place, data[i], this)
      this.timelines.push(timeline)
      const kept = JSON.parse(sessionStorage.getItem(`${location.pathname} view ${data[i].id}`) ?? "null")
      if (kept) timeline.show(kept.start, kept.whole ? data[i].n_frames : kept.end)
      this.zoomButtons(place, timeline)
    })
    for (const button of document.querySelectorAll("button.exemplar")) {
      button.addEventListener("click", () => this.goTo(Number(button.dataset.timeline), Number(button.dataset.from),
        Number(button.dataset.to)))
    }
    for (const button of document.querySelectorAll("button.entry")) {
      button.addEventListener("click", () => this.choose(button.dataset.key))
    }
    for (const canvas of document.querySelectorAll("canvas.spark")) drawSpark(canvas, this.entries[canvas.dataset.key])
    this.drawer.querySelector(".close").addEventListener("click", () => this.choose(null))
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") this.choose(null) })
    window.addEventListener("beforeprint", () => this.timelines.forEach((it) => it.draw()))
    const chosen = sessionStorage.getItem(`${location.pathname} chosen`)
    if (chosen && this.entries[chosen]) this.choose(chosen)
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
    const timeline = this.timelines[place]
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
    const [run, level] = this.chosen.split("|")[0].match(/^(.*?)((?:true )?(?:unit|motif))$/).slice(1)
    return lane.run === run && lane.kind === level ? -1 : null // of its level, but another: drawn pale
  }

  choose(key, origin = null) {
    this.chosen = key !== null && key.endsWith("|OTHER") ? null : key
    const entry = this.chosen === null ? undefined : this.entries[this.chosen]
    this.drawer.hidden = !entry
    document.body.classList.toggle("with-drawer", Boolean(entry))
    if (entry) showOccurrences(this.drawer, entry, this, origin)
    for (const button of document.querySelectorAll("button.entry")) {
      button.setAttribute("aria-pressed", String(button.dataset.key === this.chosen))
    }
    const hidden = entry && origin ? origin.timeline.canvas.getBoundingClientRect().bottom
      - this.drawer.getBoundingClientRect().top : 0
    if (hidden > 0) window.scrollBy(0, hidden) // the drawer must not cover what was pressed
    sessionStorage.setItem(`${location.pathname} chosen`, this.chosen ?? "")
    for (const timeline of this.timelines) timeline.later()
  }

  keep(timeline) {
    const {start, end} = timeline.view
    const kept = {start, end, whole: end >= timeline.nFrames}
    sessionStorage.setItem(`${location.pathname} view ${timeline.data.id}`, JSON.stringify(kept))
  }

  tip(words, x = 0, y = 0) {
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
    if (timeline.signal.packed) await timeline.signal.unpack().then(() => timeline.later())
  }
}

const rondoPage = new Page()
rondoPage.start()
requestAnimationFrame(() => setTimeout(() => {
  window.rondoDrawn = true
  unpackAll(rondoPage.timelines).then(() => { window.rondoUnpacked = true })
}))
