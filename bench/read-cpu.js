import { readFileSync } from 'node:fs'

/**
 * Milliseconds that a process, its children and those that have ended have used (proc(5)).
 *
 * @param {number | undefined} pid
 * @returns {number}
 */
export function readCpu(pid) {
  try {
    // The name of the program, in brackets, may contain anything.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number)
    const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0)
    return children.reduce((sum, child) => sum + readCpu(child), own)
  } catch {
    // No Linux, or just ended.
    return Number.NaN
  }
}
