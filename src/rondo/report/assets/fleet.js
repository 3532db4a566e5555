// The devices of a fleet: how each is doing, those in alarm first; a press leads to the page of one.
"use strict"

const BETWEEN_MS = 2000
const COLUMNS = ["state", "alarms", "unit", "motif", "until", "last"]
const fleet = document.getElementById("fleet"), filter = document.getElementById("filter")
const part = (kind, words, more = {}) => Object.assign(document.createElement(kind), {textContent: words, ...more})
const rows = new Map() // by device, so that what has the focus keeps it
let known = []

function rowOf(device) {
  if (!rows.has(device.name)) {
    const row = document.createElement("tr"), name = part("td", "", {className: "word id"})
    name.append(part("a", device.name, {href: device.address}))
    row.append(name, ...COLUMNS.map(() => part("td", "", {className: "word"})))
    rows.set(device.name, row)
  }
  return rows.get(device.name)
}

function fill(row, device) {
  row.className = device.state
  COLUMNS.forEach((column, i) => {
    const cell = row.cells[i + 1]
    if (cell.textContent !== device[column]) cell.textContent = device[column]
  })
}

function show() {
  const wanted = filter.value.toLowerCase(), shown = known.filter((it) => it.name.toLowerCase().includes(wanted))
  const body = document.getElementById("devices"), order = shown.map(rowOf)
  shown.forEach((device, i) => fill(order[i], device))
  if (order.length !== body.children.length || order.some((row, i) => row !== body.children[i])) {
    const focused = document.activeElement
    body.replaceChildren(...order)
    if (body.contains(focused)) focused.focus({preventScroll: true})
  }
  const words = known.length === 1 ? "1 device" : `${known.length} devices`
  document.getElementById("count").textContent = wanted ? `${shown.length} of ${words}` : words
}

function showAlarms({raised, alarms}) {
  const place = document.getElementById("alarms"), words = (it) => `${it.device || "source"}: ${it.alarm}: ${it.message} (${it.time})`
  const state = JSON.stringify([raised, alarms])
  if (state === place.dataset.state) return
  place.dataset.state = state
  place.hidden = !alarms.length
  place.querySelector(".raised").replaceChildren(...raised.map((it) => part("p", `⚠ ${words(it)}`)))
  place.querySelector("summary").textContent = `The last ${alarms.length} alarms`
  place.querySelector("ol").replaceChildren(...alarms.map((it) => part("li", `${it.state}: ${words(it)}`)))
}

async function look() {
  const live = document.getElementById("live")
  try {
    const answer = await fetch("devices.json", {cache: "no-store", headers: {"X-Rondo-Token": fleet.dataset.token}})
    const news = await answer.json()
    live.textContent = `Live: ${news.health?.words ?? "no health.json"}`
    live.dataset.health = news.health?.state ?? ""
    known = news.devices
    show()
    showAlarms(news)
    window.rondoDrawn = window.rondoUnpacked = true // as the page of a run says that everything is there
  } catch {
    live.textContent = "The server has ended; this page stays as it is."
  }
  setTimeout(look, BETWEEN_MS)
}

filter.addEventListener("input", show)
look()
