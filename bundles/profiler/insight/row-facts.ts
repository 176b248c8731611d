import type { Signals } from '../../../lib/signals.ts'
import type { Profile } from '../profile/profile.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { toBadge } from './findings/finding.ts'
import type { Inspector } from './findings/inspector.ts'
import type { Badge } from './summary-view.ts'

/** The number of rows in a list that have facts: the profiles of further rows are not read. */
const readLimit = 200

/** The number of cached rows, enough for several pages of a list. */
const cacheLimit = 2000

/** The services of {@link RowFacts}. */
interface FactServices {
  readonly storage: Pick<ProfileStorage, 'find'>
  readonly inspector: () => Promise<Inspector>
  readonly signals: Signals
  /** Finds the place in the code that answered a request: file and line, or empty. */
  readonly findPlace: (profile: Profile) => string
}

/** What a row of a list shows, and the summary of the profile does not have. */
export interface RowFact {
  /** The badge of the findings; `undefined` without any. */
  readonly badge: Badge | undefined
  /** The place in the code that answered the request; empty if it is not known. */
  readonly place: string
}

/**
 * Reads the facts for the rows of a list. Lists read summaries only, but findings and places need the whole profile: it is
 * read when a list first shows it, and its facts are cached until the profile is saved again. So a live list reads new
 * profiles only.
 */
export class RowFacts {
  readonly #services: FactServices
  readonly #known = new Map<string, RowFact>()

  constructor(services: FactServices) {
    this.#services = services
    services.signals.on('profile.saved', ({ token }) => void this.#known.delete(token))
  }

  /** Returns the facts by token. Deleted profiles have none. */
  async find(tokens: readonly string[]): Promise<ReadonlyMap<string, RowFact>> {
    const wanted = tokens.slice(0, readLimit)
    await Promise.all(wanted.filter(token => !this.#known.has(token)).map(token => this.#read(token)))
    const facts = wanted.flatMap((token): [string, RowFact][] => {
      const fact = this.#known.get(token)
      return fact === undefined ? [] : [[token, fact]]
    })
    while (this.#known.size > cacheLimit) this.#forgetOldest()
    return new Map(facts)
  }

  async #read(token: string): Promise<void> {
    const { findPlace, inspector, storage } = this.#services
    const rules = await inspector()
    const { profile } = (await storage.find(token)) ?? {}
    if (profile === undefined) return
    this.#known.set(token, { badge: toBadge(rules.inspect(profile)), place: findPlace(profile) })
  }

  #forgetOldest(): void {
    const [oldest] = this.#known.keys()
    if (oldest !== undefined) this.#known.delete(oldest)
  }
}
