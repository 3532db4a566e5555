// What other scripts add to the page. A plugin may have: started(page); painted(timeline, pen), after each drawing and in
// CSS pixels; pressed(timeline, event, found), true if it handled a pointerdown; chosen(page, key, origin);
// on served pages news(page, answer) after every question, and renewed(page, found) after new words were put in place.
"use strict"

const rondoPlugins = []

function addRondoPlugin(plugin) {
  rondoPlugins.push(plugin)
  if (window.rondoStarted) plugin.started?.(rondoPage)
}
