// A list with a filter: which recordings, or which channels, are drawn.
"use strict"

const MOST_AT_ONCE = 40 // a page of hundreds of canvases would be slow, and read by nobody

function choosing(id, changed) {
  const place = document.getElementById(id)
  if (!place) return null
  const boxes = [...place.querySelectorAll("input[type=checkbox]")]
  const tell = () => {
    const chosen = boxes.filter((box) => box.checked).map((box) => box.value)
    place.querySelector(".count").textContent = `${chosen.length} of ${boxes.length} drawn`
    changed(chosen)
  }
  const isListed = (box) => !box.parentNode.hidden
  place.querySelector("input[type=search]").addEventListener("input", (event) => {
    const part = event.target.value.trim().toLowerCase()
    for (const box of boxes) box.parentNode.hidden = !box.parentNode.textContent.toLowerCase().includes(part)
  })
  for (const [name, checked] of [["all", true], ["none", false]]) {
    place.querySelector(`button.${name}`).addEventListener("click", () => {
      for (const box of boxes.filter(isListed).slice(0, checked ? MOST_AT_ONCE : boxes.length)) box.checked = checked
      tell()
    })
  }
  for (const box of boxes) box.addEventListener("change", tell)
  tell()
  return {add: (value) => { boxes.find((box) => box.value === value).checked = true; tell() }}
}
