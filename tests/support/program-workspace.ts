import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { listProfiles, startProfiled } from '#tests/support/start-profiled.ts'

/**
 * A server whose page /error fails at line 4, and whose page /health waits for the milliseconds of WAIT. It aborts the
 * call of its page /aborted when the other server has got it, which says so and never answers it.
 */
const source = `
const { createServer } = await import('node:http')
const server = createServer((message, reply) => {
  if (message.url === '/error') console.error(new Error('no shelf'))
  const { NEXT, PROGRAM, WAIT } = process.env
  const answer = () => reply.end(PROGRAM)
  if (message.url.startsWith('/chain') && NEXT) fetch(NEXT + message.url).then(response => response.text()).then(answer)
  else if (message.url.startsWith('/aborted') && NEXT) {
    const headers = message.url.endsWith('traced') ? { traceparent: '00-${'a'.repeat(32)}-${'b'.repeat(16)}-01' } : {}
    const stop = new AbortController()
    fetch(NEXT + message.url, { headers, signal: stop.signal }).catch(answer)
    fetch(NEXT + message.url.replace('aborted', 'got')).then(() => stop.abort())
  }
  else if (message.url.startsWith('/health/aborted')) got.add(message.url.replace('aborted', 'got'))
  else if (message.url.startsWith('/health/got')) {
    const look = () => got.has(message.url) ? answer() : setImmediate(look)
    look()
  }
  else if (message.url === '/forged') reply.writeHead(200, { 'x-debug-token': process.env.FORGED }).end('forged')
  else if (message.url === '/broken') reply.writeHead(500).end('broken')
  else setTimeout(answer, Number(WAIT))
}).listen(0, '127.0.0.1', () => process.stdout.write(JSON.stringify([server.address().port]) + '\\n'))
const got = new Set()
process.stdin.on('end', () => process.exit()).resume()`

const names = ['shop', 'stock', 'price', 'forger']

/** A workspace with programs, whose packages are installed in its root. */
export function createWorkspace(t: Test) {
  const root = t.testdir({
    node_modules: {},
    apps: Object.fromEntries(names.map(name => [name, { 'package.json': JSON.stringify({ name }) }])),
  })
  const temporary = mkdtempSync(path.join(tmpdir(), 'programs-'))
  t.teardown(() => rmSync(temporary, { recursive: true }))
  const start = (name: string, env: Readonly<Record<string, string>> = {}) => {
    const directory = path.join(root, 'apps', name)
    const own = { PROFILER_ALONE: '', TMPDIR: temporary, PROGRAM: name, WAIT: name === 'stock' ? '30' : '1', ...env }
    return startProfiled(t, source, own, directory)
  }
  return { root, start, temporary, list: path.join(temporary, `sinfonietta-${process.geteuid?.()}`, 'programs.list') }
}

export const namesOf = async (viewer: string) =>
  (await listProfiles(viewer)).map(({ program, url }) => `${program} ${new URL(url).pathname}`)
