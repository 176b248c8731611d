import type { ProfileSummary } from '../profile/profile.ts'
import type { IndexEntry } from './profile-index.ts'

/** Called with each new profile. */
export type TailListener = (summary: ProfileSummary) => void

/** The listeners to new profiles. An error of a listener reaches neither the other listeners nor the store. */
export class ProfileTail {
  readonly #onError: (error: unknown) => void
  #listeners: readonly { readonly listener: TailListener; since: number }[] = []

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  get hasListeners(): boolean {
    return this.#listeners.length > 0
  }

  /**
   * Adds a listener; returns a function that removes it. Until `whenRead` resolves, profiles of other processes may be
   * old: the listener gets only profiles that were appended since the time `since`.
   */
  add(listener: TailListener, since = 0, whenRead?: Promise<void>): () => void {
    const added = { listener, since }
    this.#listeners = [...this.#listeners, added]
    void whenRead?.then(() => {
      added.since = 0
    })
    return () => {
      this.#listeners = this.#listeners.filter(each => each !== added)
    }
  }

  /** Passes a profile that this process has appended to the listeners. */
  pass(summary: ProfileSummary): void {
    for (const { listener } of this.#listeners) this.#call(listener, summary)
  }

  /** Passes profiles of other processes to the listeners. */
  passFound(entries: readonly IndexEntry[]): void {
    for (const { listener, since } of this.#listeners) {
      for (const { summary, time } of entries) if (time >= since) this.#call(listener, summary)
    }
  }

  #call(listener: TailListener, summary: ProfileSummary): void {
    try {
      listener(summary)
    } catch (error) {
      this.#onError(error)
    }
  }
}
