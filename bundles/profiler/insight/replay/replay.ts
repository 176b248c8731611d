import { networkInterfaces } from 'node:os'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { type DebugGate, isLoopback } from '../../../../kernel/debug/debug-gate.ts'
import type { HttpKernel } from '../../../../kernel/http-kernel.ts'
import { setContentLength } from '../../../../kernel/server/to-node.ts'
import { encodeMultipart, parseParameters } from '../../../../lib/body/multipart.ts'
import { RequestBody } from '../../../../lib/body/request-body.ts'
import { Headers } from '../../../../lib/http/headers.ts'
import { Request } from '../../../../lib/http/request.ts'
import { isSafe } from '../../../../lib/http/request-target.ts'
import { type Body, discard } from '../../../../lib/http/response.ts'
import { forwardingHeaders } from '../../../../lib/http/trusted-proxies.ts'
import { within } from '../../../../lib/own-globals.ts'
import { mask } from '../../../../lib/redact/secret-names.ts'
import { type BodyData, readFormParts, serializeForm } from '../../profile/content.ts'
import { formatCount, formatSize, formatText } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import type { Pairs } from '../../profile/schema.ts'
import { unitOf } from '../../profile/units.ts'
import type { ProfileOrigin } from '../../record/collect.ts'
import type { Profiler } from '../../record/profiler.ts'
import { readServerAddress, replayAttribute } from '../../record/recording-policy.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import { splitUrl } from '../../subjects/router/data.ts'
import { addCalled } from '../called.ts'
import { awaitLateWork } from './late-work.ts'

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
  /** What has answered the request. */
  readonly origin: ProfileOrigin
  /** Of a request that another server has answered: the address of that server, such as `127.0.0.1:3000`. */
  readonly address: string | undefined
  /** Whether the client was allowed to see debug output; `false` if the profile does not contain it. */
  readonly isDebugAllowed: boolean
  /** The headers whose values are stored in full. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Headers with masked values: by default they are not sent. */
  readonly secrets: readonly SecretHeader[]
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

const forwarding: ReadonlySet<string> = new Set(forwardingHeaders)

const refusedNote =
  'The client may not see debug output: the profiler answers the replay as it has answered the request.'

/** Plans the replay of a recorded request. */
export function planReplay({ collectors, summary }: Pick<Profile, 'collectors' | 'summary'>): ReplayPlan {
  const { folder, ip, machine, method, outcome, parent, program, token, url } = summary
  if (parent !== null) {
    const reason = 'A sub-request is a part of another request: replay the main request.'
    return { isPossible: false, reason, parent }
  }
  const { isExchange, nouns } = unitOf(summary)
  if (!isExchange) return { isPossible: false, reason: `Only requests can be replayed, not ${nouns}.`, parent: '' }
  const parts = splitUrl(url)
  if (parts === undefined) return { isPossible: false, reason: 'The recorded URL is not valid.', parent: '' }

  const { request } = collectors
  const address = readServerAddress({ collectors })
  const isElsewhere = address !== undefined
  if (isElsewhere && !isOfThisMachine(address)) {
    const reason = `A server on this machine cannot have had the address ${address}, which the profile names.`
    return { isPossible: false, reason, parent: '' }
  }
  const { headers, notes, secrets } = planHeaders(request?.headers ?? [], parts.host, isElsewhere)
  const isDebugAllowed = request?.isDebugAllowed ?? false
  const { httpVersion = '' } = request ?? {}
  const contentType = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? ''
  return {
    isPossible: true,
    token,
    origin: { program, machine, folder },
    method,
    target: parts.target,
    scheme: parts.scheme,
    ip,
    httpVersion: ['1.0', ...(isElsewhere ? ['2'] : [])].includes(httpVersion) ? httpVersion : '1.1',
    address,
    isDebugAllowed,
    headers,
    secrets,
    isTargetMasked: parts.target.includes(mask),
    body: planBody(request?.body, contentType),
    notes: isDebugAllowed || isElsewhere ? notes : [...notes, refusedNote],
    caution: cautionOf(method, outcome),
  }
}

/**
 * The profile may be damaged, or the machine has had the address in another network: the server of
 * a stranger may have it now.
 */
function isOfThisMachine(address: string): boolean {
  const host = hostOf(address)
  return isLoopback(host) || Object.values(networkInterfaces()).some(list => list?.some(own => own.address === host))
}

/** The address of a server without its port: `::1` of `[::1]:3000`. */
export function hostOf(address: string): string {
  return address.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
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

/** The header fields of proxies are for the application: another server gets them as they were. */
function planHeaders(fields: Pairs, host: string | undefined, isElsewhere: boolean) {
  const headers: Field[] = []
  const secrets = new Map<string, string>()
  const lost: string[] = []
  const forwarded: string[] = []
  let isCut = false
  for (const [field, value] of fields) {
    const name = field.toLowerCase()
    if (field === '…') isCut = true
    else if (!isElsewhere && forwarding.has(name)) forwarded.push(name)
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
    const lost = [
      ...(body.note === undefined ? [] : [body.note]),
      ...(files.length === 0
        ? []
        : [`${formatCount(files.length, 'file')} will be empty: file contents are not stored.`]),
    ]
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

/** The services of a {@link Replayer}. */
export interface ReplayerServices {
  readonly kernel: Pick<HttpKernel, 'answerError' | 'handle' | 'run' | 'terminate'>
  readonly profiler: Pick<Profiler, 'find' | 'whenStored'>
  readonly debugGate: Pick<DebugGate, 'refuse'>
  /** The time limit for the response, in milliseconds; 30 seconds by default. */
  readonly patience?: number
  /** The time limit for reading a stream, in milliseconds; 5 seconds by default. */
  readonly streamPatience?: number
}

/** The result of a replay: the token of its profile, or a sentence why there is no profile. */
export type ReplayResult = { readonly token: string } | { readonly problem: string }

/** Replays recorded requests in this process. Each replay is a main request with its own profile. */
export class Replayer {
  readonly #services: ReplayerServices

  constructor(services: ReplayerServices) {
    this.#services = services
  }

  /**
   * Replays a request, and waits until its profile is stored. @throws HTTP_HEADER_INVALID before the request is sent
   */
  async replay(plan: PossibleReplay, input?: ReplayInput): Promise<ReplayResult> {
    const { debugGate, patience = 30_000, profiler } = this.#services
    const request = createReplayRequest(plan, input)
    // Without proxy headers the request looks like a local one, which the debug gate allows.
    if (!plan.isDebugAllowed) debugGate.refuse(request)
    const isOver = await within(patience, this.#exchange(request))
    const token = profiler.find(request)?.token
    if (!isOver) return { problem: 'There was no response in time. The profile appears when the request is complete.' }
    if (token === undefined) return { problem: 'The replay has a response, but no profile.' }
    await profiler.whenStored(token)
    return { token }
  }

  /** Handles the request as a server does, and discards the response. Never rejects. */
  async #exchange(request: Request): Promise<true> {
    const { kernel, streamPatience = 5_000 } = this.#services
    let response = await kernel.handle(request)
    const signal = AbortSignal.timeout(streamPatience)
    const read = () => (request.method === 'HEAD' ? whole : readToEnd(response.body, signal))
    let reading = await kernel.run(request, read)
    if (reading.error !== undefined && !reading.hasBegun) {
      response = await kernel.answerError(request, reading.error)
      reading = await kernel.run(request, read)
    }
    setContentLength(response)
    discard(response.body)
    await kernel.terminate(request, response, { isSent: reading.isWhole, streamError: reading.error })
    return true
  }
}

/** The profile of a replay, or a sentence why there is none. */
type Repeated = { readonly profile: Profile } | { readonly problem: string }

/**
 * Makes a request again, and completes profiles by the work that was done after their responses,
 * or by the requests that they have made.
 */
export interface Repeating {
  repeat(): Promise<Repeated>
  complete(profiles: readonly [Profile, ...Profile[]]): Promise<readonly [Profile, ...Profile[]]>
}

/**
 * What replays the request of a plan as often as it is verified. @throws HTTP_HEADER_INVALID before the request is sent
 */
export function createRepeating(
  plan: PossibleReplay,
  input: ReplayInput | undefined,
  services: Parameters<typeof repeatRequest>[2] & { readonly storage: Pick<ProfileStorage, 'search'> },
): Repeating {
  return {
    repeat: () => repeatRequest(plan, input, services),
    complete: async profiles => addCalled(await awaitLateWork(profiles, services.storage), services.storage),
  }
}

/** Replays a request once, and reads the profile. @throws HTTP_HEADER_INVALID before the request is sent */
async function repeatRequest(
  plan: PossibleReplay,
  input: ReplayInput | undefined,
  {
    replayer,
    storage,
  }: { readonly replayer: Pick<Replayer, 'replay'>; readonly storage: Pick<ProfileStorage, 'find'> },
): Promise<Repeated> {
  const result = await replayer.replay(plan, input)
  if ('problem' in result) return result
  return (await storage.find(result.token)) ?? { problem: 'The profile of the replay was not stored.' }
}

/** How far a body was read, and the error of its stream. */
interface Reading {
  readonly isWhole: boolean
  readonly hasBegun: boolean
  readonly error?: unknown
}

const whole: Reading = { isWhole: true, hasBegun: true }

/** Reads a streamed body to its end; other bodies are already whole. */
async function readToEnd(body: Body, signal: AbortSignal): Promise<Reading> {
  if (!(body instanceof Readable)) return whole
  try {
    await finished(body.resume(), { signal, writable: false })
    return whole
  } catch (error) {
    return { isWhole: false, hasBegun: body.readableDidRead, ...(!signal.aborted && { error }) }
  }
}

/** Values that a user supplies for a replay, because they are not stored. By default the planned values are used. */
export interface ReplayInput {
  /** Values of headers by lower-case name. */
  readonly headers?: ReadonlyMap<string, string>
  readonly target?: string
  readonly body?: string | Uint8Array
}

/** Creates the header fields of a replay and its body, with the values of a user. @throws HTTP_HEADER_INVALID */
export function createReplayMessage(plan: PossibleReplay, input: ReplayInput = {}) {
  const headers = new Headers(plan.headers)
  for (const [name, value] of input.headers ?? []) headers.set(name, value)
  const body = Buffer.from(input.body ?? plan.body.content)
  if (body.length === 0) headers.delete('transfer-encoding')
  // A chunked body has no content-length (RFC 9112, section 6.2).
  if (headers.has('content-length') || (body.length > 0 && !headers.has('transfer-encoding'))) {
    headers.set('content-length', String(body.length))
  }
  return { headers, body }
}

/** Creates the request of a replay, with the attribute that marks a replay. @throws HTTP_HEADER_INVALID */
export function createReplayRequest(plan: PossibleReplay, input: ReplayInput = {}): Request {
  const { httpVersion, ip, method, scheme, token } = plan
  const { body: bytes, headers } = createReplayMessage(plan, input)
  const request = new Request({
    method,
    target: input.target ?? plan.target,
    headers,
    httpVersion,
    connection: { remoteAddress: ip, encrypted: scheme === 'https' },
    ...(bytes.length > 0 && { body: readBodyOf(bytes, headers) }),
  })
  request.attributes.set(replayAttribute, token)
  return request
}

function readBodyOf(bytes: Buffer, headers: Headers): RequestBody {
  return new RequestBody({
    stream: Readable.from([bytes]),
    length: bytes.length,
    contentType: headers.get('content-type') ?? undefined,
    contentEncoding: headers.get('content-encoding') ?? undefined,
  })
}
