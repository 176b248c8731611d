import { readProperty } from '../stack/read-property.ts'

const depthLimit = 10

/** Errors whose cause was set here. An error object that is thrown again gets a new cause. */
const ends = new WeakSet<object>()

/**
 * Appends an error to the causes of a failure that happened while the error was handled, as Symfony does, unless the causes
 * already contain it. A failure that is no object, or that cannot be changed, stays as it is. Never throws.
 */
export function appendCause(failure: unknown, original: unknown): void {
  const links = chainOf(failure)
  const last = links.at(-1)
  if (last === undefined || links.some(link => link === original) || chainOf(original).includes(last)) return
  // A cause that is no object also ends the chain.
  if (!ends.has(last) && readProperty(last, 'cause') !== undefined) return
  try {
    if (Reflect.defineProperty(last, 'cause', { value: original, writable: true, configurable: true })) ends.add(last)
  } catch {
    // A proxy may refuse.
  }
}

/**
 * A failure and those of its causes that are objects, up to the first one whose cause was set here. Empty for a chain that
 * is a circle or too long.
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
