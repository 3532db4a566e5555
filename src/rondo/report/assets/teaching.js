// Spans that are marked with a name, to teach the run with or to save for `rondo teach`; and places that are like one.
"use strict"

const marksOf = ({marks, ids, names}) => marks.map(([recording, start, end, id]) => [recording, start, end, names[ids.indexOf(id)]])

class Teaching {
  constructor(editor, data) {
    this.editor = editor
    this.doing = "" // what the server is at
    this.span = null // what is selected: [recording, start, end]
    this.found = null // what is like a span, the most alike first
    this.names = {mark: "", found: ""} // as they were typed last
    this.kept = `marks ${data.run}`
    this.marks = JSON.parse(remembered(this.kept) ?? "[]") // [recording, start, end, name]
    this.renew(data)
  }

  // With what the run knows now: marks that it was taught with since wait no longer.
  renew({teachable, next}) {
    Object.assign(this, {isPossible: teachable, next})
    const known = this.editor.store.history.filter((it) => it.kind === "teach" && !it.undone).flatMap(marksOf)
    this.keep(this.marks.filter(([recording, start, end, name]) =>
      !known.some((it) => it[0] === recording && it[1] <= start && end <= it[2] && it[3] === name)))
  }

  keep(marks) {
    this.marks = marks
    remember(this.kept, JSON.stringify(marks))
  }

  select(span) {
    this.span = span
    this.editor.show()
  }

  add(marks) {
    const places = marks.map((it) => it.slice(0, 3).join("|"))
    this.keep([...this.marks.filter((it) => !places.includes(it.slice(0, 3).join("|"))), ...marks])
    this.select(null)
  }

  // Do something with spans under the name that was typed.
  named(which, spans, action) {
    const name = this.names[which].trim().replace(/\s+/g, " ")
    this.editor.store.trouble = name ? "" : "Type a name first."
    if (name) action(spans.map((it) => [...it.slice(0, 3), name]))
    else this.editor.show()
  }

  // The server does one thing at a time; null where it went wrong, and the panel says why.
  async ask(path, doing, spans) {
    this.doing = doing
    this.editor.show()
    const told = await this.editor.store.post(path,
      spans.map(([recording, start_frame, end_frame, name]) => ({recording, start_frame, end_frame, name})))
    this.doing = ""
    return told
  }

  async find() {
    if (this.doing) return
    this.found = (await this.ask("find", "Searching all recordings…", [this.span]))?.found ?? null
    this.names.found = ""
    this.editor.show()
  }

  async teach(marks) {
    if (this.doing) return
    const {editor, editor: {page, store}} = this
    await editor.follow(async () => {
      if (!await this.ask("teach", "Teaching…", marks)) return
      if (marks === this.marks) this.keep([])
      Object.assign(this, {found: null, span: null, names: {mark: "", found: ""}})
    })
    const labelled = page.dataOf(0).lanes.find((it) => it.kind === "motif" && it.in_labels)?.of
    if (!store.trouble && page.kinds.includes(labelled)) page.showKind(labelled) // what was taught is among these
  }

  save() {
    const rows = [["name", "recording", "start_frame", "end_frame"], ...this.marks.map((it) => [it[3], ...it.slice(0, 3)])]
    const lines = rows.map((row) => row.map((it) => `"${String(it).replaceAll('"', '""')}"`).join(","))
    download("spans.csv", "text/csv", `${lines.join("\n")}\n`)
  }

  section() {
    const {span, next} = this, add = () => { if (span) this.named("mark", [span], (it) => this.add(it)) }
    const name = nameBox("name of the span", this.names.mark, "name", add, (it) => { this.names.mark = it })
    const mark = pressable("mark", "add it to the marks", add)
    const find = pressable("find more like this", "search all recordings", () => this.find())
    mark.disabled = find.disabled = !span
    const status = this.doing ? Object.assign(quietly(this.doing), {role: "status"}) : null
    const section = htmlOf("div", {id: "teaching"}, htmlOf("h3", {textContent: "Teach"}),
      htmlOf("p", {textContent: span ? `Selected: ${this.wordsOf(span)}` : "Select a span: drag with Shift, or press an occurrence."}),
      editRow(name, mark, this.editor.store.isServed ? find : null),
      this.marksRow(), status, ...this.found ? this.foundRows() : [], next.length ? htmlOf("p", {textContent: "Look at next:"}) : null,
      next.length ? this.list(next, (it) => it[5].replace("motif:", "m")) : null)
    if (this.doing) for (const it of section.querySelectorAll("button, input")) it.disabled = true
    return section
  }

  marksRow() {
    if (!this.marks.length) return null
    const without = (name) => { this.keep(this.marks.filter((it) => it[3] !== name)); this.editor.show() }
    const names = [...Map.groupBy(this.marks, (it) => it[3])].map(([name, own]) =>
      pressable(`${name} ${own.length} ✕`, `remove the marks of ${name}`, () => without(name)))
    return editRow("Marks: ", ...names, ...this.editor.store.isServed
      ? [pressable("Teach", "label the rest like the marks", () => this.teach(this.marks))]
      : [pressable("Save spans", "a file for `rondo teach`", () => this.save()), quietly("then: rondo teach RUN spans.csv")])
  }

  foundRows() {
    const own = this.found.filter((it) => it[6]), {editor} = this
    const called = (level, id) => editor.page.entries[editor.keyOf({level, id: Number(id)})]?.name ?? ""
    const list = this.list(this.found, (it) => `${it[5].toFixed(2)} ${called(...it[7].split(":"))}`)
    const cut = {className: "cut", textContent: `cut: ${own.length - 1 || "nothing"} suggested`}
    list.insertBefore(htmlOf("li", cut), list.children[own.length] ?? null)
    const teach = () => this.named("found", own, (it) => this.teach(it))
    const name = nameBox("name of what was found", this.names.found, "name", teach, (it) => { this.names.found = it })
    const words = own.length > 1 ? `teach these ${own.length}` : "teach this one"
    return [list, editRow(name, pressable(words, "make them an entry", teach))]
  }

  // Places that a press jumps to; those in recordings that are not on the page are only listed.
  list(spans, wordsOf) {
    return htmlOf("ol", {className: "edit-list"}, ...spans.map((span) => {
      const go = pressable(this.wordsOf(span), "go there", () => this.goTo(span))
      go.disabled = this.placeOf(span) < 0
      return htmlOf("li", {}, go, htmlOf("span", {textContent: wordsOf(span)}))
    }))
  }

  placeOf([recording]) { return this.editor.page.places.findIndex((_, i) => this.editor.page.dataOf(i).id === recording) }

  wordsOf(span) {
    const {page} = this.editor, [recording, start, end] = span, place = this.placeOf(span)
    if (place < 0) return `${recording}: frames ${start} to ${end}`
    const clock = Object.assign(Object.create(Timeline.prototype), {data: page.dataOf(place)}) // it may not be drawn yet
    return `${page.places.length > 1 ? `${recording}: ` : ""}${clock.timeOf(start)} to ${clock.endOf(end)}`
  }

  goTo(span) {
    const [recording, start, end] = span, timeline = this.editor.page.timelineAt(this.placeOf(span))
    timeline.show(start - (end - start), end + (end - start))
    timeline.place.parentNode.scrollIntoView({block: "nearest"})
    this.select([recording, start, end])
  }

  // A drag selects; what is shorter is a press.
  drag(timeline, event, press) {
    const {page} = this.editor, frameAt = (x) => Math.min(timeline.nFrames, Math.max(0, Math.round(timeline.frameAt(x))))
    let isDrag = false
    followPointer(timeline.canvas, event, (it) => {
      isDrag ||= Math.abs(it.offsetX - event.offsetX) > PRESSED_PX
      const [start, end] = [event, it].map(({offsetX}) => frameAt(offsetX)).sort((one, other) => one - other)
      if (!isDrag || start === end) return
      this.span = [timeline.data.id, start, end]
      page.tip([this.wordsOf(this.span), `frames ${start} to ${end}`], it.clientX, it.clientY)
      timeline.later()
    }, (it) => {
      page.tip(null)
      if (isDrag) this.editor.show()
      else if (it.type === "pointerup") press()
    })
  }

  painted(timeline, pen) {
    Object.assign(pen, {font: `600 11px ${FONT}`, textAlign: "left", textBaseline: "middle"})
    for (const [recording, start, end, name = ""] of [...this.marks, ...this.span ? [this.span] : []]) {
      if (recording !== timeline.data.id) continue
      const left = timeline.xOf(start), right = timeline.xOf(end), bottom = timeline.height - AXIS
      Object.assign(pen, {fillStyle: theme.mark, globalAlpha: 0.12})
      pen.fillRect(left, 0, right - left, bottom)
      pen.globalAlpha = 1
      pen.setLineDash(name ? [] : [4, 3])
      outlined(pen, {left, right, top: 0, bottom}, theme.mark, 1.5)
      pen.setLineDash([])
      if (pen.measureText(name).width + 8 < right - left) pen.fillText(name, left + 4, 10)
    }
  }
}
