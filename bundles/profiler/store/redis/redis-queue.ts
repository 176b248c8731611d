import { AsyncResource } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { RedisError } from '../../../../lib/redis/errors.ts'
import { sizeLimit } from '../../profile/profile.ts'
import type { SerializedProfile } from '../profile-storage.ts'

/** A version of a profile that is not written yet. */
export interface WaitingProfile extends SerializedProfile {
  readonly facts: string
}

/** The functions that a queue calls, and its limit. */
interface RedisQueueOptions {
  /** Characters of profiles that are not written yet. */
  readonly limit: number
  /** Called before the profiles of a group are written, in their order. */
  readonly prepare: (profile: WaitingProfile) => Promise<void>
  readonly write: (profile: WaitingProfile) => Promise<void>
  /** Called after a group was written. */
  readonly onWritten: () => Promise<void>
  readonly onDrop: (profile: WaitingProfile, reason: string, error: unknown) => void
}

/** Milliseconds between two groups, and between two attempts while the server does not answer. */
const pauses = { group: 20, failure: 250 } as const

/** The most profiles and characters that are written at the same time. */
const limits = { profiles: 64, length: 1_000_000 } as const

/**
 * Writes profiles in groups. Of several versions of a profile only the newest is written. A profile stays here until the server
 * has answered; when the queue is full, further profiles are dropped.
 */
export class RedisQueue {
  /** How many profiles were dropped. */
  dropped = 0
  /** Why the last one was dropped. */
  problem: string | undefined
  /** Whether the last attempt to write failed. */
  isFailing = false
  /** Characters that are not written yet. */
  length = 0
  readonly #options: RedisQueueOptions
  /** Starts to write, outside of the context of the request that is over. */
  readonly #start: () => Promise<void> = AsyncResource.bind(() => this.#run())
  #waiting = new Map<string, WaitingProfile>()
  readonly #writing = new Map<string, WaitingProfile>()
  #running: Promise<void> | undefined
  #group: Promise<unknown> = Promise.resolve()
  #hold: Promise<unknown> | undefined
  #endPause: (() => void) | undefined
  #flushes = 0

  constructor(options: RedisQueueOptions) {
    this.#options = options
  }

  /** The newest version of a profile that is not written yet. */
  find(token: string): WaitingProfile | undefined {
    return this.#waiting.get(token) ?? this.#writing.get(token)
  }

  /** The profiles that are not written yet, oldest first. */
  get all(): readonly WaitingProfile[] {
    return [...new Map([...this.#writing, ...this.#waiting]).values()]
  }

  /** Adds a version of a profile; false when it was dropped. */
  add(profile: WaitingProfile): boolean {
    const { summary, text } = profile
    if (text.length > sizeLimit) return this.#drop(profile, 'A profile was dropped because it is too long.')
    const before = this.#waiting.get(summary.token)?.text.length ?? 0
    if (this.length - before + text.length > this.#options.limit) {
      return this.#drop(profile, 'Profiles are dropped because Redis is gone or too slow.')
    }
    this.length += text.length - before
    this.#waiting.set(summary.token, profile)
    this.#running ??= this.#start()
    return true
  }

  /** Resolves when all profiles are written or dropped, or when an attempt fails. */
  async flush(): Promise<void> {
    this.#flushes++
    this.#endPause?.()
    await this.#running
    this.#flushes--
    if (this.#waiting.size > 0) this.#running ??= this.#start()
  }

  /** Forgets all profiles that are not written, and writes no others until the task has ended. Resolves with it. */
  async discard(task: () => Promise<void>): Promise<void> {
    this.clear()
    const held = (this.#hold ?? this.#group).then(task)
    this.#hold = held.catch(() => undefined)
    await held
  }

  /** Drops all profiles that are not written: the process ends. */
  end(error?: Error): void {
    for (const profile of this.all) this.#drop(profile, 'Profiles are lost because Redis is gone.', error)
    this.clear()
  }

  /** Forgets all profiles that are not written: they are written in another way. */
  clear(): void {
    this.#waiting.clear()
    this.#writing.clear()
    this.length = 0
  }

  async #run(): Promise<void> {
    // Profiles of the same turn belong to the same group.
    await nextTurn()
    while (this.#waiting.size > 0) {
      await this.#hold
      this.#take()
      const group = this.#writeGroup()
      this.#group = group
      await group
      if (this.isFailing && this.#flushes > 0) break
      await this.#pause(this.isFailing ? pauses.failure : pauses.group)
    }
    this.#running = undefined
  }

  /** Takes the next group. */
  #take(): void {
    let length = 0
    for (const [token, profile] of this.#waiting) {
      if (this.#writing.size === limits.profiles || length > limits.length) break
      this.#waiting.delete(token)
      this.#writing.set(token, profile)
      length += profile.text.length
    }
  }

  async #writeGroup(): Promise<void> {
    await Promise.all(Array.from(this.#writing.values(), this.#options.prepare))
    const written = [...this.#writing.values()].map(async profile => ({ profile, isLeft: await this.#write(profile) }))
    const left = (await Promise.all(written)).filter(({ isLeft }) => isLeft).map(({ profile }) => profile)
    const again = left.filter(({ summary }) => this.#writing.has(summary.token) && !this.#waiting.has(summary.token))
    // Before the others, so that the list has the order of the requests.
    this.#waiting = new Map([...again.map(profile => [profile.summary.token, profile] as const), ...this.#waiting])
    for (const [token, profile] of this.#writing)
      if (this.#waiting.get(token) !== profile) this.length -= profile.text.length
    this.#writing.clear()
    await this.#options.onWritten()
  }

  /** Returns whether the profile has to be written again. */
  async #write(profile: WaitingProfile): Promise<boolean> {
    try {
      await this.#options.write(profile)
      this.isFailing = false
      return false
    } catch (error) {
      this.isFailing = true
      if (error instanceof RedisError && error.isPassing) return true
      this.#drop(profile, 'Profiles are dropped because Redis refuses them.', error)
      return false
    }
  }

  async #pause(milliseconds: number): Promise<void> {
    if (this.#flushes > 0) return
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, milliseconds)
      this.#endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#endPause = undefined
  }

  #drop(profile: WaitingProfile, reason: string, error?: unknown): false {
    this.dropped++
    this.problem = error instanceof Error ? error.message : reason
    this.#options.onDrop(profile, reason, error)
    return false
  }
}
