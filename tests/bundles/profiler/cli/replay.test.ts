import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { frameworkBundle } from '#bundles/framework/framework-bundle.ts'
import { createProfilerBundle } from '#bundles/profiler/profiler-bundle.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import type { ProfileStorage } from '#bundles/profiler/store/profile-storage.ts'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import type { Bundle } from '#kernel/bundle.ts'
import { createTestKernel } from '#kernel/testing/create-test-kernel.ts'
import { Response } from '#lib/http/response.ts'
import { createRecord } from '#tests/support/create-profile.ts'
import { type RunInit, runInTerminal } from '#tests/support/fake-terminal.ts'
import { probeBundle } from '#tests/support/probe-bundle.ts'
import { turns } from '#tests/support/turns.ts'

/** An application that sends what it was told, by a version of its code. */
function createApplication(word: string): Bundle {
  return {
    name: 'application',
    register({ logger, routes }) {
      routes.add({
        name: 'told',
        path: '/told',
        controller: async request => {
          logger.info('Somebody asks.')
          const session = request.cookies.get('session') ?? 'nobody'
          const key = request.headers.get('authorization') ?? 'none'
          return Response.text([word, session, key, await request.body.text()].join(), {
            headers: { 'x-word': word },
          })
        },
      })
    },
  }
}

function bundlesOf(storage: ProfileStorage, word: string): readonly Bundle[] {
  return [frameworkBundle, siteBundle, probeBundle, createProfilerBundle({ storage }), createApplication(word)]
}

/** Runs the command with the code of a version. */
function replay(storage: ProfileStorage, line: string, word = 'old', init: RunInit = {}) {
  return runInTerminal(`profiler:replay ${line}`, { load: async () => bundlesOf(storage, word), ...init })
}

/** What a server has recorded; the others are of a method, and what it was sent. */
async function record(...requests: Parameters<Awaited<ReturnType<typeof createTestKernel>>['client']['request']>[]) {
  const storage = new MemoryProfileStorage()
  const { client, close } = await createTestKernel({ bundles: bundlesOf(storage, 'old') })
  const tokens: string[] = []
  for (const request of requests) {
    tokens.push(String((await client.request(...request)).headers.get('x-debug-token')))
  }
  await turns()
  await close()
  return { storage, tokens }
}

const json = (text: string) => JSON.parse(text)

t.test('what has not changed replays the same, page by page, in another process as it were', async t => {
  for (const target of [
    '/star-photo-booth',
    '/partnership',
    '/nowhere',
    '/told',
    '/embed',
    '/boom',
    '/redir',
    '/item',
  ]) {
    const { storage, tokens } = await record(['GET', target])
    const { code, stdout } = await replay(storage, String(tokens[0]))
    t.match(stdout, /^Only timings changed\.\n/, target)
    t.match(stdout, /^A {2}[0-9a-f]{6} .* original\nB {2}[0-9a-f]{6} .* replay$/m)
    t.equal(code, 0)
  }
})

t.test('after a change of the code it tells what has changed, and fails', async t => {
  const { storage, tokens } = await record(['GET', '/told'])
  const { code, stderr, stdout } = await replay(storage, 'latest', 'new-word')
  t.equal(code, 1)
  t.equal(stderr, '')
  t.match(stdout, /^2 changes: response size \(16 bytes → 21 bytes\), 1 response header \(x-word\)\.\n/)
  t.match(stdout, /^x-word +old +new-word$/m)
  const asJson = await replay(storage, 'latest --json', 'new-word')
  t.equal(asJson.code, 1)
  t.equal(json(asJson.stdout).first.token, tokens[0], 'replays are left out')
  t.hasStrict(json(asJson.stdout), {
    verdict: { isSame: false, title: '2 changes' },
    second: { route: 'told' },
  })
  t.match((await replay(storage, 'latest --md', 'old')).stdout, /^Only timings changed/)
})

t.test('it asks before it changes something, and for what was never stored', async t => {
  const headers = { cookie: 'session=s3cret', authorization: 'Basic abc' }
  const { storage, tokens } = await record(['POST', '/told', { headers, form: { name: 'Ada', password: 'hunter2' } }])
  const [token = ''] = tokens
  const nobody = await replay(storage, token)
  t.equal(nobody.code, 64)
  t.match(nobody.stderr, 'POST may change data. This runs the request for real.')
  t.match(nobody.stderr, 'Send POST /told? There is no terminal to answer this: add --yes.')
  const no = await replay(storage, token, 'old', { answer: 'n\n' })
  t.equal(no.code, 1)
  t.match(no.stderr, 'Nothing was sent.')
  t.equal((await storage.usage()).profiles, 1)

  const yes = await replay(storage, token, 'old', { answer: 'y\n' })
  t.equal(yes.code, 1)
  t.match(
    yes.stderr,
    'Not sent, because values are never stored: cookie, authorization.\nSecrets in the body are masked',
  )
  t.match(yes.stdout, 'Request differs: 2 request headers (authorization, cookie)')
  const body = path.join(t.testdir(), 'body')
  writeFileSync(body, 'name=Ada&password=hunter2')
  const all = await replay(storage, `${token} --yes --cookie session=s3cret --authorization Basic_abc --body ${body}`)
  t.match(all.stdout, /^Only timings changed/)
  t.equal(all.code, 0)
  t.equal(all.stderr, '')
  for (const { token } of (await storage.search({ limit: 9 })).summaries) {
    t.notMatch(JSON.stringify(await storage.find(token)), /s3cret|abc_|hunter2/)
  }
  const noFile = await replay(storage, `${token} --yes --body ${body}/nowhere`)
  t.equal(noFile.code, 64)
  t.match(noFile.stderr, '--body must name a file that can be read')
  const wrong = await replay(storage, `${token} --yes --cookie ä…`)
  t.equal(wrong.code, 1)
  t.match(wrong.stderr, 'The header "cookie" cannot be sent')
})

t.test('what is not sent as it was is told', async t => {
  const headers = { 'x-forwarded-for': '10.0.0.1' }
  const { storage } = await record(['GET', '/told?token=abc', { headers }])
  const { stderr } = await replay(storage, 'latest')
  t.match(
    stderr,
    'Secrets in the address are masked, and are sent as ******.\nProxy headers are not sent (x-forwarded-for)',
  )
})

t.test('it says why it cannot', async t => {
  const { storage } = await record(['GET', '/nowhere'])
  const { summaries } = await storage.search({ limit: 9 })
  const [main, sub] = summaries
  const ofSub = await replay(storage, String(sub?.token))
  t.equal(ofSub.code, 1)
  t.match(ofSub.stderr, `replay the main request. (${main?.token})`)
  t.match((await replay(storage, 'ffffff')).stderr, 'There is no profile "ffffff"')
  storage.append(createRecord({ token: '00000a', url: 'no url' }), '{}')
  t.match((await replay(storage, '00000a')).stderr, /^The recorded URL is not valid\.\n$/)
  const data = { request: { isDebugAllowed: true } }
  storage.append(createRecord({ token: '00000b', url: 'http://localhost/told', data }), '{}')
  storage.append = () => undefined
  t.match((await replay(storage, '00000b')).stderr, /^There is no profile "(?!00000b)/, 'a full disk, say')
  storage.has = () => true
  t.match((await replay(storage, '00000b')).stderr, 'The replay has a response, but no profile.')
})
