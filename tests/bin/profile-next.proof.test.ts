import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Test, t } from 'tap'
import { listen } from '#kernel/server/http-server.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { runProcess, startProcess } from '#tests/support/start-process.ts'
import { findProfile } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const program = path.join(import.meta.dirname, '../../../bin/sinfonietta')

const layout = `export default function Layout({ children }) { return <html><body>{children}</body></html> }\n`

/** An application with both routers, whose pages and handlers fail, too. */
const files: Readonly<Record<string, string>> = {
  'package.json': '{ "private": true, "dependencies": { "next": "*" } }',
  'jsconfig.json': '{ "compilerOptions": { "paths": { "@/*": ["./*"] } } }',
  'app/layout.jsx': layout,
  'app/page.jsx': `export default function Home() { return <h1>Shop</h1> }\n`,
  'lib/stock.js': `
export async function loadItem(id) {
  const response = await fetch(process.env.STOCK + '/stock/' + id, { cache: 'no-store' })
  return response.json()
}
`,
  'app/items/[id]/page.jsx': `
import { loadItem } from '@/lib/stock'
export default async function ItemPage({ params }) {
  const { id } = await params
  const item = await loadItem(id)
  console.log('item', id)
  return <h1>{item.name}</h1>
}
`,
  'app/broken/[id]/page.jsx': `
export const dynamic = 'force-dynamic'
export default async function BrokenPage({ params }) {
  throw new RangeError('The item ' + (await params).id + ' has no price.')
}
`,
  'app/late/page.jsx': `
import { Suspense } from 'react'
export const dynamic = 'force-dynamic'
async function Slow() {
  await new Promise(resolve => setTimeout(resolve, 20))
  throw new EvalError('The late part is broken.')
}
export default function Late() { return <Suspense fallback={<p>wait</p>}><Slow /></Suspense> }
`,
  'app/api/items/[id]/route.js': `
import { loadItem } from '@/lib/stock'
export async function GET(_request, { params }) { return Response.json(await loadItem((await params).id)) }
`,
  'app/api/broken/route.js': `
export async function GET() {
  throw new TypeError('The handler is broken.')
}
`,
  'app/api/edge/route.js': `
export const runtime = 'edge'
export async function GET() {
  return Response.json(await (await fetch(process.env.STOCK + '/stock/1', { cache: 'no-store' })).json())
}
`,
  'app/api/broken-edge/route.js': `
export const runtime = 'edge'
export async function GET() {
  throw new TypeError('The handler in the Edge runtime is broken.')
}
`,
  'app/form/page.jsx': `
import { redirect } from 'next/navigation'
async function order() {
  'use server'
  redirect('/items/7')
}
export default function FormPage() { return <form action={order}><button>Order</button></form> }
`,
  'pages/old/[id].jsx': `
export function getServerSideProps({ params }) {
  if (params.id === 'bad') throw new SyntaxError('The old page is broken.')
  return { props: { id: params.id } }
}
export default function Old({ id }) { return <p>old {id}</p> }
`,
  'pages/api/hello.js': `export default function handler(request, response) { response.json({ hello: 'world' }) }\n`,
}

/** The middleware of a version. */
const middleware = (name: string) => `
import { NextResponse } from 'next/server'
export function ${name}(request) {
  return request.nextUrl.pathname === '/moved' ? NextResponse.redirect(new URL('/items/7', request.url)) : NextResponse.next()
}
`

interface Expected {
  readonly status: number
  readonly route: string
  readonly exception?: string
  readonly calls?: number
  /** The place of the error, or of the call of `fetch`. */
  readonly place?: string
  /** Phases, without compilation. */
  readonly phases?: readonly string[]
}

const rendering = ['component tree', 'rendering']

/** What is known of each request. */
const requests: Readonly<Record<string, Expected>> = {
  '/items/7': { status: 200, route: 'GET /items/[id]', place: 'lib/stock.js:3', phases: rendering },
  '/broken/3': {
    status: 500,
    route: 'GET /broken/[id]',
    exception: 'RangeError',
    place: 'app/broken/[id]/page.jsx:4',
    phases: rendering,
  },
  '/late': { status: 200, route: 'GET /late', exception: 'EvalError', place: 'app/late/page.jsx:6', phases: rendering },
  '/api/items/9': { status: 200, route: 'GET /api/items/[id]', place: 'lib/stock.js:3', phases: ['handler'] },
  '/api/broken': {
    status: 500,
    route: 'GET /api/broken',
    exception: 'TypeError',
    place: 'app/api/broken/route.js:3',
    phases: ['handler'],
  },
  '/api/edge': { status: 200, route: 'GET /api/edge', calls: 1 },
  '/api/broken-edge': { status: 500, route: 'GET /api/broken-edge', exception: 'TypeError' },
  '/old/5': { status: 200, route: 'GET /old/[id]', phases: ['data', 'rendering'] },
  '/old/bad': {
    status: 500,
    route: 'GET /old/[id]',
    exception: 'SyntaxError',
    place: 'pages/old/[id].jsx:3',
    phases: ['data', 'rendering'],
  },
  '/api/hello': { status: 200, route: 'GET /api/hello', phases: ['handler'] },
  '/form': { status: 200, route: 'GET /form' },
  '/moved': { status: 307, route: 'GET /moved' },
  '/nothing': { status: 404, route: 'GET /nothing' },
}

/** A folder with the application and the packages. */
async function install(t: Test, version: number): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'next-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const own = version === 15 ? { 'middleware.js': middleware('middleware') } : { 'proxy.js': middleware('proxy') }
  for (const [name, content] of Object.entries({ ...files, ...own })) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), content)
  }
  const packages = [`next@${version}`, 'react@19', 'react-dom@19']
  const npm = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages]
  const { code, stderr, stdout } = await runProcess(t, npm, { cwd: folder })
  t.equal(code, 0, 'npm install', { output: stdout + stderr })
  return folder
}

/** Starts Next.js; with `isProfiled`, under the profiler. */
async function startNext(t: Test, cwd: string, stock: string, args: readonly string[], isProfiled = true) {
  const next = [path.join(cwd, 'node_modules/next/dist/bin/next'), ...args, '-p', '0', '-H', '127.0.0.1']
  const child = startProcess(t, [process.execPath, ...(isProfiled ? [program, 'profile'] : []), ...next], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment(stock),
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', text => {
      output += text
    })
  }
  await until(() => /Local: +http:\S+/.test(output) && /Ready/.test(output), 120)
  const [, url = ''] = /Local: +(http:\S+)/.exec(output) ?? []
  const [, viewer = ''] = /Profiler: (http:\S+)\/_profiler\//.exec(output) ?? []
  return { child, url, viewer, read: () => output }
}

function environment(stock: string): NodeJS.ProcessEnv {
  const { NODE_ENV: _, ...env } = process.env
  const own = { STOCK: stock, PROFILER_PORT: '0', PROFILER_IN_PRODUCTION: '1', NEXT_TELEMETRY_DISABLED: '1' }
  // A program that reads no terminal prints no colours.
  return { ...env, ...own, NO_COLOR: '1' }
}

async function startStock(t: Test): Promise<string> {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ name: `Lamp of ${request.url}` }))
  })
  t.teardown(() => server.close())
  return listen(server, '127.0.0.1', 0, undefined)
}

const html = { headers: { accept: 'text/html' }, redirect: 'manual' } as const

/** Asks for all pages, and compares their profiles with what is expected. */
async function check(t: Test, url: string, viewer: string): Promise<void> {
  for (const [target, expected] of Object.entries(requests)) {
    await t.test(target, async t => {
      const response = await fetch(url + target, html)
      const text = await response.text()
      t.equal(response.status, expected.status)
      const { data, summary } = await findProfile(viewer, target)
      const { calls = summary.calls, exception = null, route } = expected
      t.match(summary, { route, exception, calls })
      const rows = data.events?.spans as readonly (readonly [mark: string, name: string])[]
      const phases = new Set(rows.flatMap(([mark, name]) => (mark === 'phase' ? name : [])))
      const seen = [...phases].filter(name => ['component tree', 'data', 'handler', 'rendering'].includes(name))
      if (expected.phases !== undefined) t.strictSame(seen.sort(), expected.phases)
      if (expected.place === undefined) return
      const [file = '', line] = expected.place.split(':')
      const place = { file, line: Number(line) }
      if (expected.exception === undefined) {
        t.match(data.http, { calls: [{ client: 'fetch', caller: place }] })
        t.equal(Object(data.http).calls.length, 1, 'a fetch and its span are one')
      } else {
        t.match(data.exception, { exceptions: [{ name: expected.exception, frames: [place] }] })
        const [{ properties = {} }] = Object(data.exception).exceptions
        if (properties.digest !== undefined) t.ok(text.includes(properties.digest), 'the digest that the browser shows')
      }
    })
  }
}

/**
 * Status, header fields and the parts of the body of an answer, without those that name its profile, and the moment.
 */
async function readAnswer(url: string): Promise<readonly unknown[]> {
  const response = await fetch(url, html)
  const own = /^(?:date|x-debug-token|x-debug-token-link|server-timing)$/
  const fields = [...response.headers].filter(([name]) => !own.test(name))
  const body = (await response.text()).replaceAll(new URL(url).origin, '')
  // React writes the parts of a stream in the order in which they are done.
  return [response.status, fields, body.split(/(?<=<\/script>)/).sort()]
}

for (const version of [15, 16]) {
  t.test(`Next.js ${version}, development by Turbopack`, { skip: noRegistry }, async t => {
    const cwd = await install(t, version)
    const stock = await startStock(t)
    const dev = await startNext(t, cwd, stock, ['dev', ...(version === 15 ? ['--turbopack'] : [])])
    await check(t, dev.url, dev.viewer)
    t.notMatch(dev.read(), /argument of the controller|cannot be shown/i)
    dev.child.kill()
    if (version === 15) return
    await t.test('production', async t => {
      const next = [process.execPath, path.join(cwd, 'node_modules/next/dist/bin/next'), 'build']
      const { code, stderr, stdout } = await runProcess(t, next, { cwd, env: environment(stock) })
      t.equal(code, 0, 'next build', { output: stdout + stderr })
      const profiled = await startNext(t, cwd, stock, ['start'])
      await check(t, profiled.url, profiled.viewer)
      const plain = await startNext(t, cwd, stock, ['start'], false)
      for (const target of Object.keys(requests)) {
        const readBoth = async () => [await readAnswer(profiled.url + target), await readAnswer(plain.url + target)]
        let [ours, theirs] = await readBoth()
        // The digest of an error has its stack, which ends otherwise if other callbacks run in the same turn.
        for (let tries = 0; tries < 5 && !isDeepStrictEqual(ours, theirs); tries++) [ours, theirs] = await readBoth()
        t.strictSame(ours, theirs, target)
      }
    })
  })
}
