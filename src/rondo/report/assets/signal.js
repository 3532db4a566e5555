// The signal of one recording as a pyramid of lowest and highest values; 255 is a missing value.
"use strict"

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text)
  const raw = atob(text), bytes = new Uint8Array(raw.length)
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i)
  return bytes
}

const numbersOf = (text, kind) => new kind(bytesOf(text).buffer)

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

// Give the page a chance to answer between two pieces of work.
const breath = () => new Promise((done) => setTimeout(done, 0))

class Signal {
  constructor(data) {
    this.channels = data.channels
    this.short = shortNames(data.channels)
    this.ends = data.ends ?? [] // lowest and highest value of each channel
    this.packed = data.fine
    this.levels = data.coarse ? [levelOf(data.coarse, bytesOf(data.coarse.data))] : []
  }

  // The level to draw from where a pixel covers so many frames; asks for the fine one when the coarse is too coarse.
  levelFor(framesPerPixel, redraw) {
    if (this.packed && framesPerPixel < this.levels[this.levels.length - 1].bucket) this.unpack().then(redraw)
    let best = this.levels[0]
    for (const level of this.levels) if (level.bucket <= framesPerPixel) best = level
    return best
  }

  async unpack() {
    const {data, ...shape} = this.packed
    this.packed = null
    const codes = await inflated(bytesOf(data))
    const fine = levelOf(shape, codes), n = fine.n
    for (let row = 0; row < codes.length; row += n) {
      for (let i = row + 1; i < row + n; i++) codes[i] += codes[i - 1] // modulo 256, as bytes do
      await breath()
    }
    const coarse = this.levels[this.levels.length - 1], levels = [fine]
    while (levels[levels.length - 1].bucket * 4 < coarse.bucket) {
      levels.push(await coarser(levels[levels.length - 1], this.channels.length))
    }
    this.levels = [...levels, coarse]
  }
}

function levelOf(shape, codes) {
  return {bucket: shape.bucket_frames, n: shape.n_buckets, width: shape.width, codes}
}

// Lowest and highest of every four buckets.
async function coarser(level, nChannels) {
  const n = Math.ceil(level.n / 4), codes = new Uint8Array(nChannels * 2 * n)
  for (let channel = 0; channel < nChannels; channel++) {
    const low = channel * level.width * level.n, high = low + (level.width - 1) * level.n, at = channel * 2 * n
    for (let i = 0; i < n; i++) {
      extremes(level.codes, low, high, 4 * i, Math.min(level.n, 4 * i + 4))
      codes[at + i] = pair[0]
      codes[at + n + i] = pair[1]
    }
    await breath()
  }
  return {bucket: 4 * level.bucket, n, width: 2, codes}
}

// Of the buckets [from, to) of one channel, into `pair`: this runs once per pixel, and a new array each time costs.
const pair = [0, 0]
function extremes(codes, low, high, from, to) {
  let lowest = 255, highest = -1
  for (let i = from; i < to; i++) {
    const a = codes[low + i], b = codes[high + i]
    if (a < lowest) lowest = a
    if (b !== 255 && b > highest) highest = b
  }
  pair[0] = lowest
  pair[1] = highest < 0 ? 255 : highest
}

// Lowest and highest code of the frames [from, to) of a channel, into `pair`; 255 where there is no value.
function extremesUnder(level, channel, from, to) {
  const low = channel * level.width * level.n, high = low + (level.width - 1) * level.n
  const first = Math.max(0, Math.min(level.n - 1, Math.floor(from / level.bucket)))
  extremes(level.codes, low, high, first, Math.min(level.n, Math.max(first + 1, Math.ceil(to / level.bucket))))
}
