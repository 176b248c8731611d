import { statusText } from '../../../lib/http/response.ts'
import { summarizeProfile } from '../insight/overview/overview.ts'
import type { OverviewPart } from '../insight/overview/sentence.ts'
import type { ShownProfile } from '../insight/relatives.ts'
import { outcomes } from '../insight/summary-view.ts'
import { capitalize, formatBytes, formatDuration, formatMoment } from '../profile/format.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { hasPart, nameOfUnit, unitOf } from '../profile/units.ts'
import { listUnseen } from '../profile/work.ts'
import { partsOf, subjectViews } from '../subjects/views.ts'
import { joinBlocks, toJsonBlock, toList, toSpan, writeCounts } from './markdown-text.ts'

/** Writes the sentence of the overview, with the addresses of its links. */
function writeOverview(shown: ShownProfile): string {
  const { sentence } = summarizeProfile(shown)
  return sentence.map(writePart).join('')
}

function writePart({ isValue, link, text }: OverviewPart): string {
  if (isValue) return toSpan(text)
  return link === '' ? text : `${text} (${toSpan(link)})`
}

/** The maximal lengths of lists: in a whole profile, and in a single panel. */
const limits = { profile: 100, panel: 1000 } as const

/**
 * Writes a profile, or one panel of it, as Markdown for people and coding agents. It begins with
 * the sentence of the overview. Recorded texts are in code spans and code blocks, so they cannot
 * become headings, links or HTML. Long texts and lists are cut, and marked as such.
 */
export function toMarkdown(shown: ShownProfile, panel?: string): string {
  const parts = panel === undefined ? writeProfile(shown) : writePanel(shown, panel)
  const failures = Object.entries(shown.profile.failures)
  const notes = toList(
    failures,
    limits.profile,
    ([name, message]) => `The collector ${toSpan(name)} failed: ${toSpan(message)}`,
  )
  const unseen = listUnseen(shown.profile, panel)
  const all = [writeOverview(shown), writeTitle(shown.profile.summary), writeSummary(shown), notes, ...unseen, ...parts]
  return joinBlocks(all)
}

/** Conclusions and errors come first, then the other views in the order of the menu. */
const first: readonly string[] = ['overview', 'exception', 'findings']

function writeProfile(shown: ShownProfile): string[] {
  const known = new Set(subjectViews.flatMap(({ name }) => partsOf(name)))
  const others = Object.keys(shown.profile.data).filter(name => !known.has(name))
  const placeOf = (name: string) => (first.includes(name) ? first.indexOf(name) : first.length)
  const views = subjectViews.toSorted((one, other) => placeOf(one.name) - placeOf(other.name))
  return [
    ...views
      .filter(({ name }) => hasPart(shown.profile.summary, name))
      .flatMap(({ toMarkdown }) => toMarkdown?.(shown, limits.profile) ?? []),
    ...others.slice(0, limits.profile).flatMap(name => writeData(name, shown.profile.data[name])),
  ]
}

/** A panel without Markdown of its own is written as JSON. */
function writePanel(shown: ShownProfile, panel: string): readonly string[] {
  const view = subjectViews.find(({ name }) => name === panel)
  const { data, processData } = shown.profile
  const parts =
    view?.toMarkdown?.(shown, limits.panel) ??
    [data, processData].flatMap(data =>
      partsOf(panel).flatMap(name => (data[name] === undefined ? [] : writeData(name, data[name]))),
    )
  const isEmpty = parts.length === 0 && listUnseen(shown.profile, panel).length === 0
  return isEmpty ? [view?.nothing ?? 'No data for this panel.'] : parts
}

function writeData(name: string, data: unknown): string[] {
  return [`## ${toSpan(name)}`, toJsonBlock(data)]
}

function writeTitle(summary: ProfileSummary): string {
  const { method, outcome, status, url } = summary
  if (!unitOf(summary).isExchange) return `# ${capitalize(outcomes[outcome].word)}: ${toSpan(nameOfUnit(summary))}`
  return `# ${status === 0 ? 'No response' : `${status} ${statusText(status)}`}: ${toSpan(`${method} ${url}`)}`
}

function writeSummary({ children, isPinned, parent, profile }: ShownProfile): string {
  const { summary } = profile
  const { controller, contentType, duration, exception, ip, memory, operation, outcome, route, time, token } = summary
  const relate = (token: string, found: ProfileSummary | undefined) =>
    `${toSpan(token)} ${found === undefined ? '(profile deleted)' : describeRelative(found)}`
  const facts = [
    `Token: ${toSpan(token)}${isPinned ? ', pinned' : ''}`,
    `Time: ${formatMoment(time)}`,
    `Duration: ${formatDuration(duration)}`,
    ...writeCounts(summary, 'duration').map(capitalize),
    `Heap: ${formatBytes(memory)}`,
    `Outcome: ${outcome}`,
    ...(ip === '' ? [] : [`Client: ${toSpan(ip)}`]),
    ...(operation === null ? [] : [`Operation: ${toSpan(operation)}`]),
    ...(route === null ? [] : [`Route: ${toSpan(route)}`]),
    ...(controller === null ? [] : [`Controller: ${toSpan(controller)}`]),
    ...(contentType === null ? [] : [`Content type: ${toSpan(contentType)}`]),
    ...(exception === null ? [] : [`Exception: ${toSpan(exception)}`]),
    ...(summary.parent === null ? [] : [`Sub-request of ${relate(summary.parent, parent)}`]),
  ]
  const subRequests = profile.children.map(token =>
    relate(
      token,
      children.find(child => child.token === token),
    ),
  )
  return [
    ...facts.map(fact => `- ${fact}`),
    ...(subRequests.length === 0 ? [] : [toList(subRequests, limits.profile, text => `Sub-request ${text}`)]),
  ].join('\n')
}

function describeRelative({ controller, duration, status, url }: ProfileSummary): string {
  return `${status === 0 ? 'no response' : status} ${toSpan(controller ?? url)} ${formatDuration(duration)}`
}
