import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createProfilerBundle, type ProfileStorage } from 'sinfonietta/profiler'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import { Response } from '#lib/http/response.ts'
import { createRecord } from '#tests/support/create-profile.ts'
import { type RunInit, runInTerminal } from '#tests/support/fake-terminal.ts'
import { probeBundle } from '#tests/support/probe-bundle.ts'
import { turns } from '#tests/support/turns.ts'

/** An application that returns parts of the request, and the version of its code. */
function createApplication(word: string): Bundle {
  return {
    name: 'application',
    register({ logger, routes }) {
      routes.add({
        name: 'sent',
        path: '/sent',
        controller: async request => {
          logger.info('Request received.')
          const session = request.cookies.get('session') ?? 'absent'
          const key = request.headers.get('authorization') ?? 'none'
          return Response.text([word, session, key, await request.body.text()].join(), { headers: { 'x-word': word } })
        },
      })
    },
  }
}

function bundlesOf(storage: ProfileStorage, word: string): readonly Bundle[] {
  return [createFrameworkBundle(), siteBundle, probeBundle, createProfilerBundle({ storage }), createApplication(word)]
}

/** Runs the command with the code of a version. */
function replay(storage: ProfileStorage, line: string, word = 'old', init: RunInit = {}) {
  return runInTerminal(`profiler:replay ${line}`, { load: async () => bundlesOf(storage, word), ...init })
}

/** Sends requests to a server, and returns its profiles. */
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

/** An application whose page fails, or runs one query for each item, until it is mended. */
function createFlawed(isMended: boolean): Bundle {
  return {
    name: 'flawed',
    register({ queries, routes }) {
      const query = (id: number) => queries.measure('sqlite', 'SELECT * FROM prices WHERE id = ?', [id], () => [])
      const controller = () => {
        for (let id = 0; id < (isMended ? 1 : 30); id++) query(id)
        return Response.text('shown')
      }
      routes.add({ name: 'list', path: '/list', controller })
      const fail = () => {
        if (!isMended) throw new TypeError('on purpose')
        return Response.text('mended')
      }
      routes.add({ name: 'fail', path: '/fail', controller: fail })
    },
  }
}

t.test('profiler:verify says whether the flaws of a request are fixed', async t => {
  const storage = new MemoryProfileStorage()
  const bundlesOf = (isMended: boolean) => {
    return [createFrameworkBundle(), createProfilerBundle({ storage }), createFlawed(isMended)]
  }
  const { client, close } = await createTestKernel({ bundles: bundlesOf(false) })
  const tokens = []
  for (const path of ['/list', '/fail']) tokens.push(String((await client.get(path)).headers.get('x-debug-token')))
  await turns()
  await close()
  const [list = '', fail = ''] = tokens
  const verify = (line: string, isMended: boolean) =>
    runInTerminal(`profiler:verify ${line}`, { load: async () => bundlesOf(isMended) })
  const unmended = await verify(list, false)
  t.equal(unmended.code, 1)
  t.match(unmended.stdout, /^N\+1 queries +Still there: 30 queries → 30, request [\d.]+ m?s → [\d.]+ m?s$/m)
  const mended = await verify(`${list} --finding repeated-queries`, true)
  t.equal(mended.code, 0)
  t.match(mended.stdout, /^N\+1 queries +Fixed: 30 queries → 1, request [\d.]+ m?s → [\d.]+ m?s$/m)
  t.match(mended.stdout, new RegExp(`bin/console profiler:compare ${list} [0-9a-f]{6} shows all differences\\.`))
  t.match(json((await verify(`${fail} --finding exception --json`, true)).stdout), {
    isFixed: true,
    original: fail,
    replay: /^[0-9a-f]{6}$/,
    verdicts: [{ id: 'exception', title: 'TypeError', state: 'fixed', text: /^Fixed: 500 → 200, / }],
  })
  const unknown = await verify(`${fail} --finding repeated-queries`, true)
  t.match(unknown, { code: 1, stderr: /no such exception or finding: it has exception/ })
  t.match(await verify('ffffff', true), { code: 1, stderr: /There is no profile "ffffff"/ })
})

t.test('profiler:verify fails for a page that now throws', async t => {
  const server = createServer((_, response) => response.end('1'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/rate`
  const storage = new MemoryProfileStorage()
  const bundlesOf = (isBroken: boolean): readonly Bundle[] => {
    const controller = async () => {
      if (isBroken) throw new TypeError('on purpose')
      for (let call = 0; call < 5; call++) await fetch(address).then(response => response.text())
      return Response.text('shown')
    }
    const register: Bundle['register'] = ({ routes }) => void routes.add({ name: 'rates', path: '/rates', controller })
    return [createFrameworkBundle(), createProfilerBundle({ storage }), { name: 'rates', register }]
  }
  const { client, close } = await createTestKernel({ bundles: bundlesOf(false) })
  const token = String((await client.get('/rates')).headers.get('x-debug-token'))
  await turns()
  await close()
  const verify = (options: string, isBroken: boolean) =>
    runInTerminal(`profiler:verify ${token} ${options}`, { load: async () => bundlesOf(isBroken) })
  const { code, stdout } = await verify('', true)
  const text = 'The page now fails: TypeError: on purpose, status 500 instead of status 200'
  t.match(stdout, new RegExp(`^HTTP client call repeated +${text}$`, 'm'))
  t.equal(code, 1)
  t.match(json((await verify('--json', true)).stdout), { isFixed: false, verdicts: [{ state: 'failing', text }] })
  const same = await verify('', false)
  t.match(same.stdout, /^HTTP client call repeated +Still there: 5 HTTP client calls → 5, /m)
  t.equal(same.code, 1)
})

t.test('without changes, each page has the same result when it is replayed', async t => {
  for (const target of [
    '/star-photo-booth',
    '/partnership',
    '/nowhere',
    '/sent',
    '/embed',
    '/boom',
    '/redir',
    '/item',
  ]) {
    const { storage, tokens } = await record(['GET', target])
    const { code, stdout } = await replay(storage, String(tokens[0]))
    t.match(stdout, /^Only timings changed[^.]*(?:\.\d[^.]*)?\.\n/, target)
    t.match(stdout, /^A {2}[0-9a-f]{6} .* original\nB {2}[0-9a-f]{6} .* replay$/m)
    t.equal(code, 0)
  }
})

t.test('after a change of the code, the command shows the changes, and fails', async t => {
  const { storage, tokens } = await record(['GET', '/sent'])
  const { code, stderr, stdout } = await replay(storage, 'latest', 'new-word')
  t.equal(code, 1)
  t.equal(stderr, '')
  t.match(stdout, /^2 changes: response body \(1 difference\), 1 response header \(x-word\)\.\n/)
  t.match(stdout, /^x-word +old +new-word$/m)
  const asJson = await replay(storage, 'latest --json', 'new-word')
  t.equal(asJson.code, 1)
  t.equal(json(asJson.stdout).first.token, tokens[0], 'replays are left out')
  t.hasStrict(json(asJson.stdout), { verdict: { isSame: false, title: '2 changes' }, second: { route: 'sent' } })
  t.match((await replay(storage, 'latest --md', 'old')).stdout, /^Only timings changed/)
})

t.test('the command asks before a change, and for values that are not stored', async t => {
  const headers = { cookie: 'session=s3cret', authorization: 'Basic_abc' }
  const { storage, tokens } = await record(['POST', '/sent', { headers, form: { name: 'Ada', password: 'hunter2' } }])
  const [token = ''] = tokens
  const unattended = await replay(storage, token)
  t.equal(unattended.code, 64)
  t.match(unattended.stderr, 'POST may change data. This runs the request for real.')
  t.match(unattended.stderr, 'Send POST /sent? There is no terminal to answer this: add --yes.')
  const no = await replay(storage, token, 'old', { answer: 'n\n' })
  t.equal(no.code, 1)
  t.match(no.stderr, 'Nothing was sent.')
  t.equal((await storage.usage()).profiles, 1)

  const yes = await replay(storage, token, 'old', { answer: 'y\n' })
  t.equal(yes.code, 1)
  t.match(
    yes.stderr,
    "Not sent, because values are never stored: cookie, authorization. Send them with --cookie 'session=…' and --authorization 'Bearer …'.\nSecrets in the body are masked",
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
  const noPair = await replay(storage, `${token} --yes --cookie s3cret`)
  t.match(noPair, { code: 64, stderr: '--cookie must be pairs such as session=….' })
  const wrong = await replay(storage, `${token} --yes --cookie a=ä…`)
  t.equal(wrong.code, 1)
  t.match(wrong.stderr, 'The header "cookie" cannot be sent')
})

t.test('changed parts of the request are reported', async t => {
  const headers = { 'x-forwarded-for': '10.0.0.1' }
  const { storage } = await record(['GET', '/sent?token=abc', { headers }])
  const { stderr } = await replay(storage, 'latest')
  t.match(
    stderr,
    'Secrets in the address are masked, and are sent as ******.\nProxy headers are not sent (x-forwarded-for)',
  )
})

t.test('an impossible replay has a reason', async t => {
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
  storage.append(createRecord({ token: '00000b', url: 'http://localhost/sent', data }), '{}')
  storage.append = () => undefined
  t.match((await replay(storage, '00000b')).stderr, /^The profile of the replay was not stored/, 'on a full disk')
  storage.has = () => true
  t.match((await replay(storage, '00000b')).stderr, 'The replay has a response, but no profile.')
})
