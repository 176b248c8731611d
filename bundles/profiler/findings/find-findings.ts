import type { FindingRule, RuleFinding, Severity } from '../../../kernel/profiler-contract.ts'
import { flattenError } from '../../../lib/errors/flat-error.ts'
import type { Profile } from '../profile.ts'
import type { Finding } from './finding.ts'
import { profilerRules } from './profiler-rules.ts'

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
        problem: 'This rule has failed: {message}.',
        values: { message: flattenError(error, { hasFrames: false }).message },
        advice: 'See what it makes of this record: data from the disk may be of any shape.',
        evidence: {},
      },
    ]
  }
}
