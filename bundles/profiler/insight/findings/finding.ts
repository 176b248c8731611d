import type { FindingPlace, RuleFinding, Severity } from '../../../../kernel/contracts/collectors.ts'
import type { CallerPlace } from '../../../../lib/stack/callers.ts'
import { formatCaller } from '../../profile/callers.ts'
import { type EventNode, findBundle, findSite, readEventTree } from '../../profile/event-tree.ts'
import { formatCount } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
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

/** Without a handler, the function that answers is one of the middleware. */
function isHandler(node: EventNode | undefined): boolean {
  return node?.isOfFramework === true && node.kind === 'dispatch' && node.name === 'handler'
}

/**
 * Whether a node is a listener of the application that delays the response. The application cannot make those of the
 * package faster, which wait for the disk or other threads.
 */
export function isAwaited(node: EventNode, profile: Profile): boolean {
  if (node.isOfFramework) {
    return node.kind === 'call' && !isHandler(node.parent) && readEventTree(profile).nodes.some(isHandler)
  }
  return node.kind === 'call' && node.parent?.name !== 'kernel.terminate' && findBundle(node, profile) === undefined
}

/** The most places that are named. */
const placeLimit = 3

/** Completes a sentence of advice with the lines of the application that started the work. */
export function describePlaces(
  work: readonly { readonly caller: CallerPlace }[],
  values: Readonly<Record<string, string>>,
  advice: string,
): Pick<RuleFinding, 'advice' | 'code' | 'values'> {
  const lines = new Map<string, { file: string; line: number }>()
  for (const { caller } of work) {
    const { file, line } = caller
    if (file !== undefined && line !== undefined) lines.set(formatCaller(caller), { file, line })
  }
  const [code] = lines.values()
  if (code === undefined) return { advice: `${advice}.`, values }
  const places = [...lines.keys()].slice(0, placeLimit).map((place, index) => [`place-${index}`, place] as const)
  const named = places.map(([name]) => `{${name}}`).join(', ')
  return { advice: `${advice}: ${named}.`, values: { ...values, ...Object.fromEntries(places) }, code }
}

/** The field of GraphQL whose resolver has started all of the work; empty without one. */
export function findCommonField(work: readonly { readonly field?: string | undefined }[]): string {
  const [field = '', ...others] = new Set(work.map(({ field }) => field))
  return others.length === 0 ? field : ''
}

/** Work that began at a time, in milliseconds since the request began. */
interface Started {
  readonly start: number
}

/**
 * Splits work into runs of one listener or controller without overlap: the next item of a run
 * starts after the end of the previous one. `endOf` gives the end of an item in milliseconds.
 */
export function findRuns<item extends Started>(
  profile: Profile,
  items: readonly item[],
  endOf: (item: item) => number,
): item[][] {
  const listeners = readEventTree(profile).nodes.filter(({ kind }) => kind === 'call')
  const byListener = groupBy(items, item => String(findListener(item, listeners)))
  return [...byListener.values()].flatMap(items => splitAtOverlaps(items, endOf))
}

/**
 * Returns the index of the innermost listener that was running when the work began; -1 for the
 * controller. The innermost listener is the last one that had started.
 */
function findListener({ start }: Started, listeners: readonly EventNode[]): number {
  const at = start * 1000
  const listener = listeners.findLast(node => node.start <= at && at < node.start + (node.duration ?? Infinity))
  return listener?.index ?? -1
}

function splitAtOverlaps<item extends Started>(items: readonly item[], endOf: (item: item) => number): item[][] {
  const runs: item[][] = []
  let end = Number.NEGATIVE_INFINITY
  for (const item of items.toSorted((a, b) => a.start - b.start)) {
    if (item.start >= end) (runs.at(-1) ?? open(runs)).push(item)
    else {
      // The item overlaps the previous one: neither belongs to a run.
      runs.at(-1)?.pop()
      open(runs)
    }
    end = Math.max(end, endOf(item))
  }
  return runs
}

function open<item>(runs: item[][]): item[] {
  const run: item[] = []
  runs.push(run)
  return run
}
