import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import { type AddressInfo, createServer } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Test, t } from 'tap'
import { copyProgram } from '#tests/support/copy-program.ts'
import { createSender } from '#tests/support/raw-connection.ts'
import { type ProcessOptions, runProcess, startProcess } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'

const root = path.resolve(import.meta.dirname, '../../..')
/** The command of `sinfonietta profile`. */
const profiled = [process.execPath, path.join(root, 'dist/tests/fixtures/profiled-program.js')]
const preload = path.join(root, 'dist/bin/exports/profile.js')

/** The environment of the tests, without what they set for themselves. */
const { NODE_ENV: _, PROFILER_VIEWER: __, ...environment } = process.env

/** A program of another framework, without a line for the profiler. */
const application = `
import { createServer } from 'node:http'
import http2 from 'node:http2'

const pages = {
  '/form': (body, reply) => reply.setHeader('content-type', 'text/plain').end('You have sent ' + body),
  '/stream': (body, reply) => reply.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\\n\\n'),
  '/never': () => process.stdout.write('never\\n'),
  '/call': async (body, reply) => reply.end(await (await fetch('http://127.0.0.1:' + server.address().port + '/users/2')).text()),
  '/log': (body, reply) => {
    console.log('one line')
    reply.end()
  },
  '/copied': async (body, reply) => {
    const { headers } = await fetch('http://127.0.0.1:' + server.address().port + '/upstream')
    reply.writeHead(200, Object.fromEntries([...headers].filter(([name]) => /debug|timing/.test(name)))).end()
  },
  '/odd': (body, reply) => {
    reply.hasHeader = () => { throw new Error('The application has replaced it.') }
    reply.end('odd')
  },
}
const server = createServer((message, reply) => {
  if (message.url === '/unread') return reply.end('no')
  let body = ''
  message.setEncoding('utf8').on('data', text => (body += text))
  message.on('end', () => (pages[message.url.split('?')[0]] ?? (() => reply.end('Hello')))(body, reply))
})
const newer = http2.createServer((message, reply) => reply.end('newer ' + message.url))
server.listen(0, '127.0.0.1', () => newer.listen(0, '127.0.0.1', () => {
  process.stdout.write(JSON.stringify([server.address().port, newer.address().port]) + '\\n')
}))
process.stdin.on('end', () => {
  server.close().closeAllConnections()
  newer.close()
  process.exitCode = 3
}).resume()
`

/** A folder of an application: files with the names of our own are there, and must not be read. */
const files = {
  'app.mjs': application,
  'package.json': '{}',
  '.env': 'APP_ENV=nonsense\nLOG_LEVEL=nonsense\nPROFILER_SAMPLE=nonsense\n',
  node_modules: {},
  templates: { 'broken.hbs': '{{#each', profiler: { 'list.hbs': 'not ours' } },
  public: { 'secret.txt': 'a file of the application' },
}

interface Started {
  readonly child: ReturnType<typeof startProcess>
  /** The first line of the program, as JSON. */
  readonly ports: readonly number[]
  readonly viewer: string
  readonly output: { stdout: string; stderr: string }
}

async function start(t: Test, command: readonly string[], options: ProcessOptions = {}): Promise<Started> {
  const child = startProcess(t, command, {
    cwd: t.testdirName,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...environment, PROFILER_PORT: '0', APP_ENV: 'nonsense' },
    ...options,
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', text => {
      output[name] += text
    })
  }
  await until(() => output.stdout.includes('\n') && output.stderr.includes('\n'))
  const [, viewer = ''] = /^Profiler: (http:\S+)\/_profiler\/\n/.exec(output.stderr) ?? []
  return { child, ports: JSON.parse(output.stdout.split('\n')[0] ?? ''), viewer, output }
}

/** The parts of a profile that are compared. */
interface Found {
  readonly summary: Readonly<Record<string, unknown>> & { readonly token: string; readonly url: string }
  readonly data: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** Waits for the profile of a request. */
async function findProfile(viewer: string, url: string, outcome = 'complete'): Promise<Found> {
  let found: Found['summary'] | undefined
  await until(async () => {
    const list = (await (await fetch(`${viewer}/_profiler/search.json?limit=100`)).json()) as { records: Found[] }
    found = list.records.map(({ summary }) => summary).find(each => each.url.endsWith(url) && each.outcome === outcome)
    return found !== undefined
  }, 20)
  return (await (await fetch(`${viewer}/_profiler/${found?.token}.json`)).json()) as Found
}

function readStored(directory: string): string {
  const folder = path.join(directory, 'node_modules/.cache/sinfonietta')
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.includes('.'))
  return names.map(name => readFileSync(path.join(folder, name), 'latin1')).join('\n')
}

t.test('sinfonietta profile shows the requests of a program that knows nothing of it', async t => {
  const directory = t.testdir(files)
  const { child, output, ports, viewer } = await start(t, [...profiled, 'app.mjs'])
  const [port, newer] = ports
  const own = `http://127.0.0.1:${port}`

  await t.test('the response names its profile', async t => {
    const response = await fetch(`${own}/users/7?token=abcdefgh`)
    t.equal(await response.text(), 'Hello')
    const token = String(response.headers.get('x-debug-token'))
    t.equal(response.headers.get('x-debug-token-link'), `${viewer}/_profiler/${token}`)
    t.match(response.headers.get('server-timing'), `profile;desc="${token}", total;`)
    const { data, summary } = await findProfile(viewer, '/users/7?token=******')
    t.match(summary, { token, method: 'GET', status: 200, route: 'GET /users/*', ip: '127.0.0.1', size: 5 })
    t.match(data.router, { outcome: 'match', pattern: '/users/*', isMadeOfPath: true })
    const { headers } = data.response as { readonly headers: readonly (readonly [string, string])[] }
    t.match(Object.fromEntries(headers), { Connection: 'keep-alive', 'x-debug-token': token }, 'as it was sent')
    const page = await (await fetch(`${viewer}/_profiler/${token}`)).text()
    t.match(page, 'GET /users/*')
    t.notMatch(await (await fetch(`${viewer}/_profiler/${token}?panel=router`)).text(), 'Route matching')
    const events = await (await fetch(`${viewer}/_profiler/${token}?panel=events`)).text()
    t.notMatch(events, 'RouterListener', 'no listener of the kernel that shows the profile')
    const logs = await (await fetch(`${viewer}/_profiler/${token}?panel=logger`)).text()
    t.match(logs, /with <code>console<\/code> is in <a href="[^"]+">Console<\/a>/, 'it has no logger of this package')
    for (const link of [`${token}?panel=config`, 'cpu']) {
      const shown = await (await fetch(`${viewer}/_profiler/${link}`)).text()
      t.notMatch(
        shown,
        /Enabled Bundles|<h3>Settings|_profiler_viewer|bin\/console/,
        'nor its bundles, settings, routes and commands',
      )
    }
  })

  await t.test('bodies are stored, and masked before', async t => {
    const body = new URLSearchParams({ name: 'Ada', password: 'form-secret' })
    t.match(await (await fetch(`${own}/form`, { method: 'POST', body })).text(), 'form-secret')
    const form = await findProfile(viewer, '/form')
    t.match(form.data.request?.body, {
      state: 'read',
      form: [
        ['name', 'Ada'],
        ['password', '******'],
      ],
    })
    t.match(form.data.response?.content, { text: /^You have sent name=Ada&password=\*+$/ })
    const json = JSON.stringify({ name: 'Ada', password: 'json-secret' })
    await fetch(`${own}/json`, { method: 'POST', body: json, headers: { 'content-type': 'application/json' } })
    const posted = await findProfile(viewer, '/json')
    t.match(posted.data.request?.body, { state: 'read', json: [{ name: 'Ada', password: '******' }] })
    await fetch(`${own}/long`, { method: 'POST', body: 'x'.repeat(300_000) })
    const long = await findProfile(viewer, '/long')
    t.match(long.data.request?.body, { state: 'read', length: 300_000, note: 'Too large to be stored.' })
    await fetch(`${own}/broken`, {
      method: 'POST',
      body: '%ff',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    t.match((await findProfile(viewer, '/broken')).data.request?.body, { state: 'read' })
    await fetch(`${own}/unread`, { method: 'POST', body: 'abc' })
    t.match((await findProfile(viewer, '/unread')).data.request?.body, { state: 'unread', length: 3 })
    t.notMatch(readStored(directory), /form-secret|json-secret|abcdefgh/)
    t.match(readStored(directory), 'Ada')
  })

  await t.test('calls and the console belong to their requests', async t => {
    await (await fetch(`${own}/call`)).text()
    t.match((await findProfile(viewer, '/call')).summary, { calls: 1 })
    await (await fetch(`${own}/log`)).text()
    t.match((await findProfile(viewer, '/log')).summary, { dumps: 1 })
  })

  await t.test('a proxy that copies the fields of its upstream names its own profile', async t => {
    const { headers } = await fetch(`${own}/copied`)
    const { summary } = await findProfile(viewer, '/copied')
    t.equal(headers.get('x-debug-token'), summary.token)
    t.match(headers.get('x-debug-token-link'), summary.token)
    t.match(headers.get('server-timing'), `profile;desc="${summary.token}", total;`)
  })

  await t.test('a stream of events has a profile while it is open', async t => {
    const abort = new AbortController()
    await fetch(`${own}/stream`, { signal: abort.signal })
    t.match((await findProfile(viewer, '/stream', 'unfinished')).summary, { status: 200 })
    abort.abort()
    t.match((await findProfile(viewer, '/stream', 'aborted')).summary, { status: 200, size: 9 })
  })

  await t.test('requests without a response end when their clients leave', async t => {
    const { send } = createSender(t, Number(port))
    const client = send(
      'GET /never HTTP/1.1\r\nHost: localhost\r\n\r\nGET /waiting HTTP/1.1\r\nHost: localhost\r\n\r\n',
    )
    await until(() => output.stdout.includes('never'))
    client.destroy()
    t.match((await findProfile(viewer, '/never', 'aborted')).summary, { status: 0 })
    t.match((await findProfile(viewer, '/waiting', 'aborted')).summary, { method: 'GET' })
  })

  await t.test('requests of HTTP/2 are recorded', async t => {
    const client = http2.connect(`http://127.0.0.1:${newer}`)
    const stream = client.request({ ':path': '/two', ':method': 'POST' })
    const [headers] = (await once(stream.end('abc'), 'response')) as [http2.IncomingHttpHeaders]
    await once(stream.resume(), 'close')
    client.close()
    const { data, summary } = await findProfile(viewer, '/two')
    t.equal(headers['x-debug-token'], summary.token)
    t.match(summary, { url: `http://127.0.0.1:${newer}/two`, status: 200, size: 10, method: 'POST' })
    t.equal(data.request?.httpVersion, '2')
  })

  await t.test('the pages are for this machine only', async t => {
    t.equal((await fetch(`${viewer}/`, { redirect: 'manual' })).headers.get('location'), '/_profiler/')
    const { send, isAnswered } = createSender(t, Number(new URL(viewer).port))
    const foreign = send('GET /_profiler/search.json HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n')
    t.match(await isAnswered(foreign, '\r\n\r\n'), /^HTTP\/1.1 404/)
    const forwarded = send(
      'GET /_profiler/search.json HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n',
    )
    t.match(await isAnswered(forwarded, '\r\n\r\n'), /^HTTP\/1.1 404/)
    for (const { address, family, internal } of Object.values(networkInterfaces()).flatMap(each => each ?? [])) {
      if (!internal && family === 'IPv4') await t.rejects(fetch(viewer.replace('127.0.0.1', address)), address)
    }
    const response = await fetch(`${own}/`, { headers: { 'x-forwarded-for': '192.0.2.1' } })
    t.equal(response.headers.get('x-debug-token'), null, 'a proxy gets no name of a profile')
    t.equal((await fetch(`${viewer}/secret.txt`)).status, 404, 'files of the application are not served')
    const missing = await fetch(`${viewer}/favicon.ico`)
    t.strictSame([missing.status, await missing.text()], [404, 'Only the profiler is here: /_profiler/\n'])
  })

  child.stdin?.end()
  t.strictSame(await once(child, 'exit'), [3, null], 'it ends with the code of the program')
  t.equal(output.stdout.split('\n').slice(1).join('\n'), 'one line\nnever\n', 'its output is as before')
  const [first, ...others] = output.stderr.trim().split('\n')
  t.match(first, `Profiler: ${viewer}/_profiler/`)
  t.ok(
    others.every(line => line.includes('Debug output is withheld')),
    output.stderr,
  )
})

t.test('a signal ends the program, and the command as the program has ended', async t => {
  t.testdir({
    ...files,
    'app.mjs': `process.stdout.write('[0]\\n')\nsetInterval(() => undefined, 1000)`,
    'own.mjs': `process.on('SIGTERM', () => process.exit(5))\nprocess.stdout.write('[0]\\n')\nsetInterval(() => undefined, 1000)`,
  })
  for (const [file, end] of [
    ['app.mjs', [null, 'SIGTERM']],
    ['own.mjs', [5, null]],
  ] as const) {
    const { child } = await start(t, [...profiled, file])
    child.kill('SIGTERM')
    t.strictSame(await once(child, 'exit'), end, file)
  }
})

t.test('requests in flight are stored when the program exits', async t => {
  const source = application.replace("'/never':", "'/exit': () => process.exit(4),\n  '/never':")
  const directory = t.testdir({ ...files, 'app.mjs': source })
  const { child, output, ports } = await start(t, [...profiled, 'app.mjs'])
  const own = `http://127.0.0.1:${ports[0]}`
  const ended = once(child, 'exit')
  const answers = Promise.allSettled([fetch(`${own}/never`), until(() => output.stdout.includes('never'))])
  await until(() => output.stdout.includes('never'))
  await t.rejects(fetch(`${own}/exit`))
  await answers
  t.strictSame(await ended, [4, null])
  const stored = readStored(directory).split('\n')
  const outcomeOf = (target: string) =>
    stored.find(line => line.includes(`${target}"`))?.match(/"outcome":"(\w+)"/)?.[1]
  t.strictSame(['/never', '/exit'].map(outcomeOf), ['crashed', 'crashed'])
})

t.test('with NODE_ENV=production nothing is recorded, unless a setting allows it', async t => {
  const directory = t.testdir({ ...files, 'short.mjs': 'process.stdout.write("done")' })
  const run = (env: Record<string, string>, ...more: string[]) =>
    runProcess(t, [process.execPath, '--import', preload, ...more, 'short.mjs'], {
      cwd: directory,
      env: { ...environment, PROFILER_PORT: '0', ...env },
    })
  const refused = await run({ NODE_ENV: 'production' })
  t.match(refused, { code: 0, stdout: 'done', stderr: /^Nothing is profiled: NODE_ENV is production\./ })
  t.notOk(existsSync(path.join(directory, 'node_modules/.cache')))
  t.match(await run({ NODE_ENV: 'production', PROFILER_IN_PRODUCTION: '1' }), { stdout: 'done', stderr: /^Profiler: / })
  t.match(await run({ PROFILER_SAMPLE: 'wrong' }), {
    code: 0,
    stdout: 'done',
    stderr: /^Nothing is profiled: [\s\S]*PROFILER_SAMPLE/,
  })
})

t.test('a port that cannot be used is named with its variable', async t => {
  const directory = t.testdir({ ...files, 'short.mjs': 'process.stdout.write("done")' })
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const run = async (PROFILER_PORT: string) => {
    const command = [process.execPath, '--import', preload, 'short.mjs']
    const { code, stderr, stdout } = await runProcess(t, command, {
      cwd: directory,
      env: { ...environment, PROFILER_PORT },
    })
    return { code, stdout, stderr }
  }
  const refusal = (reason: string) => ({ code: 0, stdout: 'done', stderr: `Nothing is profiled: ${reason}\n` })
  t.strictSame(
    [await run(`${port}`), await run('8x')],
    [
      refusal(
        `Port ${port}, which PROFILER_PORT names, is taken by another program: name another port, or 0 for a free one.`,
      ),
      refusal('The configuration has mistakes:\n  PROFILER_PORT "8x" is not an integer from 0 to 65535.'),
    ],
  )
})

t.test('a variable with nearly the name of an option is named', async t => {
  const directory = t.testdir({ ...files, 'short.mjs': 'process.stdout.write("done")' })
  const run = async (env: Record<string, string>) => {
    const command = [process.execPath, '--import', preload, 'short.mjs']
    const all = { ...environment, PROFILER_PORT: '0', ...env }
    const { stderr } = await runProcess(t, command, { cwd: directory, env: all })
    return stderr.split('\n').flatMap(line => /The variable .*/.exec(line)?.[0] ?? [])
  }
  t.strictSame(await run({ PROFILER_SAMPL: '0', PROFILER_TOOLBR: '1' }), [
    'The variable PROFILER_SAMPL has no effect on the profiler; the nearest is "PROFILER_SAMPLE".',
    'The variable PROFILER_TOOLBR has no effect on the profiler; the nearest is "PROFILER_TOOLBAR".',
  ])
  t.strictSame(
    await run({ PROFILER_SERVICE_HOST: '10.0.0.1', PROFILER_API_PORT: 'tcp://10.0.0.1', MY_PROFILER: '1' }),
    [],
  )
})

t.test('an application that calls itself production while it starts is not recorded', async t => {
  const source = `process.env.NODE_ENV = 'production'\n${application}`
  t.testdir({ ...files, 'app.mjs': source })
  const { output, ports, viewer } = await start(t, [process.execPath, '--import', preload, 'app.mjs'])
  const response = await fetch(`http://127.0.0.1:${ports[0]}/users/7`)
  t.equal(response.headers.get('x-debug-token'), null)
  await until(() => output.stderr.includes('Nothing is profiled'))
  const list = (await (await fetch(`${viewer}/_profiler/search.json`)).json()) as { readonly total: number }
  t.equal(list.total, 0)
})

t.test('what the profiler cannot do is no error of the application', async t => {
  t.testdir({ ...files, node_modules: { '.cache': { sinfonietta: { profiler: 'a file', 'replay-secret': {} } } } })
  const { child, output, ports } = await start(t, [process.execPath, '--import', preload, 'app.mjs'])
  t.equal(await (await fetch(`http://127.0.0.1:${ports[0]}/odd`)).text(), 'odd')
  await until(() => output.stderr.includes('The recording of the fields of a response has failed.'))
  await until(() => /WARNING .*profile/i.test(output.stderr))
  child.stdin?.end()
  t.strictSame(await once(child, 'exit'), [3, null])
})

t.test('what is frozen, or missing, is no reason to record nothing', async t => {
  // Node 24 cannot do without `fetch`.
  const withoutFetch = Number(process.versions.node.split('.')[0]) < 24 ? ['--no-experimental-fetch'] : []
  for (const flag of ['--frozen-intrinsics', '--disable-proto=delete', ...withoutFetch]) {
    t.testdir(files)
    const { child, ports, viewer } = await start(t, [
      process.execPath,
      '--no-warnings',
      flag,
      '--import',
      preload,
      'app.mjs',
    ])
    t.equal(await (await fetch(`http://127.0.0.1:${ports[0]}/log`)).text(), '', flag)
    t.equal((await findProfile(viewer, '/log')).summary.outcome, 'complete', flag)
    child.stdin?.end()
    t.strictSame(await once(child, 'exit'), [3, null], flag)
  }
})

t.test('secrets that the application reads while it starts are masked', async t => {
  const source = `process.env.SHOP_PASSWORD = 'late-secret-value'\n${application}`
  const directory = t.testdir({ ...files, 'app.mjs': source })
  const { ports, viewer } = await start(t, [process.execPath, '--import', preload, 'app.mjs'])
  await fetch(`http://127.0.0.1:${ports[0]}/form`, { method: 'POST', body: 'late-secret-value' })
  await findProfile(viewer, '/form')
  t.notMatch(readStored(directory), 'late-secret-value')
})

t.test('processes of an application have one list', async t => {
  const source = `
    import cluster from 'node:cluster'
    if (cluster.isPrimary) {
      const worker = cluster.fork()
      process.stdin.on('end', () => worker.kill()).resume()
    } else await import('./site.mjs')
  `
  t.testdir({ ...files, 'app.mjs': source, 'site.mjs': application })
  const { output, ports, viewer } = await start(t, [process.execPath, '--import', preload, 'app.mjs'])
  const response = await fetch(`http://127.0.0.1:${ports[0]}/users/7`)
  t.match(response.headers.get('x-debug-token-link'), viewer)
  t.match((await findProfile(viewer, '/users/7')).summary, { status: 200 })
  t.equal(output.stderr.match(/Profiler: /g)?.length, 1)
})

t.test('the program of the package has the command', async t => {
  const program = copyProgram(t.testdir())
  const run = (...values: string[]) =>
    runProcess(t, [process.execPath, program, ...values], {
      env: { ...environment, PROFILER_PORT: '0' },
    })
  t.match((await run('profile', '--help')).stdout, /sinfonietta profile \[options of node\] <file>/)
  t.match(await run('profile'), { code: 64 })
  t.match(await run('profile', '-e', 'process.exit(4)'), { code: 4, stderr: /^Profiler: / })
  t.match(await run('profile', 'node', '-e', 'process.exit(4)'), { code: 4, stderr: /^Profiler: / })
  t.match(await run('profile', 'sh', '-c', 'node -e "process.exit(5)"'), { code: 5, stderr: /^Profiler: / })
  const neither =
    /^There is neither a file nor a program "nosuch" to profile: spawn nosuch ENOENT; name the file that .+\n$/
  t.match(await run('profile', 'nosuch'), { code: 1, stderr: neither })
})

t.test('the client of a server that listens on all addresses is named by its address of IPv4', async t => {
  const source = `
    import { createServer } from 'node:http'
    const server = createServer((message, reply) => reply.end('everywhere'))
    server.listen(0, () => process.stdout.write('[' + server.address().port + ']\\n'))
    process.stdin.on('end', () => process.exit()).resume()
  `
  t.testdir({ ...files, 'app.mjs': source })
  const { ports, viewer } = await start(t, [process.execPath, '--import', preload, 'app.mjs'])
  await fetch(`http://127.0.0.1:${ports[0]}/everywhere`)
  t.equal((await findProfile(viewer, '/everywhere')).summary.ip, '127.0.0.1')
})

t.test('the start loads what records requests, and no kernel, schema, rule or page of profiles', async t => {
  // Outside of the project, which has most of the libraries: each that is found is loaded.
  const directory = mkdtempSync(path.join(tmpdir(), 'start-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  for (const folder of ['coverage', 'node_modules']) mkdirSync(path.join(directory, folder))
  writeFileSync(path.join(directory, 'app.mjs'), '')
  const coverage = path.join(directory, 'coverage')
  const { code, stderr } = await runProcess(t, [process.execPath, '--import', preload, 'app.mjs'], {
    cwd: directory,
    env: { ...environment, PROFILER_PORT: '0', NODE_V8_COVERAGE: coverage },
  })
  t.equal(code, 0, stderr)
  const reports: { result: { url: string }[] }[] = readdirSync(coverage).map(file =>
    JSON.parse(readFileSync(path.join(coverage, file), 'utf8')),
  )
  const loaded = [...new Set(reports.flatMap(({ result }) => result.map(({ url }) => url)))]
  const own = loaded.filter(
    url => url.startsWith(pathToFileURL(path.join(root, 'dist/')).href) && !url.includes('/tests/'),
  )
  t.ok(own.includes(pathToFileURL(preload).href), 'the coverage lists the loaded files')
  const unwanted =
    /\/node_modules\/(?:valibot|handlebars|path-to-regexp)\/|\/(?:data|show|rules|kernel|screens|view)\.js$|\/(?:framework|insight|pages|panels|redis)\/|\/session\/(?!session-methods)/
  t.strictSame(
    loaded.filter(url => unwanted.test(url)),
    [],
  )
  // Each module takes about half a millisecond of the start; in the package, most are in bundles.
  t.ok(own.length <= 214, `${own.length} modules are loaded`)
})
