import { readProperty } from '../stack/read-property.ts'

const depthLimit = 10

/** Errors whose cause was set here. An error object that is thrown again and again keeps the latest original only. */
const ends = new WeakSet<object>()

/**
 * Makes an error the last cause of a failure that happened while it was answered (as Symfony does), unless it is among the
 * causes already. A failure that is no error, or that cannot be changed, stays as it is. Never throws.
 */
export function appendCause(failure: unknown, original: unknown): void {
  const links = chainOf(failure)
  const last = links.at(-1)
  if (last === undefined || links.some(link => link === original) || chainOf(original).includes(last)) return
  // What is no object ends a chain as well.
  if (!ends.has(last) && readProperty(last, 'cause') !== undefined) return
  try {
    if (Reflect.defineProperty(last, 'cause', { value: original, writable: true, configurable: true })) ends.add(last)
  } catch {
    // A proxy may refuse.
  }
}

/**
 * A failure and its causes that are objects, up to the first whose cause was set here; nothing when there is no end to
 * them.
 */
function chainOf(failure: unknown): readonly object[] {
  const links: object[] = []
  for (let link = failure; typeof link === 'object' && link !== null; link = readProperty(link, 'cause')) {
    if (links.includes(link) || links.length === depthLimit) return []
    links.push(link)
    if (ends.has(link)) break
  }
  return links
}
