import { severityOf } from '../../../lib/log/create-logger.ts'
import { formatTree, type ValueTree } from '../../../lib/redact/value-tree.ts'
import { writeErrorPrompt } from '../export/conclusions.ts'
import { toList, toSpan } from '../export/markdown-text.ts'
import type { PreviousComparison } from '../insight/compare/judge-comparison.ts'
import type { Durations } from '../insight/durations.ts'
import { linkToPlace } from '../insight/findings/finding.ts'
import type { Reason } from '../insight/overview/answer.ts'
import { summarizeProfile, type UsualTime } from '../insight/overview/overview.ts'
import { type OverviewPart, toPlainText } from '../insight/overview/sentence.ts'
import type { TimePart } from '../insight/overview/time-parts.ts'
import type { ShownProfile } from '../insight/relatives.ts'
import { describeTimes, listClaims, type SinceEdit } from '../insight/since-edit.ts'
import { isError, toSummaryView } from '../insight/summary-view.ts'
import { type ContentData, writeContent } from '../profile/content.ts'
import { readExceptions } from '../profile/exceptions.ts'
import {
  formatCount,
  formatDuration,
  formatMicroseconds,
  formatMoment,
  formatNumber,
  formatShare,
  formatSize,
  formatText,
  formatTime,
  shorten,
} from '../profile/format.ts'
import { compareLink, profileLink, routeLink } from '../profile/links.ts'
import type { Profile, ProfileSummary } from '../profile/profile.ts'
import { inWordsOf, unitOf } from '../profile/units.ts'
import { readCalled } from '../profile/work.ts'
import { readResponseContent } from '../subjects/exchange/read.ts'
import { readCalls } from '../subjects/http/read.ts'
import { isReportOf, readLogs } from '../subjects/logs/read.ts'
import type { EditorLinks, PlaceView } from './editor-links.ts'
import { type FrameView, viewExceptions } from './exceptions.ts'
import { viewFindings } from './findings.ts'
import { isPage, viewVerification } from './parts.ts'
import type { PanelModel, PanelProfile, SubjectView } from './subject-view.ts'
import { cutText, item, limitRows, row, type ToolbarItem, type ToolbarProfile } from './toolbar-items.ts'
import { viewTrailBefore } from './trail.ts'

/** The most findings, logged errors and changes. */
const listLimit = 5

const stepLimit = 8

/** Where the time went, and what is wrong. */
export const overviewView: SubjectView = {
  name: 'overview',
  label: 'Overview',
  template: 'profiler/panels/overview',
  stored: [],
  hasContent: () => true,

  async toView(shown, app) {
    const { editor } = app
    const { findings, findPrevious, profile, sinceEdit } = shown
    const { token } = profile.summary
    const { parts, reason, sentence, usual } = summarizeProfile(shown)
    const exception = viewException(profile, toPlainText(sentence), reason, editor)
    const refusal = viewRefusal(reason, token)
    const trail = viewTrailBefore(profile, editor, { limit: stepLimit, table: 'before' })
    return {
      sentence: sentence.map(part => ({
        ...part,
        place: viewValue(part, profile, editor),
      })),
      exception,
      exceptionLink: profileLink(token, 'exception'),
      trail,
      given: viewGiven(profile),
      prompt: exception !== false && writeErrorPrompt(profile, token),
      verification: profile.summary.exception !== null && viewVerification(profile, 'exception'),
      refusal,
      sinceEdit: sinceEdit !== undefined && viewSinceEdit(sinceEdit, token, editor),
      previous: viewPrevious(await findPrevious(profile), shown),
      parts: viewParts(parts, profile),
      ...viewLinked(shown),
      noun: unitOf(profile.summary).noun,
      nouns: unitOf(profile.summary).nouns,
      isExchange: unitOf(profile.summary).isExchange,
      errors: viewErrors(profile, editor, trail === false ? [] : trail.anchors),
      // One question for a coding agent is enough: that about the exception, or about the worst finding.
      findings: (await viewFindings(findings.slice(0, listLimit), shown, app)).map((finding, index) => ({
        ...finding,
        ...((exception !== false || index > 0) && { prompt: '' }),
      })),
      more: findings.length > listLimit ? formatCount(findings.length - listLimit, 'more finding') : '',
      findingsLink: profileLink(token, 'findings'),
      usual: viewUsual(usual, profile),
    }
  },

  toMarkdown(shown, limit) {
    const { parts, usual } = summarizeProfile(shown)
    const { before, since, start } = usual
    const whole = shown.profile.summary.duration * 1000
    const times = [
      ...(usual.count === 0 ? [] : [`Usual: ${describe(usual, shown.profile)}`]),
      ...(start === undefined ? [] : [`The process started at ${formatMoment(start)}`]),
      ...(before === undefined ? [] : [`Before the start: ${describe(before, shown.profile)}`]),
      ...(since === undefined ? [] : [`Since the start: ${describe(since, shown.profile)}`]),
    ]
    return [
      '## Overview',
      toList(
        parts,
        limit,
        ({ label, time }) => `${toSpan(label)} ${formatMicroseconds(time)}, ${formatShare(time, whole)}`,
      ),
      times.map(line => `- ${line}`).join('\n'),
      ...writeSinceEdit(shown),
    ].filter(block => block !== '')
  },

  toItems: toEditItem,
}

/** Characters and lines of what a unit was given, and of what came of it. Their panels have all of it. */
const givenLimit = 300
const givenLines = 10

/** What the work was given, and what came of it: the request and the response, or the input and the result. */
function viewGiven(profile: Profile): PanelModel[] {
  const { request, unit = {} } = profile.collectors
  const { body, query = [] } = request ?? {}
  const { files = [], form = [], ...content } = body ?? {}
  const sent = [
    ...[...query, ...form].map(([name, value]) => `${name}: ${formatText(value)}`),
    ...files.map(
      ({ field, name, size, type }) => `${field}: ${[name, type, formatSize(size)].filter(Boolean).join(', ')}`,
    ),
    indentContent(content),
  ]
  const response = readResponseContent(profile)
  const view = (title: string, panel: string, text: string, facts = '') => ({
    title,
    facts,
    link: profileLink(profile.summary.token, panel),
    text: shorten(text.split('\n').slice(0, givenLines).join('\n'), givenLimit),
  })
  const answer = response === undefined || isPage(response) ? '' : indentContent(response)
  const exchange = [
    view('Request', 'request', sent.filter(Boolean).join('\n'), factsOf(body)),
    view('Response', 'request', answer, factsOf(response)),
  ]
  return [
    // As in their panel: a response that refuses something says why.
    ...(profile.summary.status >= 400 ? exchange.reverse() : exchange),
    view('Input', 'unit', writeFields(unit.input)),
    view('Result', 'unit', writeFields(unit.result)),
  ].filter(({ facts, text }) => facts !== '' || text !== '')
}

/** Writes the fields of a value in lines, without its own name. */
function writeFields(value: ValueTree | undefined): string {
  const { entries = [] } = value ?? {}
  if (value === undefined || entries.length === 0) return value === undefined ? '' : formatTree(value)
  return entries.map(({ name, value }) => `${name}: ${formatTree(value)}`).join('\n')
}

function factsOf({ length, type = '' }: Partial<ContentData> = {}): string {
  return [type, formatSize(length)].filter(Boolean).join(', ')
}

/** Writes a content as it was sent, but JSON on several lines. */
function indentContent(content: Pick<ContentData, 'form' | 'json' | 'text'>): string {
  return content.json === undefined ? writeContent(content) : JSON.stringify(content.json[0], null, 2)
}

/** More profiles of each relation are not listed: a socket may have thousands of messages. */
const linkedLimit = 25

/**
 * The profiles that lead to this one, which say why it ran, and those to which it leads; without sub-requests. Of many,
 * those with errors come first.
 */
function viewLinked({ caller, findLinked, profile }: PanelProfile): PanelModel {
  const { attempts, caused, causes } = findLinked(profile)
  const least = readCalls(profile).omitted === 0 ? '' : 'at least '
  const origins = [
    { title: 'Called by', units: caller === undefined ? [] : [caller] },
    { title: 'Started by', units: causes },
  ]
  const others = [
    { title: 'Calls', units: readCalled(profile).map(({ summary }) => summary) },
    { title: 'Started', units: caused },
    { title: 'Other attempts', units: attempts },
  ]
  const view = (unit: ProfileSummary) => ({
    ...toSummaryView(unit),
    program: unit.program === profile.summary.program ? '' : unit.program,
  })
  const viewGroups = (groups: typeof others) =>
    groups.flatMap(({ title, units }): PanelModel[] => {
      const { length } = units
      if (length === 0) return []
      if (length <= linkedLimit) return [{ title, units: units.map(view) }]
      const first = units.toSorted((a, b) => Number(isError(b)) - Number(isError(a))).slice(0, linkedLimit)
      const shown = `${linkedLimit} of ${title === 'Calls' ? least : ''}${formatNumber(length)}`
      return [{ title, shown, units: first.map(view) }]
    })
  return { origins: viewGroups(origins), linked: viewGroups(others) }
}

/** The refused fields, of which the sentence names the first; `false` if there are no others. */
function viewRefusal({ panel = '', refused = [] }: Partial<Reason> = {}, token: string) {
  const left = refused.length - listLimit
  return (
    refused.length > 1 && {
      title: panel === 'request' ? 'The response says' : 'Refused input',
      fields: refused
        .slice(0, listLimit)
        .map(({ field, message }) => ({ field, message: shorten(message, messageLimit) })),
      more: left > 0 ? formatCount(left, 'more issue') : '',
      link: profileLink(token, panel),
    }
  )
}

/** The view of a part of the sentence: a place of the code, or the controller; `false` for other parts. */
function viewValue(part: OverviewPart, { summary }: Profile, editor: EditorLinks): PlaceView | false {
  const { isForeign, isPlace, isValue, text } = part
  if (isValue && !isForeign && text === summary.controller) return editor.viewController(text)
  return isPlace === true && editor.viewText(text)
}

/** The first exception with its first place in the application. The panel of exceptions has all of them. */
function viewException(
  profile: Profile,
  sentence: string,
  reason: Reason | undefined,
  editor: EditorLinks,
): object | false {
  const { exceptions } = viewExceptions(profile, editor)
  const [first, ...others] = exceptions
  if (first === undefined) return false
  const { message, name } = first
  const frames = exceptions.flatMap(({ groups }) => groups.flatMap(({ frames }) => frames))
  const frame = frames.find(({ isOpen }) => isOpen) ?? frames.find(({ origin }) => origin === 'application')
  // If the sentence has the message, or names routes instead, or the refused fields are listed, it is not repeated.
  const isSaid =
    reason?.panel === 'validation' ||
    (reason?.isOfRoutes === true && sentence.includes(name)) ||
    (message !== '' && sentence.includes(message.replace(/\.$/, '')))
  return {
    name,
    message,
    isSaid,
    hasBlock: !isSaid || frame !== undefined,
    frame: frame !== undefined && { ...frame, lines: cutLines(frame.lines) },
    others: others.length === 0 ? '' : formatCount(others.length, 'more exception'),
  }
}

/** Lines of source around the one that has thrown. */
const linesAround = 3

function cutLines(lines: FrameView['lines']): FrameView['lines'] {
  const marked = lines.findIndex(({ isMarked }) => isMarked)
  return lines.filter((_, index) => Math.abs(index - marked) <= linesAround)
}

/** What has changed since the previous request; `false` if the section about the last edit says so. */
function viewPrevious(found: PreviousComparison | undefined, { profile, sinceEdit }: ShownProfile): PanelModel | false {
  if (found === undefined || found.previous.token === sinceEdit?.before.token) return false
  const { likeness, previous, verdict } = found
  const { changes } = verdict
  // Of another time, the sentence says more: it compares it with all earlier ones.
  if (changes.length === 0) return false
  const link = compareLink(previous.token, profile.summary.token)
  return {
    changes: changes.slice(0, listLimit).map(({ part, text }) => ({ text, link: `${link}#part-${part}` })),
    more: changes.length > listLimit ? `${changes.length - listLimit} more` : '',
    token: previous.token,
    time: formatTime(previous.time),
    likeness,
    link,
  }
}

/** More parts cannot be distinguished in a bar. */
const partLimit = 8

/** Shorter parts are no answer to where the time went, unless there are so many that together they are one. */
const leastShare = 0.02
const restShare = 0.1

/** Lays the parts out as a bar of 1,000 units; short parts are one part together. */
function viewParts(parts: readonly TimePart[], { summary }: Profile) {
  const sumFrom = (index: number) => parts.slice(index).reduce((sum, { time }) => sum + time, 0)
  const whole = sumFrom(0)
  const isShown = ({ time }: TimePart, index: number) =>
    index < partLimit && (time >= whole * leastShare || sumFrom(index) > whole * restShare)
  const shown = parts.filter(isShown)
  const others = parts.slice(shown.length)
  const left = sumFrom(shown.length)
  const rest = { kind: 'unknown', label: `${others.length} short parts`, time: left, place: { panel: 'time' } }
  let start = 0
  return [...shown, ...(others.length > 1 ? [rest] : others)].map(({ kind, label, place, time }) => {
    const x = start
    start += time
    return {
      kind,
      label,
      time: formatMicroseconds(time),
      share: formatShare(time, whole),
      link: linkToPlace(place, summary.token),
      x: toUnits(x, whole),
      width: toUnits(time, whole),
    }
  })
}

function toUnits(time: number, whole: number): string {
  return ((time / whole) * 1000).toFixed(1)
}

/** Characters. The log has the whole message. */
const messageLimit = 300

/** The logged errors that are no steps of the trail. */
function viewErrors(profile: Profile, editor: EditorLinks, steps: readonly string[]) {
  const link = profileLink(profile.summary.token, 'logger')
  const all = readLogs(profile).logs.filter(({ level }) => severityOf(level) === 'error')
  // The exception is shown above.
  const [thrown] = readExceptions(profile)
  const logs = all.filter(log => !isReportOf(log, thrown) && !steps.includes(`log-${log.index}`))
  const errors = profile.summary.errors - all.length + logs.length
  return {
    logs: logs.slice(0, listLimit).map(({ caller, index, level, message }) => {
      return {
        level,
        message: shorten(message, messageLimit),
        place: editor.view(caller),
        link: `${link}#log-${index}`,
      }
    }),
    more: errors > listLimit ? formatCount(errors - listLimit, 'more error') : '',
    link,
  }
}

function viewUsual(usual: UsualTime, { summary }: Profile): PanelModel {
  const { before, lastBefore, since } = usual
  return {
    count: usual.count,
    rows: [
      viewDurations(`earlier ${unitOf(summary)[usual.count === 1 ? 'noun' : 'nouns']}`, usual),
      // If all are on one side of the restart, the first line has their times.
      viewDurations('before the restart', since && before),
      viewDurations('since the restart', before && since),
    ].flat(),
    routeLink: summary.route === null ? '' : routeLink({ route: summary.route, program: summary.program }),
    compareLink: lastBefore === undefined ? '' : compareLink(lastBefore.token, summary.token),
  }
}

function viewDurations(name: string, durations: Durations | undefined): PanelModel[] {
  if (durations === undefined) return []
  const { count, median } = durations
  return [{ name: `${formatNumber(count)} ${name}`, median: formatDuration(median), most: writeMost(durations) }]
}

/** Of fewer than 20, the 95th percentile is the longest. Of one, the median is all. */
function writeMost({ count, p95 }: Durations): string {
  return count === 1 ? '' : `, ${count < 20 ? 'all' : '95 %'} within ${formatDuration(p95)}`
}

const fileLimit = 5

/** Creates the view of what has changed since an edit; `token` is that of the profile. */
function viewSinceEdit(sinceEdit: SinceEdit, token: string, editor: EditorLinks) {
  const { before, changes, files, isSameUrl, time, times } = sinceEdit
  return {
    files: files.slice(0, fileLimit).map(file => editor.viewName(file, { file })),
    more: files.length > fileLimit ? formatCount(files.length - fileLimit, 'more file') : '',
    since: formatTime(time),
    time: describeTimes(times),
    rows: [describeTimes(times), ...changes],
    isSameUrl,
    before: { token: before.token, link: profileLink(before.token) },
    compareLink: compareLink(before.token, token),
  }
}

function toEditItem({ editor, sinceEdit, summary: { token } }: ToolbarProfile): ToolbarItem[] {
  const claims = sinceEdit === undefined ? [] : listClaims(sinceEdit)
  const [worst] = claims
  if (sinceEdit === undefined || worst === undefined) return []
  const { before, files } = sinceEdit
  const [file = '', ...others] = files
  const edited = others.length === 0 ? file : `${file} and ${formatCount(others.length, 'other file')}`
  const left = claims.length - shownClaims
  const link = `${profileLink(token, 'overview')}#since-edit`
  const texts = claims.slice(0, shownClaims).map(({ text }) => text)
  return [
    item(
      { name: 'edit', label: 'Since your edit' },
      {
        order: 70,
        pill: 'edit',
        text: [...texts, ...(left > 0 ? [`${left} more`] : [])].join(', '),
        tone: worst.tone,
        link,
        rows: [
          row('Edited', '', { place: editor.viewName(cutText(edited), { file }) }),
          ...limitRows(
            claims.map(({ before, name, now, tone }) => row(name, cutText(`${before} → ${now}`), { tone })),
            link,
          ),
          row('Before', before.token, { link: compareLink(before.token, token) }),
        ],
      },
    ),
  ]
}

/** The texts in the bar. */
const shownClaims = 2

/** What has changed since the last edit of files. */
function writeSinceEdit({ sinceEdit }: ShownProfile): string[] {
  if (sinceEdit === undefined) return []
  const { before, changes, files, isSameUrl, time, times } = sinceEdit
  const lines = [
    `Edited: ${files.map(toSpan).join(', ')}, at ${formatMoment(time)}`,
    `Compared with ${toSpan(before.token)}, ${inWordsOf(before, `the last request of the same ${isSameUrl ? 'URL' : 'route'}`)} before`,
    ...[describeTimes(times), ...changes].map(
      ({ before, name, now, text }) => `${toSpan(name)} ${toSpan(before)} → ${toSpan(now)}: ${toSpan(text)}`,
    ),
  ]
  return ['### Since your edit', lines.map(line => `- ${line}`).join('\n')]
}

function describe(durations: Durations, { summary }: Profile): string {
  const { count, median } = durations
  return `median ${formatDuration(median)}${writeMost(durations)}, ${formatCount(count, `earlier ${unitOf(summary).noun}`)}`
}
