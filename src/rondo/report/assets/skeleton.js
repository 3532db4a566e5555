// The mean posture of an entry at five moments of its course, seen from above, the axis of the body upwards.
"use strict"

const POSTURE = 60, POSTURE_HEIGHT = 84

function skeletonSection({skeleton, colour}) {
  if (!skeleton) return null
  const {steps, lines, names, words, extent: [low, high]} = skeleton
  const scale = Math.min((POSTURE_HEIGHT - 12) / (high[0] - low[0] || 1), (POSTURE - 8) / (high[1] - low[1] || 1))
  const width = POSTURE * steps.length
  const picture = svgOf("svg", {class: "skeleton", viewBox: `0 0 ${width} ${POSTURE_HEIGHT}`, role: "img",
    "aria-label": `Mean posture from start to end; it ${words}`})
  steps.forEach((points, step) => {
    const at = (point) => [POSTURE * (step + 0.5) + scale * (point[1] - (low[1] + high[1]) / 2),
      POSTURE_HEIGHT / 2 - scale * (point[0] - (low[0] + high[0]) / 2)]
    for (const [one, other] of lines) {
      if (!points[one] || !points[other]) continue
      const [x1, y1] = at(points[one]), [x2, y2] = at(points[other])
      picture.append(svgOf("line", {x1, y1, x2, y2, stroke: colour}))
    }
    points.forEach((point, i) => {
      if (!point) return
      const [cx, cy] = at(point)
      picture.append(svgOf("circle", {cx, cy, r: 2.2}, svgText("title", names[i])))
    })
  })
  return sectionOf("Posture", "posture", picture, endsOf(["start", "end"]), quietly(`Mean of the occurrences; it ${words}.`))
}
