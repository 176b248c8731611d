import type { ProfileSummary } from '../profile/profile.ts'
import type { IndexEntry } from './index-entry.ts'

/** Told of profiles as they are kept. */
export type TailListener = (summary: ProfileSummary) => void

/** Those who want to be told of each profile. None of them can hurt another, or the one who tells. */
export class ProfileTail {
  readonly #onError: (error: unknown) => void
  #listeners: readonly { readonly tell: TailListener; readonly since: number }[] = []

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  /** Whether anybody listens. */
  get isHeard(): boolean {
    return this.#listeners.length > 0
  }

  /** Adds a listener, which is not told of the past: of what was kept before `since`; returns what removes it. */
  add(tell: TailListener, since: number): () => void {
    const added = { tell, since }
    this.#listeners = [...this.#listeners, added]
    return () => {
      this.#listeners = this.#listeners.filter(listener => listener !== added)
    }
  }

  /** Tells of a profile that is new. */
  tell(summary: ProfileSummary): void {
    for (const { tell } of this.#listeners) this.#guard(() => tell(summary))
  }

  /** Tells of profiles of which nobody knows yet whether they are new. */
  tellPerhaps(entries: readonly IndexEntry[]): void {
    for (const { tell, since } of this.#listeners) {
      for (const { latest, summary } of entries) if (latest >= since) this.#guard(() => tell(summary))
    }
  }

  #guard(tell: () => void): void {
    try {
      tell()
    } catch (error) {
      this.#onError(error)
    }
  }
}
