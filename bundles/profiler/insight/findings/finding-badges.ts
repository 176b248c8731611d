import type { Signals } from '../../../../lib/signals.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import type { Badge } from '../summary-view.ts'
import { toBadge } from './finding.ts'
import type { Inspector } from './inspector.ts'

/** The number of rows in a list that get a badge: the profiles of further rows are not read. */
const readLimit = 200

/** The number of cached badges, enough for several pages of a list. */
const cacheLimit = 2000

/** The services of {@link FindingBadges}. */
interface BadgeServices {
  readonly storage: Pick<ProfileStorage, 'find'>
  readonly inspector: () => Promise<Inspector>
  readonly signals: Signals
}

/**
 * Creates the badges for the rows of a list. Lists read summaries only, but findings need the whole profile: it is read
 * when a list first shows it, and its badge is cached until the profile is saved again. So a live list reads new
 * profiles only.
 */
export class FindingBadges {
  readonly #services: BadgeServices
  readonly #known = new Map<string, Badge | undefined>()

  constructor(services: BadgeServices) {
    this.#services = services
    services.signals.on('profile.saved', ({ token }) => void this.#known.delete(token))
  }

  /** Returns the badges by token. Profiles without findings and deleted profiles have none. */
  async find(tokens: readonly string[]): Promise<ReadonlyMap<string, Badge>> {
    const wanted = tokens.slice(0, readLimit)
    await Promise.all(wanted.filter(token => !this.#known.has(token)).map(token => this.#read(token)))
    const badges = wanted.flatMap((token): [string, Badge][] => {
      const badge = this.#known.get(token)
      return badge === undefined ? [] : [[token, badge]]
    })
    while (this.#known.size > cacheLimit) this.#forgetOldest()
    return new Map(badges)
  }

  async #read(token: string): Promise<void> {
    const { inspector, storage } = this.#services
    const rules = await inspector()
    const found = await storage.find(token)
    if (found !== undefined) this.#known.set(token, toBadge(rules.inspect(found.profile)))
  }

  #forgetOldest(): void {
    const [oldest] = this.#known.keys()
    this.#known.delete(String(oldest))
  }
}
