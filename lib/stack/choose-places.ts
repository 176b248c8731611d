import type { Caller, CodePlace } from './callers.ts'

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
 * Chooses the place of each work of one kind: its nearest frame that is not a helper. A frame is a helper if the frames above
 * it are different lines, or if each of its works has a call of this frame for itself, and starts after the end of the previous
 * work. The second rule needs works for which code has to wait (`isAwaited`): a synchronous loop within one call looks the same.
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
  const groups = new Map<string, work[]>()
  for (const work of works) {
    const line = lineOf(work, depth)
    const group = groups.get(line)
    if (group === undefined) groups.set(line, [work])
    else group.push(work)
  }
  for (const group of groups.values()) {
    if (isShared(group, depth) || (group.every(isAwaited) && isCalledAnew(group, depth))) {
      const further = group.filter(work => frameOf(work, depth + 1) !== undefined)
      choose(further, depth + 1, isAwaited, places)
    }
    for (const work of group) if (!places.has(work)) places.set(work, placeAt(work, depth))
  }
}

/** Whether the frames above are different lines. */
function isShared(works: readonly CalledWork[], depth: number): boolean {
  for (let above = depth + 1; ; above++) {
    const further = works.filter(work => frameOf(work, above) !== undefined)
    if (further.length === 0) return false
    if (new Set(further.map(work => lineOf(work, above))).size > 1) return true
  }
}

/** A function that loops awaits its works one by one: for all but the first, its caller awaits it, or is gone. */
function isCalledAnew(works: readonly CalledWork[], depth: number): boolean {
  return (
    works.length > 1 &&
    works.every((work, index) => {
      const above = frameOf(work, depth + 1)
      const { end = Infinity } = works[index - 1] ?? {}
      const isAfter = index === 0 || end <= (work.start ?? -Infinity)
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

function lineOf(work: CalledWork, depth: number): string {
  const { file, line } = frameOf(work, depth) ?? {}
  return `${file}:${line}`
}
