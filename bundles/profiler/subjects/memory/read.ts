import { type EventNode, findSite, ownTime, readEventTree } from '../../profile/event-tree.ts'
import { formatBytes, formatDuration, formatPlace, formatShare, type Row } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { Profile } from '../../profile/profile.ts'
import {
  endOf,
  isAwaitedSystem,
  joinPeriods,
  overlapPeriods,
  type Period,
  periodOf,
  readDrains,
  readReceived,
  subtractPeriods,
  totalOf,
} from '../../profile/work.ts'
import type { LoopBlock, SyncCallData } from './data.ts'

/** Lists the CPU time, the idle time and the memory of the process during a request: those that are known. */
export function listUsage(profile: Profile): Row[] {
  const { cpu, loop, peak, wall = 0 } = profile.collectors.memory ?? {}
  const toShare = (time: number) => `${formatDuration(time)} (${formatShare(time, wall)})`
  const usage: readonly [name: string, value: string | undefined, isMinor?: true][] = [
    ['On CPU', cpu && toShare(cpu.user + cpu.system)],
    ['Event loop idle', loop && toShare(loop.idle)],
    ['Heap at the end', formatBytes(profile.summary.memory), true],
    ['Peak memory usage', peak === undefined ? undefined : formatBytes(peak), true],
  ]
  return usage.flatMap(([name, value, isMinor]) =>
    value === undefined ? [] : [{ name, value, ...(isMinor && { isMinor }) }],
  )
}

/** The runs of the garbage collector, in microseconds since the request began. */
export function readPauses({ collectors: { memory } }: Profile): (Period & { readonly kind: string })[] {
  const runs = memory?.pauses.longest ?? []
  return runs.map(({ duration, kind = 'gc', start }) => {
    return { kind, start: Math.max(0, start * 1000), duration: duration * 1000 }
  })
}

/** A block of the event loop, and its cause. */
export interface CausedBlock extends LoopBlock {
  /** The calls of one synchronous function at one line that are most of it. */
  readonly calls: readonly SyncCallData[]
  /**
   * Whether the process ran at all: with hardly any CPU time, without a call and without a
   * synchronous query, it was stopped, or it waited in a call that is not recorded.
   */
  readonly hasRun: boolean
  /** Milliseconds of it in which the process did not run, or waited so; 0 if it is little. */
  readonly away: number
}

/** The least share of CPU time of a process that runs: even a busy machine gives more to each of its programs. */
const leastRunning = 0.05

/** The most CPU time of a block that another program has made longer, as a share of it. */
const notable = 0.8

/** Reads the blocks of the event loop. Their times are those of the clock. */
export function readBlocks({ collectors }: Pick<Profile, 'collectors'>): CausedBlock[] {
  const { blocks = [], syncCalls = [] } = collectors.memory ?? {}
  const queries = (collectors.queries?.queries ?? [])
    .filter(({ system }) => !isAwaitedSystem(system))
    .map(({ end, start }) => periodOf({ start, end }))
  const synchronous = joinPeriods([...syncCalls, ...queries])
  return blocks.map(block => {
    const calls = findMainCalls(syncCalls, block)
    const isKnown = isMostOf(synchronous, block)
    const hasRun = isKnown || block.cpu >= block.duration * leastRunning
    const away = isKnown || block.cpu >= block.duration * notable ? 0 : block.duration - block.cpu
    return { ...block, calls, hasRun, away: hasRun ? away : block.duration }
  })
}

/**
 * Milliseconds beside the blocks in which the event loop was busy without CPU time of the process: another program of
 * the machine was at work. 0 if it is little: a reading of the CPU time may be 10 ms old.
 */
export function readAway(profile: Pick<Profile, 'collectors'>): number {
  const { cpu, loop, syncCalls = [] } = profile.collectors.memory ?? {}
  if (cpu === undefined || loop === undefined) return 0
  const known = readBlocks(profile).reduce((sum, { away }) => sum + away, totalOf(joinPeriods(syncCalls)))
  const away = loop.active - cpu.user - cpu.system - known
  return away < leastAway ? 0 : away
}

const leastAway = 20

/**
 * Limit of `blocked-loop`: ms without a pause. Work that a process does only once, such as loading
 * code, takes half of that.
 */
const leastBlock = 200

/** Limit of `blocked-loop`: ms of CPU time, without a synchronous call. With less, other programs have the machine. */
const leastWork = 100

/** The blocks that are long enough for a finding, and those in which the process did not run. */
export function findLongBlocks(profile: Profile): CausedBlock[] {
  return readBlocks(profile).filter(
    ({ calls, cpu, duration, hasRun }) => duration >= leastBlock && (calls.length > 0 || !hasRun || cpu >= leastWork),
  )
}

/**
 * The blocks that a request has caused, as far as that is known: no other request was in flight,
 * or its own work was seen.
 */
export function listOwnBlocks(profile: Profile): CausedBlock[] {
  return readBlocks(profile).filter(({ by, calls, hasRun, isAlone }) => {
    const isOwn = by === profile.summary.token || (by === '' && (isAlone || calls.length > 0))
    return hasRun && isOwn
  })
}

/**
 * The function of another framework that was at work at the end of a block: `undefined` if none
 * was, `unknown` if several have begun. A function goes on after the next one has begun, and
 * nothing says which of them a callback belongs to, unless it is recorded.
 */
export function findBlocker(block: CausedBlock, profile: Profile): EventNode | 'unknown' | undefined {
  const { nodes } = readEventTree(profile)
  // Times are rounded.
  const moment = endOf(block) * 1000 - precision
  const begun = nodes.filter(node => node.kind === 'call' && node.isOfFramework && node.start <= moment)
  const isOpenAt = (time: number) => (node: EventNode) => node.start + (node.duration ?? Infinity) > time
  // Listeners of the response run in the context of the function that has ended it.
  if (!begun.some(isOpenAt(block.start * 1000 + precision))) return undefined
  const recorded = block.span === undefined ? undefined : nodes[block.span]
  const last = begun.findLast(isOpenAt(moment))
  if (recorded !== undefined || last === undefined) return recorded
  const codeOf = (node: EventNode) => `${node.name} ${findSite(node, profile)}`
  const isOnly = begun.every(node => codeOf(node) === codeOf(last))
  return isOnly || last.start >= block.start * 1000 - precision ? last : 'unknown'
}

/** Microseconds. */
const precision = 100

function isMostOf(calls: readonly Period[], block: LoopBlock): boolean {
  return totalOf(overlapPeriods([block], calls)) > block.duration / 2
}

function findMainCalls(calls: readonly SyncCallData[], block: LoopBlock): readonly SyncCallData[] {
  const inside = calls.filter(call => call.start < endOf(block) && endOf(call) > block.start)
  const groups = groupBy(inside, ({ caller = {}, name }) => `${name} ${formatPlace(caller)}`)
  return [...groups.values()].find(group => isMostOf(group, block)) ?? []
}

/**
 * The time in which a listener or a function was at work or waited, in microseconds: without the times in which
 * it could not go on, and those of others. It waits for its client to send the body or to read the response, for
 * other requests that block the event loop or keep it busy, for a process that does not run, and for the garbage
 * collector.
 */
export function listenerTime(node: EventNode, profile: Profile, without: readonly Period[] = []): number {
  const { events, memory } = profile.collectors
  const { token } = profile.summary
  const delays: Period[] = [
    ...readReceived(profile.collectors),
    ...readDrains(events),
    ...(memory?.pauses.longest ?? []),
    ...without,
  ]
  const own: Period[] = []
  const known: Period[] = []
  for (const block of readBlocks(profile)) {
    const { away, by, duration, start } = block
    const blocker = findBlocker(block, profile)
    const isOfOther = (by !== '' && by !== token) || (blocker !== undefined && blocker !== node)
    if (blocker === node) own.push({ start, duration })
    if (!isOfOther) known.push({ start, duration })
    // When the process did not run is not known, but for how long.
    delays.push(isOfOther ? { start, duration } : { start: start + duration - away, duration: away })
  }
  // Of a busy time, whose work it was is only known of its blocks.
  delays.push(...subtractPeriods(joinPeriods(memory?.busy ?? []), joinPeriods(known)))
  return ownTime(node, delays, own)
}
