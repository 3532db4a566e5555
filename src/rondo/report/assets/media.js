// A film or sound beside one recording: a line in the timeline shows where it plays, a press in the timeline seeks.
"use strict"

const OFFSET_STEPS = [-1, -0.1, 0.1, 1] // s
const LOOK_AHEAD = 0.1 // of the view: so much lies before the line when the view turns over

class Media {
  constructor(page, about) {
    this.page = page
    this.about = about
    const kept = Number(remembered(`offset ${about.name}`) ?? NaN)
    this.offset = Number.isFinite(kept) ? kept : about.offset_s
    this.place = page.places.findIndex((_, place) => page.dataOf(place).id === about.recording)
    this.pressedAt = null
    if (this.place < 0) return // the page holds other recordings
    this.timeline = page.timelineAt(this.place)
    this.build()
    this.listen()
    this.showOffset()
  }

  // ------------------------------------------------------------ what is on the page

  build() {
    const isSound = this.about.kind.startsWith("audio/")
    this.player = part(isSound ? "audio" : "video", "", {controls: true, preload: "metadata", id: "media-player"})
    this.player.setAttribute("aria-label", this.about.name)
    this.player.src = this.address()
    this.line = part("div", "", {className: "media-line", hidden: true})
    this.trouble = part("p", "", {className: "failed", hidden: true})
    this.trouble.setAttribute("role", "alert")
    this.section = part("div", "", {className: isSound ? "media sound" : "media", id: "media"})
    this.section.append(this.player, this.tools(), this.trouble)
    this.timeline.place.before(this.section)
    this.timeline.canvas.parentNode.append(this.line)
  }

  // The content is named too: a browser keeps what it has of an address.
  address(tag = "") { return `media?${new URLSearchParams({token: served.token, content: tag})}` }

  tools() {
    const bar = part("div", "", {className: "media-tools tools"})
    this.told = part("span", "", {id: "media-offset"})
    this.told.setAttribute("role", "status")
    const steps = OFFSET_STEPS.map((by) => this.button(`${by < 0 ? "−" : "+"}${Math.abs(by)} s`,
      `the recording starts ${Math.abs(by)} s ${by < 0 ? "earlier" : "later"} in the film`, () => this.shift(by)))
    this.align = this.button("align", "press in the timeline at what the film shows now", () => this.setAligning(!this.aligning))
    bar.append(this.told, ...steps, this.align)
    return bar
  }

  button(words, title, action) {
    const button = part("button", words, {type: "button", title})
    button.setAttribute("aria-label", title)
    button.addEventListener("click", action)
    return button
  }

  listen() {
    const {player, timeline} = this
    player.addEventListener("play", () => this.follow())
    for (const name of ["seeking", "seeked", "timeupdate", "loadedmetadata"]) {
      player.addEventListener(name, () => this.showLine())
    }
    player.addEventListener("error", () => this.refuse())
    timeline.canvas.addEventListener("click", (event) => this.clicked(event))
    document.addEventListener("keydown", (event) => this.onKey(event))
  }

  refuse() {
    const {name} = this.about, plain = name.replace(/\.[^.]*$/, ""), kind = this.about.kind.startsWith("audio/") ? "mp3" : "mp4"
    this.trouble.textContent = `This browser cannot play ${name}. Convert it: ffmpeg -i ${name} ${plain}-web.${kind}`
    this.trouble.hidden = false
  }

  // ------------------------------------------------------------ one time

  // The film runs by the clock of the recording, jumps and all.
  frameOf(time) { return this.timeline.frameOf(this.timeline.secondsAt(0) + time - this.offset) }
  timeOf(frame) { return this.timeline.secondsAt(frame) - this.timeline.secondsAt(0) + this.offset }
  get frame() { return this.frameOf(this.player.currentTime) }

  showLine() {
    const {timeline, line} = this, x = timeline.xOf(this.frame)
    const from = timeline.xOf(timeline.view.start), to = timeline.xOf(timeline.view.end)
    line.hidden = x < from - 0.5 || x > to + 0.5
    line.style.transform = `translateX(${x}px)`
    line.style.height = `${timeline.height - AXIS}px`
  }

  // While it plays the line moves, and the view turns over when the line comes to its end; not after someone has moved
  // the view away from the line.
  follow() {
    const {timeline, player} = this
    let before = {view: null, isInView: true}
    const step = () => {
      const {view} = timeline, frame = this.frame, isInView = frame >= view.start && frame < view.end
      const isPassed = !isInView && before.isInView && before.view === view
      if (isPassed && frame >= 0 && frame < timeline.nFrames) this.turnOver(frame)
      before = {view: timeline.view, isInView: isInView || isPassed}
      this.showLine()
      if (!player.paused && !player.ended) requestAnimationFrame(step)
    }
    requestAnimationFrame(step)
  }

  turnOver(frame) {
    const {timeline} = this, length = timeline.view.end - timeline.view.start, start = frame - LOOK_AHEAD * length
    timeline.show(start, start + length)
  }

  seek(frame) {
    const time = this.timeOf(Math.max(0, Math.min(this.timeline.nFrames, frame)))
    const most = Number.isFinite(this.player.duration) ? this.player.duration : Infinity
    this.player.currentTime = Math.max(0, Math.min(most, time))
    this.showLine()
  }

  pressed(timeline, event) {
    this.pressedAt = timeline === this.timeline ? event.offsetX : null
  }

  clicked(event) {
    const {timeline} = this, x = event.offsetX
    const isInPlot = x >= timeline.xOf(timeline.view.start) && x <= timeline.xOf(timeline.view.end)
    const isPress = this.pressedAt !== null && Math.abs(x - this.pressedAt) <= PRESSED_PX
    this.pressedAt = null // another plugin may take the next one
    if (!isPress || !isInPlot) return
    if (this.aligning) this.alignAt(timeline.frameAt(x))
    else this.seek(timeline.frameAt(x))
  }

  // With keys: to the segment that was chosen.
  chosen(origin) {
    if (origin && origin.timeline === this.timeline) this.seek(origin.frame)
  }

  onKey(event) {
    const isTyping = event.target.matches?.("input, textarea, select, [contenteditable]")
    if (isTyping || event.ctrlKey || event.altKey || event.metaKey) return
    const actions = {
      p: () => this.player.paused ? this.player.play() : this.player.pause(),
      "[": () => this.shift(-0.1), "]": () => this.shift(0.1), "{": () => this.shift(-1), "}": () => this.shift(1),
    }
    if (!actions[event.key]) return
    event.preventDefault()
    actions[event.key]()
  }

  // ------------------------------------------------------------ where the recording starts in the film

  shift(by) { this.setOffset(this.offset + by) }

  setOffset(seconds) {
    this.offset = Math.round(seconds * 1000) / 1000
    remember(`offset ${this.about.name}`, String(this.offset))
    this.showOffset()
    this.showLine()
  }

  showOffset() {
    this.told.textContent = `The recording starts at ${this.offset} s of ${this.about.name} (--offset ${this.offset}s)`
  }

  setAligning(aligning) {
    this.aligning = aligning
    this.align.setAttribute("aria-pressed", String(aligning))
  }

  // The film shows now what happens at this frame.
  alignAt(frame) {
    const {timeline} = this
    this.setOffset(this.player.currentTime - (timeline.secondsAt(frame) - timeline.secondsAt(0)))
    this.setAligning(false)
  }

  // The file has changed: the player takes it from the start, and goes on where it was.
  changed(tag) {
    if (this.tag !== undefined && tag !== this.tag) {
      const {currentTime} = this.player
      this.trouble.hidden = true
      this.player.src = this.address(tag)
      this.player.addEventListener("loadedmetadata", () => { this.player.currentTime = currentTime }, {once: true})
    }
    this.tag = tag
  }
}

addRondoPlugin({
  started(page) {
    const media = new Media(page, served.media)
    if (media.timeline) this.media = window.rondoMedia = media
  },
  painted(timeline) { if (timeline === this.media?.timeline) this.media.showLine() },
  pressed(timeline, event) {
    this.media?.pressed(timeline, event)
    return false
  },
  chosen(page, key, origin) { this.media?.chosen(origin) },
  news(page, {media}) { this.media?.changed(media) },
})
