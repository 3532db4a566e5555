// Rows beneath the lanes: how well each frame fits, from 0 to 1; dark up to the lowest score of a pixel, pale to the highest.
"use strict"

const SCORE = 30, SCORE_PAD = 3

function drawScores(timeline, pen, density) {
  const {scores, view, left} = timeline, nRows = timeline.nScores
  if (!nRows) return
  const level = scores.levelFor(timeline.framesPerPixel, () => timeline.later())
  const perDot = timeline.framesPerPixel / density, width = Math.floor(timeline.plotWidth * density)
  const tall = Math.round(SCORE * density), pad = Math.round(SCORE_PAD * density), scale = (tall - 2 * pad) / 254
  if (timeline.scorePicture?.width !== width) timeline.scorePicture = new ImageData(width, tall * nRows)
  const dots = new Uint32Array(timeline.scorePicture.data.buffer)
  const lowDot = theme.dots["score-low"], highDot = theme.dots["score-high"]
  dots.fill(theme.dots.paper)
  for (let row = 0; row < nRows; row++) {
    const base = tall * (row + 1) - pad
    for (let x = 0; x < width; x++) {
      const from = view.start + x * perDot
      scoreExtremes(level, row, from, from + perDot)
      const dark = base - Math.round(scale * pair[0]), pale = base - Math.round(scale * pair[1])
      for (let y = pale; y < dark; y++) dots[y * width + x] = highDot
      for (let y = dark; y < base; y++) dots[y * width + x] = lowDot
    }
  }
  pen.putImageData(timeline.scorePicture, Math.round(left * density), Math.round(timeline.scoresTop * density))
  pen.fillStyle = theme.quiet
  timeline.data.scores.kinds.forEach((kind, row) => {
    if (kind !== "unit") return // only these have an edge
    const y = timeline.scoresTop + SCORE * (row + 1) - SCORE_PAD - Math.exp(-1) * (SCORE - 2 * SCORE_PAD)
    for (let x = left; x < left + timeline.plotWidth; x += 8) pen.fillRect(x, y - 0.5, 4, 1)
  })
  drawScoreNames(timeline, pen)
}

function drawScoreNames(timeline, pen) {
  const {left, plotWidth} = timeline
  timeline.scores.channels.forEach((name, row) => {
    const y = timeline.scoresTop + SCORE * row
    if (timeline.isNarrow) return inside(timeline, pen, name, left + 3, y + 2, "left")
    Object.assign(pen, {fillStyle: theme.ink, font: `12px ${FONT}`, textAlign: "right", textBaseline: "middle"})
    pen.fillText(shortened(name), left - 8, y + SCORE / 2, left - 10)
    Object.assign(pen, {fillStyle: theme.quiet, font: `9.5px ${FONT}`, textAlign: "left"})
    pen.fillText("1", left + plotWidth + 5, y + 6)
    pen.fillText("0", left + plotWidth + 5, y + SCORE - 6)
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
  if (!kind || row >= timeline.nScores || x < timeline.left || x > timeline.left + timeline.plotWidth) return null
  const level = timeline.scores.levelFor(timeline.framesPerPixel, () => timeline.later())
  const from = timeline.frameAt(x), to = from + timeline.framesPerPixel
  scoreExtremes(level, row, from, to)
  const [lowest, highest] = [pair[0] / 254, pair[1] / 254], told = (score) => score.toFixed(2)
  const words = [
    `${timeline.scores.channels[row]} ${pair[0] === pair[1] ? told(lowest) : `${told(lowest)} to ${told(highest)}`}`,
    timeline.timeOf(Math.floor(from)),
  ]
  if (highest === 0) words.push("OTHER, or no window speaks for it")
  else if (kind === "unit" && pair[0] === pair[1]) {
    words.push(`at ${told(-Math.log(lowest))} of the way from the middle of its unit to its edge`)
  }
  return words
}
