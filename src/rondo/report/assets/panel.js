// The panel beside the timelines: the entry that is chosen, or all of them where none is.
"use strict"

const MOST_LISTED = 60

// ---------------------------------------------------------------- nothing chosen: what there is

function showLegend(element, page) {
  const motifs = page.places.length && page.lanesOf(page.dataOf(0)).find((lane) => lane.kind === "motif")
  const heading = motifs && motifs.of ? `${motifs.of[0].toUpperCase()}${motifs.of.slice(1)}s` : "Motifs"
  const levels = [["motif", heading], ["unit", "Units"]].slice(motifs ? 0 : 1)
  const parts = levels.map(([level, heading]) => legendOf(page, level, heading)).filter((it) => it !== null)
  element.replaceChildren(...parts.length ? parts : [quietly("Nothing was found.")])
}

function legendOf(page, level, heading) {
  const own = Object.entries(page.entries)
    .filter(([, entry]) => entry.level === level && (level === "unit" || !page.kind || entry.of === page.kind))
    .sort(([, one], [, other]) => other.part - one.part)
  if (!own.length) return null
  const head = htmlOf("tr", {}, ...[heading, "share", "times", "lasts"].map((it) => htmlOf("th", {textContent: it})))
  head.lastChild.title = "median duration"
  const rows = own.slice(0, MOST_LISTED).flatMap(([key, entry]) => legendRow(page, key, entry))
  const more = own.length > MOST_LISTED ? quietly(`${own.length - MOST_LISTED} more in the tables below.`) : null
  const table = htmlOf("table", {className: "legend"}, htmlOf("thead", {}, head), htmlOf("tbody", {}, ...rows))
  return htmlOf("section", {}, table, more)
}

function legendRow(page, key, entry) {
  const name = htmlOf("td", {}, swatchOf(entry), entryButton(page, key, entry.name))
  const figures = [entry.share, entry.n, entry.lasts].map((it) => htmlOf("td", {textContent: it}))
  const row = htmlOf("tr", {}, name, ...figures)
  if (entry.unproven) Object.assign(row, {className: "unproven", title: `Comes back: ${entry.unproven}`})
  if (!entry.description || entry.description === entry.lasts) return [row]
  return [row, htmlOf("tr", {className: "what"}, htmlOf("td", {colSpan: 4, textContent: entry.description}))]
}

// ---------------------------------------------------------------- one entry

function showPanel(element, entry, page, origin) {
  const key = page.chosen, close = pressable("✕", "show all entries (Esc)", () => page.choose(null))
  close.className = "close"
  close.setAttribute("aria-label", "show all entries")
  element.replaceChildren(close, factsOf(entry), stepping(page, key, origin), ...[
    compositionSection(page, key), skeletonSection(entry), alignedSection(entry), durationSection(entry), whenSection(entry), gridOf(entry, page),
  ].filter((it) => it !== null))
  element.scrollTop = 0
  markPressed(element, page.atOccurrence)
}

function factsOf(entry) {
  const facts = htmlOf("div", {className: "facts"}, htmlOf("h2", {}, swatchOf(entry), entry.name),
    ...entry.description ? [htmlOf("p", {className: "what", textContent: entry.description})] : [],
    htmlOf("p", {textContent: `${entry.facts}.`}))
  facts.setAttribute("aria-live", "polite")
  if (entry.recurs) {
    const className = entry.unproven ? "evidence quiet" : "evidence"
    facts.append(htmlOf("p", {className, textContent: `Comes back: ${entry.recurs}.`}))
  }
  if (entry.evidence) facts.append(quietly(`${entry.evidence}.`))
  if (entry.taken_for) facts.append(quietly(`Often taken for ${entry.taken_for}.`))
  return facts
}

function sectionOf(heading, className, ...children) {
  return htmlOf("section", {className}, htmlOf("h3", {textContent: heading}), ...children)
}

const endsOf = (words) =>
  htmlOf("p", {className: "ends quiet"}, ...words.map((it) => htmlOf("span", {textContent: it})))

function compositionSection(page, key) {
  const found = page.entries[key].isMerged ? null : compositionData().made_of[key]
  return found ? sectionOf("Made of", "composition", ...pictureOf(page, found), quietly(keyToPicture(found))) : null
}

// Mean and band of 80 % of the occurrences, in the channels that set the entry apart most.
function alignedSection(entry) {
  if (!entry.aligned.length || !entry.rows.length) return null
  const place = htmlOf("div", {className: "curves"})
  const buttons = [
    pressable("from start", "all from their start, as long as a quarter of them lasts", () => show(0)),
    pressable("stretched", "all stretched to the median duration", () => show(1)),
  ]
  function show(mode) {
    remember("aligned", String(mode))
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === mode)))
    place.replaceChildren(...entry.rows.map((_, row) => curveRow(entry, row, mode)),
      endsOf(["start", mode ? `end (median ${entry.median_words})` : `${entry.reach_words} later`]))
  }
  show(remembered("aligned") === "1" ? 1 : 0)
  const words = `Mean and 10–90 % of ${entry.n_aligned} occurrence${entry.n_aligned === 1 ? "" : "s"}, in deviations from`
    + " the mean of the recording (broken line). d: standardised difference to the rest; 0.8 and more can be seen by eye."
  return sectionOf("Shape, and what sets it apart", "aligned", htmlOf("div", {className: "modes"}, ...buttons), place,
    quietly(words))
}

function durationSection({durations}) {
  if (!durations || durations.counts.length < 2) return null // one length, or too few
  const [low, high] = durations.ends, x = CURVE * durations.median_at
  const picture = barsOf(durations.counts, (count) => `${count} occurrence${count === 1 ? "" : "s"}`,
    `Durations from ${low} to ${high}, median ${durations.median}`)
  picture.append(svgOf("line", {class: "middle", x1: x, x2: x, y1: 0, y2: CURVE_HEIGHT}))
  const ends = endsOf([low, `median ${durations.median}`, durations.logarithmic ? `${high} (log)` : high])
  return sectionOf("How long it lasts", "durations", picture, ends)
}

function whenSection({when}) {
  if (!when) return null
  const isHour = when.by === "hour", most = percentOf(Math.max(...when.shares.map((it) => it ?? 0)))
  const title = (share, i) => {
    const where = isHour ? `${i} to ${i + 1} h` : `${Math.round(100 * i / when.shares.length)} % of the way`
    return share === null ? `${where}: not recorded` : `${where}: ${percentOf(share)} of the time`
  }
  const place = when.n_recordings > 1 ? `Place in ${when.n_recordings} recordings` : "Place in the recording"
  const heading = isHour ? "Time of day" : place
  return sectionOf(heading, "when", barsOf(when.shares, title, `${heading}: share of the recorded time, at most ${most}`),
    endsOf([when.ends[0], `highest bar ${most} of the time`, when.ends[1]]))
}

// ---------------------------------------------------------------- where it stands

// Beside all timelines where there is room; else under the one in which an entry was pressed, at first under the first.
const isWide = matchMedia("(min-width: 1100px)")

function placePanel(page, origin = null) {
  const stage = document.getElementById("stage"), {panel} = page, timelines = document.getElementById("timelines")
  if (isWide.matches) {
    if (panel.parentNode !== stage) stage.append(panel)
    return
  }
  if (!origin && panel.parentNode === timelines && !panel.previousElementSibling?.hidden) return // where it was
  const first = timelines.querySelector("section.recording:not([hidden])") ?? timelines.querySelector("#sheet")
  const above = origin ? origin.timeline.place.parentNode : first
  if (above) above.after(panel)
}

addRondoPlugin({
  started(page) {
    isWide.addEventListener("change", () => placePanel(page))
    placePanel(page)
  },
  chosen: (page, key, origin) => placePanel(page, origin),
})
