// Light or dark: as the system has it until someone chooses. What canvases draw with is read from the style sheet.
"use strict"

const THEMES = {auto: "◐", light: "☀", dark: "☾"}
const THEME_COLOURS = ["paper", "ink", "quiet", "line", "grid", "signal", "band", "other", "score-low", "score-high", "mark",
  "jump", "shade"]
const theme = {}

function readTheme() {
  const style = getComputedStyle(document.documentElement)
  for (const name of THEME_COLOURS) theme[name] = style.getPropertyValue(`--${name}`).trim()
  theme.dots = Object.fromEntries(["paper", "signal", "score-low", "score-high"].map((it) => [it, dotOf(theme[it])]))
}

// #rrggbb as the number that an opaque dot of an ImageData is: its bytes from the last to the first.
function dotOf(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16))
  return (0xff000000 | blue << 16 | green << 8 | red) >>> 0
}

function setTheme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = name
  readTheme()
}

// The button that changes it; `redraw` is called after every change.
function startTheme(page, redraw) {
  let now = THEMES[remembered("theme")] ? remembered("theme") : "auto"
  const titleOf = (name) => `colours: ${name}${name === "auto" ? ", as the system has it" : ""}`
  const button = page.tools(THEMES[now], titleOf(now), () => {
    const names = Object.keys(THEMES)
    now = names[(names.indexOf(now) + 1) % names.length]
    remember("theme", now)
    Object.assign(button, {textContent: THEMES[now], title: titleOf(now)})
    button.setAttribute("aria-label", titleOf(now))
    setTheme(now)
    redraw()
  })
  button.id = "theme"
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readTheme(); redraw() })
  window.addEventListener("beforeprint", () => { setTheme("light"); redraw(true) }) // paper is white
  window.addEventListener("afterprint", () => { setTheme(now); redraw() })
  setTheme(now)
}
