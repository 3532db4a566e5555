// Elements made by hand, never from text: what comes from a file stays text.
"use strict"

function htmlOf(kind, properties = {}, ...children) {
  const made = Object.assign(document.createElement(kind), properties)
  made.append(...children.filter((it) => it !== null))
  return made
}

function svgOf(kind, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

const svgText = (kind, words, attributes = {}) => Object.assign(svgOf(kind, attributes), {textContent: words})
const quietly = (words) => htmlOf("p", {className: "quiet", textContent: words})
const percentOf = (share) => `${(100 * share).toFixed(share < 0.0995 && share > 0 ? 1 : 0)} %`

function swatchOf({colour, pattern}, className = "swatch") {
  const swatch = htmlOf("span", {className: `${className} ${pattern}`})
  swatch.style.backgroundColor = colour
  return swatch
}

// A button that chooses an entry; where nothing is known about it, its name.
function entryButton(page, key, name) {
  if (!key || !page.entries[key]) return htmlOf("span", {textContent: name})
  const button = htmlOf("button", {type: "button", className: "entry", textContent: name})
  button.dataset.key = key
  button.setAttribute("aria-pressed", String(key === page.chosen))
  button.addEventListener("click", () => page.choose(key))
  return button
}

function pressable(words, title, action) {
  const button = htmlOf("button", {type: "button", textContent: words, title})
  button.addEventListener("click", action)
  return button
}
