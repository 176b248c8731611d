/** Groups items by a key, in the order in which the keys occur first. */
export function groupBy<item>(items: Iterable<item>, keyOf: (item: item) => string): Map<string, item[]> {
  const groups = new Map<string, item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
