import type { FindingRule } from '../../../kernel/profiler-contract.ts'
import type { Profile } from '../profile.ts'
import { findFindings } from './find-findings.ts'
import type { Finding } from './finding.ts'
import { profilerRules } from './profiler-rules.ts'

/**
 * Looks at records by all rules: the profiler's, and those that bundles have added by then. It is done when somebody looks
 * at a record, never when it is made: nothing of it is kept, so a new rule speaks of old records too.
 */
export class Inspector {
  readonly #added: readonly FindingRule[]

  /** Bundles may add rules at any time. */
  constructor(added: readonly FindingRule[]) {
    this.#added = added
  }

  get rules(): readonly FindingRule<Profile>[] {
    return [...profilerRules, ...this.#added]
  }

  /** What could be better about a request, the worst first. */
  inspect(profile: Profile): readonly Finding[] {
    return findFindings(profile, this.rules)
  }
}
