import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import path from 'node:path'
import { type Test, t } from 'tap'
import { runsTypeScript } from '#bin/application/sources.ts'
import { runProcess, withVariables } from '#tests/support/start-process.ts'
import { superviseSite } from '#tests/support/supervised-site.ts'
import { until } from '#tests/support/until.ts'
import { endAtFirstFailure, pause } from './site-process.ts'

/** Options of a test of the compiler. */
const compiled = { skip: runsTypeScript && 'Node runs the sources' }

endAtFirstFailure(t)
const supervised = superviseSite(t)
const { add, bundle, change, directory, inCopy, page, readProfile, replace, shows, site, template, visit } = supervised
const stylesheet = 'bundles/home/assets/home.css'
let url: string
let printed: string

/** Runs a command in the copy, without the environment variables of tap. */
function runConsole(t: Test, ...words: string[]) {
  return runProcess(t, withVariables({}, process.execPath, 'bin/console', ...words), { cwd: directory })
}

t.test('it compiles, and prints its warnings when it serves for the first time', async t => {
  await site.until(/The configuration has mistakes:\n {2}LOG_LEVEL .*\nThe site has ended .*: waiting for a change/)
  writeFileSync(inCopy('.env.local'), 'APP_HOST=example.org\n')
  await site.until(
    /The file \.env\.local sets APP_HOST, but there is no setting of this name; the nearest is "APP_HOSTS"\./,
  )
  url = await supervised.serves()
  await site.until(/^ \(dev, debug on\)\nDebug output is for /)
  t.match(await page(), '</body></html>')
  t.equal(/^Compiling all sources …\n/.test(site.stderr), !runsTypeScript)
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
    /Templates cannot be used:\ntemplates\/home\/home\.hbs: line \d+: there is no partial "nowhere".*\nWhat was read before/,
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
  url = await supervised.serves()
  writeFileSync(path.join(templates, 'broken.hbs'), '{{> nowhere}}')
  await site.until(
    /packages\/home\/templates\/broken\.hbs: line 1: there is no partial "nowhere".*\nWhat was read before/,
  )
  restore()
  url = await supervised.serves()
  t.match(await page(), '</body></html>')
})

t.test('a changed source is served by a new process', async t => {
  add(bundle, '\n// a change\n')
  t.equal(await supervised.serves(), url)
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
  url = await supervised.serves()
  t.match(await page(), '</body></html>')
  const { edits } = (await readProfile()).process.server
  // The system may report the second file later, which then is an edit of its own.
  t.ok(edits.slice(-2).some(({ files }) => files.includes(bundle) && files.includes('bundles/index.ts')))
})

t.test('a type error in a test keeps neither the server nor the console from running', compiled, async t => {
  writeFileSync(inCopy('tests/wrong.test.ts'), 'export const wrong: number = "text"\n')
  add(bundle, '\n// a change\n')
  url = await supervised.serves()
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
  url = await supervised.serves()
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
      url = await supervised.serves()
    }
    t.notMatch(site.stderr, 'node:internal')
  },
)

t.test('after a crash at the start the supervisor waits for a change', async t => {
  const restore = add(bundle, "\nthrow new Error('on purpose')\n")
  await site.until(
    /Error: on purpose\n[\s\S]*home-bundle\.ts:\d+[\s\S]*The new process has ended \(exit code 1\): the one before goes on, waiting/,
  )
  t.match(await page(), '</body></html>')
  restore()
  url = await supervised.serves()
  t.match(await page(), '</body></html>')
})

t.test('a half-written dist/ of another compiler is used once it is complete', compiled, async t => {
  const go = inCopy('go')
  const broken = `
    console.log('half')
    while (!(await import('node:fs')).existsSync('${go}')) await new Promise(resolve => setTimeout(resolve, 20))
    throw new Error('by half')\n`
  const crash = `app.routes.add({ name: 'crash', path: '/crash', controller: () => process.kill(process.pid, 'SIGKILL') })`
  const withoutCrash = change(bundle, text => text.replace('register(app: Application) {\n', `$&    ${crash}\n`))
  url = await supervised.serves()
  /** The start after a crash compiles nothing. */
  const startHalf = async () => {
    const complete = change('dist/bundles/index.js', text => broken + text)
    await t.rejects(visit('/crash'))
    await site.until(/^half$/m)
    return () => {
      complete()
      replace('dist/.compiled', '')
    }
  }

  const finish = await startHalf()
  finish()
  writeFileSync(go, '')
  await site.until(/Error: by half[\s\S]*The site has ended \(exit code 1\): dist\/ has changed\.\n/)
  url = await supervised.serves()

  const finishLater = await startHalf()
  await site.until(/Error: by half[\s\S]*The site has ended \(exit code 1\): waiting for a change\.\n/)
  finishLater()
  url = await supervised.serves()
  t.match(await page(), '</body></html>')
  withoutCrash()
  url = await supervised.serves()
})

t.test('a site that crashes while it serves starts again at once; the profile of the crash can be opened', async t => {
  const route = `app.routes.add({
      name: 'crash',
      path: '/crash',
      controller: () => {
        void Promise.reject(new Error('on purpose'))
        return Response.text('')
      },
    })`
  const restore = change(bundle, text => text.replace('register(app: Application) {\n', `$&    ${route}\n`))
  url = await supervised.serves()
  const edits = (await readProfile()).process.server.edits.length
  for (let crash = 1; crash <= 3; crash++) {
    const token = (await visit('/crash')).headers.get('x-debug-token')
    await site.until(/Error: on purpose\n[\s\S]*The site has ended \(exit code 1\): starting again in \d\.\d s\.\n/)
    url = await supervised.serves()
    const profile = await visit(`/_profiler/${token}.json`)
    t.equal(profile.status, 200)
    const { summary } = (await profile.json()) as { summary: { outcome: string } }
    t.equal(summary.outcome, 'crashed')
    t.equal((await readProfile()).process.server.edits.length, edits, 'no file was edited before this start')
  }
  restore()
  url = await supervised.serves()
})

t.test('no request is refused, cut off or answered by an error while a process is replaced or has crashed', async t => {
  const outcomes = new Map<string, number>()
  const count = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  let isOver = false
  const fresh = new Agent({ keepAlive: false, maxSockets: 4 })
  const agents = [new Agent({ keepAlive: true, maxSockets: 4 }), fresh]
  const ask = (agent: Agent, target: string) =>
    new Promise<void>(resolve => {
      const sent = get(`${url}${target}`, { agent, headers: { 'x-profiler': 'off' } }, response => {
        response.resume().on('end', () => resolve(void count(String(response.statusCode))))
      })
      // A connection may be closed just when it is used again. Clients then send the request on a
      // new one (RFC 9112, 9.3.1).
      sent.on('error', (error: NodeJS.ErrnoException) => {
        if (sent.reusedSocket) resolve(ask(fresh, target))
        else resolve(void count(String(error.code)))
      })
    })
  const load = agents.map(async agent => {
    while (!isOver) await Promise.all([ask(agent, '/'), ask(agent, '/'), pause(20)])
  })
  const route = `app.routes.add({ name: 'crash', path: '/crash', controller: () => process.kill(process.pid, 'SIGKILL') })`
  const restore = change(bundle, text => text.replace('register(app: Application) {\n', `$&    ${route}\n`))
  await supervised.serves()
  const restoreBroken = add(bundle, "\nimport { nothing } from './nowhere.ts'\nconsole.log(nothing)\n")
  await site.until(/waiting for a change/)
  restoreBroken()
  await supervised.serves()
  isOver = true
  await Promise.all(load)
  // The request that ends the process has no answer. The next one waits for the next process.
  t.match(await visit('/crash').catch(({ cause }) => cause.code), /UND_ERR_SOCKET|ECONNRESET/)
  await Promise.all(agents.map(agent => ask(agent, '/')))
  restore()
  await supervised.serves()
  t.strictSame([...outcomes.keys()], ['200'])
  t.ok(Number(outcomes.get('200')) > 50)
})

t.test('after a mistake in a template at the start the supervisor waits for a change', async t => {
  const restore = add(template, '{{#if}}')
  await site.until(/Templates cannot be used/)
  add(bundle, '\n// a change\n')
  await site.until(/Templates cannot be used:\ntemplates\/home\/home\.hbs:[\s\S]*waiting for a change/)
  restore()
  url = await supervised.serves()
  t.match(await page(), '</body></html>')
})

t.test('after mistakes in the configuration the supervisor waits for a change', async t => {
  writeFileSync(inCopy('.env.local'), 'LOG_LEVEL=loud\nAPP_DEBUG=perhaps\n')
  await site.until(/The configuration has mistakes:\n {2}APP_DEBUG .*\n {2}LOG_LEVEL .*\nThe new process has ended/)
  rmSync(inCopy('.env.local'))
  url = await supervised.serves()
  t.match(await page(), '</body></html>')
})

t.test('after an installation of packages the server starts again', async t => {
  const manifest = readFileSync(inCopy('package.json'), 'utf8')
  writeFileSync(inCopy('package.json'), `${manifest}\n`)
  url = await supervised.serves()
  t.match(await page(), '</body></html>')
})

t.test('texts that depend on the settings are printed again when these change', async t => {
  writeFileSync(inCopy('.env.local'), 'APP_HOTS=example.org\nDEBUG_KEY=0123456789abcdef\n')
  await site.until(
    /The file \.env\.local sets APP_HOTS, but there is no setting of this name; the nearest is "APP_HOSTS"\./,
  )
  url = await supervised.serves()
  await site.until(/ that have the key\. Open this once in your browser:\n\S+\/_debug\?key=0123456789abcdef\n/)
  rmSync(inCopy('.env.local'))
  url = await supervised.serves()
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
  url = await supervised.serves()
  writeFileSync(inCopy('lib/new/deep/version.ts'), "export const version: string = 'version 11'\n")
  await site.until(/version 11/)
  url = await supervised.serves()
  t.match(await page(), '</body></html>')
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
