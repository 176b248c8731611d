import { encodeMultipart, parseParameters } from '../../../../lib/body/multipart.ts'
import { Headers } from '../../../../lib/http/headers.ts'
import { forwardingHeaders } from '../../../../lib/http/proxy-headers.ts'
import { mask } from '../../../../lib/redact/secret-names.ts'
import type { BodyData } from '../../profile/exchange-data.ts'
import { readFormParts, serializeForm } from '../../profile/form-body.ts'
import { formatCount } from '../../profile/format.ts'
import { formatSize, formatText } from '../../profile/format-value.ts'
import type { Profile } from '../../profile/profile.ts'
import { splitUrl } from '../../profile/routes.ts'
import type { Pairs } from '../../profile/schema.ts'

/** How a recorded request can be made once more, or why it cannot. */
type ReplayPlan = PossibleReplay | ImpossibleReplay

/** What is sent, and what somebody has to say first. */
export interface PossibleReplay {
  readonly isPossible: true
  /** Of the record. */
  readonly token: string
  readonly method: string
  readonly target: string
  readonly scheme: 'http' | 'https'
  readonly ip: string
  readonly httpVersion: string
  /** Whether its client was allowed to see debug output; not, where a record does not say it. */
  readonly isDebugAllowed: boolean
  /** Without those whose values were never stored. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Headers whose values were masked: they are not sent, unless somebody supplies them. */
  readonly secrets: readonly SecretHeader[]
  /** Whether something in the target was masked. */
  readonly isTargetMasked: boolean
  readonly body: PlannedBody
  /** What else is not as it was, as sentences. */
  readonly notes: readonly string[]
  /** Why it should not be done without asking, as a sentence; empty when it may. */
  readonly caution: string
}

/** A header that was sent with a secret. */
interface SecretHeader {
  /** In lower case. */
  readonly name: string
  /** What is known of it: the names of cookies. */
  readonly hint: string
}

/** A record that is no request of its own, or none that can be understood. */
interface ImpossibleReplay {
  readonly isPossible: false
  readonly reason: string
  /** The token of the request that can be replayed instead; empty when there is none. */
  readonly parent: string
}

/** RFC 9110, section 9.2.1; TRACE is never answered. */
const safeMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

const forwarding: ReadonlySet<string> = new Set(forwardingHeaders)

const refusedNote =
  'The client may not see debug output: the profiler answers the replay as it has answered the request.'

/** Plans how a recorded request is made once more. */
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

/** Whether a replay needs nothing but a word. */
export function isDirect(plan: ReplayPlan): boolean {
  if (!plan.isPossible) return false
  const { body, caution, isTargetMasked, secrets } = plan
  const isComplete = body.state === 'none' || body.state === 'whole'
  return caution === '' && secrets.length === 0 && !isTargetMasked && isComplete
}

function cautionOf(method: string, outcome: Profile['summary']['outcome']): string {
  if (outcome === 'crashed') return 'This request made the process exit. A replay may do so again.'
  if (safeMethods.includes(method)) return ''
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

/** What proxies have forwarded is known: the URL is the client's. So it is where a record is damaged. */
function withHost(headers: readonly Field[], host: string | undefined, isTold: boolean): readonly Field[] {
  const isHost = ([name]: Field) => name.toLowerCase() === 'host'
  if (host === undefined || (!isTold && headers.some(isHost))) return headers
  return [['host', host], ...headers.filter(field => !isHost(field))]
}

/** One that is masked in part says most of what it said. */
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

/** What of a request's body can be sent once more. */
interface PlannedBody {
  /** Whether there was a body, and how much of it is known. */
  readonly state: 'none' | 'whole' | 'partial' | 'missing'
  /** What is sent unless something else is supplied. */
  readonly content: string
  /** What of it is not as it was, as a sentence; empty when it is whole. */
  readonly note: string
}

/** Stands where a copy was cut. */
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
