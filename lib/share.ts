/** Adds an item to a list, until the returned function is called. */
export function addTo<item>(list: item[], added: item): () => void {
  list.push(added)
  return () => {
    const index = list.indexOf(added)
    if (index !== -1) list.splice(index, 1)
  }
}

/** The first result of a function for some items that is not `undefined`. */
export function findFirst<item, result>(
  items: Iterable<item>,
  find: (item: item) => result | undefined,
): result | undefined {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}

/** One function that ends several uses. */
export function endAll(ends: Iterable<() => void>): () => void {
  return () => {
    for (const end of ends) end()
  }
}

/**
 * Returns a function that begins to use something of the process, such as an observed function,
 * and returns the end of that use. The first user starts it, and the last one stops it: a process
 * may have several kernels. A second end of a use does nothing.
 */
export function share(start: () => () => void): () => () => void {
  const users = new Set<symbol>()
  let stop: (() => void) | undefined
  return () => {
    const user = Symbol()
    users.add(user)
    stop ??= start()
    return () => {
      if (!users.delete(user) || users.size > 0) return
      stop?.()
      stop = undefined
    }
  }
}
