// A page that was served asks its own server now and then whether there is more to show; where it looks is kept.
"use strict"

let rondoState = null
async function askForMore() {
  try {
    const answer = await fetch("state.json", {cache: "no-store"})
    const {state} = await answer.json()
    if (rondoState !== null && state !== rondoState) return location.reload()
    rondoState = state
    document.getElementById("live").textContent = "Live: this page follows the run."
  } catch {
    document.getElementById("live").textContent = "The server has ended; this page stays as it is."
  }
  setTimeout(askForMore, 2000)
}
askForMore()
