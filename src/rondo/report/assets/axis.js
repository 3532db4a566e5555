// The axis of time, in units that people say: frames, milliseconds to years, times of day and dates.
"use strict"

const DAY = 86400, YEAR = 365.25 * DAY, TICK_PX = 96, LEAST_TICK_PX = 64
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, DAY]
const pad = (number) => String(number).padStart(2, "0")

function drawAxis(timeline, pen) {
  const {left, plotWidth} = timeline, bottom = timeline.height - AXIS, scale = scaleOf(timeline)
  Object.assign(pen, {font: `11px ${FONT}`, textBaseline: "top"})
  pen.fillStyle = theme.line
  pen.fillRect(left, bottom + 1, plotWidth, 1)
  let before = -Infinity, told = null, toldTo = -Infinity
  const ticks = scale.ticks(LEAST_TICK_PX)
  if (ticks.length && timeline.xOf(ticks[0].frame) > left + TICK_PX) { // the day at the left, where it has no tick
    told = scale.contextOf(timeline.secondsAt(timeline.view.start))
    pen.fillStyle = theme.quiet
    toldTo = toldAt(timeline, pen, told, left, bottom + 20) + 8
  }
  for (const tick of ticks) {
    const x = timeline.xOf(tick.frame)
    if (x < before + LEAST_TICK_PX || x < left - 1 || x > left + plotWidth + 1) continue
    before = x
    pen.fillStyle = theme.grid
    pen.fillRect(x - 0.5, 0, 1, bottom)
    pen.fillStyle = theme.quiet
    pen.fillRect(x - 0.5, bottom + 1, 1, 4)
    pen.fillStyle = theme.ink
    toldAt(timeline, pen, tick.words, x, bottom + 7)
    const context = scale.contextOf(tick.at)
    if (context && context !== told && x > toldTo) {
      pen.fillStyle = theme.quiet
      toldTo = toldAt(timeline, pen, context, x, bottom + 20) + 8
      told = context
    }
  }
  if (!timeline.isNarrow && scale.unit) {
    pen.fillStyle = theme.quiet
    pen.textAlign = "right"
    pen.fillText(scale.unit, left - 16, bottom + 7)
  }
  drawJumps(timeline, pen, bottom)
}

// Words around a place, moved inside the plot; where they end.
function toldAt(timeline, pen, words, x, y) {
  const half = pen.measureText(words).width / 2
  const most = timeline.left + timeline.plotWidth + Math.max(0, timeline.right - 4) - half
  const middle = Math.max(timeline.left + half + (timeline.isNarrow ? 2 : -6), Math.min(x, most))
  pen.textAlign = "center"
  pen.fillText(words, middle, y)
  return middle + half
}

function drawJumps(timeline, pen, bottom) {
  pen.fillStyle = theme.jump
  for (const frame of timeline.jumps) {
    const x = timeline.xOf(frame)
    if (x < timeline.left || x > timeline.left + timeline.plotWidth) continue
    for (let y = 0; y < bottom; y += 6) pen.fillRect(x - 0.5, y, 1, 3)
  }
}

// How the axis of what is in view counts.
function scaleOf(timeline) {
  const {start, end} = timeline.view, {frame_s, clock} = timeline.data
  const nTicks = Math.max(2, timeline.plotWidth / TICK_PX)
  if (frame_s === null) {
    const step = Math.max(1, plainStep((end - start) / nTicks))
    return {unit: "frame", contextOf: () => "", ticks: () => ticksEvery(step, start, end)
      .map((at) => ({at, frame: at, words: at.toLocaleString("en-US")}))}
  }
  const first = timeline.secondsAt(start), last = timeline.secondsAt(end)
  const length = (end - start) * frame_s // without the time that is missing in jumps
  const words = clock?.date ? dateScale(length / nTicks, clock.epoch) : elapsedScale(length / nTicks, last)
  return {...words, ticks: (room) => {
    const found = []
    let clear = -Infinity // many times may lie in one jump: the next tick is looked for where there is room
    for (let at = words.next(first); at <= last + 1e-9; at = words.next(Math.max(at + words.step * 0.5, clear))) {
      const frame = timeline.frameOf(at)
      found.push({at, frame, words: words.wordsOf(at)})
      clear = timeline.secondsAt(timeline.frameAt(timeline.xOf(frame) + room))
    }
    return found
  }}
}

function ticksEvery(step, first, last) {
  const found = []
  for (let tick = Math.ceil(first / step - 1e-9); tick * step <= last + step * 1e-9; tick++) found.push(tick * step + 0) // no -0
  return found
}

function plainStep(least) {
  const power = 10 ** Math.floor(Math.log10(least))
  return [1, 2, 5, 10].map((it) => it * power).find((it) => it >= least * 0.999)
}

// Seconds since a start; `last` is the largest that is shown.
function elapsedScale(least, last) {
  const step = least < 1 ? plainStep(least) : least <= DAY ? SECONDS.find((it) => it >= least * 0.999)
    : last < 2 * YEAR ? DAY * plainStep(least / DAY) : YEAR * plainStep(least / YEAR)
  const next = (from) => Math.ceil(from / step - 1e-6) * step
  return {step, next, unit: last < 7200 && last >= 120 ? "min:s" : last >= 7200 && last < 2 * DAY ? "h:min" : "",
    contextOf: () => "", wordsOf: (at) => elapsedWords(at, step, last)}
}

function elapsedWords(at, step, last) {
  const decimals = decimalsOf(step), whole = Number(at.toFixed(decimals))
  if (last < 1 && step < 0.1) return `${(1000 * at).toFixed(decimalsOf(1000 * step))} ms`
  if (last < 120) return `${whole.toFixed(decimals)} s`
  const sign = whole < 0 ? "-" : "", size = Math.abs(whole)
  const seconds = (size % 60).toFixed(decimals).padStart(decimals ? decimals + 3 : 2, "0")
  if (last < 7200) return `${sign}${Math.floor(size / 60)}:${seconds}`
  const days = Math.floor(size / DAY), hours = Math.floor(size / 3600), minutes = pad(Math.floor(size / 60) % 60)
  const clock = (hour) => `${hour}:${minutes}${step < 60 ? `:${seconds}` : ""}`
  if (last < 2 * DAY) return sign + clock(hours)
  if (step >= YEAR / 10) return `${Number((at / YEAR).toFixed(1))} years`
  return sign + (step >= DAY ? `${days} d` : `${days} d ${clock(pad(hours % 24))}`)
}

// `epoch`: when second 0 was, counted from 1970.
function dateScale(least, epoch) {
  const dateOf = (at) => new Date((epoch + at) * 1000)
  if (least > DAY * 20) return calendarScale(Math.ceil(least / (DAY * 30.4)), epoch, dateOf)
  const step = least < 1 ? plainStep(least) : SECONDS.find((it) => it >= least * 0.999)
    ?? DAY * [2, 5, 10, 20].find((it) => it * DAY >= least)
  const next = (from) => Math.ceil(from / step - 1e-6) * step
  const dayOf = (date) => `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`
  return {step, next, unit: "",
    wordsOf: (at) => step >= DAY ? dayOf(dateOf(at)) : timeOfDay(dateOf(at), step),
    contextOf: (at) => step >= DAY ? String(dateOf(at).getUTCFullYear())
      : `${DAYS[dateOf(at).getUTCDay()]} ${dayOf(dateOf(at))} ${dateOf(at).getUTCFullYear()}`}
}

// Months and years, which differ in length.
function calendarScale(leastMonths, epoch, dateOf) {
  const months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200].find((it) => it >= leastMonths) ?? 6000
  const next = (from) => {
    const date = dateOf(from), month = date.getUTCFullYear() * 12 + date.getUTCMonth()
    for (let at = Math.floor(month / months) * months; ; at += months) {
      const seconds = Date.UTC(Math.floor(at / 12), at % 12, 1) / 1000 - epoch
      if (seconds >= from - 1e-6) return seconds
    }
  }
  return {step: months * DAY * 28, next, unit: "",
    wordsOf: (at) => months >= 12 ? String(dateOf(at).getUTCFullYear()) : MONTHS[dateOf(at).getUTCMonth()],
    contextOf: (at) => months >= 12 ? "" : String(dateOf(at).getUTCFullYear())}
}

function timeOfDay(date, step) {
  const clock = `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}`
  if (step >= 60) return clock
  const decimals = Math.min(3, decimalsOf(step)), rest = date.getUTCSeconds() + date.getUTCMilliseconds() / 1000
  return `${clock}:${(Math.floor(rest * 10 ** decimals + 1e-6) / 10 ** decimals).toFixed(decimals)
    .padStart(decimals ? decimals + 3 : 2, "0")}`
}

const decimalsOf = (step) => Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))

// One moment of a recording, as exact as its frames are.
function momentWords(seconds, {frame_s, clock, n_frames}) {
  const step = Math.max(frame_s, 0.001), length = n_frames * frame_s
  if (!clock?.date) return elapsedWords(seconds, length >= 2 * DAY ? 60 : step, Math.max(seconds, length))
  const date = new Date(Math.round((clock.epoch + seconds) * 1000))
  const day = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`
  if (frame_s >= DAY) return day
  return length > DAY / 2 ? `${day} ${timeOfDay(date, step)}` : timeOfDay(date, step)
}

// A length of time as rondo.times says it: the unit of which there are two or more, three digits; 2 min 32 s.
function durationWords(seconds) {
  const [size, unit] = [[YEAR, "years"], [DAY, "days"], [3600, "h"], [60, "min"]].find(([it]) => seconds >= 2 * it)
    ?? (seconds >= 0.1 || seconds === 0 ? [1, "s"] : [0.001, "ms"])
  const number = seconds / size, smaller = {h: "min", min: "s"}[unit]
  if (smaller && number < 10) {
    const whole = Math.round(60 * number), rest = whole % 60
    return `${(whole - rest) / 60} ${unit}${rest ? ` ${rest} ${smaller}` : ""}`
  }
  return `${number >= 100 ? Math.round(number).toLocaleString("en-US") : Number(number.toPrecision(3))} ${unit}`
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
