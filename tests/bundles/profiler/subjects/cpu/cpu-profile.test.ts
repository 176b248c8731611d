import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { type Test, t } from 'tap'
import { toProfile } from '#bundles/profiler/profile/parse-profile.ts'
import { ArmFile, createArming } from '#bundles/profiler/subjects/cpu/record.ts'
import { Response } from '#lib/http/response.ts'
import { startProgram } from '#tests/bin/site-process.ts'
import { busyBundle } from '#tests/fixtures/busy-bundle.ts'
import { plainEquals, textOf, toText } from '#tests/support/html.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

// From Node 22 on, V8 may compile the loop of a function into its caller while it runs, and names the caller.
setFlagsFromString('--no-use-osr')

const program = path.join(import.meta.dirname, '../../../../fixtures/busy-site.js')

async function open(t: Test, init: Parameters<typeof createProfiledKernel>[1] = {}) {
  const armFile = path.join(t.testdir(), 'armed.json')
  const kernel = await createProfiledKernel(t, { bundles: [busyBundle], armFile, ...init })
  const { client, profileOf } = kernel
  const arm = (form: Record<string, string>) =>
    client.post('/_profiler/cpu/arm', { form, headers: { origin: 'http://localhost' } })
  const cpuOf = async (target: string) => (await profileOf(await client.get(target))).collectors.cpu
  return { ...kernel, armFile, arm, cpuOf }
}

/** The line of the fixture that contains a text. */
function lineOf(text: string): number {
  return (
    readFileSync('tests/fixtures/busy-bundle.ts', 'utf8')
      .split('\n')
      .findIndex(line => line.includes(text)) + 1
  )
}

t.test('in a warm server, the next request of a route is sampled; its slowest function is the first', async t => {
  const directory = t.testdir()
  // Without coverage: sampling resets its counters.
  const site = startProgram(t, [process.execPath, '--enable-source-maps', program, directory], { APP_ENV: 'dev' })
  const url = await site.url()
  // V8 has compiled the function into its caller by now.
  for (let turn = 0; turn < 20; turn++) await (await fetch(`${url}/warm`)).text()
  new ArmFile(path.join(directory, 'armed.json')).write(createArming({ route: 'primes' }, Date.now()))
  const page = async () => textOf(await (await fetch(`${url}/_profiler/cpu`)).text())
  await until(async () => (await page()).includes('Waiting for the next request of the route'))
  await (await fetch(`${url}/quiet`)).text()
  const tokens: (string | null)[] = []
  for (let turn = 0; turn < 2; turn++) {
    const response = await fetch(`${url}/primes`)
    await response.text()
    tokens.push(response.headers.get('x-debug-token'))
  }
  t.match(await page(), `No CPU profile scheduled. Last sampled request: ${tokens[0]}`)
  const read = async (address: string) => JSON.parse(await (await fetch(`${url}/_profiler/${address}`)).text())
  const { busy = 0, calls = [], functions = [] } = toProfile(await read(`${tokens[0]}.json`)).collectors.cpu ?? {}
  const [guilty] = functions.toSorted((a, b) => b.self - a.self)
  t.hasStrict(guilty, { name: 'countPrimes', file: 'tests/fixtures/busy-bundle.ts', origin: 'application' })
  t.equal(guilty?.line, lineOf('export function countPrimes'), 'where it was written')
  t.ok([lineOf('for (let divisor'), lineOf('% divisor')].includes(Number(guilty?.hot)), 'its inner loop is the hottest')
  t.ok(Number(guilty?.self) > 0.5 * busy)
  const [, caller = -1] = calls.find(([called]) => functions[called] === guilty) ?? []
  t.equal(functions[Number(calls[caller]?.[0])]?.name, 'controller primes', 'called by the controller')
  const { records } = await read('search.json?limit=100')
  const sampled = []
  for (const { token } of records) if ((await read(`${token}.json`)).data.cpu) sampled.push(token)
  t.strictSame(sampled, [tokens[0]], 'once, and no other request')
  site.child.kill('SIGTERM')
  t.equal(await site.end(), 0)
})

t.test('the page shows the awaited request, and the result', async t => {
  const { arm, client, cpuOf, profileOf } = await open(t)
  t.equal(await cpuOf('/primes'), undefined, 'without arming, nothing is sampled')
  const answer = await arm({ route: 'primes' })
  t.equal(answer.status, 303)
  t.equal(answer.headers.get('location'), '/_profiler/cpu')
  t.match(toText((await client.get('/_profiler/cpu')).text), /Waiting for the next request of the route "primes"/)
  for (const path of ['/quiet', '/warm']) {
    t.equal(await cpuOf(path), undefined, 'another route is not what was asked for')
  }
  const profile = await profileOf(await client.get('/primes'))
  const { cpu } = profile.collectors
  t.hasStrict(cpu, { others: 0, isCut: false })
  t.ok(Number(cpu?.samples) > 10 && Number(cpu?.startup) > 0)
  t.equal(await cpuOf('/primes'), undefined, 'once')
  const { text } = await client.get('/_profiler/cpu')
  t.match(toText(text), /No CPU profile scheduled/)
  t.match(plainEquals(text), `href="/_profiler/${profile.summary.token}?panel=cpu"`)
})

t.test('a CPU profile has a flame graph, hot spots with their source, Markdown and JSON', async t => {
  const { arm, client } = await open(t, { variables: { EDITOR_URL: 'vscode' } })
  await arm({ route: 'primes' })
  const token = (await client.get('/primes')).headers.get('x-debug-token')
  const page = plainEquals((await client.get(`/_profiler/${token}?panel=cpu`)).text)
  t.match(page, /<svg class="flame" height="\d+em"/)
  t.match(
    page,
    /<a class="cpu-application" href="[^"]+&amp;frame=\d+#flame"><svg [^>]+><title>countPrimes: (?:own )?[\d.]+ m?s, /,
  )
  t.match(page, /<a class="call" href="[^"]+" title="[^"]+">countPrimes<\/a>/)
  t.match(page, /<a class="place" href="vscode:\/\/file\/[^"]+tests\/fixtures\/busy-bundle\.ts:\d+:1"/)
  t.match(page, /<mark class="line/)
  t.match(page, '<button class="button">Profile the next request of this route</button>')
  const markdown = (await client.get(`/_profiler/${token}.md?panel=cpu`)).text
  t.match(markdown, /### Hot spots\n\n- \d/)
  t.match(markdown, /\n- \d+ % `countPrimes` at `tests\/fixtures\/busy-bundle\.ts:\d+` \(application\): own /)
  t.match(markdown, /\n> +\d+ \| .*divisor/)
  const { data } = (await client.get(`/_profiler/${token}.json?panel=cpu`)).json() as { data: object }
  t.strictSame(Object.keys(data), ['cpu'])
})

t.test('a request can also be selected by its method and path, even without a route', async t => {
  const { arm, client, cpuOf, profileOf } = await open(t)
  t.equal((await arm({ path: '/nowhere?page=2' })).status, 303)
  t.match(toText((await client.get('/_profiler/cpu')).text), 'Waiting for the next GET /nowhere.')
  t.equal((await profileOf(await client.request('HEAD', '/nowhere'))).collectors.cpu, undefined)
  const cpu = await cpuOf('/nowhere?page=3')
  t.ok(cpu)
  const answer = await client.get('/_profiler/cpu')
  t.match(answer.text, '<option value="GET" selected>GET</option>')
})

t.test('time in which a request only waited is separate', async t => {
  const { arm, cpuOf } = await open(t)
  const measured: number[] = []
  // On a very busy machine V8 may take no sample while the request waits.
  while (measured.length < 10 && !measured.some(idle => idle > 20_000)) {
    await arm({ path: '/later' })
    measured.push(Number((await cpuOf('/later'))?.idle))
  }
  t.ok(Number(measured.at(-1)) > 20_000, `${measured} microseconds`)
})

t.test('concurrent requests are in the same samples, and are counted', async t => {
  let open_: () => void = () => undefined
  const gate = new Promise<void>(resolve => {
    open_ = resolve
  })
  const wait = async () => {
    await gate
    return Response.html('open')
  }
  const { arm, client, profileOf } = await open(t, { handlers: { '/gate': wait, '/asked': wait } })
  const before = client.get('/gate')
  await arm({ path: '/asked' })
  const asked = client.get('/asked')
  await client.get('/quiet')
  await client.get('/partnership')
  open_()
  await before
  const profile = await profileOf(await asked)
  t.equal(profile.collectors.cpu?.others, 3)
  const { text } = await client.get(`/_profiler/${profile.summary.token}?panel=cpu`)
  t.match(textOf(text), '3 concurrent requests: the samples include their work.')
})

t.test('arming can be cancelled', async t => {
  const { arm, armFile, client, cpuOf } = await open(t)
  await arm({ route: 'quiet' })
  t.ok(existsSync(armFile))
  const answer = await client.post('/_profiler/cpu/disarm', { headers: { origin: 'http://localhost' } })
  t.equal(answer.status, 303)
  t.notOk(existsSync(armFile))
  t.equal(await cpuOf('/quiet'), undefined)
})

t.test('an impossible target is refused, with a reason', async t => {
  const { arm, armFile } = await open(t)
  for (const [form, reason] of [
    [{ route: 'jsn' }, 'There is no route "jsn"; the nearest is "json".'],
    [{ route: 'of_another_site' }, 'There is no route "of_another_site".'],
    [{ route: '_profiler' }, 'There is no route "_profiler".'],
    [{ path: 'nope' }, 'A path begins with a slash, unlike "nope".'],
    [{ path: '/x', method: 'BREW' }, 'There is no method "BREW".'],
    [{}, 'Name a route or a path.'],
  ] as const) {
    const answer = await arm(form)
    t.equal(answer.status, 422)
    t.match(toText(answer.text), reason)
  }
  t.notOk(existsSync(armFile))
})

t.test('a page of the profiler is no longer sampled once it is routed', async t => {
  const { arm, client, cpuOf } = await open(t)
  t.equal((await arm({ path: '/_profiler/cpu' })).status, 303)
  t.equal((await client.get('/_profiler/cpu')).status, 200)
  t.equal(await cpuOf('/primes'), undefined)
  await arm({ route: 'primes' })
  t.ok(await cpuOf('/primes'), 'the sampler is free again')
})

t.test('other sites can neither arm nor see the page', async t => {
  const { armFile, client } = await open(t)
  const form = { route: 'quiet' }
  for (const headers of [{}, { origin: 'http://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
    t.equal((await client.post('/_profiler/cpu/arm', { form, headers })).status, 404)
    t.equal((await client.post('/_profiler/cpu/disarm', { headers })).status, 404)
  }
  t.equal((await client.get('/_profiler/cpu', { headers: { 'x-forwarded-for': '10.0.0.1' } })).status, 404)
  t.notOk(existsSync(armFile))
})

t.test('a server follows the arming of another process; one of several servers samples the request', async t => {
  const armFile = path.join(t.testdir(), 'var/armed.json')
  const first = await open(t, { armFile })
  const second = await open(t, { armFile })
  const servers = [await serveKernel(t, first), await serveKernel(t, second)]
  const file = new ArmFile(armFile)
  file.write(createArming({ route: 'quiet' }, Date.now()))
  const isArmed = async ({ url }: { url: string }) =>
    (await (await fetch(`${url}/_profiler/cpu`)).text()).includes('Waiting')
  for (const server of servers) await until(async () => isArmed(server))
  const tokens: (string | null)[] = []
  for (const { url } of servers) {
    const response = await fetch(`${url}/quiet`)
    await response.text()
    tokens.push(response.headers.get('x-debug-token'))
  }
  t.ok((await waitForProfile(first.storage, String(tokens[0]))).data.cpu)
  t.notOk((await waitForProfile(second.storage, String(tokens[1]))).data.cpu)
  t.notOk(existsSync(armFile))

  file.write(createArming({ route: 'quiet' }, Date.now()))
  for (const server of servers) await until(async () => isArmed(server))
  file.remove()
  for (const server of servers) await until(async () => !(await isArmed(server)))
  t.pass('it is taken back, too')
})

t.test('an arming from before the start of a server takes effect at its start', async t => {
  const kernel = await open(t)
  writeFileSync(kernel.armFile, JSON.stringify(createArming({ route: 'quiet' }, Date.now())))
  const { url } = await serveKernel(t, kernel)
  t.match(await (await fetch(`${url}/_profiler/cpu`)).text(), '<a class="button small" href="/quiet"')
  const response = await fetch(`${url}/quiet`)
  await response.text()
  t.ok((await waitForProfile(kernel.storage, response.headers.get('x-debug-token'))).data.cpu)
})

t.test('a target without a link is shown as text', async t => {
  const kernel = await open(t)
  const page = async () => (await kernel.client.get('/_profiler/cpu')).text
  await kernel.arm({ path: '/quiet', method: 'POST' })
  t.match(await page(), 'Waiting for the next POST /quiet.')
  t.notMatch(await page(), 'Open it')
  // For example, of another application in the same directory.
  new ArmFile(kernel.armFile).write(createArming({ route: 'elsewhere' }, Date.now()))
  await serveKernel(t, kernel)
  t.match(await page(), 'elsewhere')
  t.notMatch(await page(), 'Open it')
})

t.test('secrets in names of functions are masked', async t => {
  // V8 does not always know the name of a method with a computed key.
  const work = {
    'call password=hunter2hunter2'() {
      let sum = 0
      for (let turn = 0; turn < 3e7; turn++) sum += Math.sqrt(turn)
      return sum
    },
  }
  const { arm, client, profileOf } = await open(t, {
    handlers: {
      '/named': () => {
        return Response.html(String(work['call password=hunter2hunter2']()))
      },
    },
  })
  await arm({ route: '/named' })
  const text = JSON.stringify(await profileOf(await client.get('/named')))
  t.match(text, 'call password=******')
  t.notMatch(text, '"name":"call password=hunter2')
})

t.test('a sub-request refers to the request that was sampled with it', async t => {
  const { arm, client, storage } = await open(t)
  await arm({ path: '/embed' })
  const token = (await client.get('/embed')).headers.get('x-debug-token')
  const [child] = (await waitForProfile(storage, token)).children
  const { text } = await client.get(`/_profiler/${child}?panel=cpu`)
  t.match(plainEquals(text), `<a href="/_profiler/${token}?panel=cpu">see the main request</a>`)
})

t.test('only its owner can access the directory of the arm file', async t => {
  const directory = path.join(t.testdir(), 'var')
  const before = process.umask(0)
  t.teardown(() => process.umask(before))
  new ArmFile(path.join(directory, 'watched/armed.json')).watch(() => undefined)()
  new ArmFile(path.join(directory, 'written/armed.json')).write(createArming({ route: 'primes' }, Date.now()))
  for (const made of ['.', 'watched', 'written']) {
    t.equal(statSync(path.join(directory, made)).mode & 0o777, 0o700, made)
  }
})
