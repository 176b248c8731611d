import { t } from 'tap'
import { findProfile, type ProfileData, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

/** Handlers of Fastify by their pages: the line of the second response, and whether there is one. */
const pages: Readonly<Record<string, readonly [isFault: boolean, code: string]>> = {
  twice: [true, `(request, reply) => { reply.send('a'); reply.send('b') }`],
  'twice-object': [true, `(request, reply) => { reply.send({ a: 1 }); reply.code(404).send({ error: 'none' }) }`],
  'twice-late': [true, `(request, reply) => { reply.send('a'); setTimeout(() => reply.send('b'), 20) }`],
  'twice-empty': [true, `(request, reply) => { reply.send(); reply.send() }`],
  'twice-redirect': [true, `(request, reply) => { reply.send('a'); reply.redirect('/once') }`],
  'twice-async': [true, `async (request, reply) => { reply.send('a'); await sleep(5); reply.send('b'); return reply }`],
  once: [false, `(request, reply) => { reply.send('a') }`],
  'return-reply': [false, `async (request, reply) => { await sleep(5); reply.send('a'); return reply }`],
  'return-nothing': [false, `async (request, reply) => { reply.send('a') }`],
  hijacked: [false, `(request, reply) => { reply.hijack(); reply.raw.end('a') }`],
  stream: [false, `async (request, reply) => reply.send(Readable.from(['a', 'b']))`],
  asked: [false, `async (request, reply) => { reply.send('a'); if (!reply.sent) reply.send('b') }`],
}

const slowHook = `app.addHook('onSend', async (request, reply, body) => { await sleep(2); return body })`

for (const [name, hook] of [
  ['fastify', ''],
  ['fastify4', ''],
  ['fastify', slowHook],
] as const) {
  // Behind the hook, Fastify says that nothing is sent yet, and its own promises are rejected, which ends a process.
  const shown = Object.entries(pages).filter(
    ([page]) => hook === '' || !['twice-async', 'twice-redirect', 'asked'].includes(page),
  )
  t.test(
    `${name}${hook && ', behind a hook'}: a second response, which Fastify only logs, is found at its line`,
    async t => {
      const program = `
import Fastify from '${name}'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
const app = Fastify()
${hook}
${shown.map(([page, [, code]]) => `app.get('/${page}', ${code})`).join('\n')}
app.listen({ port: 0, host: '127.0.0.1' }).then(() => process.stdout.write(JSON.stringify([app.server.address().port]) + '\\n'))
process.stdin.on('end', () => process.exit()).resume()
`
      const { stop, url, viewer } = await startProfiled(t, program)
      const lines = program.split('\n')
      const wrong: string[] = []
      for (const [page, [isFault]] of shown) {
        await (await fetch(`${url}/${page}`)).text()
        const read = async () => {
          const { findings } = (await findProfile(viewer, `/${page}`)) as ProfileData & {
            readonly findings: readonly { readonly rule: string; readonly code: { readonly line: number } | null }[]
          }
          // On a busy machine, a hook may be slow.
          const answered = findings.filter(({ rule }) => rule !== 'slow-listener')
          return answered.map(({ code, rule }) => `${rule} at ${code?.line}`)
        }
        const line = lines.findIndex(text => text.startsWith(`app.get('/${page}'`)) + 1
        const expected = isFault ? [`second-response at ${line}`] : []
        // Late work amends the profile.
        if (isFault) await until(async () => (await read()).length > 0).catch(() => undefined)
        const found = await read()
        if (found.join() !== expected.join()) wrong.push(`${page}: ${found.join() || 'nothing'}`)
      }
      t.strictSame(wrong, [])
      await stop()
    },
  )
}

t.test('fastify: what an onResponse hook awaits is not late, and what it does not await is', async t => {
  const pages = ['awaited', 'callback', 'of-route', 'two', 'forgotten', 'of-handler']
  const { stop, url, viewer } = await startProfiled(
    t,
    `
import Fastify from 'fastify'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
const upstream = createServer((request, response) => setTimeout(() => response.end('ok'), 150)).listen(0, '127.0.0.1')
const call = () => fetch('http://127.0.0.1:' + upstream.address().port).then(response => response.text())
const app = Fastify()
app.addHook('onResponse', async request => { if (['/awaited', '/two'].includes(request.url)) await call() })
app.addHook('onResponse', (request, reply, done) => { request.url === '/callback' ? call().then(() => done()) : done() })
app.addHook('onResponse', async request => {
  if (request.url === '/forgotten') void call()
  if (request.url === '/two') { await sleep(30); await call() }
})
app.get('/of-route', { onResponse: async () => { await call() } }, async () => 'ok')
app.get('/of-handler', async () => { setTimeout(call, 20); return 'ok' })
for (const path of ['/awaited', '/callback', '/two', '/forgotten']) app.get(path, async () => 'ok')
await app.listen({ port: 0, host: '127.0.0.1' })
process.stdout.write(JSON.stringify([app.server.address().port]) + '\\n')
process.stdin.on('end', () => process.exit()).resume()
`,
  )
  const wrong: string[] = []
  for (const page of pages) {
    await (await fetch(`${url}/${page}`)).text()
    const expected = page === 'two' ? 2 : 1
    const isLate = ['forgotten', 'of-handler'].includes(page)
    const read = () => findProfile(viewer, `/${page}`)
    const countEnded = ({ data }: ProfileData) =>
      ((data.http?.calls ?? []) as readonly { readonly end?: number }[]).filter(({ end }) => end !== undefined).length
    // The calls amend the profile.
    let profile = await read()
    await until(async () => {
      profile = await read()
      return countEnded(profile) === expected && (profile.data.late !== undefined) === isLate
    }).catch(() => undefined)
    if ((profile.data.late !== undefined) !== isLate || countEnded(profile) !== expected)
      wrong.push(`${page}: ${countEnded(profile)} calls, ${JSON.stringify(profile.data.late)}`)
  }
  t.strictSame(wrong, [])
  await stop()
})
