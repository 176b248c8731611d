import type { FindingRule, RuleFinding, Severity } from '../../../../kernel/contracts/collectors.ts'
import { flattenError } from '../../../../lib/errors/flat-error.ts'
import type { Profile } from '../../profile/profile.ts'
import { inWordsOf } from '../../profile/units.ts'
import { profilerRules } from '../../subjects/rules.ts'
import type { Finding } from './finding.ts'

/**
 * Applies all rules to profiles: those of the profiler, and those of bundles. Rules run when a profile is read, not
 * when it is recorded. Findings are not stored, so a new rule applies to old profiles, too.
 */
export class Inspector {
  readonly #added: readonly FindingRule[]
  readonly #known = new WeakMap<Profile, readonly Finding[]>()

  /** `added` is read at each inspection, because bundles may add rules at any time. */
  constructor(added: readonly FindingRule[]) {
    this.#added = added
  }

  /** The rules of the profiler, then those of bundles. */
  get rules(): readonly FindingRule<Profile>[] {
    return [...profilerRules, ...this.#added]
  }

  /** Returns the findings of a profile, the most severe first. The rules run once per profile. */
  inspect(profile: Profile): readonly Finding[] {
    let findings = this.#known.get(profile)
    if (findings === undefined) {
      findings = findFindings(profile, this.rules)
      this.#known.set(profile, findings)
    }
    return findings
  }

  /** Whether the same request has a finding again as long as its cause exists. */
  isRepeatable({ rule }: Finding): boolean {
    return this.rules.find(({ name }) => name === rule)?.isRepeatable ?? true
  }

  /** How much of a finding there is in a profile; `undefined` if its rule does not measure it. Never throws. */
  measure(finding: Finding, profile: Profile): Amount | undefined {
    const measure = this.rules.find(({ name }) => name === finding.rule)?.measure
    try {
      return measure && { unit: measure.unit, value: measure.read(finding, profile), total: measure.total?.(profile) }
    } catch {
      return undefined
    }
  }
}

/** How much of a finding there is. */
interface Amount {
  /** `ms`, or the noun of the things that are counted. */
  readonly unit: string
  readonly value: number
  /** All work of this kind, in whatever form; `undefined` if the rule does not know it. */
  readonly total: number | undefined
}

/** The maximal number of findings of one rule. */
const limit = 10

const order: readonly Severity[] = ['error', 'warning', 'info']

/**
 * Returns the findings of a profile, the most severe first, of these the one that took the longest. Never throws: an
 * error of a rule becomes a finding.
 */
export function findFindings(
  profile: Profile,
  rules: Iterable<FindingRule<Profile>> = profilerRules,
): readonly Finding[] {
  const findings: Finding[] = []
  for (const rule of rules) {
    const { name } = rule
    const say = (sentence: string) => inWordsOf(profile.summary, sentence)
    const title = say(rule.title)
    for (const finding of ask(rule, profile)) {
      const [problem, advice] = [say(finding.problem), say(finding.advice)]
      findings.push({ rule: name, title, ...finding, problem, advice })
    }
  }
  const timeOf = ({ evidence }: Finding) => evidence.time ?? 0
  return findings.sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity) || timeOf(b) - timeOf(a))
}

function ask(rule: FindingRule<Profile>, profile: Profile): readonly RuleFinding[] {
  try {
    return rule.find(profile).slice(0, limit)
  } catch (error) {
    return [
      {
        severity: 'info',
        problem: 'This check failed: {message}.',
        values: { message: flattenError(error, { hasFrames: false }).message },
        advice: 'Correct the rule for this profile: stored data may have any shape.',
        evidence: {},
      },
    ]
  }
}
