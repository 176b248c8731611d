import { type Finding, splitProblem } from '../../findings/finding.ts'
import { linkToFinding } from '../../findings/link-to-finding.ts'
import type { Section } from './section.ts'
import { toList, toSpan } from './text.ts'

/** What could be better about the request, and what to do about it. */
export const findingsSection: Section = {
  panel: 'findings',
  nothing: 'Nothing to improve was found.',
  write({ findings, profile: { summary } }, limit) {
    if (findings.length === 0) return []
    return ['## Findings', toList(findings, limit, finding => writeFinding(finding, summary.token))]
  },
}

/** Writes a finding of a record on one line. */
export function writeFinding(finding: Finding, token: string): string {
  const { advice, rule, severity } = finding
  const problem = splitProblem(finding).map(({ isValue, text }) => (isValue ? toSpan(text) : text))
  return `${severity}, ${toSpan(rule)}: ${problem.join('')} ${advice} See ${toSpan(linkToFinding(finding, token))}`
}
