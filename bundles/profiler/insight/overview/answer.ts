import { statusText } from '../../../../lib/http/response.ts'
import { severityOf } from '../../../../lib/log/create-logger.ts'
import { mask } from '../../../../lib/redact/secret-names.ts'
import type { CallerPlace } from '../../../../lib/stack/callers.ts'
import type { RecordedException } from '../../profile/code.ts'
import { findThrowPlace, readExceptions } from '../../profile/exceptions.ts'
import { formatCount, formatNumber, readHeader, toOneLine } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import { nameOfUnit, unitOf } from '../../profile/units.ts'
import { type CalledRequest, readCalled } from '../../profile/work.ts'
import { countPrinted, writeValues } from '../../subjects/console/read.ts'
import { readOperation, readResponseContent } from '../../subjects/exchange/read.ts'
import { readCalls, type StoredCall } from '../../subjects/http/read.ts'
import { readLogs } from '../../subjects/logs/read.ts'
import { countBadMails, readMails } from '../../subjects/mails/read.ts'
import { readGuard, readRouteLog, readSeenRoute } from '../../subjects/router/read.ts'
import { inputNames, type RefusedField, type RefusedInput, readRefused } from '../../subjects/validation/read.ts'
import { isRepeated, listCalledErrors, nameAnswerer } from '../findings/called-rules.ts'
import { findUnexpected } from '../findings/work-rules.ts'
import type { ShownProfile } from '../relatives.ts'
import { isError } from '../summary-view.ts'
import { readRefusingPage } from './refusing-page.ts'
import { type Sentence, toForeign, toMessage, toParts, toPlaceValue, toPlainText, toValue } from './sentence.ts'

/** Why a request has failed. */
export interface Reason {
  /** Such as `email must be an address, and 2 more`. */
  readonly words: Sentence
  /** The same with the name and the place of an exception. */
  readonly details: Sentence
  /** Where the profile says more. */
  readonly panel: string
  /** Whether the words say what would have been found, instead of the message of the exception. */
  readonly isOfRoutes?: true
  /** The refused fields of which the words name the first one. */
  readonly refused?: readonly RefusedField[]
}

/**
 * Finds the reason of a request that has failed: the refused fields, the methods or the nearest route of
 * its path, or the exception. `undefined` if the request has not failed, or its reason is not certain.
 */
export function findReason(profile: Profile): Reason | undefined {
  const { outcome, status } = profile.summary
  const hasAnswer = status > 0 || !unitOf(profile.summary).isExchange
  if (hasAnswer && status < 400 && outcome === 'complete') return undefined
  const refusal = status >= 400 && status < 500 ? (findRefusal(profile) ?? readSaid(profile).refusal) : undefined
  if (refusal !== undefined) return { ...refusal, details: refusal.words }
  const words = describeRouting(profile)
  if (hasThrown(profile)) return describeException(profile, words)
  const message = readOperation(profile)?.errors[0]?.message
  const said = message === undefined ? readSaid(profile).detail : [toMessage(message)]
  const known = words ?? withGuard(profile, [...(said ?? []), ...describeSeen(profile, said !== undefined)])
  return known && { words: known, details: known, panel: words === undefined ? 'request' : 'router' }
}

/**
 * The reason of a failed request as a text, for places with little room; empty without one.
 * `exception` is put before its message.
 */
export function writeReason(reason: Reason | undefined, exception: string | null = null): string {
  const text = reason === undefined ? '' : toPlainText(toParts(reason.words))
  return reason?.panel === 'exception' && exception !== null && text !== exception ? `${exception}: ${text}` : text
}

/** The place of a throw, call or log message as a part of a sentence; empty if it is not known. */
function describeAt({ file, line }: CallerPlace = {}): Sentence {
  return file === undefined ? [] : [' at ', toPlaceValue(file, line)]
}

/** Whether an exception was recorded, handled or not. */
export function hasThrown(profile: Profile): boolean {
  return profile.summary.exception !== null || readExceptions(profile).length > 0
}

const nameLimit = 40

/** What Node puts before the reason of a rejection that is no error. */
const rejectedPreamble = /^This error originated either .* not handled with \.catch\(\)\. /

function describeException(profile: Profile, routing: Sentence | undefined): Reason {
  const [first] = profile.collectors.exception?.exceptions ?? []
  const name = toValue(first?.name || profile.summary.exception || 'Error', nameLimit)
  const place = describeAt(findThrowPlace(profile))
  const words = routing ?? withGuard(profile, describeMessages(first)) ?? []
  const details = [name, ...place, ...(words.length === 0 ? [] : [': ', ...words])]
  const found = { words: words.length === 0 ? [name] : words, details, panel: 'exception' }
  return routing === undefined ? found : { ...found, isOfRoutes: true }
}

/** The message of an error, and that of the error from which it comes: `fetch failed` says less than its cause. */
function describeMessages(error: RecordedException | undefined): Sentence {
  const message = error?.message.replace(rejectedPreamble, '') ?? ''
  const inner = [...listInner(error)].findLast(({ text }) => text !== '' && !message.includes(text))
  if (message === '') return inner === undefined ? [] : [toMessage(inner.text)]
  return [toMessage(message), ...(inner === undefined ? [] : [inner.relation, toMessage(inner.text)])]
}

/** Goes from an error to its cause, or to the first of those that it gathers, and on from there. */
function* listInner(
  { cause, errors = [] }: Pick<RecordedException, 'cause' | 'errors'> = {},
  isCause = false,
): Generator<{ relation: string; text: string }> {
  const inner = cause ?? errors[0]
  if (inner === undefined) return
  const isCaused = isCause || cause !== undefined
  const relation = isCaused ? ', caused by ' : errors.length === 1 ? ': ' : ', the first is '
  yield { relation, text: inner.message.replace(/\.$/, '') }
  yield* listInner(inner, isCaused)
}

/** Puts the guard that has refused the request before what it has said; `undefined` if nothing is known. */
function withGuard(profile: Profile, words: Sentence): Sentence | undefined {
  const guard = readGuard(profile)
  if (guard === undefined) return words.length === 0 ? undefined : words
  const name: Sentence = ['the guard ', toValue(guard, nameLimit)]
  return words.length === 0 ? [...name, ' refused it'] : [...name, ': ', ...words]
}

/**
 * Says what would have been found instead; `undefined` if a route matched. The message of the
 * exception repeats the URL.
 */
function describeRouting(profile: Profile): Sentence | undefined {
  const { allow = [], routes: [nearest] = [] } = readRouteLog(profile) ?? {}
  const declared = profile.summary.status === 405 ? readHeader(profile.collectors.response, 'allow') : []
  const methods = (allow.length > 0 ? allow : declared).join(', ')
  if (methods !== '') return ['the path takes ', toMessage(methods)]
  return nearest && ['no route matches, the nearest is ', toMessage(nearest.path)]
}

/** The nearest route of another framework, whose routes are known when a request has met them. */
function describeSeen(profile: Profile, hasLead: boolean): Sentence {
  const nearest = readSeenRoute(profile)
  return nearest === undefined ? [] : [`${hasLead ? '; ' : ''}the nearest route seen so far is `, toMessage(nearest)]
}

/** The last input that a schema has refused. The statuses are those with which refused inputs are answered. */
function findRefusal(profile: Profile): Omit<Reason, 'details'> | undefined {
  const { status } = profile.summary
  const statusesOf = (source: string) => (source === 'route' ? [400, 404, 422] : [400, 422])
  const input = readRefused(profile).findLast(({ source }) => statusesOf(source).includes(status))
  const words = describeInput(input)
  return words && { words, panel: 'validation', refused: input?.issues ?? [] }
}

function describeInput(input: RefusedInput | undefined): Sentence | undefined {
  return input && describeRefused(input.issues, inputNames[input.source], input.omitted)
}

/** Characters of two refused fields that are both named: the head has room for them. */
const twoFieldsLimit = 80

/**
 * Names the first refused field, and a second one if there is room, or counts the others. Of issues that are not
 * listed, the fields are not known.
 */
function describeRefused(all: readonly RefusedField[], input: string, omitted = 0): Sentence | undefined {
  const [first] = all
  if (first === undefined) return undefined
  const words = describeField(first, input)
  if (omitted > 0) return [...words, `, and ${formatCount(all.length + omitted - 1, 'more issue')}`]
  const others = new Map(all.map(each => [each.field, each]))
  others.delete(first.field)
  const [second] = others.values()
  if (second === undefined) return words
  const both = [...words, ', and ', ...describeField(second, input)]
  const isShort = others.size === 1 && toPlainText(toParts(both)).length <= twoFieldsLimit
  return isShort ? both : [...words, `, and ${others.size} more`]
}

function describeField({ field, message }: RefusedField, input: string): Sentence {
  const name = field === '' ? input : toValue(field, nameLimit)
  const text = message.replace(/\.$/, '')
  // "email must be an address" says it all; "must be an address" continues the name.
  const isWhole = text
    .toLowerCase()
    .split(/[^\p{L}\p{N}_.-]+/u)
    .includes(field.toLowerCase())
  const joined = isWhole ? [] : [name, /^\p{Ll}/u.test(text) ? ' ' : ': ']
  return text === '' || text === mask ? [name, ' is refused'] : [...joined, toMessage(text)]
}

const problemType = /^application\/problem\+json\b/i

/**
 * What the body of the response says: a problem (RFC 9457), JSON with the names that libraries give to their
 * errors, or a page with a refused form. What they mean there is not certain, so these are quoted.
 */
function readSaid(profile: Profile): { readonly refusal?: Omit<Reason, 'details'>; readonly detail?: Sentence } {
  // A stream that broke off says nothing of it.
  if (profile.summary.status < 400) return {}
  const { json: [value] = [], text: page = '', type = '' } = readResponseContent(profile) ?? {}
  const isProblem = problemType.test(type)
  const body = fieldsOf(value)
  const error = fieldsOf(body.error)
  const lists = [body.errors, body.violations, ...(isProblem ? [] : [body, error].flatMap(listsOf))]
  const form = type.startsWith('text/html') && profile.summary.status < 500 ? readRefusingPage(page) : undefined
  const refused = [...lists.map(listRefused), form?.fields ?? []].find(({ length }) => length > 0) ?? []
  const words = describeRefused(refused, 'the input')
  const quote = (said: Sentence): Sentence => (isProblem ? said : ['the response says ', ...said])
  const texts = isProblem
    ? [body.detail]
    : [body.message, body.error, error.message, body.detail, findPlain(page), form?.alert].flat()
  const status = statusText(profile.summary.status).toLowerCase()
  const isNew = (text: unknown) =>
    typeof text === 'string' && !['', mask, status].includes(text.toLowerCase().replace(/^\d{3} /, ''))
  const text = texts.find(isNew)
  return {
    ...(words && { refusal: { words: quote(words), panel: 'request', refused } }),
    ...(text !== undefined && { detail: quote([toMessage(String(text))]) }),
  }
}

/** A body that is a short text, or the text of Express' own page; empty if it is another page, or data. */
function findPlain(page: string): string {
  const [, own] = /<pre>([^<]+)<\/pre>\s*<\/body>/.exec(page) ?? []
  return (own ?? (/^\s*[[{]|</.test(page) || page.length > 90 ? '' : page)).trim()
}

/** The lists of issues in JSON that is no problem: those of zod, joi, ajv and others. */
function listsOf({ details, errors, issues }: Readonly<Record<string, unknown>>): unknown[] {
  return [errors, issues, details].filter(Array.isArray)
}

/** Reads a list of objects with a place and a text, or an object of texts by their fields. */
function listRefused(errors: unknown): RefusedField[] {
  if (Array.isArray(errors)) return errors.flatMap(error => toRefused(fieldsOf(error)))
  return Object.entries(fieldsOf(errors)).flatMap(([field, texts]) => {
    const [message] = [texts].flat()
    return typeof message === 'string' ? { field, message } : []
  })
}

const places = ['pointer', 'parameter', 'header', 'propertyPath', 'instancePath', 'field', 'path', 'param', 'name']

const texts = ['detail', 'message', 'msg', 'title', 'reason']

function toRefused(error: Readonly<Record<string, unknown>>): RefusedField[] {
  const isText = (value: unknown) => typeof value === 'string'
  const place = places.map(name => joinPath(error[name])).find(isText)
  const message = texts.map(name => error[name]).find(isText)
  // A JSON pointer (RFC 6901), also in a fragment: #/items/0/price.
  const field = place?.replace(/^#?\//, '').replaceAll('/', '.')
  return field === undefined || message === undefined ? [] : [{ field, message }]
}

/** The path of a field may be a list. */
function joinPath(value: unknown): unknown {
  return Array.isArray(value) ? value.join('.') : value
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

/** A profile with its findings, and the summaries of its sub-requests and of what it has caused, if there are any. */
export type TroubledProfile = Pick<ShownProfile, 'findings' | 'profile'> &
  Partial<Pick<ShownProfile, 'caused' | 'children'>>

/**
 * Describes what has failed in a request that was answered: its operation, an exception that was handled, a query, a
 * call, a mail or a sub-request; what it has caused, such as a job; or an error that was logged.
 */
export function findFailure({ caused = [], children = [], findings, profile }: TroubledProfile): Sentence | undefined {
  const { exception } = profile.summary
  const failed = describeFailedOperation(profile)
  if (failed !== undefined) return failed
  const ofError = findings.find(({ place }) => place?.panel === 'exception')
  if (ofError !== undefined) return ['finding: ', toValue(ofError.title, nameLimit)]
  if (exception !== null) return ['exception: ', toValue(exception, nameLimit)]
  // A second kind may be the one that was looked for; more would hide the times.
  const [first, second] = [
    describeFailedQuery(profile),
    describeFailedCall(profile, 500),
    describeFailedMail(profile),
    describeFailedSubRequests(children),
    describeFailedCaused(caused),
  ].filter(failed => failed !== undefined)
  if (first === undefined) return describeLogged(profile, 'error')
  return second === undefined ? first : [...first, '; ', ...second]
}

/**
 * Describes the worst problem of a request in which nothing has failed: the worst finding (one in the panel of the
 * cause comes first), a call that was refused, refused input, or a logged warning.
 */
export function findTrouble({ findings, profile }: TroubledProfile, cause: string | undefined): Sentence | undefined {
  const serious = findings.filter(({ severity }) => severity !== 'info')
  const found = serious.find(({ place }) => place?.panel === cause) ?? serious[0]
  return (
    (found && ['finding: ', toValue(found.title, nameLimit)]) ??
    describeFailedCall(profile, 400) ??
    describeRefusedInput(profile) ??
    describeLogged(profile, 'warning') ??
    describeOpen(profile)
  )
}

/** What a command has left open when it exited. */
function describeOpen({ collectors, summary: { token } }: Profile): Sentence | undefined {
  const { open = [] } = collectors.unit ?? {}
  return open.length === 0
    ? undefined
    : [{ text: `it has left ${open.join(', ')} open`, link: profileLink(token, 'unit') }]
}

/** The refused input of a form that is shown again. */
function describeRefusedInput(profile: Profile): Sentence | undefined {
  const words = describeInput(readRefused(profile).at(-1))
  const link = profileLink(profile.summary.token, 'validation')
  return words && [{ text: 'input refused', link }, ': ', ...words]
}

/** An error in the response of an operation, such as GraphQL's: its status says nothing. */
function describeFailedOperation(profile: Profile): Sentence | undefined {
  const { errors = [], names = [] } = readOperation(profile) ?? {}
  const [first, ...others] = errors
  if (first === undefined) return undefined
  const link = `${profileLink(profile.summary.token, 'request')}#operation-errors`
  const text = names.length === 1 ? 'the operation failed' : `${formatCount(errors.length, 'operation')} failed`
  const [thrown] = readExceptions(profile)
  const frame = thrown?.message === first.message ? findThrowPlace(profile) : undefined
  const at = first.path === '' ? [] : [' in ', toValue(first.path, nameLimit)]
  const more = others.length === 0 ? [] : [`, and ${formatCount(others.length, 'more error')}`]
  return [{ text, link }, ...at, ...describeAt(frame), ': ', toMessage(first.message), ...more]
}

/** The place and the error of something that has failed, or of the first of several. */
function describeFirst(count: number, caller: CallerPlace | undefined, error: string): Sentence {
  const first = count === 1 ? [] : [', the first']
  return [...first, ...describeAt(caller), ': ', toMessage(error)]
}

function describeFailedQuery(profile: Profile): Sentence | undefined {
  const failed = findUnexpected(profile)
  const [first] = failed
  if (first === undefined) return undefined
  const { caller, error, index, kind } = first
  const alike = failed.filter(query => query.kind === kind)
  const link = `${profileLink(profile.summary.token, kind)}#query-${index}`
  const text = `${kind === 'database' ? formatCount(alike.length, 'query', 'queries') : formatCount(alike.length, 'cache call')} failed`
  return [{ text, link }, ...describeFirst(alike.length, caller, error)]
}

/** Of the reason of `AbortSignal.timeout()`, in Node. */
const timeoutMessage = 'aborted due to timeout'

/**
 * The first call without a response, or with this status or more. One that was repeated with success has not
 * failed, nor has one that the application has ended, unless it has given up: by a time limit, or as a gateway.
 */
function describeFailedCall(profile: Profile, least: number): Sentence | undefined {
  const { calls, omitted } = readCalls(profile)
  const isGateway = [502, 503, 504].includes(profile.summary.status)
  const isFailed = ({ error, isAborted, status }: StoredCall) =>
    error === '' ? status >= least : !isAborted || isGateway || error.includes(timeoutMessage)
  const failed = calls.filter(call => isFailed(call) && !isRepeated(call, calls))
  const [first, ...others] = failed
  if (first === undefined) return undefined
  const { caller, error, index, isAborted, status } = first
  const more = others.length === 0 ? [] : [`, and ${others.length} more failed`]
  const known = error === '' ? describeCalled(profile, index) : []
  if (known.length > 0) return [...known, ...more]
  const link = `${profileLink(profile.summary.token, 'http')}#call-${index}`
  // Of a sample, the numbers are not those of all calls.
  const ending = error === '' ? `answered ${status}` : isAborted ? 'was aborted' : 'failed'
  const text = `${omitted === 0 ? `HTTP call ${index + 1}` : 'an HTTP call'} ${ending}`
  const why = error === '' ? [] : [...describeAt(caller), ': ', toMessage(error)]
  return [{ text, link }, ...why, ...more]
}

function describeFailedMail(profile: Profile): Sentence | undefined {
  const { count } = countBadMails(profile)
  const { caller, error = '', index = 0 } = readMails(profile).mails.find(mail => mail.error !== '') ?? {}
  // Of a mail that was only counted, the error is not known.
  if (count === 0 || error === '') return undefined
  const link = `${profileLink(profile.summary.token, 'mails')}#mail-${index}`
  const text = `${formatCount(count, 'mail')} failed`
  return [{ text, link }, ...describeFirst(count, caller, error)]
}

/** The program that has answered a call, and why it has failed there; empty if its profile is not stored. */
function describeCalled(profile: Profile, index: number): Sentence {
  const error = listCalledErrors(profile).find(({ call }) => call.index === index)
  const [request, ...further] = error?.path ?? readCalled(profile).filter(called => called.index === index)
  if (request === undefined) return []
  const last = further.at(-1) ?? request
  const say = (each: CalledRequest): Sentence => {
    const { status, token } = each.summary
    return [
      toValue(nameAnswerer(each, profile), nameLimit),
      ' ',
      { text: `answered ${status}`, link: profileLink(token) },
    ]
  }
  const reason = last.profile && findReason(last.profile)
  const lead = reason?.panel === 'exception' ? ' with ' : ': '
  const after = last === request ? [] : [' after ', ...say(last)]
  return [...say(request), ...after, ...(reason === undefined ? [] : [lead, ...toForeign(reason.details)])]
}

/**
 * What has failed behind a request that has failed: the error of a request that it has made; or, if only its response
 * says why, a query, call or mail. Empty without one.
 */
export function describeBehind(profile: Profile, { panel }: Reason): Sentence {
  const [error] = listCalledErrors(profile)
  if (error !== undefined) return ['; ', ...describeCalled(profile, error.call.index)]
  if (panel !== 'request') return []
  const failed = describeFailedQuery(profile) ?? describeFailedCall(profile, 400) ?? describeFailedMail(profile)
  return failed === undefined ? [] : ['; ', ...failed]
}

/**
 * The sub-requests that were answered with 500 or more, or whose error went to their caller;
 * without the page of an error.
 */
function findFailed(children: readonly ProfileSummary[]): ProfileSummary[] {
  return children.filter(
    ({ controller, outcome, status }) =>
      controller !== 'error_controller' && (status >= 500 || (status === 0 && outcome === 'complete')),
  )
}

function describeFailedSubRequests(children: readonly ProfileSummary[]): Sentence | undefined {
  const failed = findFailed(children)
  const [first] = failed
  if (first === undefined) return undefined
  const { controller, exception, token, url } = first
  const text = `${formatCount(failed.length, 'sub-request')} failed`
  const cause = exception === null ? [] : [' with ', toValue(exception, nameLimit)]
  const name = toValue(controller ?? url, nameLimit)
  return [{ text, link: profileLink(token) }, failed.length > 1 ? ', the first: ' : ': ', name, ...cause]
}

/** The units that were caused and have failed. Of the attempts of a job, the last one counts. */
function describeFailedCaused(caused: readonly ProfileSummary[]): Sentence | undefined {
  const last = new Map(caused.map(unit => [unit.job ?? unit.token, unit]))
  const [first, ...others] = [...last.values()].filter(isError)
  if (first === undefined) return undefined
  const { exception, token } = first
  const cause = exception === null ? [] : [' with ', toValue(exception, nameLimit)]
  const more = others.length === 0 ? [] : [`, and ${formatNumber(others.length)} more failed`]
  return [toValue(nameOfUnit(first), nameLimit), ' ', { text: 'failed', link: profileLink(token) }, ...cause, ...more]
}

/** Of a page that has failed because of a sub-request, the number of the other ones that have failed. */
export function describeMoreFailed({
  children = [],
  profile,
}: Pick<TroubledProfile, 'children' | 'profile'>): Sentence {
  const failed = findFailed(children).length
  if (failed < 2 || profile.summary.exception !== 'KERNEL_FRAGMENT_FAILED') return []
  return [`, and ${formatCount(failed - 1, 'more sub-request')} failed`]
}

/** The methods of the console that say the same as a level. */
const consoleMethods = { error: 'error', warning: 'warn' } as const

/** The first message of a level, of the log, else of the console. */
function describeLogged(profile: Profile, level: 'error' | 'warning'): Sentence | undefined {
  const { [`${level}s` as const]: logged, token } = profile.summary
  const log = readLogs(profile).logs.find(each => severityOf(each.level) === level)
  const entries = profile.collectors.console?.entries ?? []
  const entry = entries.findIndex(({ method }) => method === consoleMethods[level])
  const [count, panel, anchor, message = ''] =
    logged > 0
      ? [logged, 'logger', `log-${log?.index}`, log?.message]
      : [
          countPrinted(profile, consoleMethods[level]),
          'console',
          `dump-${entry}`,
          writeValues(entries[entry]?.values ?? [], consoleMethods[level]),
        ]
  if (count === 0) return undefined
  const call = `console.${consoleMethods[level]}`
  const printed = count > 1 ? `${formatNumber(count)} calls of ${call}` : call
  const text = panel === 'console' ? printed : `${formatCount(count, level)} logged`
  const link = message === '' ? profileLink(token, panel) : `${profileLink(token, panel)}#${anchor}`
  const said = toOneLine(message)
  const at = describeAt(panel === 'console' ? entries[entry]?.site : log?.caller)
  const quoted = said === '' ? [] : [': ', toMessage(said)]
  return [
    { text, link },
    ...(count > 1 && said !== '' ? [', the first'] : []),
    ...(count === 1 || said !== '' ? at : []),
    ...quoted,
  ]
}
