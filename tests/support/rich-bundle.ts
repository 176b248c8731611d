import { type Application, type Bundle, dump, HttpError, type Request, recordMail } from 'sinfonietta'
import { encodeUpload } from 'sinfonietta/testing'
import { checkedForm, jsonBody, queryValues } from '#kernel/argument-sources.ts'
import { beginField } from '#kernel/contracts/fields.ts'
import { Event } from '#lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '#lib/http/response.ts'
import type { StandardSchema } from '#lib/schema/standard-schema.ts'

class DemoEvent extends Event {
  static readonly eventName = 'demo.happened'
}

class OrphanEvent extends Event {
  static readonly eventName = 'demo.without-listeners'
}

/**
 * Requests with data for every panel, much of it long: `/rich` takes forms, files and JSON,
 * `/rich/failed` throws all kinds of errors. It needs the site and the probe routes, and a server for them.
 */
export const richBundle: Bundle = {
  name: 'rich',
  register(app) {
    const { collectors, dispatcher, routes } = app
    const names = { [`a-${'long-'.repeat(20)}name`]: 'value'.repeat(100) }
    collectors.push({ name: 'demo', collect: () => ({ ...names, lines: { one: [1, 2], two: 'é'.repeat(300) } }) })
    collectors.push({ name: 'text', collect: () => 'only a text' })
    collectors.push({
      name: 'broken',
      collect() {
        throw new Error('this collector fails')
      },
    })
    dispatcher.on(DemoEvent, function stopIt(event) {
      event.stopPropagation()
    })
    dispatcher.on(DemoEvent, function neverCalled() {}, -10)
    routes.add({ name: 'rich', path: '/rich', methods: ['POST'], controller: request => showMuch(app, request) })
    routes.add({ name: 'rich_failed', path: '/rich/failed/:id', controller: request => failMuch(app, request) })
  },
}

const issues = [
  { message: 'The whole input is wrong.' },
  { message: `too ${'long '.repeat(50)}`, path: ['name'] },
  { message: 'too short', path: ['list', { key: 0 }, 'x'.repeat(80)] },
]

const refusing: StandardSchema = { '~standard': { version: 1, vendor: 'demo', validate: () => ({ issues }) } }
const failing: StandardSchema = {
  '~standard': { version: 1, vendor: 'demo', validate: () => Promise.reject(new Error('The schema fails.')) },
}

async function showMuch(
  { dispatcher, kernel, logger, queries, view }: Application,
  request: Request,
): Promise<Response> {
  const { attributes, body, session, stopwatch } = request
  await Promise.allSettled([body.formData(), body.json()])
  await Promise.allSettled([checkedForm(refusing)(request), jsonBody(refusing)(request), queryValues(failing)(request)])
  attributes.set('team', { name: 'Ada', roles: ['one', 'two'] })
  await session.set('basket', { count: 2, [`long-${'x'.repeat(80)}`]: 'y'.repeat(200) })
  await session.flash('notice', 'saved')
  for (const level of ['debug', 'info', 'warning', 'error', 'critical'] as const) {
    logger.channel('demo')[level]('The {level} of {thing}.', { level, thing: 'z'.repeat(120), more: [1, { a: 2 }] })
  }
  dump(
    { name: 'Ada', long: 'word '.repeat(100), [`k${'e'.repeat(80)}y`]: new Map([['list', [1, { deep: true }]]]) },
    'a label',
  )
  dump(new Error('dumped'))
  logger.error('Something was thrown.', { exception: new Error('logged', { cause: new TypeError('its cause') }) })
  await dispatcher.dispatch(new DemoEvent())
  await dispatcher.dispatch(new OrphanEvent())
  stopwatch.measure('a name that is rather long, with words', 'database', () => undefined)
  const transaction = {}
  const [system, namespace, server] = ['postgresql', 'shop', 'localhost:5432']
  const query = {
    system,
    namespace,
    server,
    text: 'SELECT * FROM products WHERE id = $1',
    parameters: [7],
    transaction,
  }
  for (const rows of [1, 2]) queries.begin({ ...query, source: 'channel', batch: rows })?.({ rows })
  const error = Object.assign(new Error('duplicate key'), { code: '23505' })
  queries.begin({ ...query, source: 'span' })?.({ error })
  await queries.measure('redis', 'GET cart', undefined, async () => 'x')
  for (const index of [0, 1]) {
    const run = beginField({ field: 'Book.author', path: () => `books.${index}.${'author'.repeat(20)}` })
    run?.leave()
    run?.end(index === 1)
  }
  const mail = {
    ...{ from: 'Shop <shop@example.org>', to: [`${'ada'.repeat(40)}@example.org`], subject: 'order '.repeat(30) },
    ...{ headers: [['x-long', 'h'.repeat(200)]] as const, text: 'Thanks. '.repeat(40), unread: ['HTML'] as const },
    ...{
      attachments: [{ name: `${'n'.repeat(100)}.pdf`, type: 'application/pdf', size: 10 }],
      transport: 'SMTP mail:25',
    },
  }
  const html = `<h1>Order</h1><p style="color: red">${'long'.repeat(60)} <a href="/reset?token=abcdefgh12345678">Reset</a></p>`
  recordMail(
    { ...mail, html },
    () => 'sent',
    () => 'kept',
  )
  await recordMail(
    mail,
    () => Promise.reject(new Error('550 no such user')),
    async () => {},
  ).catch(() => {})
  const origin = `http://${request.headers.get('host')}`
  const urls = [`${origin}/text?${'long='.repeat(60)}`, `${origin}/boom`, 'http://127.0.0.1:6/refused']
  await Promise.allSettled(urls.map(async url => (await fetch(url, { headers: { 'x-profiler': 'off' } })).text()))
  await kernel.handle(request.duplicate({ method: 'GET', target: '/item/5' }), { catchErrors: false })
  const page = await view.render('site/star-photo-booth', {}, request)
  return Response.html(page, {
    headers: { 'set-cookie': `theme=dark; Path=/${'p'.repeat(100)}; Domain=localhost; HttpOnly`, 'x-answer': 'yes' },
  })
}

async function failMuch({ logger }: Application, request: Request): Promise<Response> {
  logger.warning('About to fail for {id}.', { id: request.attributes.get('_route_params')?.id })
  const gathered = new AggregateError([new TypeError('the first'), new RangeError('the second')], 'all of them failed')
  const cause = Object.assign(new Error('the connection was lost', { cause: gathered }), { code: 'ECONNRESET' })
  throw new HttpError(503, `nothing can be said of ${request.query.get('subject')}`, { cause })
}

/** A profile of a request to the rich bundle. */
export interface RichRecord {
  readonly name: 'form' | 'upload' | 'json' | 'failed' | 'missing'
  readonly token: string
}

/** Sends requests with data for every panel to a server with the rich bundle. */
export async function askRichly(url: string): Promise<RichRecord[]> {
  const form = new URLSearchParams({
    name: 'n'.repeat(300),
    [`field-${'f'.repeat(100)}`]: 'short',
    password: 'hunter2',
  })
  const files = encodeUpload({ name: 'Ada', document: { name: 'cv.txt', type: 'text/plain', content: 'text' } })
  const json = JSON.stringify({ name: 'Ada', list: [1, { deep: 'text' }] })
  const cookie = { cookie: 'theme=light; seen=yes' }
  const rich = `/rich?page=2&${'q'.repeat(150)}=1`
  const ask = async (name: RichRecord['name'], path: string, init: RequestInit = {}) => {
    const response = await fetch(url + path, { ...init, headers: { ...cookie, ...init.headers } })
    await response.text()
    return { name, token: String(response.headers.get('x-debug-token')) }
  }
  const first = await ask('form', rich, { method: 'POST', body: form })
  await reportErrors(url, first.token)
  return [
    first,
    await ask('upload', rich, { method: 'POST', body: files.body, headers: { 'content-type': files.contentType } }),
    await ask('json', rich, { method: 'POST', body: json, headers: { 'content-type': 'application/json' } }),
    await ask('failed', `/rich/failed/7?subject=${'long'.repeat(40)}`),
    await ask('missing', '/star-photo-boot', { headers: { referer: `${url}/partnership` } }),
  ]
}

/** Reports errors of a browser, as the script of a page does. */
async function reportErrors(url: string, token: string): Promise<void> {
  const file = `${url}/assets/site/site.css`
  const stack = `    at run (${file}:3:7)\n    at http://other.test/${'long/'.repeat(40)}b.js:1:2`
  const errors = [
    {
      kind: 'exception',
      message: `TypeError: ${'x'.repeat(300)} is not a function`,
      file,
      line: 3,
      column: 7,
      stack,
      at: 12,
    },
    { kind: 'resource', message: '<img> /missing.png', at: 20 },
    { kind: 'console', message: 'said twice', stack: 'in another format', at: 30 },
    { kind: 'console', message: 'said twice', stack: 'in another format', at: 40 },
  ]
  await fetch(`${url}/_wdt/${token}/browser-errors`, {
    method: 'POST',
    body: JSON.stringify({ errors }),
    headers: { origin: url, 'content-type': 'application/json' },
  })
}
