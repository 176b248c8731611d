import type { FindingRule, RuleFinding, Severity } from '../../../../kernel/profiler-contract.ts'
import { flattenError } from '../../../../lib/errors/flat-error.ts'
import type { Profile } from '../../profile/profile.ts'
import { repeatedCallsRule, sequentialCallsRule } from './call-rules.ts'
import type { Finding } from './finding.ts'
import { insecureCookieRule, uncacheableResponseRule, uncompressedResponseRule } from './response-rules.ts'
import { blockedLoopRule, lateWorkRule, slowListenerRule } from './time-rules.ts'
import { needlessSessionRule, repeatedTemplateRule } from './work-rules.ts'

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

/** Of one rule; whoever has more of them has seen enough. */
const limit = 10

const order: readonly Severity[] = ['error', 'warning', 'info']

/** Finds what could be better about a recorded request, the worst first. Never throws: a rule that does is told as a finding. */
export function findFindings(
  profile: Profile,
  rules: Iterable<FindingRule<Profile>> = profilerRules,
): readonly Finding[] {
  const findings: Finding[] = []
  for (const rule of rules) {
    const { name, title } = rule
    for (const finding of ask(rule, profile)) findings.push({ rule: name, title, ...finding })
  }
  return findings.sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity))
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

/** The profiler's own rules. Each has its entry in `docs/reference/findings.md`. */
export const profilerRules: readonly FindingRule<Profile>[] = [
  blockedLoopRule,
  slowListenerRule,
  repeatedCallsRule,
  sequentialCallsRule,
  repeatedTemplateRule,
  lateWorkRule,
  needlessSessionRule,
  uncacheableResponseRule,
  uncompressedResponseRule,
  insecureCookieRule,
]
