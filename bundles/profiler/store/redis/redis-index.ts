import type { ProfileSummary } from '../../profile/profile.ts'

/** A profile in the index. */
export interface RedisEntry {
  readonly token: string
  summary: ProfileSummary
  /** The list has this order. Greater than all others until the profile is stored. */
  position: number
  /** The time of the last stored change in microseconds; 0 if none is stored. */
  stamp: number
  isPinned: boolean
}

/** The summaries that a process knows: its own, and those that it has read. */
export class RedisIndex {
  readonly #byToken = new Map<string, RedisEntry>()
  #entries: RedisEntry[] = []
  #isSorted = true
  /** Of profiles that are not stored: after all times in microseconds. */
  #nextPosition = 2 ** 52

  /** Oldest first. */
  get entries(): readonly RedisEntry[] {
    if (!this.#isSorted) this.#entries.sort((one, other) => one.position - other.position)
    this.#isSorted = true
    return this.#entries
  }

  find(token: string): RedisEntry | undefined {
    return this.#byToken.get(token)
  }

  /** Adds a profile that this process has appended: as the newest one, until it is stored. */
  push(summary: ProfileSummary): void {
    this.add({ token: summary.token, summary, position: this.#nextPosition++, stamp: 0, isPinned: false })
  }

  add(entry: RedisEntry): void {
    if (entry.position < (this.#entries.at(-1)?.position ?? 0)) this.#isSorted = false
    this.#byToken.set(entry.token, entry)
    this.#entries.push(entry)
  }

  /** Takes over where a profile is stored. */
  place(entry: RedisEntry, position: number, stamp: number): void {
    if (entry.position !== position) this.#isSorted = false
    entry.position = position
    entry.stamp = stamp
  }

  remove(isGone: (entry: RedisEntry) => boolean): void {
    this.#entries = this.#entries.filter(entry => {
      if (!isGone(entry)) return true
      this.#byToken.delete(entry.token)
      return false
    })
  }

  /** Removes the profiles that retention has removed. */
  removeUntil(horizon: number): void {
    const isGone = ({ isPinned, position, stamp }: RedisEntry) => stamp > 0 && !isPinned && position <= horizon
    const end = this.entries.findIndex(({ position }) => position > horizon)
    const old = this.#entries.splice(0, end === -1 ? this.#entries.length : end)
    for (const { token } of old.filter(isGone)) this.#byToken.delete(token)
    this.#entries.unshift(...old.filter(entry => !isGone(entry)))
  }
}
