import { type Finding, linkToFinding, splitSentence } from '../insight/findings/finding.ts'
import type { RecordedFrame } from '../profile/code-data.ts'
import type { ContentData } from '../profile/content-data.ts'
import { readExceptions, readExcerpts, type StoredException, toPlace, toRest } from '../profile/exceptions.ts'
import type {
  BodyData,
  FoundRouteData,
  MissingRouteData,
  ProfiledSession,
  RedirectData,
  RedirectRouteData,
  ResponseData,
  SessionUseData,
} from '../profile/exchange-data.ts'
import { formatCount, formatDuration, formatPlace } from '../profile/format.ts'
import { formatMoment, formatSize } from '../profile/format-value.ts'
import { type Excerpt, isObject, type Pairs } from '../profile/schema.ts'
import { type Section, toBlock, toJsonBlock, toList, toSpan, toValueSpan } from './markdown-text.ts'

/** The request and its response, the session, and the redirects to this request. */
export const exchangeSection: Section = {
  panel: 'request',
  write({ profile }, limit) {
    const { redirects = [], request, response, session } = profile.collectors
    return [
      '## Request',
      ...writePairs('Query', request?.query, limit),
      ...writePairs('Headers', request?.headers, limit),
      ...writeBody(request?.body, limit),
      ...writePairs('Attributes', request?.attributes, limit),
      ...writeRedirects(redirects, limit),
      '## Response',
      writeSize(response),
      ...writePairs('Headers', response?.headers, limit),
      ...writeContentBlocks(response?.content, limit),
      ...writeSession(session, limit),
    ]
  },
}

function writeSize(response: ResponseData | undefined): string {
  const sent = formatSize(response?.sent)
  const size = formatSize(response?.size) || 'size not known'
  const events = response?.events === undefined ? '' : `, ${formatCount(response.events, 'event')}`
  return `Body: ${size}${response?.isStreamed ? ', streamed' : ''}${sent === '' ? '' : `, ${sent} sent`}${events}`
}

/** Writes pairs as a list below a heading; nothing without pairs. */
export function writePairs(title: string, pairs: Pairs = [], limit: number): string[] {
  if (pairs.length === 0) return []
  return [`### ${title}`, toList(pairs, limit, ([name, value]) => `${toValueSpan(name)}: ${toValueSpan(value)}`)]
}

/** Writes the body of a request as far as it was recorded. */
export function writeBody(body: BodyData | undefined, limit: number): string[] {
  if (body === undefined) return []
  const { files = [], form, json, length, note, state, type } = body
  const facts = [toSpan(type), formatSize(length) || 'of unknown length', `state ${toSpan(state)}`]
  return [
    '### Body',
    facts.join(', '),
    ...(note === undefined ? [] : [toSpan(note)]),
    ...(json === undefined ? [] : [toJsonBlock(json[0])]),
    ...writePairs('Form', form, limit),
    ...(files.length === 0
      ? []
      : [
          '### Files',
          toList(files, limit, ({ field, name, size, type }) =>
            [toSpan(field), toSpan(name), toSpan(type), formatSize(size)].join(', '),
          ),
        ]),
  ]
}

/** Writes a content, or why it is not stored. */
function writeContentBlocks(content: ContentData | undefined, limit: number): string[] {
  if (content === undefined) return []
  const { form, isCut, json, length, note, type } = content
  return [
    '### Content',
    [toSpan(type), formatSize(length) || 'of unknown length', ...(isCut ? ['cut'] : [])].join(', '),
    ...(note === undefined ? [] : [toSpan(note)]),
    ...(json === undefined ? [] : [toJsonBlock(json[0])]),
    ...(content.text === undefined ? [] : [toBlock(content.text, type.includes('html') ? 'html' : 'text')]),
    ...writePairs('Form', form, limit),
  ]
}

function writeRedirects(redirects: readonly RedirectData[], limit: number): string[] {
  if (redirects.length === 0) return []
  const list = toList(
    redirects,
    limit,
    ({ method, status, token, url }) => `${status} ${toSpan(method)} ${toSpan(url)}, profile ${toSpan(token)}`,
  )
  return ['### Redirects before this request', list]
}

function writeSession(session: ProfiledSession | undefined, limit: number): string[] {
  if (session === undefined) return []
  const { attributes = {}, flashes = {}, isStateless, metadata, useCount, uses } = session
  const facts = [
    `- Uses: ${useCount}`,
    `- Stateless: ${isStateless ? 'yes' : 'no'}`,
    ...(metadata === undefined
      ? []
      : [
          `- Created: ${formatMoment(metadata.createdAt)}`,
          `- Last used: ${formatMoment(metadata.lastUsedAt)}`,
          ...(metadata.expiresAt === undefined ? [] : [`- Expires: ${formatMoment(metadata.expiresAt)}`]),
        ]),
  ]
  return [
    '## Session',
    facts.join('\n'),
    ...writePairs('Session attributes', Object.entries(attributes), limit),
    ...writePairs('Flashes', Object.entries(flashes), limit),
    ...(uses.length === 0 ? [] : ['### Session uses', toList(uses, limit, writeUse)]),
  ]
}

function writeUse({ at, method, trace: [site = ''] }: SessionUseData): string {
  return `+${formatDuration(at)} ${toSpan(method)} ${toSpan(site)}`
}

/** The matched route, or the nearest routes. */
export const routingSection: Section = {
  panel: 'router',
  write({ profile }, limit) {
    const { router } = profile.collectors
    if (router === undefined) return []
    const isFound = router.outcome === 'match' || router.outcome === 'redirect'
    return ['## Routing', ...(isFound ? writeFoundRoute(router, limit) : writeNearestRoutes(router, limit))]
  },
}

function writeFoundRoute(found: FoundRouteData | RedirectRouteData, limit: number): string[] {
  const parameters = isObject(found.parameters) ? Object.entries(found.parameters) : []
  return [
    `Matched ${toSpan(found.route)}.`,
    ...(found.outcome === 'redirect' ? [`Redirected to ${toSpan(found.location)}.`] : []),
    ...(parameters.length === 0
      ? []
      : ['### Parameters', toList(parameters, limit, ([name, value]) => `${toSpan(name)}: ${toValueSpan(value)}`)]),
  ]
}

function writeNearestRoutes({ allow = [], nearest, total }: MissingRouteData, limit: number): string[] {
  return [
    `None of ${total} routes matched.`,
    ...(allow.length === 0 ? [] : [`Allowed methods: ${allow.map(toSpan).join(', ')}`]),
    ...(nearest.length === 0
      ? ['No similar route.']
      : [
          '### Nearest routes',
          toList(nearest, limit, ({ name, path, text }) => `${toSpan(path)} (${toSpan(name)}): ${toSpan(text)}`),
        ]),
  ]
}

/** The maximal number of source excerpts. */
const excerptLimit = 5

/** The exceptions with their causes, the stack frames of the application, and their sources. */
export const exceptionSection: Section = {
  panel: 'exception',
  write({ profile }, limit) {
    const exceptions = readExceptions(profile)
    if (exceptions.length === 0) return []
    const sources = new Sources(readExcerpts(profile))
    const { fingerprint } = profile.summary
    return [
      '## Exceptions',
      ...(fingerprint === null ? [] : [`Fingerprint: ${toSpan(fingerprint)}; the list can be filtered by it.`]),
      ...exceptions.flatMap(exception => writeException(exception, sources, limit)),
    ]
  },
}

function writeException(exception: StoredException, sources: Sources, limit: number): string[] {
  const { code, frames, message, name, note, properties, relation, status } = exception
  const facts = [
    ...(code === '' ? [] : [`code ${toSpan(code)}`]),
    ...(status === 0 ? [] : [`status ${status}`]),
    ...(note === '' ? [] : [toSpan(note)]),
  ]
  const own = frames.filter(({ origin }) => origin === 'application')
  // Without frames of the application, the innermost ones are shown.
  const shown = own.length > 0 ? own : frames.slice(0, 5)
  const left = [
    ...(shown.length < frames.length ? [`${frames.length - shown.length} library frames are not listed`] : []),
    ...toRest(exception),
  ]
  return [
    `### ${relation === '' ? '' : `${relation}: `}${toSpan(name)}`,
    ...(facts.length === 0 ? [] : [facts.join(', ')]),
    ...(message === '' ? [] : [toBlock(message)]),
    ...(properties.length === 0
      ? []
      : [toList(properties, limit, ({ name, value }) => `${toSpan(name)}: ${toSpan(value)}`)]),
    ...(shown.length === 0
      ? []
      : [toList(shown, limit, frame => `${toSpan(frame.call)} at ${toSpan(toPlace(frame))}`)]),
    ...(left.length === 0 ? [] : [`(${left.join('; ')})`]),
    ...shown.flatMap(frame => sources.take(frame)).flatMap(writeExcerpt),
  ]
}

/** The source excerpts of all exceptions. Each is shown once, also for other frames that it covers. */
class Sources {
  readonly #excerpts: readonly Excerpt[]
  readonly #taken: Excerpt[] = []

  constructor(excerpts: readonly Excerpt[]) {
    this.#excerpts = excerpts
  }

  /** Returns the excerpt for a frame; none if it is unknown, or if a previous excerpt contains the line. */
  take({ file, line = 0 }: RecordedFrame): Excerpt[] {
    const isTaken = this.#taken.some(
      ({ file: other, lines, start }) => other === file && line >= start && line < start + lines.length,
    )
    const excerpt = this.#excerpts.find(other => other.file === file && other.line === line)
    if (isTaken || excerpt === undefined || this.#taken.length === excerptLimit) return []
    this.#taken.push(excerpt)
    return [excerpt]
  }
}

function writeExcerpt({ file, line, lines, start }: Excerpt): string[] {
  const code = lines.map((text, index) => {
    const number = start + index
    return `${number === line ? '>' : ' '} ${String(number).padStart(4)} | ${text}`.trimEnd()
  })
  return [`Source of ${toSpan(`${file}:${line}`)}:`, toBlock(code.join('\n'), 'ts')]
}

/** The findings, with advice. */
export const findingsSection: Section = {
  panel: 'findings',
  nothing: 'No issues found.',
  write({ findings, profile: { summary } }, limit) {
    if (findings.length === 0) return []
    return ['## Findings', toList(findings, limit, finding => writeFinding(finding, summary.token))]
  },
}

/** Writes a finding on one line; `token` is that of its profile. */
export function writeFinding(finding: Finding, token: string): string {
  const { code, rule, severity } = finding
  const sentences = writeSentences(finding)
  const place = formatPlace(code ?? {})
  const at = sentences.includes(place) ? '' : ` At ${toSpan(place)}.`
  return `${severity}, ${toSpan(rule)}: ${sentences}${at} See ${toSpan(linkToFinding(finding, token))}`
}

/** Writes the problem and the advice of a finding. Recorded values are code spans. */
export function writeSentences(finding: Finding): string {
  const write = (sentence: 'problem' | 'advice') =>
    splitSentence(sentence, finding)
      .map(({ isValue, text }) => (isValue ? toSpan(text) : text))
      .join('')
  return `${write('problem')} ${write('advice')}`
}
