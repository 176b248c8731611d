import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { Redis } from 'ioredis'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { guestbookBundle } from '../../../bundles/guestbook/guestbook-bundle.ts'
import { type CreateLimiter, createLimitsBundle } from '../../../bundles/limits/limits-bundle.ts'
import { createRedisLimiter } from '../../../bundles/limits/redis-limiter.ts'

async function boot(t: TestContext, createLimiter?: CreateLimiter) {
  const directory = mkdtempSync(path.join(tmpdir(), 'guestbook-'))
  cpSync('templates', path.join(directory, 'templates'), { recursive: true })
  const framework = createFrameworkBundle({ methodOverride: true })
  const bundles = [framework, createLimitsBundle(createLimiter), guestbookBundle]
  const { close, createClient } = await createTestKernel({ bundles, directory })
  t.after(async () => {
    await close()
    rmSync(directory, { recursive: true })
  })
  return createClient
}

const entry = { form: { name: 'Ada', text: 'Hello' } }

test('pages of other origins cannot write', async t => {
  const client = (await boot(t))()
  const post = async (headers: Record<string, string>, target = '/guestbook') =>
    (await client.post(target, { ...entry, headers })).status
  assert.equal(await post({ 'sec-fetch-site': 'same-origin' }), 303)
  assert.equal(await post({ 'sec-fetch-site': 'cross-site' }), 403)
  assert.equal(await post({ 'sec-fetch-site': 'cross-site', origin: 'https://pay.example' }, '/guestbook/paid'), 303)
})

test('a script of the app may read the list', async t => {
  const client = (await boot(t))()
  const read = async (origin: string) =>
    (await client.get('/guestbook.json', { headers: { origin } })).headers.get('access-control-allow-origin')
  assert.equal(await read('https://app.example'), 'https://app.example')
  assert.equal(await read('https://evil.example'), null)
})

test('a guest is known by a cookie that cannot be changed', async t => {
  const client = (await boot(t))()
  await client.post('/guestbook', entry)
  assert.match((await client.get('/guestbook')).text, /value="Ada"/)
  const changed = `guest=${client.cookies.get('guest')?.replace(/^./, 'x')}`
  assert.match((await client.get('/guestbook', { headers: { cookie: changed } })).text, /value=""/)
})

test('a form removes an entry', async t => {
  const client = (await boot(t))()
  const { text } = await client.get('/guestbook')
  const [, action = ''] = /action="([^"]+DELETE)"/.exec(text) ?? []
  assert.equal((await client.post(action.replace('&#x3D;', '='))).status, 303)
  assert.doesNotMatch((await client.get('/guestbook')).text, /A fine place/)
})

test('the fourth entry in a minute is refused, for each client', async t => {
  // This Redis does not answer, so the process counts.
  const redis = new Redis({ lazyConnect: true })
  t.after(() => redis.disconnect())
  for (const createLimiter of [undefined, createRedisLimiter(redis)]) {
    const createClient = await boot(t, createLimiter)
    const client = createClient()
    for (const left of [2, 1, 0]) {
      const { headers, status } = await client.post('/guestbook', entry)
      assert.equal(status, 303)
      assert.equal(headers.get('ratelimit-policy'), '"guestbook_write";q=3;w=60')
      assert.match(String(headers.get('ratelimit')), new RegExp(`^"guestbook_write";r=${left};t=[1-6]\\d?$`))
    }
    const { headers, status } = await client.post('/guestbook', entry)
    assert.equal(status, 429)
    assert.match(String(headers.get('retry-after')), /^[1-6]\d?$/)
    assert.match(String(headers.get('ratelimit')), /;r=0;/)
    assert.equal((await createClient({ remoteAddress: '192.0.2.7' }).post('/guestbook', entry)).status, 303)
    assert.equal((await client.get('/guestbook')).status, 200)
  }
})
