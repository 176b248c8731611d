import type { FindingPlace, RuleFinding, Severity } from '../../../../kernel/profiler-contract.ts'
import { type EventNode, findBundle, findSite } from '../../profile/event-tree.ts'
import { formatCount } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import type { Badge, Tone } from '../summary-view.ts'

/** A possible improvement of a recorded request. */
export interface Finding extends RuleFinding {
  /** The name of the rule. */
  readonly rule: string
  /** The title of the rule. */
  readonly title: string
}

/** A part of a sentence. */
export interface SentencePart {
  readonly text: string
  /** Whether the text is a recorded value, which is shown as code. */
  readonly isValue: boolean
}

/** Splits a sentence of a finding into its own text and the recorded values in it. */
export function splitSentence(sentence: 'problem' | 'advice', finding: RuleFinding): SentencePart[] {
  const { values = {} } = finding
  return finding[sentence]
    .split(/(\{[\w-]+\})/)
    .map(text => {
      const value = values[text.slice(1, -1)]
      return value === undefined ? { text, isValue: false } : { text: value, isValue: true }
    })
    .filter(({ text }) => text !== '')
}

/** Writes the sentence for the problem, with the recorded values. */
export function writeProblem(finding: RuleFinding): string {
  return write('problem', finding)
}

/** Writes the sentence for the solution, with the recorded values. */
export function writeAdvice(finding: RuleFinding): string {
  return write('advice', finding)
}

function write(sentence: 'problem' | 'advice', finding: RuleFinding): string {
  return splitSentence(sentence, finding)
    .map(({ text }) => text)
    .join('')
}

const tones = { info: 'plain', warning: 'warning', error: 'error' } as const satisfies Record<Severity, Tone>

/** The colour of a finding. */
export function toneOf({ severity }: Pick<RuleFinding, 'severity'>): Exclude<Tone, 'ok'> {
  return tones[severity]
}

/**
 * Creates a badge with the number of findings, in the colour of the first, most severe one; `undefined` without
 * findings.
 */
export function toBadge(findings: readonly Pick<RuleFinding, 'severity'>[]): Badge | undefined {
  const [worst] = findings
  return worst && { text: formatCount(findings.length, 'finding'), tone: toneOf(worst) }
}

/**
 * Returns the link to the place of a finding; without a place, to the panel of findings. `token` is that of the
 * profile.
 */
export function linkToFinding({ place }: RuleFinding, token: string): string {
  return place === undefined ? profileLink(token, 'findings') : linkToPlace(place, token)
}

/** Returns the link to a place in a profile; `token` is that of the profile. */
export function linkToPlace({ anchor, panel, token: other }: FindingPlace, token: string): string {
  return `${profileLink(other ?? token, panel)}${anchor === undefined ? '' : `#${anchor}`}`
}

/** The line where a listener was registered, mostly in the file that contains it. */
export function findCode(node: EventNode, profile: Profile): Pick<RuleFinding, 'code'> {
  const [, file, line] = /^(.+):(\d+)$/s.exec(findSite(node, profile) ?? '') ?? []
  return file === undefined ? {} : { code: { file, line: Number(line) } }
}

/**
 * Whether a node is a listener of the application that delays the response. The application cannot make those of the
 * package faster, which wait for the client's body, the disk or other threads.
 */
export function isAwaited(node: EventNode, profile: Profile): boolean {
  return node.kind === 'call' && node.parent?.name !== 'kernel.terminate' && findBundle(node, profile) === undefined
}
