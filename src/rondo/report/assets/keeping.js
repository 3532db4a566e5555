// What a page remembers until its tab is closed. In a sandbox, or where storage is blocked, even asking for it throws:
// then nothing is remembered.
"use strict"

const KEPT = `rondo ${location.pathname} `

function remembered(name) {
  try { return sessionStorage.getItem(KEPT + name) } catch { return null }
}

function remember(name, value) {
  try { sessionStorage.setItem(KEPT + name, value) } catch { /* not allowed, or full */ }
}
