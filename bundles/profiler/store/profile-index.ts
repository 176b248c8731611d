import type { IndexEntry } from './index-entry.ts'

/** The profiles that are known, in memory: by token, and in the order in which they were kept. */
export class ProfileIndex {
  #entries: IndexEntry[] = []
  /** The newest of each token; older ones hang on it. */
  readonly #newest = new Map<string, IndexEntry>()

  /** Oldest first. */
  get entries(): readonly IndexEntry[] {
    return this.#entries
  }

  /** When the last of them was kept; 0 when there are none. */
  get newest(): number {
    return this.#entries.at(-1)?.keptAt ?? 0
  }

  /** The newest of this token; or the one that this process has written. */
  find(token: string, writer?: string): IndexEntry | undefined {
    let entry = this.#newest.get(token)
    while (entry !== undefined && writer !== undefined && entry.writer !== writer) entry = entry.namesake
    return entry
  }

  /** Adds an entry that was kept after all others. */
  push(entry: IndexEntry): void {
    this.#link(entry)
    this.#entries.push(entry)
  }

  /**
   * Takes up what was read, in the order in which it was written: of several versions of a profile the last one counts,
   * in the place of the first. Gives the entries that were not known.
   */
  add(read: readonly IndexEntry[]): IndexEntry[] {
    const added = read.filter(entry => {
      const known = this.find(entry.token, entry.writer)
      if (known === undefined) this.#link(entry)
      else known.show(entry.version)
      return known === undefined
    })
    const sorted = added.toSorted((one, other) => one.keptAt - other.keptAt)
    const [first] = sorted
    if (first === undefined) return added
    // Mostly they come last; only what was kept later than the first of them has to move.
    const later = this.#entries.splice(this.#countUntil(first.keptAt))
    for (const entry of merge(later, sorted)) this.#entries.push(entry)
    return added
  }

  /** Removes what is gone of that which was kept until a time. */
  remove(isGone: (entry: IndexEntry) => boolean, until: number = Number.POSITIVE_INFINITY): void {
    const end = this.#countUntil(until)
    const left = this.#entries.slice(0, end).filter(entry => {
      const isLeft = !isGone(entry)
      if (!isLeft) this.#unlink(entry)
      return isLeft
    })
    this.#entries = left.concat(this.#entries.slice(end))
  }

  #link(entry: IndexEntry): void {
    const newest = this.#newest.get(entry.token)
    if (newest === undefined || newest.keptAt <= entry.keptAt) {
      entry.namesake = newest
      this.#newest.set(entry.token, entry)
      return
    }
    let newer = newest
    while (newer.namesake !== undefined && newer.namesake.keptAt > entry.keptAt) newer = newer.namesake
    entry.namesake = newer.namesake
    newer.namesake = entry
  }

  #unlink(entry: IndexEntry): void {
    let newer = this.#newest.get(entry.token)
    if (newer === entry) {
      if (entry.namesake === undefined) this.#newest.delete(entry.token)
      else this.#newest.set(entry.token, entry.namesake)
      return
    }
    while (newer !== undefined && newer.namesake !== entry) newer = newer.namesake
    if (newer !== undefined) newer.namesake = entry.namesake
  }

  /** How many were kept at this time or before. */
  #countUntil(time: number): number {
    let low = 0
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (Number(this.#entries[middle]?.keptAt) <= time) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Of those kept at the same time, those that were known come first. */
function* merge(known: readonly IndexEntry[], added: readonly IndexEntry[]): Iterable<IndexEntry> {
  let next = 0
  for (const entry of added) {
    for (let each = known[next]; each !== undefined && each.keptAt <= entry.keptAt; each = known[++next]) yield each
    yield entry
  }
  yield* known.slice(next)
}
