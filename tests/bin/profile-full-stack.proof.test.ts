import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Test, t } from 'tap'
import { isAtLeast } from '#lib/optional-packages.ts'
import { findPort } from '#tests/support/find-port.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { provenSample } from '#tests/support/sample.ts'
import { runProcess, startProcess } from '#tests/support/start-process.ts'
import { findProfile } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const program = path.join(import.meta.dirname, '../../../bin/sinfonietta')

interface Expected {
  readonly status: number
  readonly route: string
  readonly exception?: string
  /** The place of the error, or of a message of the console. */
  readonly place?: string
  readonly phase?: string
}

interface Framework {
  readonly packages: readonly string[]
  readonly files: Readonly<Record<string, string>>
  readonly build: readonly string[]
  readonly start: readonly string[]
  /** In development, if its requests are recorded there. */
  readonly dev?: readonly string[]
  readonly requests: Readonly<Record<string, Expected>>
}

const shelf = `throw new RangeError('The shelf is empty.')`

/** A page, a page that fails, an endpoint that fails, and a path without a route. */
function requestsOf(place: { item: string; broken: string; fail: string }, of: { item: string; phase?: string }) {
  const phase = of.phase === undefined ? {} : { phase: of.phase }
  return {
    '/items/7': { status: 200, route: `GET ${of.item}`, place: place.item, ...phase },
    '/broken': { status: 500, route: 'GET /broken', exception: 'RangeError', place: place.broken, ...phase },
    '/api/fail': { status: 500, route: 'GET /api/fail', exception: 'RangeError', place: place.fail },
    '/nothing': { status: 404, route: 'GET /nothing' },
  }
}

const frameworks: Readonly<Record<string, Framework>> = {
  Nuxt: {
    packages: ['nuxt@4.3'],
    files: {
      'nuxt.config.ts': "export default defineNuxtConfig({ compatibilityDate: '2025-11-01', telemetry: false })",
      'app/app.vue': '<template><NuxtPage /></template>',
      'app/pages/items/[id].vue': `<script setup>
const { params } = useRoute()
console.log('item', params.id)
</script>
<template><h1>{{ params.id }}</h1></template>`,
      'app/pages/broken.vue': `<script setup>\n${shelf}\n</script>\n<template><h1>x</h1></template>`,
      'app/pages/old.vue':
        "<script setup>\ndefinePageMeta({ redirect: '/items/7' })\n</script>\n<template><h1>x</h1></template>",
      'server/api/fail.get.ts': `export default defineEventHandler(() => {\n  ${shelf}\n})`,
    },
    build: ['nuxt/bin/nuxt.mjs', 'build'],
    start: ['.output/server/index.mjs'],
    requests: {
      ...requestsOf(
        { item: 'app/pages/items/[id].vue:3', broken: 'app/pages/broken.vue:2', fail: 'server/api/fail.get.ts:2' },
        { item: '/items/:id' },
      ),
      '/old': { status: 302, route: 'GET /old' },
    },
  },
  SvelteKit: {
    packages: ['@sveltejs/kit@3', '@sveltejs/adapter-node@6', 'svelte@5', 'vite@8', '@sveltejs/vite-plugin-svelte'],
    files: {
      'vite.config.js': `import { sveltekit } from '@sveltejs/kit/vite'
import adapter from '@sveltejs/adapter-node'
export default { plugins: [sveltekit({ adapter: adapter() })], build: { sourcemap: true } }`,
      'src/app.html': '<html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>',
      'src/routes/items/[id]/+page.svelte': '<script>let { data } = $props()</script><h1>{data.id}</h1>',
      'src/routes/items/[id]/+page.server.js': `export function load({ params }) {
  console.log('item', params.id)
  return { id: params.id }
}`,
      'src/routes/broken/+page.svelte': '<h1>x</h1>',
      'src/routes/broken/+page.server.js': `export async function load() {\n  ${shelf}\n}`,
      'src/routes/api/fail/+server.js': `export function GET() {\n  ${shelf}\n}`,
    },
    build: ['vite/bin/vite.js', 'build'],
    start: ['build/index.js'],
    dev: ['vite/bin/vite.js', 'dev', '--host', '127.0.0.1', '--port'],
    requests: requestsOf(
      {
        item: 'src/routes/items/[id]/+page.server.js:2',
        broken: 'src/routes/broken/+page.server.js:2',
        fail: 'src/routes/api/fail/+server.js:2',
      },
      { item: '/items/[id]', phase: 'load' },
    ),
  },
  Astro: {
    packages: ['astro@7', '@astrojs/node@11'],
    files: {
      'astro.config.mjs': `import node from '@astrojs/node'
const vite = { build: { sourcemap: true } }
export default { output: 'server', adapter: node({ mode: 'standalone' }), vite }`,
      'src/pages/items/[id].astro': `---
const { id } = Astro.params
console.log('item', id)
---
<h1>{id}</h1>`,
      'src/pages/broken.astro': `---\n${shelf}\n---\n<h1>x</h1>`,
      'src/pages/api/fail.js': `export function GET() {\n  ${shelf}\n}`,
    },
    build: ['astro/bin/astro.mjs', 'build'],
    start: ['dist/server/entry.mjs'],
    dev: ['astro/bin/astro.mjs', 'dev', '--host', '127.0.0.1', '--port'],
    requests: requestsOf(
      { item: 'src/pages/items/[id].astro:3', broken: 'src/pages/broken.astro:2', fail: 'src/pages/api/fail.js:2' },
      { item: '/items/[id]', phase: 'rendering' },
    ),
  },
  'React Router': {
    packages: [
      ...['', '@react-router/node', '@react-router/serve', '@react-router/dev'].map(
        name => `${name || 'react-router'}@8.4.0`,
      ),
      ...['react@19', 'react-dom@19', 'vite@8', 'isbot@5'],
    ],
    files: {
      'vite.config.js': `import { reactRouter } from '@react-router/dev/vite'
export default { plugins: [reactRouter()], build: { sourcemap: true } }`,
      'app/root.jsx': `import { Outlet } from 'react-router'
export function Layout({ children }) { return <html><body>{children}</body></html> }
export default function App() { return <Outlet /> }
export function ErrorBoundary() { return <p>Oops</p> }`,
      'app/routes.js': `import { route } from '@react-router/dev/routes'
export default [['items/:id', 'item'], ['broken', 'broken'], ['api/fail', 'fail']].map(
  ([path, file]) => route(path, 'routes/' + file + '.jsx'))`,
      'app/routes/item.jsx': `export async function loader({ params }) {
  console.log('item', params.id)
  return { id: params.id }
}
export default function Item({ loaderData }) { return <h1>{loaderData.id}</h1> }`,
      'app/routes/broken.jsx': `export default function Broken() {\n  ${shelf}\n}`,
      'app/routes/fail.jsx': `export async function loader() {\n  ${shelf}\n}`,
    },
    build: ['@react-router/dev/bin.cjs', 'build'],
    start: ['node_modules/@react-router/serve/bin.cjs', 'build/server/index.js'],
    requests: {
      ...requestsOf(
        { item: 'app/routes/item.jsx:2', broken: 'app/routes/broken.jsx:2', fail: 'app/routes/fail.jsx:2' },
        { item: '/items/:id' },
      ),
    },
  },
}

/**
 * Installs packages in a folder of files; returns the Node with which they run: that of this process may be too old.
 */
async function install(t: Test, { files, packages }: Framework): Promise<{ cwd: string; node: string }> {
  const cwd = mkdtempSync(path.join(tmpdir(), 'full-stack-'))
  t.teardown(() => rmSync(cwd, { recursive: true, force: true }))
  for (const [name, content] of Object.entries({ 'package.json': '{ "type": "module", "private": true }', ...files })) {
    mkdirSync(path.dirname(path.join(cwd, name)), { recursive: true })
    writeFileSync(path.join(cwd, name), `${content}\n`)
  }
  const isNew = isAtLeast(process.versions.node, '22.15')
  const name = `node-${process.platform}-${process.arch}`
  const others = isNew ? [] : [`${name}@24`]
  const npm = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', '--force', ...packages, ...others]
  const { code, stderr, stdout } = await runProcess(t, npm, { cwd })
  t.equal(code, 0, 'npm install', { output: stdout + stderr })
  return { cwd, node: isNew ? process.execPath : path.join(cwd, 'node_modules', name, 'bin/node') }
}

/** Without the variables of the profiler. */
function environment(port: number): NodeJS.ProcessEnv {
  const { NODE_ENV: _, ...env } = process.env
  const address = { PORT: String(port), HOST: '127.0.0.1', ASTRO_TELEMETRY_DISABLED: '1', NO_COLOR: '1' }
  return { ...env, ...address, PROFILER_PORT: '0', PROFILER_IN_PRODUCTION: '1' }
}

async function start(t: Test, cwd: string, command: readonly string[], port: number) {
  const child = startProcess(t, command, { cwd, stdio: ['ignore', 'pipe', 'pipe'], env: environment(port) })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', text => {
      output += text
    })
  }
  const url = `http://127.0.0.1:${port}`
  const isOpen = async () => (await fetch(`${url}/items/1`).catch(() => ({ status: 0 }))).status === 200
  await until(isOpen, 120)
  const [, viewer = ''] = /Profiler: (http:\S+)\/_profiler\//.exec(output) ?? []
  return { child, url, viewer }
}

const html = { headers: { accept: 'text/html' }, redirect: 'manual' } as const

async function check(t: Test, url: string, viewer: string, requests: Framework['requests']): Promise<void> {
  for (const [target, { exception, phase, place, route, status }] of Object.entries(requests)) {
    const response = await fetch(url + target, html)
    await response.text()
    t.equal(response.status, status, target)
    const { data, summary } = await findProfile(viewer, target)
    t.match(summary, { route }, target)
    if (phase !== undefined) t.match(JSON.stringify(data.events?.spans), `["phase","${phase}"`, target)
    if (place === undefined) continue
    const [file = '', line] = place.split(':')
    if (exception === undefined) t.match(data.console, { entries: [{ site: { file, line: Number(line) } }] }, target)
    else t.match(data.exception, { exceptions: [{ name: exception, frames: [{ file, line: Number(line) }] }] }, target)
  }
}

/** Status, header fields and body of an answer, without those that name its profile, and the moment. */
async function readAnswer(url: string): Promise<readonly unknown[]> {
  const response = await fetch(url, html)
  const own = /^(?:date|x-debug-token|x-debug-token-link|server-timing|last-modified|etag)$/
  const fields = [...response.headers].filter(([name]) => !own.test(name))
  return [response.status, fields, (await response.text()).replaceAll(new URL(url).origin, '')]
}

// One of them by the seed: each builds a project for minutes. `SAMPLES=whole bin/test FILE` builds all.
for (const [name, framework] of provenSample(Object.entries(frameworks), 1)) {
  t.test(name, { skip: noRegistry }, async t => {
    const { cwd, node } = await install(t, framework)
    const [file = '', ...parameters] = framework.build
    const packages = path.join(cwd, 'node_modules')
    const env = environment(0)
    const built = await runProcess(t, [node, path.join(packages, file), ...parameters], { cwd, env })
    t.equal(built.code, 0, 'the build', { output: built.stdout + built.stderr })
    const profiled = await start(t, cwd, [node, program, 'profile', ...framework.start], await findPort())
    await check(t, profiled.url, profiled.viewer, framework.requests)
    const plain = await start(t, cwd, [node, ...framework.start], await findPort())
    for (const target of Object.keys(framework.requests))
      t.strictSame(await readAnswer(profiled.url + target), await readAnswer(plain.url + target), target)
    profiled.child.kill()
    plain.child.kill()
    if (framework.dev === undefined) return
    const [server = '', ...options] = framework.dev
    const port = await findPort()
    const command = [node, program, 'profile', path.join(packages, server), ...options, String(port)]
    const dev = await start(t, cwd, command, port)
    await check(t, dev.url, dev.viewer, framework.requests)
  })
}
