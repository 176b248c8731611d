import type { Profile } from '../profile/profile.ts'
import { readCpu, type StoredSample } from '../subjects/cpu/read.ts'

interface CpuNode {
  readonly id: number
  readonly callFrame: {
    readonly functionName: string
    readonly scriptId: string
    readonly url: string
    /** From 0; -1 if it is not known. */
    readonly lineNumber: number
    readonly columnNumber: number
  }
  readonly hitCount: number
  readonly children: readonly number[]
}

const rootId = 1
const programId = 2
const idleId = 3
/** The ids before are those of V8's own nodes. */
const firstId = 4

/**
 * Creates the file of a CPU profile; `undefined` for a request that was not sampled. The stored profile has
 * the calls and their times, not the single samples: calls of one function by another are one call, each
 * caller before its calls. The time of calls that were too short to be stored belongs to their callers.
 */
export function toCpuProfileFile(profile: Profile) {
  const cpu = readCpu(profile)
  if (cpu === undefined) return undefined
  const { busy, calls, idle, roots } = cpu
  const scripts = new Map<string, string>()
  const nodes = calls.map((call): CpuNode => {
    const { column = 0, file, line = 0, name } = call.called
    const scriptId = scripts.get(file) ?? String(scripts.size + 1)
    scripts.set(file, scriptId)
    return {
      id: firstId + call.index,
      callFrame: {
        functionName: name === '(anonymous)' ? '' : name,
        scriptId: file === '' ? '0' : scriptId,
        url: file,
        lineNumber: line - 1,
        columnNumber: column - 1,
      },
      hitCount: ownTime(call) > 0 ? 1 : 0,
      children: idsOf(call.children),
    }
  })
  const program = Math.max(0, busy - sum(roots))
  const parts = [
    ...listInOrder(roots).map(call => ({ id: firstId + call.index, time: ownTime(call) })),
    { id: programId, time: program },
    { id: idleId, time: idle },
  ].filter(({ time }) => time > 0)
  // DevTools ignores the bounds of a profile that starts at 0.
  const startTime = Math.round(profile.summary.time * 1000)
  return {
    nodes: [
      { ...toSpecial(rootId, '(root)', 0), children: [...idsOf(roots), programId, idleId] },
      toSpecial(programId, '(program)', program),
      toSpecial(idleId, '(idle)', idle),
      ...nodes,
    ],
    startTime,
    endTime: parts.reduce((end, { time }) => end + time, startTime),
    samples: parts.map(({ id }) => id),
    // A sample lasts until the next one.
    timeDeltas: parts.map((_, index) => parts[index - 1]?.time ?? 0),
  }
}

function toSpecial(id: number, functionName: string, time: number): CpuNode {
  const callFrame = { functionName, scriptId: '0', url: '', lineNumber: -1, columnNumber: -1 }
  return { id, callFrame, hitCount: time > 0 ? 1 : 0, children: [] }
}

/** The time outside of the stored calls within it. */
function ownTime({ children, total }: StoredSample): number {
  return Math.max(0, total - sum(children))
}

function sum(calls: readonly StoredSample[]): number {
  return calls.reduce((total, call) => total + call.total, 0)
}

function idsOf(calls: readonly StoredSample[]): number[] {
  return calls.map(({ index }) => firstId + index)
}

/** Lists each call before the calls that it made. */
function listInOrder(roots: readonly StoredSample[]): StoredSample[] {
  const listed: StoredSample[] = []
  const waiting = roots.toReversed()
  for (let call = waiting.pop(); call !== undefined; call = waiting.pop()) {
    listed.push(call)
    waiting.push(...call.children.toReversed())
  }
  return listed
}
