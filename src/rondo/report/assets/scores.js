// Rows beneath the lanes: how well each frame fits, from 0 to 1; dark up to the lowest score of a pixel, pale to the highest.
"use strict"

const SCORE = 30, SCORE_PAD = 3
const LOW_INK = 0xffa47c5a, HIGH_INK = 0xffeadacb // #5a7ca4 and #cbdaea, their bytes from the last to the first

function drawScores(timeline, pen, density) {
  const {scores, view} = timeline, nRows = scores.channels.length
  if (!nRows) return
  const level = scores.levelFor(timeline.framesPerPixel, () => timeline.later())
  const perDot = timeline.framesPerPixel / density, width = Math.floor(timeline.plotWidth * density)
  const tall = Math.round(SCORE * density), pad = Math.round(SCORE_PAD * density), scale = (tall - 2 * pad) / 254
  if (timeline.scorePicture?.width !== width) timeline.scorePicture = new ImageData(width, tall * nRows)
  const dots = new Uint32Array(timeline.scorePicture.data.buffer)
  dots.fill(0xffffffff)
  for (let row = 0; row < nRows; row++) {
    const base = tall * (row + 1) - pad
    for (let x = 0; x < width; x++) {
      const from = view.start + x * perDot
      scoreExtremes(level, row, from, from + perDot)
      const dark = base - Math.round(scale * pair[0]), pale = base - Math.round(scale * pair[1])
      for (let y = pale; y < dark; y++) dots[y * width + x] = HIGH_INK
      for (let y = dark; y < base; y++) dots[y * width + x] = LOW_INK
    }
  }
  pen.putImageData(timeline.scorePicture, Math.round(LEFT * density), Math.round(timeline.scoresTop * density))
  pen.fillStyle = "#00000066"
  timeline.data.scores.kinds.forEach((kind, row) => {
    if (kind !== "unit") return // only these have an edge
    const y = timeline.scoresTop + SCORE * (row + 1) - SCORE_PAD - Math.exp(-1) * (SCORE - 2 * SCORE_PAD)
    for (let x = LEFT; x < LEFT + timeline.plotWidth; x += 8) pen.fillRect(x, y - 0.5, 4, 1)
  })
}

// The same as `extremesUnder`; no score counts as 0.
function scoreExtremes(level, row, from, to) {
  extremesUnder(level, row, from, to)
  if (pair[0] === 255) pair[0] = pair[1] = 0
}

// What lies under a point of these rows in words, or null.
function scoreWords(timeline, x, y) {
  const row = Math.floor((y - timeline.scoresTop) / SCORE), kind = timeline.data.scores.kinds[row]
  if (!kind || x < LEFT || x > LEFT + timeline.plotWidth) return null
  const level = timeline.scores.levelFor(timeline.framesPerPixel, () => timeline.later())
  const from = timeline.frameAt(x), to = from + timeline.framesPerPixel
  scoreExtremes(level, row, from, to)
  const [lowest, highest] = [pair[0] / 254, pair[1] / 254], told = (score) => score.toFixed(2)
  const words = [
    `${timeline.scores.channels[row]} ${pair[0] === pair[1] ? told(lowest) : `${told(lowest)} to ${told(highest)}`}`,
    `${timeline.timeOf(Math.floor(from))}${timeline.data.frame_s === null || niceStep.inHours ? "" : " s"}`,
  ]
  if (highest === 0) words.push("OTHER, or no window speaks for it")
  else if (kind === "unit" && pair[0] === pair[1]) {
    words.push(`at ${told(-Math.log(lowest))} of the way from the middle of its unit to its edge`)
  }
  return words
}
