import type { Occurrences } from '../insight/relatives.ts'
import { planReplay } from '../insight/replay/replay.ts'
import { type BodyData, type ContentData, writeContent } from '../profile/content.ts'
import { findThrowPlace } from '../profile/exceptions.ts'
import { formatCount, formatSize, formatTime, TreeViewer, toPairRows, valueTreeLimit } from '../profile/format.ts'
import { listLink, profileLink, replayLink, verifyLink } from '../profile/links.ts'
import type { Profile } from '../profile/profile.ts'
import type { Period } from '../profile/work.ts'

/** Characters of a text on a page: the pages of the profiler are small. */
const shownLimit = 16_000

/** Makes the view of a content, of which `limit` characters are shown; `link` leads to all of it. */
export function viewContent(content: ContentData, id: string, link = '', limit: number = shownLimit) {
  const { digest, isCut, json, length, note, type } = content
  const text = writeContent(content)
  const isTree = json !== undefined && text.length <= limit * 8
  const shown = isTree ? '' : text
  const notes = [
    ...(note === undefined ? [] : [note]),
    ...(isCut ? [`The first ${formatCount(text.length, 'character')} are stored.`] : []),
    ...(shown.length > limit ? [`The first ${formatCount(limit, 'character')} are shown.`] : []),
    ...(digest === undefined ? [] : [`SHA-256 ${digest}…`]),
  ]
  return {
    facts: [type, formatSize(length)].filter(fact => fact !== '').join(', '),
    tree: isTree && new TreeViewer(valueTreeLimit, link === '').viewJson(json[0], true),
    text: shown.slice(0, limit).toWellFormed(),
    id,
    note: notes.join(' '),
    link: text === '' ? '' : link,
    linkLabel: isPage(content) ? 'Preview' : 'Open as text',
    isShortened: link === '' && shown.length > limit,
  }
}

/** Whether a content is a page that a browser can show. */
export function isPage({ text, type }: ContentData): boolean {
  return type === 'text/html' && text !== undefined
}

/** Makes the view of a request's body: fields, files, and the content as far as it was recorded. */
export function viewBody(body: BodyData | undefined) {
  const { form = [], json } = body ?? {}
  const size = [body?.type || 'no content type', formatSize(body?.length) || 'of unknown length'].join(', ')
  return {
    form: toPairRows(form),
    files: viewFiles(body),
    content: {
      size: body === undefined ? '' : size,
      tree: json !== undefined && new TreeViewer(valueTreeLimit).viewJson(json[0], true),
      raw: body === undefined ? '' : writeContent(body),
      message: body === undefined ? noContent : messageOf(body),
      isEmpty: body === undefined || messageOf(body) === noContent,
    },
  }
}

/** The uploaded files of a body, for the template `profiler/files`. */
export function viewFiles({ files = [] }: Pick<BodyData, 'files'> = {}) {
  return files.map(file => ({ ...file, size: formatSize(file.size) }))
}

const noContent = 'No request content. The body of a form or of JSON appears here.'

/** Why there is no content; empty when there is some. */
function messageOf({ files = [], form = [], json, note, state }: BodyData): string {
  if (state === 'parent') return 'The body is in the profile of the parent request.'
  if (state === 'unread')
    return 'The application did not read the body: only the type and length that the client sent are known.'
  if (state === 'broken') return 'The body is incomplete or invalid.'
  if (note !== undefined) return note
  if (files.length > 0) return 'Files are never stored; the form fields are above.'
  return form.length > 0 || json !== undefined ? '' : noContent
}

/** Creates the view of the other requests with an error; `false` for an error without a fingerprint. */
export function viewOccurrences(found: Occurrences | undefined) {
  if (found === undefined) return false
  const { count, fingerprint, first, hasMore, last, latest, program, routes } = found
  const others = formatCount(count, 'other request')
  return {
    fingerprint,
    count: count === 0 ? '' : hasMore ? `more than ${others}` : others,
    link: listLink({ error: fingerprint, ...(program !== undefined && { program }), limit: '50' }),
    first: first !== undefined && formatTime(first),
    last: last !== undefined && formatTime(last),
    routes: routes < 2 ? '' : formatCount(routes, 'route'),
    latest: latest.map(({ token }) => ({ token, link: profileLink(token, 'exception') })),
  }
}

/** Writes the view as a sentence. */
export function describeOccurrences({
  count,
  fingerprint,
  first,
  last,
  routes,
}: Exclude<ReturnType<typeof viewOccurrences>, false>): string {
  if (first === false || last === false) return `No other stored request has this error (${fingerprint}).`
  const on = routes === '' ? '' : `, on ${routes}`
  return `Seen in ${count} (${fingerprint}): first ${first.iso}, last ${last.iso}${on}.`
}

/**
 * Creates the view of the button that verifies a fix; `false` for a request that cannot be replayed,
 * or for an exception without a place that could be changed, such as that of a missing page.
 */
export function viewVerification(profile: Profile, flaw: string) {
  const { time, token } = profile.summary
  if (flaw === 'exception' && findThrowPlace(profile) === undefined) return false
  const plan = planReplay(profile)
  if (!plan.isPossible) return false
  const isElsewhere = plan.address !== undefined
  return { link: replayLink(token), verifyLink: verifyLink(token), flaw, time, isElsewhere }
}

/** A bar in a picture: in units of its width of 1,000, or in percent. */
export interface Bar {
  readonly x: string
  readonly width: string
}

const pictureWidth = 1000
const leastWidth = 4

/**
 * Draws a period in a picture that shows `whole`: wide enough to be seen, and never beyond the edges. Any unit of time.
 */
export function toBar({ start, duration }: Period, whole: Period): Bar {
  const width = clamp(pictureWidth * shareOf(duration, whole), leastWidth, pictureWidth)
  const x = clamp(pictureWidth * shareOf(start - whole.start, whole), 0, pictureWidth - width)
  return { x: round(x), width: round(width) }
}

/** Writes a position, to a hundred-thousandth of the width: `12.345%`. */
export function toPercent(percent: number): string {
  return `${Number(percent.toFixed(3))}%`
}

function shareOf(part: number, { duration }: Period): number {
  const quotient = part / duration
  return Number.isFinite(quotient) ? quotient : 0
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10)
}
