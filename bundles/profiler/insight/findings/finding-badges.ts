import type { Signals } from '../../../../lib/signals.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import type { Badge } from '../summary-view.ts'
import { toBadge } from './finding.ts'
import type { Inspector } from './inspector.ts'

/** Records beyond the first of a list are not read for their badges alone. */
const readLimit = 200

/** How many records are remembered: some pages of a list that is looked at again and again. */
const memory = 2000

/** What badges are made with. */
interface BadgeServices {
  readonly storage: Pick<ProfileStorage, 'find'>
  readonly inspector: () => Promise<Inspector>
  readonly signals: Signals
}

/**
 * Makes the badges of rows of a list, of which only summaries are read. A record is read for its badge when a list first
 * shows it, and what was found is remembered until it is amended: so a list that renews itself reads what is new.
 */
export class FindingBadges {
  readonly #services: BadgeServices
  readonly #known = new Map<string, Badge | undefined>()

  constructor(services: BadgeServices) {
    this.#services = services
    services.signals.on('profile.saved', ({ token }) => void this.#known.delete(token))
  }

  /** The badges of these records; those without findings, and those that are gone, have none. */
  async find(tokens: readonly string[]): Promise<ReadonlyMap<string, Badge>> {
    const wanted = tokens.slice(0, readLimit)
    await Promise.all(wanted.filter(token => !this.#known.has(token)).map(token => this.#read(token)))
    const badges = wanted.flatMap((token): [string, Badge][] => {
      const badge = this.#known.get(token)
      return badge === undefined ? [] : [[token, badge]]
    })
    while (this.#known.size > memory) this.#forgetOldest()
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
