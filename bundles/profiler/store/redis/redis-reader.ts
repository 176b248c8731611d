import type { ProfileSummary } from '../../profile/profile.ts'
import { frequentTypes } from '../../profile/units.ts'
import { coalesce, type ReportProblem } from '../base-profile-storage.ts'
import { type AppendReply, type ListReply, readListReply } from './redis-commands.ts'
import { listScript, type RunScript } from './scripts.ts'

interface RedisReaderOptions {
  readonly index: RedisIndex
  readonly run: RunScript
  /** Whether a version of a profile is not written yet. */
  readonly isWaiting: (token: string) => boolean
  /** Called with each new profile of other processes, but not with those that are read first. */
  readonly onFound: (summary: ProfileSummary) => void
  readonly onProblem: ReportProblem
}

/** Profiles of a step: the server needs less than a millisecond for it. */
const step = 250

/**
 * Keeps the index of a process up to date. The first time it reads all summaries, newest first;
 * then only those that have changed since, so that nothing is lost while there is no connection.
 */
export class RedisReader {
  /** The bytes of all stored profiles. */
  bytes = 0
  /** Reads what has changed. Never rejects. */
  readonly refresh: () => Promise<void> = coalesce(() => this.#refresh())
  readonly #options: RedisReaderOptions
  #generation = ''
  /** The stamp of the last change that was read; `undefined` before the first look. */
  #newest: number | undefined
  /** The stamp down to which all is read; 0 when that is all. */
  #oldest = 0
  #horizon = 0
  #messageHorizon = 0
  #pins = '0'
  #pinned: ReadonlySet<string> = new Set()

  constructor(options: RedisReaderOptions) {
    this.#options = options
  }

  /** Notes where Redis has stored a version that this process has written. */
  onWritten(summary: ProfileSummary, { generation, position, stamp }: AppendReply): void {
    const { index, isWaiting } = this.#options
    this.#checkGeneration(generation, summary.token)
    const entry = index.find(summary.token)
    // The profile belongs to another process, and this one has changed it: it is read later.
    if (entry === undefined) return
    index.place(entry, position, stamp)
    if (!isWaiting(summary.token)) entry.summary = summary
  }

  async #refresh(): Promise<void> {
    try {
      if (this.#newest === undefined) await this.#readFirst()
      else await this.#readChanges(this.#newest)
      while (this.#oldest > 0) this.#takeOlder(await this.#read(`(${this.#oldest}`, '-inf', 'REV'))
    } catch (error) {
      this.#options.onProblem('The list of profiles cannot be read.', error)
    }
  }

  async #readFirst(): Promise<void> {
    const reply = await this.#read('+inf', '-inf', 'REV')
    this.#newest = reply.last
    this.#takeOlder(reply)
  }

  #takeOlder({ rows }: ListReply): void {
    for (const row of rows) this.#take(row)
    this.#oldest = rows.length < step ? 0 : Math.min(...rows.map(({ stamp }) => stamp))
  }

  async #readChanges(from: number): Promise<void> {
    let newest = from
    let count = step
    while (count === step) {
      const { rows } = await this.#read(`(${newest}`, '+inf', '')
      // The data in Redis was replaced or emptied: all of its profiles are read.
      if (this.#newest === undefined) {
        this.#newest = 0
        return this.#readChanges(0)
      }
      for (const row of rows) if (this.#take(row) && row.summary !== undefined) this.#options.onFound(row.summary)
      newest = rows.at(-1)?.stamp ?? newest
      this.#newest = newest
      count = rows.length
    }
  }

  async #read(from: string, until: string, order: '' | 'REV'): Promise<ListReply> {
    const { index, run } = this.#options
    const reply = readListReply(await run(listScript, [from, until, order, step, this.#pins]))
    this.#checkGeneration(reply.generation)
    this.bytes = reply.bytes
    const hasChanged = this.#pins !== reply.pins
    if (hasChanged) {
      this.#pins = reply.pins
      this.#pinned = new Set(reply.pinned)
      for (const entry of index.entries) entry.isPinned = this.#pinned.has(entry.token)
    }
    // `removeUntil` sorts the index, so it is not called for each step of the first reading.
    const { horizon, messageHorizon } = reply
    if (hasChanged || this.#horizon !== horizon || this.#messageHorizon !== messageHorizon)
      index.removeUntil(horizon, messageHorizon)
    this.#horizon = horizon
    this.#messageHorizon = messageHorizon
    return reply
  }

  /** Takes over a listed profile. Returns whether it was not known. */
  #take({ position, stamp, summary, token }: ListReply['rows'][number]): boolean {
    const { index, isWaiting } = this.#options
    // The profile was evicted, or is damaged.
    if (summary === undefined) return false
    const known = index.find(token)
    if (known === undefined) {
      const entry: RedisEntry = { token, summary, position, stamp, isPinned: this.#pinned.has(token) }
      index.add(entry)
    } else if (stamp > known.stamp) {
      index.place(known, position, stamp)
      if (!isWaiting(token)) known.summary = summary
    }
    return known === undefined
  }

  /**
   * If the data in Redis was replaced or emptied, which its generation shows, forgets what was
   * read, except for `written`.
   */
  #checkGeneration(generation: string, written?: string): void {
    const isOther = this.#generation !== '' && generation !== this.#generation
    this.#generation = generation
    if (!isOther) return
    this.#newest = undefined
    this.#oldest = 0
    this.#pins = '0'
    this.#pinned = new Set()
    this.#options.index.remove(({ stamp, token }) => stamp > 0 && token !== written)
  }
}

/** A profile in the index. */
interface RedisEntry {
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
  /** The position of the next profile that is not stored: greater than all times in microseconds. */
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
  addNewest(summary: ProfileSummary): void {
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

  /** Removes the profiles that retention has removed: those up to a position, and the messages up to another one. */
  readonly removeUntil = (horizon: number, messageHorizon: number): void => {
    const isGone = ({ isPinned, position, stamp, summary }: RedisEntry) => {
      const until = frequentTypes.has(summary.type) ? Math.max(horizon, messageHorizon) : horizon
      return stamp > 0 && !isPinned && position <= until
    }
    const end = this.entries.findIndex(({ position }) => position > Math.max(horizon, messageHorizon))
    const old = this.#entries.splice(0, end === -1 ? this.#entries.length : end)
    for (const { token } of old.filter(isGone)) this.#byToken.delete(token)
    this.#entries = [...old.filter(entry => !isGone(entry)), ...this.#entries]
  }
}
