import type { RuleFinding, Severity } from '../../../../kernel/profiler-contract.ts'
import { formatCount } from '../../profile/format.ts'
import { recordLink } from '../../profile/links.ts'
import type { Badge, Tone } from '../summary-view.ts'

/** Something about a recorded request that could be better. */
export interface Finding extends RuleFinding {
  /** The name of the rule that has found it. */
  readonly rule: string
  /** The rule's title. */
  readonly title: string
}

/** A part of a sentence. */
interface ProblemPart {
  readonly text: string
  /** Whether it was recorded. */
  readonly isValue: boolean
}

/** Tells what was recorded from the sentence that it stands in. */
export function splitProblem({ problem, values = {} }: RuleFinding): ProblemPart[] {
  return problem
    .split(/(\{[\w-]+\})/)
    .map(text => {
      const value = values[text.slice(1, -1)]
      return value === undefined ? { text, isValue: false } : { text: value, isValue: true }
    })
    .filter(({ text }) => text !== '')
}

/** Writes the sentence of what was found. */
export function writeProblem(finding: RuleFinding): string {
  return splitProblem(finding)
    .map(({ text }) => text)
    .join('')
}

const tones = { info: 'plain', warning: 'warning', error: 'error' } as const satisfies Record<Severity, Tone>

/** How a finding is coloured. */
export function toneOf({ severity }: RuleFinding): Exclude<Tone, 'ok'> {
  return tones[severity]
}

/** How many there are, as the worst of them is coloured; `undefined` when there are none. They are in order. */
export function toBadge(findings: readonly RuleFinding[]): Badge | undefined {
  const [worst] = findings
  return worst && { text: formatCount(findings.length, 'finding'), tone: toneOf(worst) }
}

/** Where a finding of a record can be seen: what it points at, else the panel of all findings. */
export function linkToFinding({ place }: RuleFinding, token: string): string {
  if (place === undefined) return recordLink(token, 'findings')
  const { anchor, panel, token: other = token } = place
  return `${recordLink(other, panel)}${anchor === undefined ? '' : `#${anchor}`}`
}
