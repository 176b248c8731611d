// A process that fights with the servers for the caches of the processor, as other programs of a
// busy machine do. It follows a chain of indexes in random order through 64 MB, more than the
// caches hold, and creates garbage for V8's collector, whose threads run on all cores. The chain
// is the same in each run (fixed seed). It ends with the process that started it.

const links = 16 * 1024 * 1024
/** A slice takes a few milliseconds, and so does the pause behind it, so that the processor is shared by turns. */
const stepsOfSlice = 10_000
const pause = 2
const keptObjects = 50_000

const chain = createChain()
/** @type {{ text: string, values: number[] }[]} */
const kept = []
let place = 0

process.on('disconnect', () => process.exit())
process.send?.({ isReady: true })
work()

function work() {
  for (let step = 0; step < stepsOfSlice; step++) {
    place = Number(chain[place])
    // Objects live until they are replaced, long enough for the old space.
    if (step % 16 === 0) kept[place % keptObjects] = { text: `${place}`, values: [place, step] }
  }
  setTimeout(work, pause)
}

/** One cycle through all places (the algorithm of Sattolo). */
function createChain() {
  const next = Uint32Array.from({ length: links }, (_, index) => index)
  let seed = 1
  for (let last = links - 1; last > 0; last--) {
    // The generator of Lehmer: its products need less than 53 bits.
    seed = (seed * 48_271) % 2_147_483_647
    const other = seed % last
    const value = Number(next[last])
    next[last] = Number(next[other])
    next[other] = value
  }
  return next
}
