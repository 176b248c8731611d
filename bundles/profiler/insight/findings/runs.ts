import { type EventNode, readEventTree } from '../../profile/event-tree.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { Profile } from '../../profile/profile.ts'

/** Work that began at a time, in milliseconds since the request began. */
interface Started {
  readonly start: number
}

/**
 * Splits work into runs of one listener or controller without overlap: the next item of a run starts after the end of the
 * previous one. `endOf` gives the end of an item in milliseconds.
 */
export function findRuns<item extends Started>(
  profile: Profile,
  items: readonly item[],
  endOf: (item: item) => number,
): item[][] {
  const listeners = readEventTree(profile).nodes.filter(({ kind }) => kind === 'call')
  const byListener = groupBy(items, item => String(findListener(item, listeners)))
  return [...byListener.values()].flatMap(items => splitAtOverlaps(items, endOf))
}

/**
 * Returns the index of the innermost listener that was running when the work began; -1 for the controller. The innermost
 * listener is the last one that had started.
 */
function findListener({ start }: Started, listeners: readonly EventNode[]): number {
  const at = start * 1000
  const listener = listeners.findLast(node => node.start <= at && at < node.start + (node.duration ?? Infinity))
  return listener?.index ?? -1
}

function splitAtOverlaps<item extends Started>(items: readonly item[], endOf: (item: item) => number): item[][] {
  const runs: item[][] = []
  let end = Number.NEGATIVE_INFINITY
  for (const item of items.toSorted((a, b) => a.start - b.start)) {
    if (item.start >= end) (runs.at(-1) ?? open(runs)).push(item)
    else {
      // The item overlaps the previous one: neither belongs to a run.
      runs.at(-1)?.pop()
      open(runs)
    }
    end = Math.max(end, endOf(item))
  }
  return runs
}

function open<item>(runs: item[][]): item[] {
  const run: item[] = []
  runs.push(run)
  return run
}
