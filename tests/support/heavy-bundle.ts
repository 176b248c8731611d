import { request as open } from 'node:http'
import { type Application, type Bundle, dump, type Request } from 'sinfonietta'
import { Response } from '#lib/http/response.ts'

/** The recorded values of a request: many short ones, or few that are long. */
interface Weight {
  readonly count: number
  /** Some characters take six bytes on a page: `"` is `&quot;`. */
  readonly text: string
}

const weights: Readonly<Record<'many' | 'long', Weight>> = {
  many: { count: 490, text: 'a short text' },
  long: { count: 9, text: 'é """\n'.repeat(500) },
}

/** Requests that record as much as the profiler keeps: `/heavy/many` answers with JSON, and throws with `?failed=1`. */
export const heavyBundle: Bundle = {
  name: 'heavy',
  register(app) {
    const controller = (request: Request) => answer(app, request)
    app.routes.add({ name: 'heavy', path: '/heavy/:weight', methods: ['POST'], controller })
    for (let n = 0; n < 300; n++) app.routes.add({ name: `heavy_${n}`, path: `/${'heavy-'.repeat(9)}${n}`, controller })
  },
}

async function answer(app: Application, request: Request): Promise<Response> {
  const { count, text } = weights[request.path.endsWith('many') ? 'many' : 'long']
  const { attributes, body, session, stopwatch } = request
  const { kernel, logger, queries, view } = app
  await Promise.allSettled([body.formData(), body.json()])
  const named = (name: string, limit = count) =>
    Array.from({ length: limit }, (_, n): [string, string] => [`${name}-${n}`, `${n} ${text}`])
  for (const [name, value] of named('attribute', Math.min(count, 99))) attributes.set(name, value)
  for (const [name, value] of named('session')) await session.set(name, value)
  for (const [name, value] of named('notice')) await session.flash(name, value)
  for (const [name, value] of named('message', 500)) {
    const exception = name.endsWith('77') ? new Error(value, { cause: new TypeError(value) }) : undefined
    logger.warning(`${name} {value}`, { name, value, deep: nest(3, value), ...(exception && { exception }) })
  }
  for (const [name, value] of named('dump', 50)) dump(nest(4, value), name)
  for (const [name, value] of named('query', 500)) {
    const system = name.endsWith('1') ? 'redis' : 'postgresql'
    const query = { system, namespace: 'shop', server: 'db', text: `SELECT ${value}`, source: 'channel' as const }
    queries.begin({ ...query, parameters: Array(20).fill(value) })?.({ error: new Error(value) })
  }
  for (const [, value] of named('work', 1000)) stopwatch.measure(value.slice(0, 100), 'database', () => undefined)
  for (let n = 0; n < 100; n++) await view.render('site/star-photo-booth', {}, request)
  for (let n = 0; n < 30; n++) {
    await kernel.handle(request.duplicate({ method: 'GET', target: `/item/${n}` }), { catchErrors: false })
  }
  const origin = `http://${request.headers.get('host')}`
  const init = { method: 'POST', body: JSON.stringify(nest(4, text)), headers: { 'x-profiler': 'off' } }
  await Promise.all(
    named('call', 40).map(async ([, value]) => {
      await (await fetch(`${origin}/text?${encodeURIComponent(value)}`, init)).text()
    }),
  )
  if (request.query.has('failed')) throw named('property', 9).reduce(fail, new Error(text))
  const response = Response.json(nest(8, text))
  for (const [name, value] of named('header')) {
    response.headers.append(name, value.replaceAll(/[^ -~]/g, '"'))
    response.headers.append('set-cookie', `${name}=x; Path=/${value.replaceAll(/[^!-~]/g, '"')}`)
  }
  return response
}

function fail(cause: Error, [name, value]: readonly [string, string]): Error {
  return Object.assign(new Error(value, { cause }), { [name]: value, more: nest(3, value) })
}

function nest(depth: number, text: string): object {
  return {
    text,
    'a longer name': [text, 1, null],
    ...(depth > 0 && { one: nest(depth - 1, text), two: nest(depth - 1, text) }),
  }
}

/** A profile of a request to the heavy bundle. */
export interface HeavyRecord {
  readonly name: 'many' | 'long'
  readonly token: string
  /** The page of its response. */
  readonly text: string
}

/** Sends a form that is answered, or JSON on which the application throws, to a server with the heavy bundle. */
export async function askFor(url: string, name: HeavyRecord['name']): Promise<HeavyRecord> {
  const pairs = pairsOf(name)
  if (name === 'many') {
    const form = { type: 'application/x-www-form-urlencoded', body: String(new URLSearchParams(pairs)) }
    return { name, ...(await send(`${url}/heavy/many`, pairs, form)) }
  }
  const json = { type: 'application/json', body: JSON.stringify(Object.fromEntries(pairs)) }
  return { name, ...(await send(`${url}/heavy/long?failed=1`, pairs, json)) }
}

function pairsOf(name: keyof typeof weights): [string, string][] {
  const { count, text } = weights[name]
  return Array.from({ length: count }, (_, n) => [`name-${n}`, text])
}

/**
 * Sends a body, with as many query values, headers and cookies as a request may have. `fetch` refuses so many headers.
 */
function send(url: string, pairs: readonly [string, string][], { body, type }: { body: string; type: string }) {
  const some = pairs
    .slice(0, 80)
    .map(([name, value]): [string, string] => [name, value.slice(0, 300).replaceAll(/[^ -~]/g, '"')])
  const address = new URL(url)
  for (const [name, value] of some.slice(0, 40)) address.searchParams.append(name, value.slice(0, 50))
  const cookie = some.map(([name]) => `${name}=x`).join('; ')
  const headers = { accept: 'text/html', ...Object.fromEntries(some), cookie, 'content-type': type }
  return new Promise<{ token: string; text: string }>((resolve, reject) => {
    const sent = open(address, { method: 'POST', headers, maxHeaderSize: 1_000_000 }, answer => {
      const chunks: Buffer[] = []
      answer.on('data', chunk => chunks.push(chunk))
      answer.on('end', () =>
        resolve({ token: String(answer.headers['x-debug-token']), text: Buffer.concat(chunks).toString() }),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
