import { statusText } from '../../../lib/http/response.ts'
import { formatTree } from '../../../lib/redact/value-tree.ts'
import { summarizeProfile } from '../insight/overview/overview.ts'
import type { OverviewPart } from '../insight/overview/sentence-parts.ts'
import type { Durations } from '../insight/overview/usual-time.ts'
import type { ShownProfile } from '../insight/relatives.ts'
import { describeTimes } from '../insight/since-edit/since-edit.ts'
import { type BrowserError, describeBrowserError, placeOfBrowserError } from '../profile/browser-data.ts'
import type { ConsoleEntry } from '../profile/console-data.ts'
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatMicroseconds,
  formatNumber,
  formatPlace,
  formatShare,
} from '../profile/format.ts'
import { formatMoment } from '../profile/format-value.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import {
  describeSchema,
  describeValidation,
  inputNames,
  receivedAt,
  type ValidationData,
} from '../profile/validation-data.ts'
import { collectorsOfPanel } from './json.ts'
import { type Section, toBlock, toJsonBlock, toList, toSpan } from './markdown-text.ts'
import { cacheSection, databaseSection } from './query-sections.ts'
import { exceptionSection, exchangeSection, findingsSection, routingSection } from './request-sections.ts'
import {
  callsSection,
  cpuSection,
  eventsSection,
  logsSection,
  memorySection,
  templatesSection,
  timeSection,
} from './work-sections.ts'

/** Writes the sentence of the overview, with the addresses of its links. */
function writeOverview(subject: ShownProfile): string {
  const { sentence } = summarizeProfile(subject)
  return sentence.map(writePart).join('')
}

function writePart({ isValue, link, text }: OverviewPart): string {
  if (isValue) return toSpan(text)
  return link === '' ? text : `${text} (${toSpan(link)})`
}

/** Where the time went, and the usual time of the request. */
const overviewSection: Section = {
  panel: 'overview',
  write(subject, limit) {
    const { parts, usual } = summarizeProfile(subject)
    const { before, since, start } = usual
    const whole = subject.profile.summary.duration * 1000
    const times = [
      ...(usual.count === 0 ? [] : [`Usual: ${describe(usual)}`]),
      ...(start === undefined ? [] : [`The process started at ${formatMoment(start)}`]),
      ...(before === undefined ? [] : [`Before the start: ${describe(before)}`]),
      ...(since === undefined ? [] : [`Since the start: ${describe(since)}`]),
    ]
    return [
      '## Overview',
      toList(
        parts,
        limit,
        ({ label, time }) => `${toSpan(label)} ${formatMicroseconds(time)}, ${formatShare(time, whole)}`,
      ),
      times.map(line => `- ${line}`).join('\n'),
      ...writeSinceEdit(subject),
    ].filter(block => block !== '')
  },
}

/** What has changed since the last edit of files. */
function writeSinceEdit({ sinceEdit }: ShownProfile): string[] {
  if (sinceEdit === undefined) return []
  const { before, changes, files, isSameUrl, time, times } = sinceEdit
  const lines = [
    `Edited: ${files.map(toSpan).join(', ')}, at ${formatMoment(time)}`,
    `Compared with ${toSpan(before.token)}, the last request of the same ${isSameUrl ? 'URL' : 'route'} before`,
    ...[describeTimes(times), ...changes].map(
      ({ before, name, now, text }) => `${toSpan(name)} ${toSpan(before)} → ${toSpan(now)}: ${toSpan(text)}`,
    ),
  ]
  return ['### Since your edit', lines.map(line => `- ${line}`).join('\n')]
}

function describe({ count, median, p95 }: Durations): string {
  return `median ${formatDuration(median)}, 95 % within ${formatDuration(p95)}, ${formatCount(count, 'earlier request')}`
}

/** The inputs that schemas have validated: result, issues, and the values as they were received. */
const validationSection: Section = {
  panel: 'validation',
  nothing: 'No schema has validated the input.',
  write({ profile }, limit) {
    const { omitted = 0, validations = [] } = profile.collectors.validation ?? {}
    if (validations.length === 0) return []
    return [
      '## Validation',
      ...validations.flatMap(validation => writeValidation(validation, limit)),
      ...(omitted === 0 ? [] : [`${formatNumber(omitted)} more were not recorded.`]),
    ]
  },
}

function writeValidation(validation: ValidationData, limit: number): string[] {
  const { end, error, input, issues, omittedIssues, source, start } = validation
  const time = end === undefined ? '' : `, took ${formatDuration(end - start)}`
  const head = `${inputNames[source]}: ${describeValidation(validation)} by ${toSpan(describeSchema(validation))}${time}`
  const list = toList(issues, limit, ({ message, path }) => {
    const received = receivedAt(validation, path)
    const field = path.length === 0 ? '' : `${toSpan(path.join('.'))}: `
    return `${field}${toSpan(message)}${received === '' ? '' : `, received ${toSpan(received)}`}`
  })
  return [
    head,
    ...(error === undefined ? [] : [`The schema has thrown ${toSpan(error)}`]),
    ...(list === '' ? [] : [list]),
    ...(omittedIssues === 0 ? [] : [`${formatNumber(omittedIssues)} more issues.`]),
    toBlock(formatTree(input)),
  ]
}

/** The calls of `dump` and of `console`. */
const consoleSection: Section = {
  panel: 'console',
  write({ profile }, limit) {
    const { entries = [], omitted = 0 } = profile.collectors.console ?? {}
    if (entries.length === 0) return []
    const rest = Math.max(0, entries.length - limit) + omitted
    return [
      '## Console',
      ...entries.slice(0, limit).flatMap(writeEntry),
      ...(rest === 0 ? [] : [`${rest.toLocaleString('en')} more are not listed.`]),
    ]
  },
}

function writeEntry({ at, callers = [], label, method, site, values }: ConsoleEntry): string[] {
  const place = site?.file === undefined ? '' : ` at ${toSpan(formatPlace(site))}`
  const head = `+${formatMicroseconds(at)} ${method}${label === undefined ? '' : ` ${toSpan(label)}`}${place}`
  const plain = method === 'dump' ? [] : values.filter(({ kind }) => kind === 'text')
  const lines = values.map(value => (plain.includes(value) ? value.text : formatTree(value)))
  const calls = callers.map(caller => ['at', caller.function, formatPlace(caller)].filter(Boolean).join(' '))
  return [head, ...(lines.length === 0 ? [] : [toBlock([...lines, ...calls].join('\n'))])]
}

/** The errors of the page in the browser. */
const browserSection: Section = {
  panel: 'browser',
  nothing: 'No errors in the browser.',
  write({ profile }) {
    const { errors = [], omitted = 0 } = profile.collectors.browser ?? {}
    if (errors.length === 0) return []
    return [
      '## Errors in the browser',
      ...errors.flatMap(writeBrowserError),
      ...(omitted === 0 ? [] : [`${omitted.toLocaleString('en')} more were not recorded.`]),
    ]
  },
}

function writeBrowserError(error: BrowserError): string[] {
  const { stack = '', times } = error
  const place = placeOfBrowserError(error)
  const head = [
    toSpan(describeBrowserError(error)),
    ...(place === '' ? [] : [`at ${toSpan(place)}`]),
    ...(times === 1 ? [] : [`(${times} times)`]),
  ]
  return [head.join(' '), ...(stack === '' ? [] : [toBlock(stack)])]
}

/** The sections in their order: the overview and the exception come first. */
const sections: readonly Section[] = [
  overviewSection,
  exceptionSection,
  findingsSection,
  exchangeSection,
  validationSection,
  databaseSection,
  cacheSection,
  logsSection,
  browserSection,
  consoleSection,
  eventsSection,
  routingSection,
  templatesSection,
  callsSection,
  timeSection,
  memorySection,
  cpuSection,
]

/** The maximal lengths of lists: in a whole profile, and in a single panel. */
const limits = { profile: 100, panel: 1000 } as const

/**
 * Writes a profile, or one panel of it, as Markdown for people and coding agents. It begins with the sentence of the
 * overview. Recorded texts are in code spans and
 * code blocks, so they cannot become headings, links or HTML. Long texts and lists are cut, and marked as such.
 */
export function toMarkdown(subject: ShownProfile, panel?: string): string {
  const parts = panel === undefined ? writeProfile(subject) : writePanel(subject, panel)
  const failures = Object.entries(subject.profile.failures)
  const notes = toList(
    failures,
    limits.profile,
    ([name, message]) => `The collector ${toSpan(name)} failed: ${toSpan(message)}`,
  )
  const all = [writeOverview(subject), writeTitle(subject.profile.summary), writeSummary(subject), notes, ...parts]
  return `${all.filter(part => part !== '').join('\n\n')}\n`
}

function writeProfile(subject: ShownProfile): string[] {
  const known = new Set(sections.flatMap(({ panel }) => collectorsOfPanel(panel)))
  const others = Object.keys(subject.profile.data).filter(name => !known.has(name))
  return [
    ...sections.flatMap(section => section.write(subject, limits.profile)),
    ...others.slice(0, limits.profile).flatMap(name => writeData(name, subject.profile.data[name])),
  ]
}

/** A panel without a section is written as JSON. */
function writePanel(subject: ShownProfile, panel: string): string[] {
  const section = sections.find(section => section.panel === panel)
  const names = collectorsOfPanel(panel)
  const parts = section?.write(subject, limits.panel) ?? [
    ...[subject.profile.data, subject.profile.processData].flatMap(data =>
      names.flatMap(name => (data[name] === undefined ? [] : writeData(name, data[name]))),
    ),
  ]
  return parts.length > 0 ? [...parts] : [section?.nothing ?? 'No data for this panel.']
}

function writeData(name: string, data: unknown): string[] {
  return [`## ${toSpan(name)}`, toJsonBlock(data)]
}

function writeTitle({ method, status, url }: ProfileSummary): string {
  return `# ${status === 0 ? 'No response' : `${status} ${statusText(status)}`}: ${toSpan(`${method} ${url}`)}`
}

function writeSummary({ children, isPinned, parent, profile }: ShownProfile): string {
  const { summary } = profile
  const { cacheCalls, controller, contentType, duration, exception, ip } = summary
  const { memory, outcome, queries, queryTime, route, time, token } = summary
  const relate = (token: string, found: ProfileSummary | undefined) =>
    `${toSpan(token)} ${found === undefined ? '(profile deleted)' : describeRelative(found)}`
  const facts = [
    `Token: ${toSpan(token)}${isPinned ? ', pinned' : ''}`,
    `Time: ${formatMoment(time)}`,
    `Duration: ${formatDuration(duration)}`,
    ...(queries === 0 ? [] : [`Queries: ${queries} in ${formatDuration(queryTime)}`]),
    ...(cacheCalls === 0 ? [] : [`Cache calls: ${cacheCalls}`]),
    `Heap: ${formatBytes(memory)}`,
    `Outcome: ${outcome}`,
    `Client: ${toSpan(ip)}`,
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
  return `${status} ${toSpan(controller ?? url)} ${formatDuration(duration)}`
}
