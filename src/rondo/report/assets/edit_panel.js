// The part of the panel that edits: name, merges, occurrences that become a new entry, and the list of all edits.
"use strict"

const idOf = (name) => name === "OTHER" ? -1 : Number(name.split(" ")[0].slice(1))
const calledOf = (name) => name.split(" ").slice(1).join(" ")

// The entries of a level that frames can belong to, as [id, name].
function entriesOf(page, level) {
  const own = Object.values(page.entries).filter((it) => it.level === level && it.in_labels)
  return own.map((it) => [idOf(it.name), it.name]).sort(([one], [other]) => one - other)
}

function entrySelect(label, options) {
  const select = htmlOf("select", {}, ...options.map(([id, name]) => htmlOf("option", {value: String(id), textContent: name})))
  select.setAttribute("aria-label", label)
  return select
}

function editRow(...children) { return htmlOf("div", {className: "edit-row"}, ...children) }

// A name that is typed; Esc and full stop mean other things to the page.
function nameBox(label, value, placeholder, entered = () => {}, typed = () => {}) {
  const box = htmlOf("input", {type: "text", value, placeholder, maxLength: 80})
  box.setAttribute("aria-label", label)
  box.addEventListener("input", () => typed(box.value))
  box.addEventListener("keydown", (event) => {
    event.stopPropagation()
    if (event.key === "Enter") entered()
    if (event.key === "Escape") box.blur()
  })
  return box
}

// Name, merges and division of the chosen entry.
function entryEdits(editor, entry) {
  const {level} = entry, id = idOf(entry.name), about = {level}
  const rename = () => editor.make({kind: "name", ...about, ids: [id], name: name.value.trim()})
  const name = nameBox(`name of ${entry.name.split(" ")[0]}`, calledOf(entry.name), "no name", rename)
  const rows = [editRow(name, pressable("rename", "call it so from now on; empty: no name", rename))]
  if (!entry.in_labels) return [...rows, quietly("It has no frames in the labels: it can be named, not merged or divided.")]
  const others = entriesOf(editor.page, level).filter(([other]) => other !== id)
  if (others.length) {
    const other = entrySelect("entry to merge with", others)
    rows.push(editRow("merge with ", other, pressable("merge", "let both count as one", () =>
      editor.make({kind: "merge", ...about, ids: [id, Number(other.value)]}))))
  }
  for (const absorbed of entry.absorbed ?? []) {
    const short = `${level[0]}${absorbed}`
    rows.push(editRow(`with ${short} `, pressable(`un-merge ${short}`, `${short} is an entry of its own again`, () =>
      editor.make(...editor.store.unmerged(level, absorbed, [id, ...entry.absorbed])))))
  }
  if (editor.store.hasFrames) rows.push(divideRow(editor, entry, about))
  return rows
}

function divideRow(editor, entry, about) {
  const own = editor.chosenSpans(entry)
  if (!own.length) {
    const words = "To divide it: tick occurrences below, or press them in the timeline with Shift."
    return htmlOf("p", {className: "quiet", textContent: words})
  }
  const name = nameBox("name of the new entry", "", "name, if it has one")
  const divide = () => editor.make({kind: "relabel", ...about, ids: ["new"], spans: own, name: name.value.trim()})
  const words = own.length === 1 ? "make this one a new entry" : `make these ${own.length} a new entry`
  return editRow(name, pressable(words, "they get an id of their own", divide),
    pressable("none", "tick none", () => { editor.ticked.clear(); editor.show() }))
}

// A box to tick at every entry in the list of all; of one level at a time.
function tickEntries(editor) {
  const {page, several} = editor
  for (const key of several.keys()) if (!page.entries[key]) several.delete(key) // merged meanwhile
  for (const button of page.panel.querySelectorAll(".legend button.entry")) {
    const {key} = button.dataset, {level, name, in_labels: isIn} = page.entries[key], cell = button.parentNode
    if (!isIn) continue
    const box = cell.querySelector("input") ?? htmlOf("input", {type: "checkbox"})
    if (!box.parentNode) {
      box.setAttribute("aria-label", `choose ${name}`)
      box.addEventListener("change", () => {
        for (const other of several.keys()) if (page.entries[other]?.level !== level) several.delete(other)
        if (!several.delete(key)) several.set(key, idOf(name))
        editor.show()
      })
      cell.prepend(box)
    }
    box.checked = several.has(key)
  }
}

// Entries that are ticked: merged, named, or both.
function severalEdits(editor) {
  const ids = [...editor.several.values()].sort((one, other) => one - other), [key] = editor.several.keys()
  if (ids.length < 2) return [quietly("To merge or name several at once: tick them above.")]
  const {level} = editor.page.entries[key], shorts = ids.map((id) => `${level[0]}${id}`).join(", ")
  const named = (id, given) => ({kind: "name", level, ids: [id], name: given})
  const merge = () => editor.make({kind: "merge", level, ids}, ...typed() ? [named(ids[0], typed())] : [])
  const each = () => editor.make(...ids.map((id, i) => named(id, typed() && `${typed()} ${i + 1}`))) // no two have one name
  const typed = () => name.value.trim()
  const name = nameBox(`name of ${shorts}`, "", "name, if they get one", merge)
  return [editRow(`${shorts}: `, name), editRow(
    pressable(`merge these ${ids.length}`, "let them count as one, called so if there is a name", merge),
    pressable("name each", "each gets this name and a number, and stays by itself", each),
    pressable("none", "tick none", () => { editor.several.clear(); editor.show() }))]
}

// A box to tick at every occurrence in the panel.
function tickCells(editor, entry) {
  for (const cell of editor.page.panel.querySelectorAll(".occurrences > button")) {
    const {start, end, timeline} = cell.dataset, recording = editor.page.dataOf(Number(timeline)).id
    const span = [recording, Number(start), Number(end)]
    const box = htmlOf("input", {type: "checkbox", checked: editor.isTicked(entry.level, span)})
    box.setAttribute("aria-label", `choose the occurrence at ${cell.textContent}`)
    box.addEventListener("change", () => editor.tick(entry.level, span))
    const around = htmlOf("div", {className: "tickable"})
    cell.replaceWith(around)
    around.append(cell, box)
  }
}

// Every edit, the last first, each with its way back.
function editList(editor) {
  const {store} = editor, items = []
  for (const edit of [...store.pending].reverse()) {
    items.push(htmlOf("li", {className: "pending"}, wantedWords(edit), pressable("undo", "take it back", () => {
      store.drop(edit)
      editor.show()
    })))
  }
  for (const edit of [...store.history].reverse()) {
    if (edit.kind === "undo") continue
    const {kind, level, ids, name, spans = [], groups = [], number} = edit, isTaught = kind === "teach"
    const words = !edit.undone ? "undo" : isTaught ? "mark again" : "redo"
    const wanted = edit.undone ? {kind, level, ids, name, spans, groups} : {kind: "undo", number}
    const action = () => edit.undone && isTaught ? editor.teaching.add(marksOf(edit)) : editor.make(wanted)
    items.push(htmlOf("li", {className: edit.undone ? "undone" : ""}, htmlOf("span", {textContent: edit.what}),
      edit.undone || edit.can_undo ? pressable(words, `${words}: edit ${number}`, action) : null))
  }
  if (!items.length) return htmlOf("p", {className: "quiet", textContent: "Nothing has been edited yet."})
  return htmlOf("ol", {className: "edit-list"}, ...items)
}

function editSection(editor) {
  const {store, page} = editor, entry = page.chosen === null ? null : page.entries[page.chosen]
  const trouble = htmlOf("p", {className: "failed", textContent: store.trouble})
  trouble.setAttribute("role", "alert")
  const bar = editRow(pressable("↶ undo", "take back the last edit (Ctrl+Z)", () => editor.undo()))
  bar.firstChild.disabled = !store.canUndo
  if (!store.isServed) {
    const save = pressable("Save edits", "a file for `rondo apply RUN edits.json`", () => store.save())
    save.disabled = !store.pending.length
    bar.append(save, htmlOf("span", {className: "quiet", textContent: "kept in this tab; rondo apply RUN edits.json makes them"}))
  }
  const isEditable = entry && (entry.level === "unit" || entry.level === "motif")
  return htmlOf("section", {id: "edit"}, htmlOf("h3", {textContent: "Edit"}), trouble,
    ...(isEditable ? entryEdits(editor, entry) : entry ? [] : severalEdits(editor)), bar, editList(editor),
    editor.teaching.isPossible ? editor.teaching.section() : null)
}
