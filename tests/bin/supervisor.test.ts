import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Agent, createServer, get } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Test, t } from 'tap'
import { HoldingPage } from '#bin/holding-page.ts'
import { runsTypeScript } from '#bin/sources.ts'
import { packageDirectory } from '#lib/package.ts'
import { childrenOf } from '#tests/support/children-of.ts'
import { createSmallApplication } from '#tests/support/create-small-application.ts'
import { findPort } from '#tests/support/find-port.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'
import { pause, startApplication, startCountedProgram, startFixture, startProgram } from './site-process.ts'

/** Options of a test of the compiler. */
const compiled = { skip: runsTypeScript && 'Node runs the sources' }

const directory = t.testdir()
createSmallApplication(directory)
const inCopy = (file: string) => path.join(directory, file)
writeFileSync(inCopy('.env.local'), 'LOG_LEVEL=loud\n')
const site = startCountedProgram(t, ['serve', directory, '--port=0'])
let url: string
let printed: string

const bundle = 'bundles/home/home-bundle.ts'
const template = 'templates/home/home.hbs'
const stylesheet = 'bundles/home/assets/home.css'

/** Replaces a file, as editors do that never leave a half-written file. */
function replace(file: string, text: string): void {
  writeFileSync(inCopy(`${file}~`), text)
  renameSync(inCopy(`${file}~`), inCopy(file))
}

/** Adds a text to a file. Returns a function that restores the file. */
function add(file: string, text: string): () => void {
  return change(file, before => before + text)
}

/** Changes a file. Returns a function that restores it. */
function change(file: string, edit: (text: string) => string): () => void {
  const before = readFileSync(inCopy(file), 'utf8')
  replace(file, edit(before))
  return () => replace(file, before)
}

/** The program that a debugger finds at a port. */
async function inspected(port: number): Promise<unknown> {
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as { title: string }[]
  return targets[0]?.title
}

/** Runs a command in the copy, without the environment variables of tap. */
function runConsole(t: Test, ...words: string[]) {
  const { HOME = '', PATH = '' } = process.env
  const command = ['env', '-i', `HOME=${HOME}`, `PATH=${PATH}`, process.execPath, 'bin/console', ...words]
  return runProcess(t, command, { cwd: directory })
}

/** Requests a page over a connection of its own: a replaced process may close an idle one just when it is used again. */
function visit(target: string, headers: Record<string, string> = {}): ReturnType<typeof fetch> {
  return fetch(url + target, { headers: { ...headers, connection: 'close' } })
}

async function page(): Promise<string> {
  // Without the toolbar, which names the token, each response is the same.
  return (await visit('/', { 'x-profiler': 'off' })).text()
}

/** Requests the page, and reads its profile. */
async function readProfile(): Promise<{
  process: { server: { edits: { time: number; files: string[] }[]; process: object } }
}> {
  const token = (await visit('/')).headers.get('x-debug-token')
  return (await visit(`/_profiler/${token}.json`)).json() as ReturnType<typeof readProfile>
}

/** Requests the page until it is as expected. */
function shows(isShown: (page: string) => boolean): Promise<void> {
  return until(async () => isShown(await page()), 20)
}

t.test('it compiles, and prints its warnings when it serves for the first time', async t => {
  await site.until(/The configuration has mistakes:\n {2}LOG_LEVEL .*\nThe site has ended .*: waiting for a change/)
  writeFileSync(inCopy('.env.local'), 'APP_HOST=example.org\n')
  await site.until(
    /The file \.env\.local sets APP_HOST, but there is no setting of this name; the nearest is "APP_HOSTS"\./,
  )
  url = await site.url()
  await site.until(/^ \(dev, debug on\)\nDebug output is for /)
  t.match(await page(), '</body></html>')
  t.equal(/^Compiling for the first time …\n/.test(site.stderr), !runsTypeScript)
  printed = site.stderr
})

t.test('the running process uses a changed template or asset, however often it is replaced', async t => {
  for (const text of ['1st text', '2nd text', '3rd text']) {
    const restore = add(template, `<!-- ${text} -->`)
    await shows(page => page.includes(text))
    t.strictSame((await readProfile()).process.server.edits.at(-1)?.files, [template])
    restore()
    await shows(page => !page.includes(text))
  }
  const styled = await page()
  const restore = add(stylesheet, '/* changed */')
  await shows(page => page !== styled)
  restore()
  await shows(page => page === styled)
  mkdirSync(inCopy('public'))
  replace('public/robots.txt', 'User-agent: *\n')
  await until(async () => (await visit('/robots.txt')).status === 200)
  t.equal(site.stderr, printed)
})

t.test('mistakes in templates are printed, and the old templates stay in use', async t => {
  const before = await page()
  const restore = add(template, '{{> nowhere}}')
  await site.until(
    /Templates cannot be used:\ntemplates\/home\/home\.hbs: line \d+: there is no partial "nowhere"\nWhat was read before/,
  )
  t.equal(await page(), before)
  restore()
  add(template, '<!-- no mistake -->')
  await shows(page => page.includes('no mistake'))
})

t.test('templates in other folders of the application are read again, too', async t => {
  const templates = inCopy('packages/home/templates')
  mkdirSync(templates, { recursive: true })
  const folders = JSON.stringify({ templates, assets: inCopy('bundles/home/assets') })
  const restore = add(bundle, `\nObject.assign(homeBundle, ${folders})\n`)
  url = await site.url()
  writeFileSync(path.join(templates, 'broken.hbs'), '{{> nowhere}}')
  await site.until(
    /packages\/home\/templates\/broken\.hbs: line 1: there is no partial "nowhere"\nWhat was read before/,
  )
  restore()
  url = await site.url()
  t.match(await page(), '</body></html>')
})

t.test('a changed source is served by a new process', async t => {
  add(bundle, '\n// a change\n')
  t.equal(await site.url(), url)
  t.match(site.stdout, `Sinfonietta serves ${url} again (dev, debug on)\n`)
  t.equal(site.stdout.split('Debug output is for').length, 2, 'a warning is given once')
  t.match(await page(), '</body></html>')
  const { process } = await readProfile()
  t.strictSame(process.server.edits.at(-1)?.files, [bundle])
  const earlier = process.server.edits.slice(0, -1).flatMap(({ files }) => files)
  t.ok(earlier.includes(template), 'an edit of a template is known after a restart')
  t.notMatch(process.server.process, { 'command line': bundle })
})

t.test('a type error is shown in the terminal and in the toolbar, and stops nothing', async t => {
  const restore = add(bundle, 'export const wrong: number = "text"\n')
  await site.until(/home-bundle\.ts.*TS2322/)
  t.match(await page(), '</body></html>')
  const token = (await visit('/')).headers.get('x-debug-token')
  const toolbar = async () => (await visit(`/_wdt/${token}`)).text()
  await until(async () => (await toolbar()).includes('This page is current, and the types are wrong'))
  t.match(await toolbar(), /1 type error[\s\S]*home-bundle\.ts/)
  t.notMatch(site.stderr, /TS2322[\s\S]*TS2322/, 'it is printed once')
  restore()
  await until(async () => !(await toolbar()).includes('type error'))
})

t.test('a syntax error is shown, and what was compiled before goes on', compiled, async t => {
  const restore = add(bundle, 'export const wrong = = 1\n')
  await site.until(/home-bundle\.ts.*TS1109[\s\S]*What was compiled before goes on: waiting for a change/)
  t.match(await page(), '</body></html>')
  const token = (await visit('/')).headers.get('x-debug-token')
  // The message to the process may be later than the line in the terminal.
  const toolbar = async () => (await visit(`/_wdt/${token}`)).text()
  await until(async () => (await toolbar()).includes('This page is older than your files'))
  add('bundles/index.ts', '\n// a change\n')
  restore()
  url = await site.url()
  t.match(await page(), '</body></html>')
  const { edits } = (await readProfile()).process.server
  // The system may report the second file later, which then is an edit of its own.
  t.ok(edits.slice(-2).some(({ files }) => files.includes(bundle) && files.includes('bundles/index.ts')))
})

t.test('a type error in a test keeps neither the server nor the console from running', compiled, async t => {
  writeFileSync(inCopy('tests/wrong.test.ts'), 'export const wrong: number = "text"\n')
  add(bundle, '\n// a change\n')
  url = await site.url()
  t.match(await page(), '</body></html>')
  t.equal((await runConsole(t, 'debug:routes', '--json')).code, 0)
  rmSync(inCopy('tests/wrong.test.ts'))
})

t.test('while the sources do not compile, the console reads profiles with the last build', compiled, async t => {
  const restore = add(bundle, 'export const wrong = = 1\n')
  await site.until(/What was compiled before goes on: waiting for a change/)
  const profiles = await runConsole(t, 'profiler:list', '--json')
  t.equal(profiles.code, 0)
  t.match(profiles.stderr, /TS1109[\s\S]*\nThe sources do not compile: the command runs from the last build\.\n$/)
  const routes = await runConsole(t, 'debug:routes')
  t.equal(routes.code, 1)
  t.match(routes.stderr, /TS1109[\s\S]*\nThe command was not run: the sources do not compile\.\n$/)
  restore()
  url = await site.url()
})

t.test(
  'syntax that Node does not run is shown with its place',
  { skip: !runsTypeScript && 'this Node does not run the sources' },
  async t => {
    for (const [text, message] of [
      ['enum Colour { Red }', /home-bundle\.ts:\d+\n[\s\S]*enum Colour \{ Red \}\n[\s\S]*enum is not supported/],
      ['export const wrong = = 1', /home-bundle\.ts:\d+\n[\s\S]*Expression expected/],
    ] as const) {
      const restore = add(bundle, text)
      await site.until(message)
      await site.until(/^The new process has ended \(exit code 1\): the one before goes on, waiting for a change\.\n/m)
      t.match(await page(), '</body></html>')
      restore()
      url = await site.url()
    }
    t.notMatch(site.stderr, 'node:internal')
  },
)

t.test('where Node runs the sources, nothing is compiled before a restart', async t => {
  const copy = t.testdir()
  cpSync(directory, copy, { recursive: true, verbatimSymlinks: true })
  const stamp = () => statSync(path.join(copy, 'dist/.built'), { throwIfNoEntry: false })?.mtimeMs
  const before = stamp()
  const other = startCountedProgram(t, ['supervise', copy, '--port=0'])
  const first = await other.url()
  writeFileSync(path.join(copy, 'bundles/other.ts'), 'export const wrong: number = ""\n')
  t.equal(await other.url(), first)
  t.equal(stamp(), before)
  other.child.kill()
  t.equal(await other.end(), 0)
})

t.test('after a crash at the start the supervisor waits for a change', async t => {
  const restore = add(bundle, "\nthrow new Error('on purpose')\n")
  await site.until(
    /Error: on purpose\n[\s\S]*home-bundle\.ts:\d+[\s\S]*The new process has ended \(exit code 1\): the one before goes on, waiting/,
  )
  t.match(await page(), '</body></html>')
  restore()
  url = await site.url()
  t.match(await page(), '</body></html>')
})

t.test('while the application cannot start, a page waits for it at its port', async t => {
  const copy = t.testdir()
  cpSync(directory, copy, { recursive: true, verbatimSymlinks: true })
  const file = path.join(copy, bundle)
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, `${text}\nthrow new Error('on purpose')\n`)
  const address = `http://127.0.0.1:${await findPort()}`
  const other = startCountedProgram(t, ['serve', copy, `--port=${new URL(address).port}`])
  await other.until(/The site has ended \(exit code 1\): waiting/)
  const wait = async (status: number) => {
    for (let attempt = 0; attempt < 500; attempt++) {
      const response = await fetch(address).catch(() => undefined)
      if (response?.status === status) return response
      await pause(20)
    }
    throw new Error(`There was no response with the status ${status}.`)
  }
  const held = await wait(503)
  t.match(held.headers.get('cache-control'), 'no-store')
  const page = await held.text()
  t.match(page, /The application does not run<\/strong> 1 mistake[\s\S]*on purpose/)
  const lines = text.split('\n').length
  t.match(page, new RegExp(`data-at="\\d+">bundles/home/home-bundle\\.ts:${lines + 1}<`), 'the place')
  t.match(page, 'class="line-number"', 'the source')
  const foreign = await (await fetch(address, { headers: { 'x-forwarded-for': '192.0.2.7' } })).text()
  t.match(foreign, /http-equiv="refresh"[\s\S]*The application does not run/)
  t.notMatch(foreign, 'on purpose', 'not for a client without debug output')
  const list = await fetch(`${address}/_profiler/`)
  t.equal(list.status, 200, 'earlier profiles can be read')
  writeFileSync(file, text)
  t.equal(await other.url(), address)
  t.match(await (await wait(200)).text(), '</body></html>')
  other.child.kill()
  t.equal(await other.end(), 0)
})

t.test('with broken settings, the reason is shown if no file could close debug output', async t => {
  const malformed = 'MAIL_PASSWORD="Xk7Canary9\n'
  const files: [file: string, content: string | Buffer, isShown: boolean][] = [
    ['.env', `APP_ENV='dev' # as always\n${malformed}`, true],
    ['.env', `APP_ENV=prod\n${malformed}`, false],
    ['.env', `APP_ENV=dev-1\n${malformed}`, false],
    ['.env.local', `export NODE_ENV="production"\n${malformed}`, false],
    ['.env', `APP_DEBUG=0\n${malformed}`, false],
    ['.env', `TRUSTED_PROXIES=127.0.0.1\n${malformed}`, false],
    ['.env', `DEBUG_KEY=Xk7Canary9Xk7Canary9Xk7Canary9\n${malformed}`, false],
    ['.env', Buffer.from(`DEBUG_KEY=Xk7Canary9Xk7Canary9Xk7Canary9\n${malformed}`, 'utf16le'), false],
    // Readable, but with another mistake.
    ['.env', 'LOG_LEVEL=loud\nDEBUG_KEY=Xk7Canary9Xk7Canary9Xk7Canary9\n', false],
    ['.env', 'LOG_LEVEL=loud\n', true],
  ]
  for (const [name, content, isShown] of files) {
    const port = await findPort()
    const folder = mkdtempSync(path.join(tmpdir(), 'broken-settings-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    const file = path.join(folder, name)
    writeFileSync(file, content)
    const page = new HoldingPage(folder, [`--port=${port}`, '--env=dev'])
    await page.open([{ message: 'The reason', file, line: 2 }])
    const response = await fetch(`http://127.0.0.1:${port}/any`, { headers: { accept: 'text/html' } })
    const text = await response.text()
    t.equal(response.status, 503)
    t.equal(text.includes('The reason'), isShown, JSON.stringify(String(content)))
    t.notMatch(text, 'Xk7Canary9', 'files of settings have no excerpts')
    const list = await fetch(`http://127.0.0.1:${port}/_profiler/`)
    t.equal(list.status, isShown ? 200 : 503)
    await page.close()
  }
})

t.test('the page that waits leaves a port to another program, and the last call counts', async t => {
  const port = `--port=${await findPort()}`
  const pages = [new HoldingPage(process.cwd(), [port]), new HoldingPage(process.cwd(), [port])]
  for (const page of pages) await page.open()
  for (const page of pages) await page.close()
  const [first] = pages
  await first?.open()
  await first?.open()
  const address = `http://127.0.0.1:${port.slice(7)}/any`
  t.equal((await fetch(address, { method: 'POST' })).status, 503)
  const overlapping = [first?.open(), first?.open()]
  await first?.close()
  await Promise.all(overlapping)
  await t.rejects(fetch(address))
})

t.test('a half-written dist/ of another compiler is used once it is complete', compiled, async t => {
  const go = inCopy('go')
  const broken = `
    console.log('half')
    while (!(await import('node:fs')).existsSync('${go}')) await new Promise(resolve => setTimeout(resolve, 20))
    throw new Error('by half')\n`
  const finish = () => replace('dist/.tsbuildinfo', readFileSync(inCopy('dist/.tsbuildinfo'), 'utf8'))

  let restore = change('dist/bundles/index.js', text => broken + text)
  add(bundle, '\n// a change\n')
  await site.until(/^half$/m)
  restore()
  finish()
  writeFileSync(go, '')
  await site.until(/Error: by half[\s\S]*The new process has ended \(exit code 1\): dist\/ has changed\.\n/)
  url = await site.url()

  restore = change('dist/bundles/index.js', text => broken + text)
  add(bundle, '\n// a change\n')
  await site.until(
    /Error: by half[\s\S]*The new process has ended \(exit code 1\): the one before goes on, waiting for a change\.\n/,
  )
  restore()
  finish()
  url = await site.url()
  t.match(await page(), '</body></html>')
})

t.test(
  'a site that crashes while it serves starts again at once, and the profile of the crash can be opened',
  async t => {
    const route = `app.routes.add({
      name: 'crash',
      path: '/crash',
      controller: () => {
        void Promise.reject(new Error('on purpose'))
        return Response.text('')
      },
    })`
    const restore = change(bundle, text => text.replace('register(app: Application) {\n', `$&    ${route}\n`))
    url = await site.url()
    const edits = (await readProfile()).process.server.edits.length
    for (let crash = 1; crash <= 3; crash++) {
      const token = (await visit('/crash')).headers.get('x-debug-token')
      await site.until(/Error: on purpose\n[\s\S]*The site has ended \(exit code 1\): starting again in \d\.\d s\.\n/)
      url = await site.url()
      const profile = await visit(`/_profiler/${token}.json`)
      t.equal(profile.status, 200)
      const { summary } = (await profile.json()) as { summary: { outcome: string } }
      t.equal(summary.outcome, 'crashed')
      t.equal((await readProfile()).process.server.edits.length, edits, 'no file was edited before this start')
    }
    restore()
    url = await site.url()
  },
)

t.test('a process that does not stop is killed, and the next one serves meanwhile', async t => {
  const copy = t.testdir()
  cpSync(directory, copy, { recursive: true, verbatimSymlinks: true })
  const file = path.join(copy, bundle)
  const text = readFileSync(file, 'utf8')
  const route = "app.routes.add({ name: 'hang', path: '/hang', controller: () => { for (;;); } })"
  writeFileSync(file, text.replace('register(app: Application) {\n', `$&    ${route}\n`))
  const other = startCountedProgram(t, ['superviseHastily', copy, '--port=0'])
  const address = await other.url()
  const hanging = fetch(`${address}/hang`).catch(() => 'closed')
  await other.until(/Matched route "hang"/)
  writeFileSync(file, text)
  await other.url()
  t.equal((await fetch(address)).status, 200)
  t.equal(await hanging, 'closed')
  other.child.kill()
  t.equal(await other.end(), 0)
})

t.test('no request is refused, cut off or answered by an error while a process is replaced or has crashed', async t => {
  const outcomes = new Map<string, number>()
  const count = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  let isOver = false
  const agents = [new Agent({ keepAlive: true, maxSockets: 4 }), new Agent({ keepAlive: false, maxSockets: 4 })]
  const ask = (agent: Agent, target: string) =>
    new Promise<void>(resolve => {
      const sent = get(`${url}${target}`, { agent, headers: { 'x-profiler': 'off' } }, response => {
        response.resume().on('end', () => resolve(void count(String(response.statusCode))))
      })
      // A connection may be closed just when it is used again. Clients then send the request on another one (RFC 9112, 9.3.1).
      sent.on('error', (error: NodeJS.ErrnoException) => {
        if (sent.reusedSocket) resolve(ask(agent, target))
        else resolve(void count(String(error.code)))
      })
    })
  const load = agents.map(async agent => {
    while (!isOver) await Promise.all([ask(agent, '/'), ask(agent, '/'), pause(20)])
  })
  const route = `app.routes.add({ name: 'crash', path: '/crash', controller: () => process.kill(process.pid, 'SIGKILL') })`
  const restore = change(bundle, text => text.replace('register(app: Application) {\n', `$&    ${route}\n`))
  await site.url()
  const restoreBroken = add(bundle, "\nimport { nothing } from './nowhere.ts'\nconsole.log(nothing)\n")
  await site.until(/waiting for a change/)
  restoreBroken()
  await site.url()
  isOver = true
  await Promise.all(load)
  // The request that ends the process has no answer. The next one waits for the next process.
  t.match(await visit('/crash').catch(({ cause }) => cause.code), /UND_ERR_SOCKET|ECONNRESET/)
  await Promise.all(agents.map(agent => ask(agent, '/')))
  restore()
  await site.url()
  t.strictSame([...outcomes.keys()], ['200'])
  t.ok(Number(outcomes.get('200')) > 50)
})

t.test('after a mistake in a template at the start the supervisor waits for a change', async t => {
  const restore = add(template, '{{#if}}')
  await site.until(/Templates cannot be used/)
  add(bundle, '\n// a change\n')
  await site.until(/Templates cannot be used:\ntemplates\/home\/home\.hbs:[\s\S]*waiting for a change/)
  restore()
  url = await site.url()
  t.match(await page(), '</body></html>')
})

t.test('after mistakes in the configuration the supervisor waits for a change', async t => {
  writeFileSync(inCopy('.env.local'), 'LOG_LEVEL=loud\nAPP_DEBUG=perhaps\n')
  await site.until(/The configuration has mistakes:\n {2}APP_DEBUG .*\n {2}LOG_LEVEL .*\nThe new process has ended/)
  rmSync(inCopy('.env.local'))
  url = await site.url()
  t.match(await page(), '</body></html>')
})

t.test('after an installation of packages the server starts again', async t => {
  const manifest = readFileSync(inCopy('package.json'), 'utf8')
  writeFileSync(inCopy('package.json'), `${manifest}\n`)
  url = await site.url()
  t.match(await page(), '</body></html>')
})

t.test('texts that depend on the settings are printed again when these change', async t => {
  writeFileSync(inCopy('.env.local'), 'APP_HOTS=example.org\nDEBUG_KEY=0123456789abcdef\n')
  await site.until(
    /The file \.env\.local sets APP_HOTS, but there is no setting of this name; the nearest is "APP_HOSTS"\./,
  )
  url = await site.url()
  await site.until(/ that have the key\. Open this once in your browser:\n\S+\/_debug\?key=0123456789abcdef\n/)
  rmSync(inCopy('.env.local'))
  url = await site.url()
  t.match(await page(), '</body></html>')
})

t.test('no change is lost during a restart, nor in new folders', async t => {
  mkdirSync(inCopy('lib/new/deep'), { recursive: true })
  for (let version = 1; version <= 10; version++) {
    writeFileSync(inCopy('lib/new/deep/version.ts'), `export const version: string = 'version ${version}'\n`)
    await pause(100)
  }
  add(bundle, "\nimport { version } from '../../lib/new/deep/version.ts'\nprocess.stdout.write(version)\n")
  await site.until(/version 10/)
  url = await site.url()
  writeFileSync(inCopy('lib/new/deep/version.ts'), "export const version: string = 'version 11'\n")
  await site.until(/version 11/)
  // The start may have read the change before the supervisor was notified of it: then there is one more start.
  const readPage = async (): Promise<string> => {
    url = await site.url()
    return page().catch(readPage)
  }
  t.match(await readPage(), '</body></html>')
})

t.test('a taken port is reported in one line, and the supervisor ends', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const other = startApplication(t, directory, [`--port=${port}`])
  t.equal(await other.end(), 64)
  t.equal(other.stderr, `Port ${port} of 127.0.0.1 is taken by another program; choose another one with --port.\n`)
})

t.test('the supervisor ends after a wrong option', async t => {
  const other = startCountedProgram(t, ['serve', directory, '--prot=1'])
  t.equal(await other.end(), 64)
  t.match(other.stderr, /^Unknown option '--prot'\n\nUsage: bin\/serve/)
})

t.test('SIGTERM stops the supervisor and the site, and a proxy may use an idle connection until then', async t => {
  const connection = connect(Number(new URL(url).port), new URL(url).hostname)
  connection.write('GET /_health/live HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await once(connection, 'data')
  const begin = performance.now()
  site.child.kill()
  await once(connection, 'close')
  t.ok(performance.now() - begin > 400)
  t.equal(await site.end(), 0)
  await t.rejects(fetch(url))
})

t.test('no process outlives a supervisor that is killed', async t => {
  const other = startApplication(t, directory)
  const url = await other.url()
  other.child.kill('SIGKILL')
  // The child has the same pipes, so they are closed when it has ended, too.
  t.equal(await other.end(), 'SIGKILL')
  await t.rejects(fetch(url))
})

t.test('a debugger attaches to the main process, also after a restart', async t => {
  const port = await findPort()
  for (const [variable, option] of [
    [`NODE_OPTIONS=--inspect=${port}`, '--host=127.0.0.1'],
    ['NODE_OPTIONS=', `--inspect=${port}`],
  ] as const) {
    const other = startProgram(t, ['env', variable, process.execPath, inCopy('bin/serve'), '--port=0', option], {})
    await other.url()
    t.equal(await inspected(port), path.join(packageDirectory, 'dist/bin/start.js'))
    add(bundle, '\n// a change\n')
    await other.url()
    t.equal(await inspected(port), path.join(packageDirectory, 'dist/bin/start.js'))
    for (const save of [1, 2, 3]) {
      add(bundle, `\nprocess.stdout.write('save ${save}\\n')\n`)
      await pause(150)
    }
    await other.until(/save 3\n[\s\S]*Sinfonietta serves/)
    await until(() => childrenOf(other.child.pid).length === 1, 50)
    t.equal(
      await inspected(port),
      path.join(packageDirectory, 'dist/bin/start.js'),
      'of quick saves the last one counts',
    )
    t.notMatch(other.stderr, 'address already in use')
    other.child.kill()
    t.equal(await other.end(), 0)
  }
})

t.test('a debugger of the command line is for the main process', async t => {
  const other = startFixture(t, 'application-program', {}, ['serve', directory, '--port=0'], ['--inspect=0'])
  await other.until(/Debugger listening on ws:[\s\S]*Debugger listening on ws:/)
  await other.url()
  other.child.kill()
  t.equal(await other.end(), 0)
})

t.test('a .env file that cannot be read is reported by the main process', async t => {
  writeFileSync(inCopy('.env.local'), 'not a setting\n')
  const other = startCountedProgram(t, ['serve', directory, '--port=0'])
  t.equal(await other.end(), 1)
  t.match(other.stderr, /^The file ".*\.env\.local" is malformed at line 1: /)
})

t.test('the environment in .env.local decides whether there is a supervisor', async t => {
  writeFileSync(inCopy('.env.local'), 'APP_ENV=prod\n')
  const other = startApplication(t, directory)
  t.equal(await other.end(), 1)
  t.match(other.stderr, /^The configuration has mistakes:\n {2}APP_SECRET .*\n$/)
})

t.test('without a compiler, an existing dist/ is enough', compiled, async t => {
  rmSync(inCopy('.env.local'))
  // Packages are found in folders above, too: this one is outside of the repository.
  const alone = mkdtempSync(path.join(tmpdir(), 'application-'))
  t.teardown(() => rmSync(alone, { recursive: true }))
  cpSync(directory, alone, { recursive: true, verbatimSymlinks: true })
  const other = startApplication(t, alone, ['--port=0', '--env=test'])
  t.equal((await fetch(await other.url())).status, 200)

  rmSync(path.join(alone, 'dist'), { recursive: true })
  const message =
    'The sources are not compiled, and there is no compiler: run "npm install", which installs the package typescript.\n' +
    'Node 22.18 and later run the sources as they are.\n'
  const nothing = startCountedProgram(t, ['serve', alone, '--port=0', '--env=test'])
  t.equal(await nothing.end(), 2)
  t.equal(nothing.stderr, message)
  const waiting = startCountedProgram(t, ['serve', alone, '--port=0'])
  await waiting.until(/Nothing is started: waiting for a change\.\n/)
  t.equal(waiting.stderr, `${message}Nothing is started: waiting for a change.\n`)
  waiting.child.kill()
  t.equal(await waiting.end(), 0)
})
