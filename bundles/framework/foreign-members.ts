import { FormResult } from '../../kernel/argument-sources.ts'
import type { Application } from '../../kernel/bundle.ts'
import {
  ExceptionEvent,
  FinishRequestEvent,
  KernelEvent,
  RequestEvent,
  type RequestKernel,
  ResponseEvent,
  TerminateEvent,
  ViewEvent,
} from '../../kernel/events.ts'
import { FormData, UploadedFile } from '../../lib/body/form-data.ts'
import { RequestBody } from '../../lib/body/request-body.ts'
import { Output } from '../../lib/console/output.ts'
import { DeclaredValues, Settings } from '../../lib/env/settings.ts'
import { Cookies } from '../../lib/http/cookies.ts'
import { EventStream } from '../../lib/http/event-stream.ts'
import { Headers } from '../../lib/http/headers.ts'
import { AttributeMap, Query, Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import { ChannelLogger } from '../../lib/log/create-logger.ts'
import { RouteDeclarations } from '../../lib/routing/route-collection.ts'
import { UrlGenerator } from '../../lib/routing/url-generator.ts'
import { Session } from '../../lib/session/session.ts'
import { locateFrame, parseStack } from '../../lib/stack/stack-frames.ts'
import { nearestNames } from '../../lib/text/mistakes.ts'

/**
 * Logs each use of a member that an object does not have, but has in other frameworks, such as `request.params`:
 * reading it gives `undefined`, and setting it has no effect. The use itself is not changed. The compiler
 * reports it, too, but Node runs TypeScript without the compiler. The returned function ends the reports.
 */
export function reportForeignMembers({ context, directory, logger }: Application): () => void {
  watchClasses()
  const said = new Set<string>()
  const report: Report = (member, right, use) => {
    // Clients choose some names, so their number is limited.
    if (said.has(member) || said.size === limit) return
    const [frame] = parseStack(captureUse(use))
    const place = frame && locateFrame(frame, directory)
    // Node and packages read members that a value may have, such as `toJSON`, to print, compare or copy it.
    if (place?.origin !== 'application') return
    said.add(member)
    const message = 'There is no {member} (in {place}): use {right}.'
    const log = context.current === undefined ? logger : logger.withRequestId(context.current.id)
    log.warning(message, { member, place: `${place.file}:${frame?.line}`, right })
  }
  const reporter = { report, isConcerned: () => context.current !== undefined }
  context.enable()
  reporters.add(reporter)
  return () => void reporters.delete(reporter)
}

/** `use` is the function that has noticed the use. */
type Report = (member: string, right: string, use: () => void) => void

const limit = 100

/** Those of the kernels of the process that are in development. */
const reporters = new Set<{ readonly report: Report; readonly isConcerned: () => boolean }>()

function captureUse(use: () => void): Error {
  const error = new Error()
  Error.captureStackTrace(error, use)
  return error
}

/** What is right instead of a key; `undefined` if the key is no mistake. */
type Advice<type> = (key: string, object: type) => string | undefined

/** The class of a watched object. Its constructor may be private. */
interface Watched<type> {
  readonly prototype: type
}

/**
 * Gives a prototype the fields that constructors set. Without them, the first value of each field
 * would be set through the proxy: a request in development would take a fifth longer.
 */
function shareFields(sample: object, prototype: object = Object.getPrototypeOf(sample)): void {
  for (const field of Object.keys(sample)) {
    if (!(field in prototype)) Object.defineProperty(prototype, field, { writable: true, configurable: true })
  }
}

/** Of each watched class whose objects have fields. */
function shareAllFields(): void {
  const request = new Request({ target: '/' })
  const response = new Response()
  for (const sample of [request, request.body, response]) shareFields(sample)
  const kernel = {} as RequestKernel
  shareFields(new FinishRequestEvent(kernel, request), KernelEvent.prototype)
  shareFields(new RequestEvent(kernel, request))
  shareFields(new ViewEvent(kernel, request, undefined))
  shareFields(new ExceptionEvent(kernel, request, undefined))
  shareFields(new TerminateEvent(kernel, request, response))
}

let isWatching = false

/** Once in a process, because classes have no kernel. */
function watchClasses(): void {
  if (isWatching) return
  isWatching = true
  shareAllFields()
  const held = (call: string) => (key: string, values: { has(key: string): unknown }) =>
    values.has(key) ? `${call}.get("${key}")` : undefined
  watch(Query, 'request.query', held('request.query'))
  watch(Cookies, 'request.cookies', held('request.cookies'))
  const setAttribute = (key: string) => `request.attributes.set("${key}", value)`
  watch(AttributeMap, 'request.attributes', held('request.attributes'), setAttribute)
  watch(FormData, 'form', held('form'))
  watch(
    FormResult,
    'form',
    (key, { values }) => among(formMembers)(key) ?? (Object.hasOwn(values, key) ? `form.value.${key}` : undefined),
  )
  watch(UploadedFile, 'file', among(fileMembers))
  watch(Output, 'output', among(outputMembers))
  watch(ChannelLogger, 'logger', among(loggerMembers))
  const header: Advice<Headers> = (key, headers) =>
    key.includes('-') || (/^\w+$/.test(key) && headers.has(key)) ? `headers.get("${key}")` : undefined
  watch(Headers, 'headers', header, key => `headers.set("${key}", value)`)
  watch(RequestBody, 'request.body', () => 'await request.json(), await request.formData() or await request.text()')
  const get = (key: string) =>
    among(sessionMembers)(key) ?? (sessionMethod.test(key) ? sessionMethods : `await session.get("${key}")`)
  watch(Session, 'session', get, key => `await session.set("${key}", value)`)
  watch(DeclaredValues, 'settings.of(settings)', (key, values) => {
    const names = Object.keys(values)
    const nearest = nearestNames(key.toUpperCase(), names)
    return (nearest.length > 0 ? nearest : names).join(' or ') || undefined
  })
  watch(Settings, 'settings', key =>
    /^[A-Z][A-Z\d_]+$/.test(key) ? `settings.of(settings of the bundle).${key}` : undefined,
  )
  watch(Request, 'request', among(requestMembers))
  watch(RouteDeclarations, 'routes', among(routeMembers))
  watch(UrlGenerator, 'urls', among({ path: generate, url: generate, to: generate }))
  watch(EventStream, 'stream', among(streamMembers))
  watch(Response, 'response', among(responseMembers), among(responseMembers))
  watch(KernelEvent, 'event', (key, event) => {
    if (eventMembers.has(key)) return `event.request.${key}`
    if (event instanceof ExceptionEvent && errorNames.has(key)) return 'event.error'
    if (event instanceof ResponseEvent) return answerNames.has(key) ? 'event.response = response' : undefined
    const isAnswered = event instanceof RequestEvent || event instanceof ViewEvent || event instanceof ExceptionEvent
    return isAnswered && answerNames.has(key) ? 'event.respond(response)' : undefined
  })
}

/**
 * Watches a class by a proxy behind its prototype: all members are found before it, and `in`,
 * `instanceof` and `Object.keys()` see what they saw.
 */
function watch<type extends object>(
  { prototype }: Watched<type>,
  noun: string,
  onRead: Advice<type>,
  onSet?: Advice<type>,
): void {
  const parent: object = Object.getPrototypeOf(prototype)
  // The members of a parent of the platform would be found behind the proxy, which is slow.
  if (parent !== Object.prototype) {
    const inherited = Object.getOwnPropertyDescriptors(parent)
    Object.defineProperties(prototype, { ...inherited, ...Object.getOwnPropertyDescriptors(prototype) })
  }
  const report = (key: string | symbol, right: string | undefined, use: () => void) => {
    if (right === undefined) return
    const member = `${noun}${/^\w+$/.test(String(key)) ? `.${String(key)}` : `["${String(key)}"]`}`
    const concerned = [...reporters].filter(({ isConcerned }) => isConcerned())
    for (const { report } of concerned.length > 0 ? concerned : reporters) report(member, right, use)
  }
  const advise = (advice: Advice<type>, key: string | symbol, receiver: type) =>
    typeof key !== 'string' || receiver === prototype ? undefined : advice(key, receiver)
  const behind: ProxyHandler<object> = {
    get: function use(target, key, receiver) {
      // The language itself reads `then` of a value that is awaited.
      if (!(key in target) && key !== 'then') report(key, advise(onRead, key, receiver), use as () => void)
      return Reflect.get(target, key, receiver)
    },
    set: function use(target, key, value, receiver) {
      if (onSet !== undefined) report(key, advise(onSet, key, receiver), use as unknown as () => void)
      return Reflect.set(target, key, value, receiver)
    },
  }
  Object.setPrototypeOf(prototype, new Proxy(Object.create(parent), behind))
}

function among(members: Readonly<Record<string, string>>) {
  return (key: string): string | undefined => (Object.hasOwn(members, key) ? members[key] : undefined)
}

const parameters = 'the second argument of the controller, or routeParameter(name) as a source'
const fields = 'await request.formData() or await request.json()'
const bytes = 'await request.body.bytes()'
const file = 'uploadedFile(name) as a source, or await request.formData()'

const requestMembers = {
  params: parameters,
  param: parameters,
  ip: 'request.clientIp',
  protocol: 'request.scheme',
  subdomains: 'request.hostname',
  originalUrl: 'request.target',
  searchParams: 'request.query',
  nextUrl: 'request.query, request.path or request.url',
  get: 'request.headers.get(name), or request.attributes.get(name)',
  header: 'request.headers.get(name)',
  xhr: "request.headers.get('x-requested-with')",
  request: `the request itself, also in a guard: check(request); a form is ${fields}`,
  file,
  files: file,
  req: 'the first argument of the controller, which is the request itself',
  env: 'settings: defineSettings() and settings.of()',
  log: 'the service of register({ logger })',
  route: "request.attributes.get('_route')",
  locale: "request.attributes.get('_locale')",
  user: 'await request.session.get(name), or an attribute that a guard has set',
  secure: 'request.scheme',
  host: 'request.hostname or request.origin',
  pathname: 'request.path',
  form: fields,
  input: fields,
  content: 'await request.text()',
  arrayBuffer: bytes,
  blob: bytes,
  socket: 'request.connection',
  signedCookies: 'request.cookies',
  flash: 'await request.session.flash(name, message)',
  locals: 'request.attributes',
  state: 'request.attributes',
  redirect: 'request.redirectTo(route, parameters)',
  render: 'view.render(template, model, request)',
  is: "request.headers.get('content-type')",
  // Those of Symfony.
  getMethod: 'request.method',
  isMethod: 'request.method',
  getPathInfo: 'request.path',
  getUri: 'request.url',
  getHost: 'request.hostname',
  getScheme: 'request.scheme',
  isSecure: 'request.scheme',
  getClientIp: 'request.clientIp',
  getContent: 'await request.text()',
  toArray: 'await request.json()',
  getSession: 'request.session',
  getLocale: "request.attributes.get('_locale')",
  isXmlHttpRequest: "request.headers.get('x-requested-with')",
}

const sessionMembers = {
  destroy: 'await session.invalidate()',
  flush: 'await session.invalidate()',
  migrate: 'await session.regenerate()',
  getFlashBag: 'await session.flash(name, message), and await session.flashes(name)',
  id: 'await session.metadata()',
}

const isChecked = 'form.issues, which is undefined for a form without issues'

const formMembers = {
  errors: 'form.issues',
  error: 'form.issues',
  isValid: isChecked,
  success: isChecked,
  data: 'form.value',
  output: 'form.value',
  get: 'form.value, or form.values for the texts that were sent',
}

/** `getId`, `setItem`, `remove` and the like. */
const sessionMethod = /^(?:get|set|has|is|add|remove|start|save)(?:[A-Z]\w*)?$/
const sessionMethods = 'get, set, has, delete, all, clear, update, take, regenerate or metadata'

const move = 'await file.saveAs(path)'

const several = '(await request.formData()).getAll(name): uploadedFile() gives the first file of several'

const fileMembers = {
  length: several,
  map: several,
  forEach: several,
  originalname: 'file.name',
  filename: 'file.name',
  originalFilename: 'file.name',
  mimetype: 'file.type',
  filepath: 'file.path',
  buffer: 'await readFile(file.path)',
  data: 'await readFile(file.path)',
  arrayBuffer: 'await readFile(file.path)',
  text: "await readFile(file.path, 'utf8')",
  stream: 'createReadStream(file.path)',
  move,
  mv: move,
}

const line = 'output.write(text), with a line break at its end'

const outputMembers = { writeln: line, log: line, info: line, success: line, table: 'output.print({ blocks, json })' }

const loggerMembers = {
  log: 'logger.info(message, context)',
  trace: 'logger.debug(message, context)',
  notice: 'logger.info(message, context)',
  warn: 'logger.warning(message, context)',
  fatal: 'logger.critical(message, context)',
  alert: 'logger.critical(message, context)',
  emergency: 'logger.critical(message, context)',
  child: 'logger.channel(name)',
}

const made = 'Response.text(), Response.html() or Response.json(), and return the response'
const cookie = 'setCookie(response.headers, name, value)'

const responseMembers = {
  send: made,
  end: made,
  statusCode: 'response.status',
  setHeader: 'response.headers.set(name, value)',
  cookie,
  cookies: cookie,
  clearCookie: "setCookie(response.headers, name, '', { maxAge: 0 })",
  set: 'response.headers.set(name, value)',
  header: 'response.headers.set(name, value)',
  append: 'response.headers.append(name, value)',
  sendFile: 'createFileResponse(request, path, { root })',
  download: 'createFileResponse(request, path, { root, name })',
  locals: 'request.attributes',
}

const event = 'stream.send({ event, data })'
const over = 'the function that open returns, or stream.signal'

const streamMembers = {
  write: event,
  emit: event,
  push: event,
  writeSSE: event,
  on: over,
  onClose: over,
  onAbort: over,
  close: 'stream.end()',
  sleep: "setTimeout of 'node:timers/promises', with stream.signal",
}

const anyMethod = 'routes.add({ name, path, controller }), which answers all methods'

const routeMembers = {
  all: anyMethod,
  any: anyMethod,
  route: 'routes.get(name, path, function), or routes.add({ name, path, methods, controller })',
  head: 'routes.get(name, path, function), which answers HEAD, too',
  options: "routes.add({ name, path, methods: ['OPTIONS'], controller })",
  del: 'routes.delete(name, path, function)',
  use: 'dispatcher.on(RequestEvent, listener), or routes.group({ prefix }, function)',
  redirect: 'routes.get(name, path, request => request.redirectTo(route))',
}

const generate = 'urls.generate(name, parameters)'

const eventMembers = new Set(['path', 'url', 'method', 'headers', 'query', 'cookies', 'session', 'attributes', 'body'])
const errorNames = new Set(['exception', 'throwable'])
const answerNames = new Set(['respond', 'setResponse'])
