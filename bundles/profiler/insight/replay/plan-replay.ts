import { encodeMultipart, parseParameters } from '../../../../lib/body/multipart.ts'
import { Headers } from '../../../../lib/http/headers.ts'
import { forwardingHeaders } from '../../../../lib/http/trusted-proxies.ts'
import { mask } from '../../../../lib/redact/secret-names.ts'
import { type BodyData, readFormParts, serializeForm } from '../../profile/content.ts'
import { formatCount, formatSize, formatText } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import type { Pairs } from '../../profile/schema.ts'
import { splitUrl } from '../../subjects/router/data.ts'

/** The plan of a replay, or the reason why the request cannot be replayed. */
type ReplayPlan = PossibleReplay | ImpossibleReplay

/** The request of a replay, and the values that a user may have to supply. */
export interface PossibleReplay {
  readonly isPossible: true
  /** The token of the recorded profile. */
  readonly token: string
  readonly method: string
  readonly target: string
  readonly scheme: 'http' | 'https'
  readonly ip: string
  readonly httpVersion: string
  /** Whether the client was allowed to see debug output; `false` if the profile does not contain it. */
  readonly isDebugAllowed: boolean
  /** The headers whose values are stored in full. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Headers with masked values: by default they are not sent. */
  readonly secrets: readonly SecretHeader[]
  /** Whether a part of the target is masked. */
  readonly isTargetMasked: boolean
  readonly body: PlannedBody
  /** Sentences about other differences from the recorded request. */
  readonly notes: readonly string[]
  /** A sentence why the replay needs a confirmation; empty if it needs none. */
  readonly caution: string
}

/** A header with a secret value, which is masked in the profile. */
interface SecretHeader {
  /** The name in lower case. */
  readonly name: string
  /** The known part of the value: the names of cookies. */
  readonly hint: string
}

/** A sub-request, or a profile without a valid URL. */
interface ImpossibleReplay {
  readonly isPossible: false
  readonly reason: string
  /** The token of the main request, which can be replayed instead; empty if there is none. */
  readonly parent: string
}

/** Methods that change no data (RFC 9110, section 9.2.1), without TRACE, which servers refuse. */
const safeMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/** Whether requests with a method change no data. */
export function isSafe(method: string): boolean {
  return safeMethods.includes(method)
}

const forwarding: ReadonlySet<string> = new Set(forwardingHeaders)

const refusedNote =
  'The client may not see debug output: the profiler answers the replay as it has answered the request.'

/** Plans the replay of a recorded request. */
export function planReplay({ collectors, summary }: Pick<Profile, 'collectors' | 'summary'>): ReplayPlan {
  const { ip, method, outcome, parent, token, url } = summary
  if (parent !== null) {
    const reason = 'A sub-request is a part of another request: replay the main request.'
    return { isPossible: false, reason, parent }
  }
  const parts = splitUrl(url)
  if (parts === undefined) return { isPossible: false, reason: 'The recorded URL is not valid.', parent: '' }

  const { request } = collectors
  const { headers, notes, secrets } = planHeaders(request?.headers ?? [], parts.host)
  const isDebugAllowed = request?.isDebugAllowed ?? false
  const contentType = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? ''
  return {
    isPossible: true,
    token,
    method,
    target: parts.target,
    scheme: parts.scheme,
    ip,
    httpVersion: request?.httpVersion === '1.0' ? '1.0' : '1.1',
    isDebugAllowed,
    headers,
    secrets,
    isTargetMasked: parts.target.includes(mask),
    body: planBody(request?.body, contentType),
    notes: isDebugAllowed ? notes : [...notes, refusedNote],
    caution: cautionOf(method, outcome),
  }
}

/** Whether a replay needs neither input nor a confirmation. */
export function isDirect(plan: ReplayPlan): boolean {
  return plan.isPossible && plan.secrets.length === 0 && findReplayObstacle(plan) === ''
}

/** Why a person has to decide about a replay; empty if its request is safe and complete. */
export function findReplayObstacle({ body, caution, isTargetMasked }: PossibleReplay): string {
  if (caution !== '') return caution
  if (isTargetMasked) return 'the address contains a secret, which was not stored.'
  return body.state === 'none' || body.state === 'whole' ? '' : body.note
}

function cautionOf(method: string, outcome: Profile['summary']['outcome']): string {
  if (outcome === 'crashed') return 'This request made the process exit. A replay may do so again.'
  if (isSafe(method)) return ''
  return `${method} may change data. This runs the request for real.`
}

type Field = readonly [name: string, value: string]

function planHeaders(fields: Pairs, host: string | undefined) {
  const headers: Field[] = []
  const secrets = new Map<string, string>()
  const lost: string[] = []
  const forwarded: string[] = []
  let isCut = false
  for (const [field, value] of fields) {
    const name = field.toLowerCase()
    if (field === '…') isCut = true
    else if (forwarding.has(name)) forwarded.push(name)
    else if (isSecret(name, value)) secrets.set(name, hintOf(name, value))
    else if (isSendable(name, value)) headers.push([field, formatText(value)])
    else lost.push(name)
  }
  return {
    headers: withHost(headers, host, forwarded.length > 0),
    secrets: [...secrets].map(([name, hint]) => ({ name, hint })),
    notes: [
      ...(forwarded.length === 0
        ? []
        : [
            `Proxy headers are not sent (${forwarded.join(', ')}). The address and scheme that they reported are used.`,
          ]),
      ...(lost.length === 0 ? [] : [`Not sent, because they were recorded incompletely: ${lost.join(', ')}.`]),
      ...(isCut ? ['The request had more headers than were recorded.'] : []),
    ],
  }
}

/** Sets the host of the recorded URL if proxies forwarded it, or if a damaged profile has no host. */
function withHost(headers: readonly Field[], host: string | undefined, isForwarded: boolean): readonly Field[] {
  const isHost = ([name]: Field) => name.toLowerCase() === 'host'
  if (host === undefined || (!isForwarded && headers.some(isHost))) return headers
  return [['host', host], ...headers.filter(field => !isHost(field))]
}

/** Cookies are masked one by one, so a partly masked cookie header is a secret, too. */
function isSecret(name: string, value: unknown): boolean {
  return value === mask || (name === 'cookie' && formatText(value).includes(mask))
}

function hintOf(name: string, value: unknown): string {
  if (name !== 'cookie') return ''
  const names = formatText(value).split(';')
  return names.map(pair => pair.trim().replace(/=.*/s, '')).join(', ')
}

function isSendable(name: string, value: unknown): boolean {
  try {
    return typeof value === 'string' && new Headers([[name, value]]).size === 1
  } catch {
    return false
  }
}

/** The part of a request body that a replay can send. */
interface PlannedBody {
  /** Whether the request had a body, and how much of it is stored. */
  readonly state: 'none' | 'whole' | 'partial' | 'missing'
  /** The body that is sent by default. */
  readonly content: string
  /** A sentence about the difference from the recorded body; empty if it is whole. */
  readonly note: string
}

/** The end of a text that was cut when it was recorded. */
const ellipsis = '…'

/** Plans the body of a replay; `contentType` is the header with its parameters. */
function planBody(body: BodyData | undefined, contentType: string): PlannedBody {
  if (body === undefined || body.length === 0) return { state: 'none', content: '', note: '' }
  const { files = [], form = [], json } = body
  if (json !== undefined) return describe(String(JSON.stringify(json[0])), [])
  if (body.type === 'multipart/form-data' || files.length > 0) {
    const boundary = parseParameters(contentType)?.get('boundary')
    if (boundary === undefined || (form.length === 0 && files.length === 0)) return missing(body)
    const lost =
      files.length === 0 ? [] : [`${formatCount(files.length, 'file')} will be empty: file contents are not stored.`]
    return describe(encodeMultipart(boundary, readFormParts(body)).toString(), lost)
  }
  return form.length > 0 ? describe(serializeForm(form), []) : missing(body)
}

function describe(content: string, lost: readonly string[]): PlannedBody {
  const decoded = content.replaceAll(encodeURIComponent(ellipsis), ellipsis)
  const notes = [
    ...lost,
    ...(content.includes(mask) ? [`Secrets in the body are masked as ${mask}.`] : []),
    ...(decoded.includes(ellipsis) ? [`The body may be cut at ${ellipsis}.`] : []),
  ]
  return { state: notes.length === 0 ? 'whole' : 'partial', content, note: notes.join(' ') }
}

function missing({ length, state, type }: BodyData): PlannedBody {
  const facts = [type, formatSize(length)].filter(fact => fact !== '')
  const name = `The body${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`
  const reason = state === 'unread' ? ' The application did not read it.' : ''
  return { state: 'missing', content: '', note: `${name} was not stored: the replay sends no body.${reason}` }
}
