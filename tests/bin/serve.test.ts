import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, rmSync, utimesSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Bundle } from 'sinfonietta'
import { bootApplication, createNodeServer } from 'sinfonietta/server'
import { type Test, t } from 'tap'
import { runsTypeScript } from '#bin/application/sources.ts'
import { describeValidity, serveApplication } from '#bin/serving/main-process.ts'
import { type Options, parseOptions } from '#bin/serving/serve-options.ts'
import { pause, startFixture, startProgram, startSite } from './site-process.ts'

const ownSecret = { APP_SECRET: 'of one’s own, and long enough for production' }

interface Outcome {
  readonly code: unknown
  readonly output: string
}

/** Serves the site in this process until it fails. */
async function fail(
  t: Test,
  options: readonly string[],
  variables: Record<string, string> = {},
  bundles?: readonly Bundle[],
): Promise<Outcome> {
  const { env, exitCode } = process
  const stderr = t.capture(process.stderr, 'write', () => true)
  process.env = { ...env, ...variables }
  await serveApplication(process.cwd(), options, bundles && (async () => bundles))
  const code = process.exitCode
  process.env = env
  process.exitCode = exitCode
  return {
    code,
    output: stderr()
      .map(({ args: [text] }) => text)
      .join(''),
  }
}

/** An application without framework, as sources and compiled. */
function createApplication(t: Test, bundles: string): string {
  const directory = t.testdir({
    '.env': `APP_SECRET=${ownSecret.APP_SECRET}`,
    'tsconfig.json': '{}',
    bundles: { 'index.ts': bundles },
    dist: { '.built': '', '.compiled': '', bundles: { 'index.js': bundles } },
  })
  const later = Date.now() / 1000 + 60
  utimesSync(path.join(directory, 'dist/.built'), later, later)
  return directory
}

t.test('a program of your own boots an application, and serves it', async t => {
  const directory = createApplication(t, 'export const createBundles = async () => []')
  const kernel = await bootApplication(pathToFileURL(`${directory}/`), { environment: 'test' })
  t.teardown(() => kernel.close())
  t.equal(kernel.app.directory, directory)
  t.equal(kernel.app.config.environment, 'test')
  const server = await createNodeServer(kernel.app)
  t.teardown(() => server.close())
  const url = await server.listen('127.0.0.1', 0)
  t.equal((await fetch(url)).status, 404, 'the framework bundle is added to an empty list')
})

t.test(
  'an application that cannot be compiled is not booted',
  { skip: runsTypeScript && 'Node runs the sources' },
  async t => {
    const directory = createApplication(t, 'this is no TypeScript')
    rmSync(path.join(directory, 'dist/.built'))
    await t.rejects(bootApplication(directory), { code: 'APPLICATION_NOT_COMPILED' })
  },
)

t.test('help is shown', async t => {
  const site = startSite(t, ['--help'])
  t.equal(await site.end(), 0)
  t.match(site.stdout, /^Usage: bin\/serve \[options]\n/)
})

t.test('a wrong option is named, and the help is shown', async t => {
  const cases: [option: string, message: string][] = [
    ['--prot=1', 'There is no option --prot; the nearest is "--port".'],
    ['--port=80 80', '--port must be a number from 0 to 65535, not "80 80".'],
    ['--port=65536', '--port must be a number from 0 to 65535, not "65536".'],
    ['--prot', 'There is no option --prot; the nearest is "--port".'],
    ['--cert=x', 'There is no option --cert; the nearest is "--tls-cert".'],
    ['--environment=prod', 'There is no option --environment; the nearest is "--env".'],
    ['--prod', 'There is no option --prod: write --env prod.'],
    ['--listen=0.0.0.0', 'There is no option --listen: write --host.'],
    ['--host=', 'The value of --host is empty.'],
    ['--env=', 'The value of --env is empty.'],
    ['--env=production', '--env must be one of dev, prod, test, not "production": write --env prod.'],
    ['--host=http://a', '--host is one address such as 0.0.0.0 or ::, without a port, not "http://a".'],
    ['--host=[::1]', '--host is one address such as 0.0.0.0 or ::, without a port, not "[::1]".'],
    ['8000', '"8000" is no argument: write --port 8000.'],
    ['port=8000', '"port=8000" is no argument: write --port=8000.'],
    ['start', '"start" is no argument: there are only options, which begin with --.'],
    ['-- --port', '"--port" is no argument: write --port without -- before it.'],
    ['--workers', 'The value of --workers is missing: write --workers <number>.'],
    ['--workers -1', '--workers must be a number from 0 to 128, not "-1".'],
    ['--inspect abc', '--inspect must be a number from 0 to 65535, not "abc".'],
    ['--inspect=x', '--inspect must be a number from 0 to 65535, not "x".'],
    ['--edits=x', '--edits must be JSON.'],
    ['--workers=1000', '--workers must be a number from 0 to 128, not "1000".'],
    ['--tls-key=key.pem', '--tls-cert and --tls-key go together.'],
  ]
  for (const [option, message] of cases) {
    const { code, output } = await fail(t, / -/.test(option) || option.endsWith('abc') ? option.split(' ') : [option])
    t.equal(code, 64)
    t.ok(output.startsWith(`${message}\n\nUsage: bin/serve`), output)
  }
  const withoutValue = await fail(t, ['--inspect', '--port=65536'])
  t.match(withoutValue.output, /^--port must be a number/, 'a debugger needs no number')
})

t.test('HOST is named if it is not the address to listen on, and no option has chosen this', async t => {
  const ignored = (option: readonly string[], HOST: string) => (parseOptions(option, { HOST }) as Options).ignoredHost
  t.strictSame(
    [
      ignored([], '0.0.0.0'),
      ignored([], '127.0.0.1'),
      ignored(['--host=127.0.0.1'], '0.0.0.0'),
      ignored([], 'my-machine'),
    ],
    ['0.0.0.0', undefined, undefined, undefined],
  )
})

t.test('without an option, the port is that of the environment', async t => {
  const portOf = (option: readonly string[], env: { readonly PORT?: string }) =>
    (parseOptions(option, env) as Options).port
  t.strictSame(
    [
      portOf([], { PORT: '9000' }),
      portOf(['--port=80'], { PORT: '9000' }),
      portOf([], { PORT: '' }),
      portOf([], { PORT: '0' }),
    ],
    [9000, 80, 8000, 0],
  )
  for (const PORT of [
    '65536',
    '80 80',
    '-1',
    '/run/app.sock',
    '\\\\.\\pipe\\app',
    'tcp://10.0.0.1:80',
    '3000/tcp',
    '0x50',
    '3e3',
  ]) {
    const { code, output } = await fail(t, [], { PORT })
    t.equal(code, 64)
    t.ok(output.startsWith(`The variable PORT must be a number from 0 to 65535, not "${PORT}".\n\nUsage: `), output)
  }
})

t.test('TLS needs a certificate and its key', async t => {
  const folder = 'tests/fixtures/tls'
  const missing = await fail(t, [`--tls-cert=${folder}/nope.pem`, `--tls-key=${folder}/key.pem`])
  t.equal(missing.code, 64)
  t.match(missing.output, '--tls-cert cannot be read: ENOENT')
  const wrong = await fail(t, [`--tls-cert=${folder}/key.pem`, `--tls-key=${folder}/cert.pem`])
  t.equal(wrong.code, 64)
  t.match(wrong.output, /TLS can use: the certificate \(--tls-cert\) is no PEM of a certificate\.\n$/)
})

t.test('a certificate that clients refuse is named at the start', t => {
  const [cert, key] = ['cert', 'key'].map(name => readFileSync(`tests/fixtures/tls/${name}.pem`, 'utf8'))
  const identity = { cert: String(cert), key: String(key) }
  const { validFrom, validTo } = new X509Certificate(identity.cert)
  const day = 86_400_000
  t.match(describeValidity(identity, Date.parse(validFrom) - day), `is valid from ${validFrom} only`)
  t.equal(describeValidity(identity, Date.parse(validFrom) + day), '')
  t.match(describeValidity(identity, Date.parse(validTo) + day), `expired on ${validTo}: clients refuse it.`)
  t.end()
})

t.test('an address on which the server cannot listen is reported in one line', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const taken = `Port ${port} of 127.0.0.1 is taken by another program; choose another one with --port.\n`
  t.strictSame(await fail(t, [`--port=${port}`]), { code: 64, output: taken })
  const closed: string[] = []
  const bundle: Bundle = { name: 'pool', register() {}, close: () => void closed.push('pool') }
  t.strictSame(await fail(t, [`--port=${port}`], ownSecret, [bundle]), { code: 64, output: taken })
  t.strictSame(closed, ['pool'], 'its bundles are closed')
  const foreign = await fail(t, ['--port=0', '--host=192.0.2.1'])
  t.equal(foreign.code, 64)
  t.match(foreign.output, /^The server cannot listen on 192\.0\.2\.1:0: .*\n$/)
})

t.test('mistakes in the configuration are listed without a stack', async t => {
  const { code, output } = await fail(t, [], { APP_ENV: 'nowhere', APP_DEBUG: 'perhaps', MAILER_DSN: 'mail' })
  t.equal(code, 1)
  t.match(output, /^The configuration has mistakes:\n( {2}[A-Z_]+ .*\n){3}$/)
})

t.test('with wrong settings of a bundle no worker is started', async t => {
  const { code, output } = await fail(t, ['--workers=2'], { LOG_LEVEL: 'loud', MAILER_DSN: 'mail' })
  t.equal(code, 1)
  t.match(output, /^The configuration has mistakes:\n {2}LOG_LEVEL .*\n {2}MAILER_DSN .*\n$/)
})

t.test('production does not start with the secret of the repository', async t => {
  const { code, output } = await fail(t, ['--env=prod'])
  t.equal(code, 1)
  t.match(
    output,
    /^The configuration has mistakes:\n {2}APP_SECRET \(\.env\) is not a secret of its own .*; the one of the shipped \.env is public\.\n$/,
  )
})

t.test('with NODE_ENV=production and APP_ENV=dev, the server warns, and does not start with that secret', async t => {
  const { code, output } = await fail(t, [], { NODE_ENV: 'production' })
  t.equal(code, 1)
  t.match(
    output,
    / APP_SECRET \(\.env\) is not .* NODE_ENV is production, but APP_ENV is dev in \.env: set APP_ENV=prod /,
  )
  const site = startSite(t, ['--port=0'], { NODE_ENV: 'production', ...ownSecret })
  await site.until(/NODE_ENV is production, but APP_ENV is dev in \.env: set APP_ENV=prod [\s\S]*\(dev, debug off\)\n/)
  site.child.kill()
  t.equal(await site.end(), 0)
})

t.test('with NODE_ENV=production, bin/serve ends after a mistake, and waits for no change', async t => {
  const site = startProgram(t, [process.execPath, 'bin/serve', '--port=0'], { NODE_ENV: 'production' })
  t.equal(await site.end(), 1)
})

t.test('an unforeseen error is shown with its stack and its cause', async t => {
  const failing: Bundle = {
    name: 'failing',
    register() {
      throw new Error('the roof is on fire', { cause: new Error('a candle') })
    },
  }
  const { code, output } = await fail(t, ['--port=0'], {}, [failing])
  t.equal(code, 1)
  t.match(
    output,
    /^KERNEL_BUNDLE_FAILED: The bundle "failing" failed in register\(\): Error: the roof is on fire \(.*serve\.test\.[jt]s:\d+\)\n {4}at /,
  )
  t.match(output, /Error: the roof is on fire\n +at .*serve\.test\.[jt]s:\d+[\s\S]*Error: a candle\n/)
})

t.test('a foreseen error of a bundle is shown without a stack', async t => {
  const failing: Bundle = { name: 'failing', register: ({ files }) => files.add('failing', '/nowhere') }
  const { output } = await fail(t, ['--port=0'], {}, [failing])
  const reason =
    'The static files of the bundle "failing" cannot be listed: the folder /nowhere cannot be read (ENOENT) (the test).'
  t.equal(
    output.replace(/\([^()]+serve\.test\.[jt]s:\d+\)/, '(the test)'),
    `The bundle "failing" failed in register(): ${reason}\n`,
  )
})

t.test('the main process prints its address, reads files after a message, and ends with its supervisor', async t => {
  const site = startSite(t, ['--port=0'])
  const url = await site.url()
  await site.until(/ \(dev, debug on\)\nDebug output is for (programs of this user on|clients on) this machine/)
  t.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
  for (const page of ['/star-photo-booth', '/partnership']) {
    const response = await fetch(url + page)
    t.equal(response.status, 200)
    t.match(await response.text(), '</body></html>')
    site.child.send({ reload: [] })
  }
  site.child.disconnect()
  t.equal(await site.end(), 0)
  t.equal(site.stderr, '')
  await t.rejects(fetch(url))
})

t.test('a restart is announced as such, and after a failed reload the old files stay in use', async t => {
  const site = startFixture(t, 'spoilt-site', { APP_ENV: 'dev' })
  const url = await site.url()
  await site.until(/^ again \(dev, debug on\)\n/)
  site.child.send({ reload: [] })
  await site.until(/Error: the files are gone\n[\s\S]*What was read before stays in use: waiting for a change\.\n/)
  t.equal((await fetch(`${url}/_health`)).status, 200)
  t.notMatch(site.stdout, 'Debug output')
  site.child.kill()
  t.equal(await site.end(), 0)
})

t.test('address and environment are options; Ctrl-C, which npm sends twice, stops the server in order', async t => {
  const site = startSite(t, ['--port=0', '--host=::1', '--env=test'])
  t.match(await site.url(), /^http:\/\/\[::1\]:\d+$/)
  await site.until(/ \(test, debug off\)\n/)
  for (const signal of ['SIGINT', 'SIGINT', 'SIGTERM'] as const) site.child.kill(signal)
  t.equal(await site.end(), 0)
})

t.test('a debugger can attach on this machine', async t => {
  const site = startSite(t, ['--port=0', '--env=test', '--inspect', '0'])
  const [, address] = await site.until(/Debugger listening on ws:\/\/(127\.0\.0\.1:\d+)\//)
  await site.url()
  t.equal((await fetch(`http://${address}/json/version`)).status, 200)
  site.child.kill()
  t.equal(await site.end(), 0)
})

t.test('with TLS and workers the printed address is that of HTTPS', async t => {
  const folder = 'tests/fixtures/tls'
  const site = startSite(
    t,
    [
      '--port=0',
      '--host=::1',
      '--env=test',
      '--workers=1',
      `--tls-cert=${folder}/cert.pem`,
      `--tls-key=${folder}/key.pem`,
    ],
    {},
  )
  t.match(await site.url(), /^https:\/\/\[::1\]:\d+$/)
  await site.until(/\(test, debug off, 1 worker\)/)
  site.child.kill()
  t.equal(await site.end(), 0)
})

t.test('production writes nothing but JSON to stdout', async t => {
  const site = startSite(t, ['--port=0', '--env=prod'], { ...ownSecret, LOG_LEVEL: 'debug' })
  const url = await site.url()
  t.equal((await fetch(`${url}/partnership`)).status, 200)
  t.equal((await fetch(`${url}/nowhere`)).status, 404)
  await site.until(/No route found/)
  site.child.kill()
  t.equal(await site.end(), 0)
  for (const line of site.stdout.trimEnd().split('\n')) {
    t.match(JSON.parse(line), { time: String, level: String, channel: String, message: String })
  }
  t.strictSame(site.stderr.split('\n'), [
    `Sinfonietta serves ${url} (prod, debug off)`,
    'Requests for any host are answered, because APP_HOSTS is not set. A client could choose the host of a redirect or a link.',
    'Set APP_HOSTS to the names of the site, such as APP_HOSTS=example.org,*.example.org.',
    '',
  ])
})

t.test('a second signal ends the process without waiting for running requests', async t => {
  const site = startSite(t, ['--port=0', '--env=prod'], ownSecret)
  const client = connect(Number(new URL(await site.url()).port), '127.0.0.1')
  t.teardown(() => client.destroy())
  client.on('error', () => undefined)
  client.write('GET /partnership HTTP/1.1\r\n')
  await once(client, 'ready')
  while (site.child.signalCode === null && site.child.exitCode === null) {
    site.child.kill()
    await pause(200)
  }
  t.equal(await site.end(), 'SIGTERM')
})
