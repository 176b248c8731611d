import type { FindingRule, RuleFinding } from '../../../../kernel/contracts/collectors.ts'
import { describePlaces, findCode } from '../../insight/findings/finding.ts'
import { findBundle, findKernelGaps, readEventTree } from '../../profile/event-tree.ts'
import { formatDuration, formatPlace } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { Profile } from '../../profile/profile.ts'
import { endOf, syncCallLimit, totalOf } from '../../profile/work.ts'
import type { SyncCallData } from './data.ts'
import { type CausedBlock, findBlocker, findLongBlocks, readBlocks } from './read.ts'

/** The synchronous calls that `blocked-loop` reports. */
export function findBlockingCalls(profile: Profile): readonly SyncCallData[] {
  return findLongBlocks(profile).flatMap(({ calls }) => calls)
}

/** Finds long blocks of the event loop, and what caused each: a listener, a controller, a call, or another request. */
export const blockedLoopRule: FindingRule<Profile> = {
  name: 'blocked-loop',
  title: 'Event loop blocked',
  find(profile) {
    const { token } = profile.summary
    const groups = groupBy(findLongBlocks(profile), ({ by, hasRun }) => (hasRun ? by : undefined))
    return [...groups].map(([by, blocks]) => {
      const time = totalOf(blocks)
      const longest = blocks.reduce((one, other) => (other.duration > one.duration ? other : one))
      const isOwn = by === token || (by === '' && (longest.isAlone || longest.calls.length > 0))
      return {
        severity: 'warning' as const,
        ...(isOwn ? describeOwnBlock(longest, describeTime(blocks), profile) : describeBlock(by, describeTime(blocks))),
        evidence: { count: blocks.length, time },
      }
    })
  },
  measure: { unit: 'ms', read: (_, profile) => totalOf(readBlocks(profile)) },
}

type Description = Omit<RuleFinding, 'evidence' | 'severity'> & Partial<Pick<RuleFinding, 'severity'>>

const advice = 'Move the work to a worker thread, split it into parts, or reduce it.'

function describeTime(blocks: readonly CausedBlock[]): string {
  const [time, cpu] = [totalOf(blocks), blocks.reduce((sum, block) => sum + block.cpu, 0)]
  const isShared = blocks.some(({ away, hasRun }) => hasRun && away > 0)
  return `${formatDuration(time)}${isShared ? ` (${formatDuration(cpu)} of CPU time)` : ''}`
}

function describeOwnBlock(block: CausedBlock, time: string, profile: Profile): Description {
  const { isOfPackage, name, ...place } = findWorker(block, profile)
  if (isOfPackage)
    return {
      // Whose code it was is not known: an error page may be that of the application.
      severity: profile.summary.isCold ? 'info' : 'warning',
      problem: `The event loop was blocked for ${time} in {name}, a listener of the framework.`,
      values: { name },
      advice:
        'What runs for the first time in a process loads its code, such as the first error page: only a block that later requests have, too, is a problem.',
      ...place,
    }
  const during = name === '' ? '' : ', in {name}'
  const either = name === '' ? ', by this request or by' : ', in {name} or in'
  const isUnknown = !block.isOwn && block.calls.length === 0
  return {
    problem: isUnknown
      ? `The event loop was blocked for ${time}${either} work that was not recorded.`
      : `This request blocked the event loop for ${time}${during}.`,
    values: { name },
    advice,
    ...place,
  }
}

/** `by` is the token of another request, empty if it is not known, and `undefined` if the process did not run. */
function describeBlock(by: string | undefined, time: string): Description {
  if (by === undefined)
    return {
      problem: `The process did not run for ${time}: it was stopped, or waited in a call that is not recorded.`,
      advice: 'Look at what stops the process: a debugger, a signal, or the limits of its container.',
      place: { panel: 'time' },
    }
  if (by === '')
    return {
      problem: `The event loop was blocked for ${time}. Whose work it was is not known.`,
      advice: `A CPU profile shows the code. ${advice}`,
      place: { panel: 'time' },
    }
  return {
    problem: `This request waited ${time} for other work, {token}, that blocked the event loop.`,
    values: { token: by },
    advice: 'Look at the other work: it delayed all that ran at the same time.',
    place: { panel: 'time', token: by },
  }
}

/** The call, listener or controller that blocked the event loop; the name is empty if it is not known. */
interface Worker extends Partial<RuleFinding> {
  readonly name: string
  /** Whether it is a listener of this package. */
  readonly isOfPackage?: boolean
}

/**
 * Finds what was at work at the end of a block: a synchronous call, else the innermost listener, else the controller.
 */
function findWorker(block: CausedBlock, profile: Profile): Worker {
  const [call] = block.calls
  if (call !== undefined) {
    const values = { name: `${call.name}()` }
    const work = [{ caller: call.caller ?? {} }]
    return {
      ...{ name: values.name, place: { panel: 'time' } },
      ...describePlaces(work, values, 'Await the asynchronous function instead'),
    }
  }
  const blocker = findBlocker(block, profile)
  if (blocker === 'unknown') return { name: '', place: { panel: 'time' } }
  const { nodes, roots } = readEventTree(profile)
  // A block ends with the listener or the controller that blocked; times are rounded.
  const moment = endOf(block) * 1000 - 100
  const isAt = ({ duration = Infinity, start }: { readonly start: number; readonly duration?: number | undefined }) =>
    start <= moment && start + duration > moment
  const listener = blocker ?? nodes.findLast(node => node.kind === 'call' && isAt(node))
  if (listener !== undefined) {
    const place = { panel: 'events', anchor: `span-${listener.index}` }
    if (findBundle(listener, profile) !== undefined) return { name: listener.name, isOfPackage: true, place }
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
    const { syncCalls = [] } = profile.collectors.memory ?? {}
    const isWhole = syncCalls.length < syncCallLimit
    const blocking = findBlockingCalls(profile)
    const calls = syncCalls
      .filter(call => !blocking.includes(call))
      .map(({ caller = {}, ...call }) => ({ ...call, caller }))
    return [...groupBy(calls, ({ caller, name }) => `${name} ${formatPlace(caller)}`).values()].map(group => {
      const [{ name }] = group
      const time = group.reduce((sum, { duration }) => sum + duration, 0)
      return {
        severity: 'warning',
        problem: `{call} blocked the event loop for ${formatDuration(time)}${group.length > 1 ? ` in ${isWhole ? '' : 'at least '}${group.length} long calls` : ''}.`,
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
