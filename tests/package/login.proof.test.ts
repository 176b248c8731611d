import { mkdtempSync, rmSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Test, t } from 'tap'
import { createApplication } from '#bin/package/new-application.ts'
import { startApplication } from '#tests/bin/site-process.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { runProcess, withVariables } from '#tests/support/start-process.ts'

type Database = 'sqlite' | 'postgres'

/** Makes an application with a login, installs its packages, and runs its commands, its tests and its server. */
async function prove(t: Test, database: Database, variables: Readonly<Record<string, string>>): Promise<void> {
  const parent = mkdtempSync(path.join(tmpdir(), 'login-'))
  t.teardown(() => rmSync(parent, { recursive: true, force: true, maxRetries: 5 }))
  const directory = path.join(parent, 'my-site')
  createApplication(directory, `file:${process.cwd()}`, { database })
  const run = async (...words: string[]) => {
    const command = withVariables({ NO_COLOR: '1', ...variables }, ...words)
    const { code, stderr, stdout } = await runProcess(t, command, { cwd: directory })
    t.equal(code, 0, words.join(' '), { stdout, stderr })
    return stdout
  }
  await run('npm', 'install', '--no-audit', '--no-fund', '--prefer-offline')
  await run('node', 'bin/console', 'make:bundle', 'shop')
  await run('node', 'bin/console', 'make:page', 'offers', '--bundle=shop')
  const tested = await run('npm', 'test')
  for (const line of [/^\S the application boots with it/m, /^\S \/offers is a page/m, /^\S fail 0$/m])
    t.match(tested, line, 'with the tests of a generated bundle and its page')
  t.match(await run('node', 'bin/console', 'database:migrate'), 'Migrations that have run: 3.')
  t.match(await run('node', 'bin/console', 'database:migrate'), 'Migrations that have run: 0.')
  t.match(await run('node', 'bin/console', 'database:seed'), 'admin@example.org')

  const site = startApplication(t, directory, ['--port=0'], variables)
  const url = await site.url()
  const list = await (await fetch(url)).text()
  t.match(list, '45 in all')
  const body = new URLSearchParams({ email: 'member@example.org' })
  const sent = await fetch(`${url}/password`, { method: 'POST', body })
  t.match(await sent.text(), 'a mail with a link is on its way')
  const [, link = ''] = await site.until(/A mail to member@example\.org:[\s\S]*?(http\S+)/)
  const password = new URLSearchParams({ password: 'another password' })
  const changed = await fetch(link, { method: 'POST', body: password, redirect: 'manual' })
  t.equal(changed.status, 303, 'its link is printed')
  const cookie = changed.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  await fetch(`${url}/tools/1/borrow`, { method: 'POST', headers: { cookie } })
  await site.until(/A mail to admin@example\.org:\s+Hello Ada,\s+Grace would like to borrow this: Tool 01\./)
  await run('node', 'bin/console', 'accounts:role', 'member@example.org', 'admin')
  const removed = await fetch(`${url}/tools/2/remove`, { method: 'POST', headers: { cookie }, redirect: 'manual' })
  t.equal(removed.status, 303, 'by the role that was given')
  t.match(await run('node', 'bin/console', 'mails:send'), 'Mails that were sent: 0; in the outbox: 0.')
}

t.test(
  'an application with SQLite',
  { skip: noRegistry || (!isBuiltin('node:sqlite') && 'needs node:sqlite of Node 22') },
  t => prove(t, 'sqlite', {}),
)

t.test('an application with PostgreSQL', { skip: noRegistry || lacksPostgres }, async t => {
  const { database, host, port, user } = await startPostgres(t)
  const address = `postgres://${user}@${host}:${port}/${database}`
  await prove(t, 'postgres', { DATABASE_URL: address, TEST_DATABASE_URL: address })
})
