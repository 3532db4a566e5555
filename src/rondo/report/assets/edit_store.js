// Where edits go: to the server of this page at once, or without one into a list that is kept with the tab and saved as a file
// for `rondo apply`.
"use strict"

class EditStore {
  constructor(data, server) {
    this.run = data.run
    this.history = data.edits
    this.hasFrames = data.frames // of a stream that goes on only names and merges can be changed
    this.token = server.edits ? server.token : null
    const known = new Set(this.history.map((it) => it.key).filter(Boolean))
    const kept = this.isServed ? [] : JSON.parse(remembered("edits") ?? "[]")
    this.pending = kept.filter((it) => !known.has(it.key)) // the others were applied since
    this.trouble = ""
  }

  get isServed() { return this.token !== null }

  // Make edits: true if they were taken, else `trouble` says why not.
  async add(...wanted) {
    const edits = wanted.map((it) => ({...it, key: newKey()}))
    this.trouble = ""
    if (!this.isServed) {
      this.keep([...this.pending, ...edits])
      return true
    }
    const headers = {"X-Rondo-Token": this.token, "Content-Type": "application/json"}
    try {
      const answer = await fetch("edits", {method: "POST", headers, body: JSON.stringify(edits), cache: "no-store"})
      const told = await answer.json().catch(() => ({error: `the server answered ${answer.status}`}))
      if (told.error) this.trouble = told.error
      else this.history = told.edits
    } catch {
      this.trouble = "The server has ended; start `rondo view` again."
    }
    return this.trouble === ""
  }

  // The history as it is now: others may have edited the run too.
  async look() {
    if (!this.isServed) return
    try {
      const answer = await fetch("edits.json", {headers: {"X-Rondo-Token": this.token}, cache: "no-store"})
      if (answer.ok) this.history = (await answer.json()).edits
    } catch { /* the server has ended: what is known stays */ }
  }

  keep(pending) {
    this.pending = pending
    remember("edits", JSON.stringify(pending))
  }

  get canUndo() { return this.pending.length > 0 || this.history.some(isInForce) }

  // One step back.
  undo() {
    if (!this.pending.length) return this.add({kind: "undo", number: this.lastInForce})
    this.keep(this.pending.slice(0, -1))
    return Promise.resolve(true)
  }

  // What was made together is taken back together, by the number of any of it.
  get lastInForce() { return this.history.filter(isInForce).at(-1)?.number ?? null }

  // The edit that has to be taken back to bring another one back; undefined where that was not undone.
  undoOf(number) { return this.history.find((it) => it.undoes === number && !it.undone)?.number }

  drop(edit) { this.keep(this.pending.filter((it) => it !== edit)) }

  // A file for `rondo apply`; it stays here until the run knows it.
  save() {
    const content = {format: "rondo-edits", schema: 1, run: this.run, edits: this.pending}
    const address = URL.createObjectURL(new Blob([JSON.stringify(content, null, 1)], {type: "application/json"}))
    Object.assign(document.createElement("a"), {href: address, download: "edits.json"}).click()
    setTimeout(() => URL.revokeObjectURL(address))
  }
}

const isInForce = (it) => it.can_undo && it.kind !== "undo"

function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((it) => it.toString(16).padStart(2, "0")).join("")
}

// A wanted edit in words, for the list of those that wait.
function wantedWords({kind, level, ids = [], name, spans = [], number}) {
  const entries = ids.map((id) => id < 0 ? "OTHER" : `${level[0]}${id}`), [where, from, to] = spans[0] ?? []
  switch (kind) {
    case "name": return name ? `${entries[0]} named '${name}'` : `${entries[0]} lost its name`
    case "merge": return `${entries.join(", ")} merged`
    case "split": return `${entries[0]} split off`
    case "relabel": return `frames ${from} to ${to} of ${where} relabelled ${entries[0]}`
    case "boundary": return `${level} boundary of ${where} moved from frame ${from} to ${to}`
    case "cut": return `${level} cut at frame ${from} of ${where}`
    case "divide": return `${spans.length} of ${entries[0]} became a new entry${name ? ` '${name}'` : ""}`
    default: return `edit ${number} undone`
  }
}
