// The panel beside the timelines: the entry that is chosen, or all of them where none is.
"use strict"

function showPanel(element, entry, page, origin) {
  element.replaceChildren(...["facts", "key", "occurrences"].map((name) =>
    Object.assign(document.createElement("div"), {className: name})))
  showOccurrences(element, entry, page, origin)
}

function showLegend(element, page) {
  const list = document.createElement("ul")
  for (const [key, entry] of Object.entries(page.entries)) {
    const item = document.createElement("li"), button = document.createElement("button")
    Object.assign(button, {type: "button", className: "entry", textContent: entry.name})
    button.dataset.key = key
    button.addEventListener("click", () => page.choose(key))
    item.append(swatchOf(entry), button)
    list.append(item)
  }
  element.replaceChildren(list)
}

addRondoPlugin({
  started(page) {
    for (const canvas of document.querySelectorAll("canvas.spark")) drawSpark(canvas, page.entries[canvas.dataset.key])
  },
})
