import type { FindingRule, RuleFinding } from '../../../../kernel/profiler-contract.ts'
import { describePlaces, findCode } from '../../insight/findings/finding.ts'
import { findKernelGaps, readEventTree } from '../../profile/event-tree.ts'
import { formatDuration, formatPlace } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { Profile } from '../../profile/profile.ts'
import type { LoopBlock, SyncCallData } from './data.ts'

/**
 * Milliseconds without a pause, in which no other request proceeds. Work that a process does only once, such as loading
 * the code of its first error page, takes half of that.
 */
const leastBlock = 200

/**
 * The most CPU time of a block that is a synchronous call which waits, as a share of it. A process gets more even of a
 * machine that is busy with other programs.
 */
const mostOfCall = 0.2

/** A block of the event loop, and its cause. */
interface CausedBlock extends LoopBlock {
  /** The milliseconds that count. */
  readonly time: number
  /** The synchronous call that is most of it. */
  readonly call: SyncCallData | undefined
}

function readBlocks({ collectors }: Profile): CausedBlock[] {
  const { blocks = [], syncCalls = [] } = collectors.memory ?? {}
  return blocks.map(block => {
    const call = syncCalls.find(call => isMostOf(call, block))
    // Without CPU time, another program may have had the machine.
    const isCall = call !== undefined || (block.isOwn && block.cpu < block.duration * mostOfCall)
    return { ...block, call, time: isCall ? block.duration : block.cpu }
  })
}

/** The blocks that are long enough for a finding. */
function findLongBlocks(profile: Profile): CausedBlock[] {
  return readBlocks(profile).filter(({ time }) => time >= leastBlock)
}

function totalOf(blocks: readonly CausedBlock[]): number {
  return blocks.reduce((sum, { time }) => sum + time, 0)
}

function isMostOf(call: SyncCallData, { duration, start }: LoopBlock): boolean {
  const overlap = Math.min(start + duration, call.start + call.duration) - Math.max(start, call.start)
  return overlap > duration / 2
}

/** The synchronous calls that `blocked-loop` reports. */
function findBlockingCalls(profile: Profile): readonly (SyncCallData | undefined)[] {
  return findLongBlocks(profile).map(({ call }) => call)
}

/** Finds long blocks of the event loop, and what caused each: a listener, a controller, a call, or another request. */
export const blockedLoopRule: FindingRule<Profile> = {
  name: 'blocked-loop',
  title: 'Event loop blocked',
  find(profile) {
    const { token } = profile.summary
    return [...groupBy(findLongBlocks(profile), ({ by }) => by)].map(([by, blocks]) => {
      const time = totalOf(blocks)
      const longest = blocks.reduce((one, other) => (other.time > one.time ? other : one))
      const duration = formatDuration(time)
      const isOwn = by === token || (by === '' && (longest.isAlone || longest.call !== undefined))
      return {
        ...(isOwn ? describeOwnBlock(longest, duration, profile) : describeBlock(by, duration)),
        evidence: { count: blocks.length, time },
      }
    })
  },
  measure: { unit: 'ms', read: (_, profile) => totalOf(readBlocks(profile)) },
}

type Description = Omit<RuleFinding, 'evidence'>

const advice = 'Move the work to a worker thread, split it into parts, or reduce it.'

function describeOwnBlock(block: CausedBlock, time: string, profile: Profile): Description {
  const { name, ...place } = findWorker(block, profile)
  const during = name === '' ? '' : ', in {name}'
  const isUnknown = block.by === '' && block.call === undefined
  return {
    severity: 'warning',
    problem: isUnknown
      ? `The event loop was blocked for ${time}${during} ${name === '' ? 'by' : 'or in'} work that was not recorded.`
      : `This request blocked the event loop for ${time}${during}.`,
    values: { name },
    advice,
    ...place,
  }
}

function describeBlock(by: string, time: string): Description {
  if (by === '')
    return {
      severity: 'warning',
      problem: `The event loop was blocked for ${time} by work that was not recorded.`,
      advice,
      place: { panel: 'time' },
    }
  return {
    severity: 'warning',
    problem: `This request waited ${time} for another request, {token}, that blocked the event loop.`,
    values: { token: by },
    advice: 'Look at the other request: it delayed all concurrent requests.',
    place: { panel: 'time', token: by },
  }
}

/** The call, listener or controller that blocked the event loop; the name is empty if it is not known. */
interface Worker extends Partial<RuleFinding> {
  readonly name: string
}

/** Finds what was at work at the end of a block: a synchronous call, else the innermost listener, else the controller. */
function findWorker({ call, duration, start }: CausedBlock, profile: Profile): Worker {
  if (call !== undefined) {
    const values = { name: `${call.name}()` }
    const work = [{ caller: call.caller ?? {} }]
    return {
      ...{ name: values.name, place: { panel: 'time' } },
      ...describePlaces(work, values, 'Await the asynchronous function instead'),
    }
  }
  const { nodes, roots } = readEventTree(profile)
  // A block ends with the listener or the controller that blocked; times are rounded.
  const moment = (start + duration) * 1000 - 100
  const isAt = ({ duration = Infinity, start }: { readonly start: number; readonly duration?: number | undefined }) =>
    start <= moment && start + duration > moment
  const listener = nodes.findLast(node => node.kind === 'call' && isAt(node))
  if (listener !== undefined) {
    const place = { panel: 'events', anchor: `span-${listener.index}` }
    return { name: listener.name, ...findCode(listener, profile), place }
  }
  const isController = findKernelGaps(roots).some(gap => gap.name === 'controller' && isAt(gap))
  if (!isController) return { name: '', place: { panel: 'time' } }
  return { name: profile.summary.controller ?? 'the controller', place: { panel: 'events', anchor: 'controller' } }
}

/** Finds long synchronous calls: the event loop handles no other request meanwhile. */
export const synchronousCallRule: FindingRule<Profile> = {
  name: 'synchronous-call',
  title: 'Synchronous call',
  find(profile) {
    const blocking = findBlockingCalls(profile)
    const calls = (profile.collectors.memory?.syncCalls ?? [])
      .filter(call => !blocking.includes(call))
      .map(({ caller = {}, ...call }) => ({ ...call, caller }))
    return [...groupBy(calls, ({ caller, name }) => `${name} ${formatPlace(caller)}`).values()].map(group => {
      const [{ name = '' } = {}] = group
      const time = group.reduce((sum, { duration }) => sum + duration, 0)
      return {
        severity: 'warning',
        problem: `{call} blocked the event loop for ${formatDuration(time)}${group.length > 1 ? ` (${group.length} calls)` : ''}.`,
        ...describePlaces(
          group,
          { call: `${name}()`, promise: name.replace(/^fs\./, 'fs.promises.').replace(/Sync$/, '') },
          'Await the asynchronous function instead ({promise})',
        ),
        place: { panel: 'time' },
        evidence: { count: group.length, time },
      }
    })
  },
  measure: {
    unit: 'ms',
    read: ({ values }, { collectors }) =>
      (collectors.memory?.syncCalls ?? [])
        .filter(({ name }) => `${name}()` === values?.call)
        .reduce((sum, { duration }) => sum + duration, 0),
  },
}
