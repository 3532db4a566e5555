// The slider from coarser to finer motifs. Moved, it shows at once what the page can count itself: lanes, legend and tables; let
// go, it becomes an edit like any other. What was measured on occurrences (shapes, evidence) is not known of merged motifs.
"use strict"

const COUNTED = {"Occurrences": "n", "Share of time": "share", "Median (10–90 %)": "lasts", "Mean duration": "", "Comes back": ""}
const isShownMotif = (it) => it.level === "motif" && it.in_labels

class Coarseness {
  constructor(page, editor, {n_now: now, places, suggested, whole}) {
    Object.assign(this, {page, editor, now, places, whole, found: page.entries})
    this.motifs = Object.values(this.found).filter(isShownMotif)
    const counts = places.map((it) => it.n_motifs), most = editor.store.isServed ? Math.max(...counts) : now
    this.slider = htmlOf("input", {type: "range", min: Math.min(...counts), max: most, step: 1})
    this.slider.setAttribute("aria-label", "number of motifs")
    this.words = htmlOf("span", {className: "quiet"})
    const there = suggested > most || suggested === Math.max(...counts) ? null
      : pressable(`suggested: ${suggested}`, "merge motifs as long as they are told apart better", () => this.choose(suggested))
    this.bar = htmlOf("div", {id: "coarseness"}, "coarser", this.slider, "finer", there, this.words)
    document.querySelector("header").after(this.bar)
    this.slider.addEventListener("input", () => {
      this.isMoving = true
      this.show(Number(this.slider.value))
      this.isMoving = false
    })
    this.slider.addEventListener("change", () => this.choose(Number(this.slider.value)))
    page.coarse = (lanes) => this.coarse(lanes)
    this.follow()
  }

  // The place as an edit; without a server it replaces the one that waits.
  choose(n) {
    const {store} = this.editor, {groups} = this.places.find((it) => it.n_motifs === n)
    if (!store.isServed) store.keep(store.pending.filter((it) => it.kind !== "coarsen"))
    if (n === this.now) this.editor.show()
    else this.editor.make({kind: "coarsen", level: "motif", groups})
  }

  // What waits to be saved is what is shown, until it is undone.
  follow() {
    if (this.isMoving) return
    const waits = this.editor.store.pending.findLast((it) => it.kind === "coarsen"), groups = JSON.stringify(waits?.groups)
    const n = this.places.find((it) => JSON.stringify(it.groups) === groups)?.n_motifs ?? this.now
    this.slider.value = n
    this.show(n)
  }

  show(n) {
    const {groups, next} = this.places.find((it) => it.n_motifs === n)
    const why = next ? `. Next: m${next.kept} and m${next.absorbed} are confused in ${percentOf(next.confused)} of windows.` : "."
    this.words.textContent = `${n} of ${Math.max(...this.places.map((it) => it.n_motifs))} motifs${why}`
    if (n === this.shown || n > this.now) return // what is finer than the page is shown after the edit
    const {page} = this
    this.shown = n
    this.kept = n < this.now ? lowestOf([...groups, ...this.motifs.map((it) => [idOf(it.name), ...it.absorbed])]) : null
    page.lanes.clear()
    page.entries = this.kept ? this.entries() : this.found
    page.renewLanes()
    page.choose(page.entries[page.chosen] ? page.chosen : null)
    this.markTables()
  }

  // The lanes of a recording. Where every unit is its own motif, the page has a lane of motifs only once some are merged.
  coarse(lanes) {
    if (!this.kept) return lanes
    const ofKind = (kind) => lanes.find((it) => it.kind === kind && isFound(it)), units = ofKind("unit")
    const named = units?.entries.map((it) => it.name === "OTHER" ? it : {...it, ...lookOf(this.motifs, idOf(it.name), it), ink: "#ffffff"})
    const all = ofKind("motif") || !units ? lanes : [{...units, kind: "motif", title: "motifs", entries: named}, ...lanes]
    return all.map((lane) => lane.kind === "motif" && isFound(lane) ? coarseLane(lane, this.kept, this.motifs) : lane)
  }

  // The entries, of which those that are one now are counted in the lanes of the page.
  entries() {
    const rootOf = (it) => isShownMotif(it) ? this.kept.get(idOf(it.name)) : it
    const groups = Map.groupBy(this.motifs, rootOf), spans = this.spans()
    const alone = Object.entries(this.found).filter(([, it]) => !(groups.get(rootOf(it))?.length > 1))
    const merged = [...groups].filter(([, parts]) => parts.length > 1).map(([root, parts]) => {
      const look = lookOf(this.motifs, root, parts[0])
      return [`motif|${look.name}`, {...parts[0], ...look, ...this.counted(parts, spans.get(root) ?? [])}]
    })
    return Object.fromEntries([...alone, ...merged])
  }

  // How long every occurrence of each motif lasts.
  spans() {
    const {page} = this, rows = page.places.flatMap((_, place) => {
      const data = page.dataOf(place), lane = page.lanesOf(data).find((it) => it.kind === "motif" && isFound(it))
      const ids = lane?.entries.map((it) => idOf(it.name)), seconds = data.frame_s ?? 1
      return lane ? Array.from(lane.starts, (start, i) => [ids[lane.entry[i]], (lane.ends[i] - start) * seconds]) : []
    })
    return new Map([...Map.groupBy(rows, ([id]) => id)].map(([id, own]) => [id, own.map(([, length]) => length)]))
  }

  counted(parts, lengths) {
    const part = parts.reduce((sum, it) => sum + it.part, 0), share = percentOf(part)
    const n = this.whole ? lengths.length : "–", middle = lengths.sort((one, other) => one - other)[lengths.length >> 1]
    const words = this.page.dataOf(0).frame_s === null ? `${middle} frames` : durationWords(middle)
    const lasts = this.whole && lengths.length ? words : "–"
    const absorbed = parts.flatMap((it) => [idOf(it.name), ...it.absorbed]).slice(1)
    return {part, share, n, lasts, absorbed, description: "", facts: `${n} occurrences, ${share} of the time, lasts ${lasts}`, isMerged: true,
      evidence: "Merged, and not tested as one", recurs: "", unproven: "", aligned: [], durations: null, when: null, occurrences: []}
  }

  markTables() {
    for (const row of document.querySelectorAll("table.entries tbody tr")) {
      const key = row.querySelector("button.entry")?.dataset.key, now = this.page.entries[key]
      if (!this.found[key] || !isShownMotif(this.found[key])) continue
      row.hidden = !now
      for (const cell of [...row.cells].filter((it) => it.dataset.is in COUNTED)) {
        cell.dataset.was ??= cell.textContent
        cell.textContent = now?.isMerged ? now[COUNTED[cell.dataset.is]] ?? "–" : cell.dataset.was
      }
    }
  }
}

// For every id in sets that share members, the lowest of them all.
function lowestOf(sets) {
  const kept = new Map()
  for (const set of sets) {
    const roots = new Set(set.map((id) => kept.get(id) ?? id)), least = Math.min(...roots)
    for (const id of set) kept.set(id, least)
    for (const [id, root] of kept) if (roots.has(root)) kept.set(id, least)
  }
  return kept
}

function lookOf(motifs, id, other) {
  const {name, colour, pattern} = motifs.find((it) => idOf(it.name) === id) ?? {...other, name: `m${id}`}
  return {name, colour, pattern}
}

// Neighbours that are one now become one segment; where they were one before, the cut between them was found and stays.
function coarseLane(lane, kept, motifs) {
  const roots = lane.entries.map((it) => kept.get(idOf(it.name)) ?? idOf(it.name)), to = roots.map((it) => roots.indexOf(it))
  const entries = lane.entries.map((it, i) => roots[i] === idOf(it.name) ? it : {...it, ...lookOf(motifs, roots[i], it)})
  const rows = []
  lane.starts.forEach((start, i) => {
    const own = {start, end: lane.ends[i], entry: to[lane.entry[i]], score: lane.scores[i], units: lane.sequences[lane.sequence[i]]}
    const last = rows.at(-1), length = own.end - start, before = start - last?.start
    if (last?.end !== start || last.entry !== own.entry || lane.entry[i - 1] === lane.entry[i]) return rows.push(own)
    const score = (last.score * before + own.score * length) / (before + length)
    return Object.assign(last, {end: own.end, score, units: `${last.units} ${own.units}`.trim()})
  })
  const [starts, ends, entry, scores, sequences] = ["start", "end", "entry", "score", "units"].map((it) => rows.map((own) => own[it]))
  return {...lane, starts, ends, entry, scores, sequences, sequence: rows.map((_, i) => i), entries, order: undefined}
}

addRondoPlugin({
  started(page) { this.begin(page, document) },
  renewed(page, found) { this.begin(page, found) },
  begin(page, found) {
    const {editor} = rondoPlugins.find((it) => it.editor) ?? {}, data = JSON.parse(found.getElementById("edit-data").textContent)
    this.slider?.bar.remove()
    page.coarse = (lanes) => lanes
    this.slider = data?.coarseness && editor ? new Coarseness(page, editor, data.coarseness) : null
    if (editor) editor.coarseness = this.slider
  },
})
