// A page that was served asks its own server now and then whether there is more to show; where it looks is kept.
"use strict"

const live = document.getElementById("live")

// How to find what has the focus on the page that comes next, or nothing.
function focusedPlace() {
  const it = document.activeElement
  if (it?.matches(".timeline canvas")) return `#${it.parentNode.id} canvas`
  return it?.matches("button.entry") ? `button.entry[data-key="${CSS.escape(it.dataset.key)}"]` : ""
}

async function askForMore() {
  try {
    const answer = await fetch("state.json", {cache: "no-store"})
    const {state} = await answer.json()
    if (state !== live.dataset.state) { // that of the run when this page was made
      remember("focus", focusedPlace())
      return location.reload()
    }
    live.textContent = "Live: this page follows the run."
  } catch {
    live.textContent = "The server has ended; this page stays as it is."
  }
  setTimeout(askForMore, 2000)
}

const focused = remembered("focus")
if (focused) document.querySelector(focused)?.focus({preventScroll: true})
askForMore()
