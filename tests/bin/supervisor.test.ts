import { mkdirSync, rmSync } from 'node:fs'
import { t } from 'tap'
import { superviseSite } from '#tests/support/supervised-site.ts'
import { until } from '#tests/support/until.ts'
import { endAtFirstFailure, startApplicationProgram } from './site-process.ts'

endAtFirstFailure(t)

// Each claim once, in the life of one supervisor. supervisor.proof.test.ts has all cases.
const { add, bundle, change, inCopy, page, readProfile, replace, serves, shows, site, template, visit } = superviseSite(
  t,
  'superviseHastily',
)

t.test('after mistakes in the configuration the supervisor waits for a change', async t => {
  await site.until(/The configuration has mistakes:\n {2}LOG_LEVEL .*\nThe site has ended .*: waiting for a change/)
  rmSync(inCopy('.env.local'))
  await serves()
  t.match(await page(), '</body></html>')
})

t.test('the running process uses a changed template, and the old one after a mistake', async t => {
  const restore = add(template, '<!-- 1st text -->')
  await shows(page => page.includes('1st text'))
  t.strictSame((await readProfile()).process.server.edits.at(-1)?.files, [template])
  restore()
  await shows(page => !page.includes('1st text'))
  const mend = add(template, '{{> nowhere}}')
  await site.until(/Templates cannot be used:\n.*there is no partial "nowhere".*\nWhat was read before/)
  t.match(await page(), '</body></html>')
  mend()
  mkdirSync(inCopy('public'))
  replace('public/robots.txt', 'User-agent: *\n')
  await until(async () => (await visit('/robots.txt')).status === 200, 50)
  add(template, '<!-- 2nd text -->')
  await shows(page => page.includes('2nd text'))
})

t.test('a changed source is served by a new process, and a type error stops nothing', async t => {
  const routes = `
    app.routes.add({ name: 'crash', path: '/crash', controller: () => process.kill(process.pid, 'SIGKILL') })
    app.routes.add({ name: 'hang', path: '/hang', controller: () => { console.log('It hangs.'); for (;;); } })`
  change(bundle, text => {
    const changed = text.replace('register(app: Application) {', `$&${routes}`)
    return `${changed}export const wrong: number = 'text'\n`
  })
  const url = await serves()
  t.match(site.stdout, `Sinfonietta serves ${url} again (dev, debug on)\n`)
  t.strictSame((await readProfile()).process.server.edits.at(-1)?.files, [bundle])
  const token = (await visit('/')).headers.get('x-debug-token')
  await until(async () => (await (await visit(`/_wdt/${token}`)).text()).includes('1 type error'), 50)
})

t.test('a new process that does not start changes nothing, and the page shows the mistake', async t => {
  const restore = add(bundle, "\nthrow new Error('on purpose')\n")
  await site.until(
    /Error: on purpose\n[\s\S]*The new process has ended \(exit code 1\): the one before goes on, waiting/,
  )
  t.match(await page(), '</body></html>')
  const token = (await visit('/')).headers.get('x-debug-token')
  // The message to the process may be later than the line in the terminal.
  const toolbar = async () => (await visit(`/_wdt/${token}`)).text()
  await until(async () => /This page is older than your files[\s\S]*on purpose/.test(await toolbar()), 50)
  restore()
  await serves()
})

t.test('a site that crashes while it serves starts again at once', async t => {
  // The request that ends the process has no answer.
  await t.rejects(visit('/crash'))
  await site.until(/The site has ended \(SIGKILL\): starting again in \d\.\d s\.\n/)
  await serves()
  t.match(await page(), '</body></html>')
})

t.test('SIGTERM stops the supervisor, and a site that does not stop is killed', async t => {
  const hanging = t.rejects(visit('/hang'))
  await site.until(/It hangs\./)
  site.child.kill()
  t.equal(await site.end(), 0)
  await hanging
  await t.rejects(visit('/'))
})

t.test('the supervisor ends after a wrong option', async t => {
  const other = startApplicationProgram(t, ['serve', inCopy('.'), '--prot=1'])
  t.equal(await other.end(), 64)
  t.match(other.stderr, /^There is no option --prot; the nearest is "--port"\.\n\nUsage: bin\/serve/m)
})
