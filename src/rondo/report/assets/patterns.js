// Beyond eight hues entries differ by stripes, dots and bars as well, as the swatches of the tables do.
"use strict"

const PATTERN_PX = 6, LEAST_PATTERNED_PX = 5 // on less, none could be made out
const OTHER_COLOUR = "#e6e6e6" // of the data; on the dark theme it would be the brightest of all

const colourOf = ({colour}) => colour === OTHER_COLOUR ? theme.other : colour

const fills = new Map()
function fillOf(pen, look, width) {
  const {colour, pattern} = look
  if (pattern === "plain" || width < LEAST_PATTERNED_PX) return colourOf(look)
  const key = `${colour} ${pattern}`
  if (!fills.has(key)) fills.set(key, pen.createPattern(tileOf(colour, pattern), "repeat"))
  return fills.get(key)
}

function tileOf(colour, pattern) {
  const tile = document.createElement("canvas"), size = PATTERN_PX
  Object.assign(tile, {width: size, height: size})
  const pen = tile.getContext("2d")
  pen.fillStyle = colour
  pen.fillRect(0, 0, size, size)
  if (pattern === "bars") {
    pen.fillStyle = "#ffffffdd"
    pen.fillRect(0, 0, 2, size)
  } else if (pattern === "dots") {
    pen.fillStyle = "#ffffffdd"
    pen.fillRect(2, 2, 2, 2)
  } else {
    pen.strokeStyle = "#00000099"
    pen.lineWidth = 1.5
    pen.beginPath()
    for (const shift of [-size, 0, size]) { pen.moveTo(shift - 1, size + 1); pen.lineTo(shift + size + 1, -1) }
    pen.stroke()
  }
  return tile
}
