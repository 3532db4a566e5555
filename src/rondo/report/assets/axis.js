// The axis of time: frames, seconds, hours and minutes, or times of day.
"use strict"

function drawAxis(timeline, pen) {
  const inFrames = timeline.data.frame_s === null, {start, end} = timeline.view, date = timeline.data.clock?.date
  const first = inFrames ? start : timeline.secondsAt(start), last = inFrames ? end : timeline.secondsAt(end)
  const length = (end - start) * (inFrames ? 1 : timeline.data.frame_s) // without the time that is missing in jumps
  const bottom = timeline.height - AXIS + 4, step = niceStep(length / Math.max(2, timeline.plotWidth / 110), inFrames)
  Object.assign(pen, {font: `12px ${FONT}`, textAlign: "center", textBaseline: "top"})
  let before = -Infinity
  for (let tick = Math.ceil(first / step - 1e-9); tick * step <= last + step * 1e-9; tick++) {
    const x = timeline.xOf(inFrames ? tick * step : timeline.frameOf(tick * step))
    if (x < before + 60) { // in a jump many times lie at one place: on to the first one with room
      if (!inFrames) tick = Math.max(tick, Math.ceil(timeline.secondsAt(timeline.frameAt(before + 60)) / step - 1e-9) - 1)
      continue
    }
    before = x
    pen.fillStyle = "#0000001a"
    pen.fillRect(x - 0.5, 0, 1, bottom - 4)
    pen.fillStyle = "#666"
    pen.fillRect(x - 0.5, bottom - 3, 1, 6)
    pen.fillStyle = "#222"
    pen.fillText(inFrames ? String(Math.round(tick * step)) : clock(tick * step, step, date), x, bottom + 5)
  }
  for (const frame of inFrames ? [] : timeline.jumps) {
    const x = timeline.xOf(frame)
    if (x < LEFT || x > LEFT + timeline.plotWidth) continue
    pen.fillStyle = "#b04a00"
    for (let y = 0; y < bottom - 4; y += 6) pen.fillRect(x - 0.5, y, 1, 3)
  }
  pen.fillStyle = "#555"
  const unit = inFrames ? "frame" : date ? `time of day, from ${date} on` : niceStep.inHours ? "time (h:min:s)" : "time (s)"
  pen.fillText(unit, LEFT + timeline.plotWidth / 2, bottom + 22)
}

// Frames before which the clock stood ahead: time is missing there, however near the two lie in the picture.
function jumpsOf({clock, frame_s}) {
  if (!clock || frame_s === null) return []
  return clock.frames.filter((frame, i) => i > 0 && frame - clock.frames[i - 1] <= 2
    && clock.seconds[i] - clock.seconds[i - 1] > 5 * (frame - clock.frames[i - 1]) * frame_s)
}

// The line through points with rising xs, read at x; beyond its ends it goes on with a slope.
function along(xs, ys, x, slope) {
  const end = xs.length - 1
  if (x <= xs[0]) return ys[0] + (x - xs[0]) * slope
  if (x >= xs[end]) return ys[end] + (x - xs[end]) * slope
  let low = 0, high = end
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (xs[middle] <= x) low = middle
    else high = middle
  }
  return ys[low] + (ys[high] - ys[low]) * (x - xs[low]) / (xs[high] - xs[low])
}

function niceStep(least, whole) {
  if (whole && least < 1) return 1
  const sixties = [60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400]
  const power = 10 ** Math.floor(Math.log10(least))
  const plain = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= least * 0.999)
  return !whole && niceStep.inHours && least > 30 ? sixties.find((it) => it >= least) ?? plain : plain
}

// Seconds with as many decimals as steps of this size need; hours and minutes on a page with long recordings.
function clock(seconds, step, date) {
  const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))
  if (!niceStep.inHours) return seconds.toFixed(decimals)
  const whole = Number(seconds.toFixed(decimals)), pad = (it) => String(it).padStart(2, "0")
  const rest = (whole % 60).toFixed(decimals)
  const hours = date ? pad(Math.floor(whole / 3600) % 24) : Math.floor(whole / 3600)
  return `${hours}:${pad(Math.floor(whole / 60) % 60)}:${rest.padStart(decimals ? decimals + 3 : 2, "0")}`
}
