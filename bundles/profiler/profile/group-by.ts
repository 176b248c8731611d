/** Groups items by a key, in the order in which the keys occur first. Node.js 20 does not have `Map.groupBy`. */
export function groupBy<item, key>(items: Iterable<item>, keyOf: (item: item) => key): Map<key, [item, ...item[]]> {
  const groups = new Map<key, [item, ...item[]]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
