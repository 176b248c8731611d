import { decodePart } from '../../../../lib/redact/mask-text.ts'
import type { BodyData, ContentData } from '../../profile/content.ts'
import { readHeader } from '../../profile/format.ts'
import { isObject, type JsonObject } from '../../profile/json.ts'
import type { Pairs } from '../../profile/schema.ts'
import type { RequestData, ResponseData } from './data.ts'
import { nameDocument } from './graphql-document.ts'

/**
 * What a request does inside of its protocol, as its path, its body and its response say:
 * `query Books` of GraphQL. A request that only looks alike has none.
 */
export interface Operation {
  readonly protocol: 'GraphQL' | 'JSON-RPC' | 'MCP' | 'tRPC' | 'gRPC' | 'Connect' | 'SOAP'
  /** The different names of a batch, in their order. */
  readonly names: readonly string[]
  /** How many operations a batch has; 1 without a batch. */
  readonly count: number
  /** Errors in the response, whatever its status. */
  readonly errors: readonly OperationError[]
  /** Whether the whole response was read for errors: a large or a binary one is not stored. gRPC ends with a status. */
  readonly areErrorsKnown: boolean
}

/** An error of an operation. */
interface OperationError {
  /** Masked. */
  readonly message: string
  /** Where in the operation, such as `books.0.author`, or the name of a call of a batch; empty if it is not known. */
  readonly path: string
}

/** A request and its response, as they are stored. */
interface StoredExchange {
  readonly method: string
  readonly url: string
  readonly status: number
  readonly request: RequestData | undefined
  readonly response: ResponseData | undefined
}

type Found = Omit<Operation, 'areErrorsKnown' | 'count' | 'names'> & { readonly all: readonly string[] }

/** Finds the operation of a request. Never throws: stored data has any shape. */
export function findOperation(exchange: StoredExchange): Operation | undefined {
  const { method, request, response, url } = exchange
  const isPlain =
    request?.body === undefined && request?.query === undefined && !url.includes('/trpc/') && !isTrpc(response)
  if (isPlain || (method !== 'GET' && method !== 'POST')) return undefined
  const found =
    readGraphql(exchange) ?? readJsonRpc(exchange) ?? readTrpc(exchange) ?? readRpc(exchange) ?? readSoap(exchange)
  const areErrorsKnown = found?.protocol === 'gRPC' ? statusesOf(response).length > 0 : isRead(response)
  return found && { ...found, areErrorsKnown, names: [...new Set(found.all)], count: found.all.length }
}

function isRead(response: ResponseData | undefined): boolean {
  const content = response?.content
  if (content === undefined) return response?.size === 0
  return content.json !== undefined || (content.text !== undefined && content.isCut !== true) || content.length === 0
}

/** The name of an operation for people: `query Books`, `tools/call search`, `user.byId and 2 more`. */
export function nameOperation({ count, names }: Pick<Operation, 'count' | 'names'>): string {
  const shown = names.slice(0, namesShown).join(', ')
  if (names.length > namesShown) return `${shown}, and ${names.length - namesShown} more`
  return count === names.length ? shown : `${shown} (${count} in all)`
}

const namesShown = 3

/** GraphQL over HTTP (its draft of 2025), batches, persisted documents, and the specification of multipart requests. */
function readGraphql({ method, request, response, status }: StoredExchange): Found | undefined {
  const requests = method === 'GET' ? readQuery(request) : readItems(readBodyValue(request?.body))
  const all = requests.flatMap(each => nameGraphql(each) ?? [])
  if (all.length === 0 || all.length < requests.length) return undefined
  const results = readAnswers(response?.content)
  // A gateway may refuse the request in another form. An answer that is no result says that the
  // request was none of GraphQL.
  if (status < 300 && results.some(result => !['data', 'errors', 'hasNext'].some(name => name in result)))
    return undefined
  if (status < 300 && response?.content?.json !== undefined && results.length === 0) return undefined
  // The parts of a result that come later.
  const parts = results.flatMap(result => [result, ...readItems(result.incremental), ...readItems(result.completed)])
  return { protocol: 'GraphQL', all, errors: parts.flatMap(({ errors }) => readItems(errors).map(toGraphqlError)) }
}

function readQuery(request: RequestData | undefined): JsonObject[] {
  const fields = Object.fromEntries(request?.query ?? [])
  return 'query' in fields || 'extensions' in fields || 'documentId' in fields
    ? [{ ...fields, extensions: parse(fields.extensions) }]
    : []
}

function nameGraphql({ documentId, extensions, operationName, query }: JsonObject): string | undefined {
  const name = typeof operationName === 'string' && operationName !== '' ? operationName : undefined
  if (typeof query === 'string' && query !== '') return nameDocument(query, name)
  const { persistedQuery } = isObject(extensions) ? extensions : {}
  const id = isObject(persistedQuery) ? persistedQuery.sha256Hash : documentId
  return typeof id === 'string' ? `persisted ${name ?? id.replace(/^sha256:/, '').slice(0, idLength)}` : undefined
}

const idLength = 8

function toGraphqlError({ message, path }: JsonObject): OperationError {
  return { message: toText(message), path: Array.isArray(path) ? path.join('.') : '' }
}

/** JSON-RPC 2.0 and its use by MCP, whose calls have the name of a tool, a prompt or a resource. */
function readJsonRpc({ request, response, status }: StoredExchange): Found | undefined {
  // The server answers a wrong member of a batch by an error, and does the others.
  const calls = readItems(request?.body?.json?.[0]).filter(
    ({ jsonrpc, method }) => jsonrpc === '2.0' && typeof method === 'string',
  )
  const answers = readAnswers(response?.content)
  // A log of calls that is sent somewhere looks alike: its answer does not.
  const isOther = answers.some(answer => !['jsonrpc', 'result', 'error'].some(name => name in answer))
  if (calls.length === 0 || (status < 300 && isOther)) return undefined
  const names = new Map(calls.filter(({ id }) => id !== undefined).map(call => [call.id, nameCall(call)]))
  const isMcp = calls.some(({ method }) => mcpMethod.test(String(method)))
  const errors = answers.flatMap(({ error, id, result }) => {
    const path = calls.length > 1 ? (names.get(id) ?? '') : ''
    if (isObject(error)) return { message: toText(error.message), path }
    if (!isMcp || !isObject(result) || result.isError !== true) return []
    return { message: toText(readItems(result.content).find(({ text }) => typeof text === 'string')?.text), path }
  })
  return { protocol: isMcp ? 'MCP' : 'JSON-RPC', all: calls.map(nameCall), errors }
}

const mcpMethod =
  /^(?:initialize|(?:notifications|tools|prompts|resources|completion|logging|sampling|elicitation|roots)\/\w[\w/]*)$/

function nameCall({ method, params }: JsonObject): string {
  const { name, uri } = isObject(params) && mcpMethod.test(String(method)) ? params : {}
  const subject = [name, uri].find(value => typeof value === 'string')
  return subject === undefined ? String(method) : `${method} ${subject}`
}

/** Procedures of tRPC 10 and 11: the path has their names. The response has a header of version 11, or its own form. */
function readTrpc({ method, request, response, url }: StoredExchange): Found | undefined {
  const [, folder = '', last = ''] = /^[^?#]*?(\/trpc)?\/([^/?#]+)(?:[?#]|$)/.exec(url) ?? []
  const isBatch = new Map(request?.query ?? []).get('batch') === '1'
  const isNamed = isTrpc(response)
  if (last === '' || !(isNamed || folder !== '' || isBatch)) return undefined
  const answers = readAnswers(response?.content)
  const results = answers.filter(({ error, result }) => isObject(result) || isObject(error))
  const isStream = readHeader(response, 'content-type').some(type => type.startsWith('text/event-stream'))
  const isKnown = isNamed || (results.length > 0 && results.length === answers.length)
  if (!isKnown && !(folder !== '' && isStream)) return undefined
  const kind = method === 'POST' ? 'mutation' : isStream && !isBatch ? 'subscription' : 'query'
  const procedures = isBatch ? decodePart(last, last).split(',') : [decodePart(last, last)]
  const errors = results.flatMap(({ error }, index) => {
    if (!isObject(error)) return []
    // A transformer, such as superjson, wraps the error.
    const { data, message } = isObject(error.json) ? error.json : error
    const named = isObject(data) && typeof data.path === 'string' ? data.path : procedures[index]
    return { message: toText(message), path: procedures.length > 1 ? (named ?? '') : '' }
  })
  return { protocol: 'tRPC', all: procedures.map(name => `${kind} ${name}`), errors }
}

/** Each request without a body is asked. */
function isTrpc(response: ResponseData | undefined): boolean {
  const isNamed = ([name, value]: Pairs[number]) =>
    name.length === 4 && name.toLowerCase() === 'vary' && String(value).includes('trpc-accept')
  return response?.headers.some(isNamed) === true
}

/** gRPC, gRPC-web and Connect: the path ends with the service and its method. */
function readRpc({ request, response, status, url }: StoredExchange): Found | undefined {
  const isGrpc = /^application\/grpc\b/.test(request?.body?.type ?? '')
  const isConnect =
    /^application\/connect\+/.test(request?.body?.type ?? '') ||
    readHeader(request, 'connect-protocol-version').length > 0 ||
    request?.query?.some(([name, value]) => name === 'connect' && value === 'v1') === true
  const [, name] = /\/((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*\/[A-Za-z_]\w*)(?:[?#]|$)/.exec(url) ?? []
  if (name === undefined || !(isGrpc || isConnect)) return undefined
  return isGrpc
    ? { protocol: 'gRPC', all: [name], errors: readGrpcErrors(response) }
    : { protocol: 'Connect', all: [name], errors: readConnectErrors(response, status) }
}

/** The status is a trailer, or a header if there is no body. */
function readGrpcErrors(response: ResponseData | undefined): OperationError[] {
  const [code = '0'] = statusesOf(response)
  const [message = ''] = statusesOf(response, 'grpc-message')
  return code === '0' ? [] : [{ message: decodePart(message, message) || `status ${code}`, path: '' }]
}

function statusesOf(response: ResponseData | undefined, name = 'grpc-status'): string[] {
  return [response, response && { headers: response.trailers ?? [] }].flatMap(end => readHeader(end, name))
}

/** The end of a stream has its error; another call fails with a status of HTTP. */
function readConnectErrors(response: ResponseData | undefined, status: number): OperationError[] {
  const ends = (response?.trailers ?? []).filter(([name]) => name === 'error').map(([, error]) => error)
  const [error] = status < 400 ? readItems(ends) : readAnswers(response?.content)
  return typeof error?.code === 'string' ? [{ message: toText(error.message ?? error.code), path: '' }] : []
}

/** SOAP 1.1 and 1.2: XML is not recorded, so the header has to name the action. */
function readSoap({ request, response }: StoredExchange): Found | undefined {
  const { type = '' } = request?.body ?? {}
  if (!/^(?:text\/xml|application\/soap\+xml)\b/.test(type)) return undefined
  const [contentType = ''] = readHeader(request, 'content-type')
  const [header = ''] = readHeader(request, 'soapaction')
  const action = header.replaceAll('"', '') || (/;\s*action="?([^";]+)/.exec(contentType)?.[1] ?? '')
  const name = /[^/#:]+$/.exec(action)?.[0]
  if (name === undefined) return undefined
  const [, fault] = soapFault.exec(response?.content?.text ?? '') ?? []
  const [, reason] = soapReason.exec(fault ?? '') ?? []
  return { protocol: 'SOAP', all: [name], errors: fault === undefined ? [] : [{ message: toText(reason), path: '' }] }
}

const soapFault = /<(?:[\w.-]{1,40}:)?Body\b[^>]{0,500}>\s{0,200}<(?:[\w.-]{1,40}:)?Fault\b([\s\S]{0,4000})/
const soapReason =
  /<(?:faultstring|(?:[\w.-]{1,40}:)?Text)\b[^>]{0,200}>\s{0,200}(?:<!\[CDATA\[)?([^<]{1,1000}?)\s{0,200}(?:\]\]>\s{0,200})?</

/** The JSON of a body, or of the field of a form that has the operations of a multipart request. */
function readBodyValue(body: BodyData | undefined): unknown {
  if (body?.form === undefined) return body?.json?.[0]
  const fields = new Map(body.form)
  return fields.has('map') ? parse(fields.get('operations')) : undefined
}

/** The objects of a response: of JSON, or of a stream of events, of lines or of parts. */
function readAnswers(content: ContentData | undefined): JsonObject[] {
  if (content?.json !== undefined) return readItems(content.json[0])
  const lines = (content?.text ?? '').matchAll(/^(?:data: ?)?([[{].*)$/gm)
  // A batch of tRPC has its results in lists within lists.
  return readItems([...lines].flatMap(([, line]) => [parse(line)].flat(nesting)))
}

const nesting = 5

/** The objects of a batch, or the only one. */
function readItems(value: unknown): JsonObject[] {
  return (Array.isArray(value) ? value : [value]).filter(isObject)
}

function parse(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

function toText(value: unknown): string {
  return typeof value === 'string' && value !== '' ? value : 'no message'
}
