import type { Caller, CodePlace } from '../../../lib/stack/callers.ts'
import { formatPlace } from './format.ts'
import { groupBy } from './group-by.ts'

/** The place in the code that is shown for a query, an HTTP client call or a message. */
export interface CallerPlace extends Caller {
  /** The helpers through which it made the call, the outermost first. */
  readonly via?: readonly CodePlace[] | undefined
}

/** Work that code has started. */
interface CalledWork {
  readonly caller?: Caller | undefined
  readonly start?: number
  readonly end?: number | undefined
}

/**
 * Chooses the place of each work of one kind: its nearest frame that is not a helper. A frame is a helper if it was called from
 * several lines, or if it was called anew for each of its works that came one after another. `isAwaited` is whether code can
 * only wait for a work: the next work of synchronous code may come from a loop in the same call.
 */
export function choosePlaces<work extends CalledWork>(
  works: readonly work[],
  isAwaited: (work: work) => boolean,
): ReadonlyMap<work, CallerPlace> {
  const places = new Map<work, CallerPlace>()
  choose(works, 0, isAwaited, places)
  return places
}

/** Chooses for works whose frames before `depth` are the same helpers. */
function choose<work extends CalledWork>(
  works: readonly work[],
  depth: number,
  isAwaited: (work: work) => boolean,
  places: Map<work, CallerPlace>,
): void {
  for (const group of groupBy(works, work => formatPlace(frameOf(work, depth) ?? {})).values()) {
    const further = group.filter(work => frameOf(work, depth + 1) !== undefined)
    const lines = new Set(further.map(work => formatPlace(frameOf(work, depth + 1) ?? {})))
    if (lines.size > 1 || (group.every(isAwaited) && isCalledAnew(group, depth)))
      choose(further, depth + 1, isAwaited, places)
    for (const work of group) if (!places.has(work)) places.set(work, placeAt(work, depth))
  }
}

/** A function that loops awaits its works one by one: for all but the first, its caller awaits it, or is gone. */
function isCalledAnew(works: readonly CalledWork[], depth: number): boolean {
  return (
    works.length > 1 &&
    works.every((work, index) => {
      const above = frameOf(work, depth + 1)
      const isAfter = index === 0 || Number(works[index - 1]?.end) <= Number(work.start)
      return above !== undefined && !above.isAwaiting && isAfter
    })
  )
}

function frameOf({ caller }: CalledWork, depth: number): CodePlace | undefined {
  return depth === 0 ? caller : caller?.callers?.[depth - 1]
}

function placeAt({ caller = {} }: CalledWork, depth: number): CallerPlace {
  if (depth === 0) return caller
  const { callers = [], ...nearest } = caller
  return {
    ...callers[depth - 1],
    callers: callers.slice(depth),
    via: [nearest, ...callers.slice(0, depth - 1)].reverse(),
  }
}

/** Writes the place of a caller in words: `shop/list.ts:12`, `list:223 via q:219`, or `in list:12`; empty if it is not known. */
export function formatCaller(caller: CallerPlace): string {
  const { isIn, via = [] } = caller
  if (isIn) return `in ${nameFrame(caller)}`
  return via.length === 0 ? formatPlace(caller) : `${nameFrame(caller)} via ${via.map(nameFrame).join(', ')}`
}

/** Names a frame by its function and line: `list:223`; without a function by its file. */
export function nameFrame({ file = '', function: name, line }: CodePlace): string {
  // An inline controller has a name of two words.
  const short = name?.replace(/ \[as .*\]$/, '').replace(/^controller /, '')
  return formatPlace({ file: short || file.replace(/^.*[\\/]/, ''), line })
}
