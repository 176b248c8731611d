/**
 * Measures the CPU time of functions that are called many times, taking turns within each round, in an order that
 * rotates. A promise that a function returns is awaited before it is called again.
 *
 * @param {Readonly<Record<string, (turn: number) => unknown>>} functions by name
 * @param {{ rounds: number, calls: number }} options
 * @returns {Promise<Map<string, number[]>>} nanoseconds per call, by name and round
 */
export async function measureFunctions(functions, { rounds, calls }) {
  const entries = Object.entries(functions)
  const measured = new Map(entries.map(([name]) => [name, /** @type {number[]} */ ([])]))
  for (const [, call] of entries) await repeat(call, calls)
  for (let round = 0; round < rounds; round++) {
    for (const index of entries.keys()) {
      const [name, call] = /** @type {(typeof entries)[number]} */ (entries[(index + round) % entries.length])
      const before = process.cpuUsage()
      await repeat(call, calls)
      const { user, system } = process.cpuUsage(before)
      measured.get(name)?.push(((user + system) * 1000) / calls)
    }
  }
  return measured
}

/**
 * @param {(turn: number) => unknown} call
 * @param {number} calls
 */
async function repeat(call, calls) {
  for (let turn = 0; turn < calls; turn++) {
    const pending = call(turn)
    if (pending instanceof Promise) await pending
  }
}
