// A page that was served asks its own server for what is new, and takes it in: view, choice and focus stay as they are.
"use strict"

const ROLLING_S = 300 // of a stream: what is in view at first
const BETWEEN_MS = 500
const FRESH_MS = 60000 // so long an entry counts as new
const served = JSON.parse(document.getElementById("server-data").textContent)

// Ask the server of this page, with the token that says who asks.
function askServer(path, more = {}) {
  return fetch(path, {...more, cache: "no-store", headers: {...more.headers, "X-Rondo-Token": served.token}})
}

const part = (kind, words, more = {}) => Object.assign(document.createElement(kind), {textContent: words, ...more})

class Live {
  constructor(page) {
    this.page = page
    this.status = document.getElementById("live")
    this.state = this.status.dataset.state
    this.sources = new WeakMap() // parts of the page, as they came
    this.fresh = new Set() // keys of entries that are new
    this.news = part("p", "", {id: "news", className: "news"})
    this.news.setAttribute("role", "status")
    document.querySelector("header").after(this.news)
    if (served.running) this.startFollowing()
    this.look()
  }

  async look() {
    try {
      const answer = await askServer("state.json")
      if (answer.status === 403) throw new Error("The server was started again: open the address that it printed.")
      const news = await answer.json()
      this.say(news.health)
      for (const plugin of this.page.plugins) plugin.news?.(this.page, news)
      if (news.state !== this.state) await this.takeIn()
    } catch (error) {
      const isOurs = error.message.startsWith("The server")
      this.status.textContent = isOurs ? error.message : "The server has ended; this page stays as it is."
    }
    setTimeout(() => this.look(), BETWEEN_MS)
  }

  say(health) {
    const words = health === null ? "this page follows the run." : `${health.words}.`
    this.status.textContent = `Live: ${words}`
    this.status.dataset.health = health?.state ?? ""
  }

  // ------------------------------------------------------------ what has changed

  async takeIn() {
    const answer = await askServer(location.pathname)
    if (!answer.ok) return // the run is being written: it can be read in a moment
    const found = new DOMParser().parseFromString(await answer.text(), "text/html") // its scripts do not run
    const places = [...found.querySelectorAll(".timeline")]
    const data = places.map((place) => JSON.parse(place.querySelector("script").textContent))
    if (data.map((it) => it.id).join("\n") !== this.page.places.map((_, i) => this.page.dataOf(i).id).join("\n")) {
      return location.reload() // other recordings
    }
    const signals = await Promise.all(data.map((it, place) => this.unpacked(it, place)))
    const entries = JSON.parse(found.getElementById("entries-data").textContent)
    this.page.takeKinds(found)
    this.page.lanes.clear()
    data.forEach((it, place) => this.renew(place, it, signals[place]))
    this.announce(entries)
    this.page.entries = entries
    this.renewWords(found)
    this.showChosen()
    this.state = found.getElementById("live").dataset.state
  }

  // The signals of a recording that is drawn, fine level and all, so that nothing flickers when they are put in place.
  async unpacked(data, place) {
    if (!this.page.timelines[place]) return null
    const found = {signal: new Signal(data.signal), scores: new Signal(data.scores)}
    for (const it of Object.values(found)) if (it.packed) await it.unpack()
    return found
  }

  renew(place, data, signals) {
    const timeline = this.page.timelines[place]
    this.page.data.set(place, data)
    if (!timeline) return
    const before = timeline.nFrames, {view} = timeline, follows = this.follows && this.isAtEnd(timeline)
    Object.assign(timeline, {data, nFrames: data.n_frames, ...signals, lanes: this.page.lanesOf(data),
      jumps: jumpsOf(data), cursor: null, marked: null})
    if (timeline.strip) timeline.strip.state = null
    timeline.layOut()
    const length = follows ? this.rolling(timeline, view, before) : view.end - view.start
    if (follows) timeline.show(data.n_frames - length, data.n_frames)
    else if (view.end - view.start >= before) timeline.show(0, data.n_frames)
    else timeline.later()
  }

  // Texts and tables; a part in which someone is at work stays as it is until the next time.
  renewWords(found) {
    document.title = found.title
    for (const where of ["header h1", "section.recording .about", "main > :not(#stage)"]) {
      const [old, now] = [document, found].map((it) => [...it.querySelectorAll(where)])
      if (old.length === now.length) old.forEach((it, i) => this.replace([it], [now[i]]))
      else this.replace(old, now)
    }
    for (const plugin of this.page.plugins) plugin.renewed?.(this.page, found)
  }

  replace(old, now) {
    const source = now.map((it) => it.outerHTML).join("")
    const isSame = this.sources.get(old[0]) === source // as it came, before anything was drawn into it
    if (isSame || old.some((it) => it.contains(document.activeElement))) return
    const open = old.flatMap((it) => [...it.querySelectorAll("details")]).map((it) => it.open)
    now.flatMap((it) => [...it.querySelectorAll("details")]).forEach((it, i) => { it.open = open[i] ?? it.open })
    if (old.length) old[0].before(...now)
    else document.querySelector("main").append(...now)
    for (const it of old) it.remove()
    for (const it of now) this.page.listenTo(it)
    if (now.length) this.sources.set(now[0], source)
  }

  showChosen() {
    const {page} = this, {panel} = page
    if (panel.contains(document.activeElement)) return
    const {scrollTop} = panel
    page.choose(page.chosen !== null && page.entries[page.chosen] ? page.chosen : null)
    panel.scrollTop = scrollTop
  }

  // ------------------------------------------------------------ new entries

  announce(entries) {
    const kinds = new Set(this.page.drawn.flatMap((it) => it.lanes.map((lane) => lane.kind))) // of those that are drawn
    const fresh = Object.keys(entries).filter((key) => !(key in this.page.entries) && kinds.has(key.split("|")[0]))
    for (const key of fresh) this.fresh.add(key)
    if (fresh.length) this.news.textContent = `First seen: ${fresh.map((key) => key.split("|").slice(1).join("|")).join(", ")}`
    for (const key of fresh) setTimeout(() => this.unmark(key), FRESH_MS)
  }

  unmark(key) {
    this.fresh.delete(key)
    if (!this.fresh.size) this.news.textContent = ""
    this.markButtons()
    for (const timeline of this.page.drawn) timeline.later()
  }

  markButtons() {
    for (const button of document.querySelectorAll("button.entry, #panel button[data-key]")) {
      button.classList.toggle("fresh", this.fresh.has(button.dataset.key))
    }
  }

  // A flag where an entry that is new occurs first.
  painted(timeline, pen) {
    if (this.fresh.size) for (const lane of timeline.lanes) this.paintFresh(timeline, pen, lane)
    this.noticeMove(timeline)
  }

  paintFresh(timeline, pen, lane) {
    const {start, end} = timeline.view
    let written = -Infinity
    Object.assign(pen, {fillStyle: getComputedStyle(this.news).color, font: `bold 11px ${FONT}`, textAlign: "left",
      textBaseline: "top"})
    for (let entry = 0; entry < lane.entries.length; entry++) {
      const first = lane.entry.indexOf(entry), frame = lane.starts[first], x = timeline.xOf(frame)
      if (first < 0 || frame < start || frame > end || !this.fresh.has(this.page.keyOf(lane, entry))) continue
      const words = `new: ${lane.entries[entry].name}`
      pen.fillRect(x - 1, 0, 2, timeline.scoresTop)
      if (x < written) continue // the words would stand on others
      pen.fillText(words, x + 4, timeline.lanesTop - 14)
      written = x + 12 + pen.measureText(words).width
    }
  }

  // ------------------------------------------------------------ the end of a stream

  startFollowing() {
    this.button = this.page.tools("follow", "keep the end of the stream in view", () => this.toEnd())
    this.setFollowing(true)
    for (const timeline of this.page.drawn) {
      if (remembered(`view ${timeline.data.id}`) === null) timeline.show(...this.lastOf(timeline))
    }
  }

  lastOf(timeline) {
    const length = Math.min(timeline.nFrames, this.rollingFrames(timeline))
    return [timeline.nFrames - length, timeline.nFrames]
  }

  rollingFrames(timeline) { return timeline.data.frame_s ? Math.round(ROLLING_S / timeline.data.frame_s) : Infinity }

  // How long the view is that follows the end: as before, and what shows all of a stream grows up to some minutes.
  rolling(timeline, view, before) {
    const length = view.end - view.start, most = this.rollingFrames(timeline)
    if (length < before) return length
    return before <= most ? Math.min(timeline.nFrames, most) : timeline.nFrames
  }

  isAtEnd({view, nFrames}) { return view.end >= nFrames - 0.02 * (view.end - view.start) }

  noticeMove(timeline) {
    if (this.button && this.follows !== this.isAtEnd(timeline)) this.setFollowing(!this.follows)
  }

  setFollowing(follows) {
    this.follows = follows
    this.button.setAttribute("aria-pressed", String(follows))
  }

  toEnd() {
    for (const timeline of this.page.drawn) {
      const length = timeline.view.end - timeline.view.start
      if (length < timeline.nFrames) timeline.show(timeline.nFrames - length, timeline.nFrames)
    }
    this.setFollowing(true)
  }
}

addRondoPlugin({
  started(page) { this.live = new Live(page) },
  painted(timeline, pen) { this.live?.painted(timeline, pen) },
  chosen() { this.live?.markButtons() },
  renewed() { this.live?.markButtons() },
})
