/** The names that are most similar to a mistyped one: at most three, the most similar first. `limit` is in characters. */
export function nearestNames(
  mistyped: string,
  names: Iterable<string>,
  limit: number = Math.max(2, mistyped.length / 3),
): string[] {
  return [...names]
    .map(name => ({ name, distance: editDistance(mistyped, name) }))
    .filter(({ distance }) => distance <= limit)
    .sort((one, other) => one.distance - other.distance)
    .slice(0, 3)
    .map(({ name }) => name)
}

/** The end of a message about an unknown name: `; the nearest are "…", "…"`. Empty without similar names. */
export function suggestNames(mistyped: string, names: Iterable<string>): string {
  const nearest = nearestNames(mistyped, names).map(name => `"${name}"`)
  if (nearest.length === 0) return ''
  return `; the nearest ${nearest.length > 1 ? 'are' : 'is'} ${nearest.join(', ')}`
}

/** The number of characters to add, remove or change to get from one text to the other (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const [index, character] of [...from].entries()) {
    const next = [index + 1]
    for (let column = 1; column <= to.length; column++) {
      const changed = (row[column - 1] ?? 0) + (to[column - 1] === character ? 0 : 1)
      next.push(Math.min(changed, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
