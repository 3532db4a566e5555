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
    if (this.isServed) return await this.post("edits", edits) !== null
    this.trouble = ""
    this.keep([...this.pending, ...edits])
    return true
  }

  // What the server answers, or null: then `trouble` says why.
  async post(path, content) {
    const headers = {"X-Rondo-Token": this.token, "Content-Type": "application/json"}
    this.trouble = ""
    try {
      const answer = await fetch(path, {method: "POST", headers, body: JSON.stringify(content), cache: "no-store"})
      const told = await answer.json().catch(() => ({error: `the server answered ${answer.status}`}))
      this.trouble = told.error ?? ""
      this.history = told.edits ?? this.history
      return told.error ? null : told
    } catch {
      this.trouble = "The server has ended; start `rondo view` again."
      return null
    }
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

  get lastInForce() { return this.history.filter(isInForce).at(-1)?.number ?? null }

  // What takes an entry out of its group: its merges are undone, and the others merged again.
  unmerged(level, id, group) {
    const of = (it) => it.level === level ? it.ids : level === "motif" ? it.motifs ?? [] : []
    const merges = this.history.filter((it) => it.kind === "merge" && isInForce(it) && of(it).includes(id))
    const rest = group.filter((it) => it !== id), undos = merges.map(({number}) => ({kind: "undo", number}))
    const last = this.history.findLast((it) => it.kind === "coarsen" && isInForce(it))
    const groups = last?.groups?.map((it) => it.filter((own) => own !== id)).filter((it) => it.length > 1)
    if (level === "motif" && last?.ids.includes(id)) undos.push({kind: "coarsen", level, groups})
    return rest.length > 1 ? [...undos, {kind: "merge", level, ids: rest}] : undos
  }

  drop(edit) { this.keep(this.pending.filter((it) => it !== edit)) }

  // A file for `rondo apply`; it stays here until the run knows it.
  save() {
    const content = {format: "rondo-edits", schema: 2, run: this.run, edits: this.pending}
    download("edits.json", "application/json", JSON.stringify(content, null, 1))
  }
}

function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], {type}))
  Object.assign(document.createElement("a"), {href: address, download: name}).click()
  setTimeout(() => URL.revokeObjectURL(address))
}

const isInForce = (it) => it.can_undo

function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((it) => it.toString(16).padStart(2, "0")).join("")
}

// A wanted edit in words, for the list of those that wait.
function wantedWords({kind, level, ids = [], name, spans = [], groups = [], number}) {
  const entries = ids.map((id) => id === "new" ? "a new entry" : id < 0 ? "OTHER" : `${level[0]}${id}`), [where, from, to] = spans[0] ?? []
  switch (kind) {
    case "name": return name ? `${entries[0]} named '${name}'` : `${entries[0]} lost its name`
    case "coarsen": return `motifs coarsened: ${groups.map((it) => it.map((id) => `m${id}`).join(", ")).join("; ")}`
    case "merge": return `${entries.join(", ")} merged`
    case "relabel": return `frames ${from} to ${to} of ${where} relabelled ${entries[0]}${name ? ` '${name}'` : ""}`
    default: return `edit ${number} undone`
  }
}
