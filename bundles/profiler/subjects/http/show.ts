import { toList, toSpan, writeCaller, writeRest } from '../../export/markdown-text.ts'
import { createCallCurl } from '../../export/snippets.ts'
import type { EditorLinks } from '../../panels/editor-links.ts'
import { toBar, viewContent } from '../../panels/parts.ts'
import type { SubjectView } from '../../panels/subject-view.ts'
import { cutText, item, itemRowLimit, limitRows, row, type ToolbarRow } from '../../panels/toolbar-items.ts'
import { type MessageData, writeContent } from '../../profile/content.ts'
import { formatBytes, formatCount, formatDuration, formatNumber, formatText, shorten } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { profileLink } from '../../profile/links.ts'
import {
  type CalledRequest,
  countFor,
  coveredWorkTime,
  formatWorkTime,
  type Period,
  periodOf,
  readCalled,
  readStops,
  workTime,
} from '../../profile/work.ts'
import { callWork, countBadCalls, patternOf, phasesOf, readCalls, type StoredCall } from './read.ts'

/** The HTTP client calls, with their outcomes and phases. */
export const callsView: SubjectView = {
  name: 'http',
  label: 'HTTP Client',
  template: 'profiler/panels/http',

  hasContent: ({ profile }) => readCalls(profile).calls.length > 0,

  countBad: countBadCalls,

  badge: ({ profile }) => countFor(countBadCalls(profile), callWork.count(profile)),

  toView({ profile }, { editor }) {
    const called = readCalled(profile)
    const { calls, more, omitted } = readCalls(profile)
    const ended = calls.filter(({ end }) => end !== undefined)
    const whole = spanOf(calls)
    const hosts = calls.map(({ url }) => splitAddress(url).host)
    const sum = formatDuration(ended.reduce((sum, call) => sum + workTime(call), more.total))
    const covered = formatDuration(coveredWorkTime([...ended, ...more.periods], readStops(profile)))
    return {
      isEmpty: calls.length === 0,
      count: callWork.count(profile),
      omitted: omitted === 0 ? '' : formatNumber(omitted),
      failed: calls.filter(({ outcome }) => outcome.level === 'error').length + more.failed,
      unfinished: calls.length - ended.length + (more.ended === 0 ? 0 : omitted - more.ended),
      sum,
      covered: covered === sum ? '' : covered,
      from: formatDuration(whole.start),
      until: formatDuration(whole.start + whole.duration),
      calls: calls.map((call, index) => ({
        ...toRow(call, whole, editor),
        isShort: hosts[index] === hosts[index - 1],
        isOpen: calls.length === 1,
        messages: viewMessages(call),
        called: viewCalled(called.find(({ index }) => index === call.index)),
      })),
    }
  },

  toMarkdown({ profile }, limit) {
    const { calls, omitted } = readCalls(profile)
    return calls.length === 0
      ? []
      : [
          '## HTTP client calls',
          toList(calls, limit, writeCall, call => (hasFailed(call) ? 0 : 1)),
          ...writeRest(omitted),
        ]
  },

  toItems({ editor, profile, summary }) {
    const { calls } = readCalls(profile)
    const count = Math.max(profile.summary.calls, calls.length)
    if (count === 0) return []
    const bad = countBadCalls(profile)
    const link = profileLink(summary.token, 'http')
    const groups = [...groupBy(calls, call => `${call.outcome.text} ${patternOf(call)}`).values()]
    const shown = groups.sort((one, other) => failuresIn(other) - failuresIn(one)).slice(0, itemRowLimit)
    const rows = shown.map(group => toCallRow(group, link, editor))
    return [
      item(callsView, {
        order: 130,
        text: [formatCount(count, 'HTTP client call'), bad.text].filter(Boolean).join(', '),
        tone: bad.count === 0 ? 'plain' : bad.tone,
        link,
        rows: limitRows(rows, link, count - shown.flat().length),
      }),
    ]
  },
}

/** The facts of a call that the panel and Markdown show. Those that are not known are empty. */
function describe(call: StoredCall) {
  const { bytes, error, index, isCounted, outcome, twin } = call
  return {
    number: index + 1,
    outcome: outcome.text,
    time: formatWorkTime(call),
    phases: phasesOf(call).map(({ duration, name }) => ({ name, time: formatDuration(duration) })),
    bytes: bytes === undefined ? '' : `${isCounted ? '≈ ' : ''}${formatBytes(bytes)}`,
    error,
    twin: twin === undefined ? '' : `same as ${twin + 1}`,
  }
}

function toRow(call: StoredCall, whole: Period, editor: EditorLinks) {
  const { client, index, method, outcome, start, twin, url } = call
  const phases = phasesOf(call)
  const known = phases.length > 0 ? phases : [{ name: 'whole', ...periodOf(call) }]
  const facts = describe(call)
  const address = splitAddress(url)
  return {
    ...facts,
    id: `call-${index}`,
    index,
    lead: facts.number,
    tone: ['error', 'warning'].includes(outcome.level) ? outcome.level : '',
    mark: { text: outcome.text, tone: outcome.level },
    client,
    method,
    ...address,
    // The line has no room for a long one.
    whole: url.endsWith(address.target) ? '' : url,
    twinIndex: twin,
    start: formatDuration(start),
    where: editor.nameCaller(call.caller),
    site: editor.view(call.caller),
    facts: [{ text: facts.bytes, isMinor: true }, { text: facts.time }],
    bars: known.map(({ name, ...period }) => ({ kind: name, ...toBar(period, whole) })),
    command: createCallCurl(call),
  }
}

/** The link to the profile of the request that a call has made; `false` if it is not stored. */
function viewCalled(called: CalledRequest | undefined) {
  if (called === undefined) return false
  const { duration, program, token } = called.summary
  return { name: program ?? token, link: profileLink(token), duration: formatDuration(duration) }
}

const urlLimit = 160

/** The parts of an address: calls of one host differ by their target only. A line has no room for a long one. */
function splitAddress(url: string): { readonly host: string; readonly target: string } {
  const [, host = '', target = ''] = /^(?:https?:\/\/([^/]*))?(.*)$/s.exec(url) ?? []
  return { host, target: shorten(target, urlLimit) }
}

/** Characters of a text in a message of a call on a page: the table of the calls has pages of rows. */
const contentLimit = 4_000

function viewMessages({ index, request, response }: StoredCall) {
  return [
    { title: 'Request', name: 'request', message: request },
    { title: 'Response', name: 'response', message: response },
  ].flatMap(({ message, name, title }) => {
    if (message === undefined) return []
    const headers = message.headers.map(([name, value]) => `${name}: ${formatText(value)}`).join('\n')
    const content = message.content && viewContent(message.content, `call-${name}-${index}`, '', contentLimit)
    return [{ title, headers, content }]
  })
}

/** The period from the first known moment of a call to the last. */
function spanOf(calls: readonly StoredCall[]): Period {
  const start = Math.min(...calls.map(({ start }) => start))
  const times = calls.flatMap(({ end, head, sent, start, uploaded }) => [start, sent, uploaded, head, end])
  const end = Math.max(...times.filter(time => time !== undefined))
  return calls.length === 0 ? { start: 0, duration: 0 } : { start, duration: Math.max(0, end - start) }
}

function writeCall(call: StoredCall): string {
  const { caller, method, request, response, url } = call
  const { bytes, error, number, outcome, phases, time, twin } = describe(call)
  const facts = [
    `${number}. ${toSpan(method)} ${toSpan(url)}: ${outcome}${time === '' ? '' : `, ${time}`}`,
    phases.map(({ name, time }) => `${name} ${time}`).join(', '),
    bytes,
    error && toSpan(error),
    caller.file === undefined ? '' : writeCaller(caller),
    twin,
  ]
  return [
    facts.filter(Boolean).join('; '),
    ...writeMessage('sent', request),
    ...writeMessage('received', response),
  ].join('\n')
}

/** The content of a message on one line; its headers are in the JSON of the profile. */
function writeMessage(name: string, message: MessageData | undefined): string[] {
  const content = message?.content
  if (content === undefined) return []
  return [
    `  - ${name} ${content.type === '' ? 'no content type' : toSpan(content.type)}: ${toSpan(writeContent(content))}`,
  ]
}

/** The row of calls with the same outcome that differ in values only. Sizes and times are sums. */
function toCallRow(calls: readonly [StoredCall, ...StoredCall[]], link: string, editor: EditorLinks): ToolbarRow {
  const [call] = calls
  const { caller, index, method, status, url } = call
  const times = calls.length === 1 ? '' : `${formatNumber(calls.length)} × `
  const name = calls.every(other => other.url === url) ? url : patternOf(call).slice(method.length + 1)
  const bytes = calls.reduce((sum, { bytes = 0 }) => sum + bytes, 0)
  const duration = calls.reduce((sum, call) => sum + workTime(call), 0)
  const facts = [...(bytes === 0 ? [] : [formatBytes(bytes)]), formatDuration(duration)]
  return row(`${status || '–'} ${method}`, [`${times}${cutText(name)}`, ...facts].join(' · '), {
    link: `${link}#call-${index}`,
    tone: hasFailed(call) ? 'error' : 'plain',
    place: editor.viewCaller(caller),
  })
}

function failuresIn(calls: readonly StoredCall[]): number {
  return calls.filter(hasFailed).length
}

function hasFailed({ error, status }: StoredCall): boolean {
  return error !== '' || status >= 400
}
