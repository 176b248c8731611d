import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { t } from 'tap'
import { bossProgram, checkJobs, checkServers, graphileProgram, startDatabase } from '#tests/support/check-jobs.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { lacksPostgres } from '#tests/support/start-postgres.ts'
import { runProcess } from '#tests/support/start-process.ts'

const skip = lacksPostgres

// It needs a later Node.js than this package, but runs on it.
t.test('200 jobs of pg-boss 12 at once', { skip: skip || noRegistry }, async t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'boss-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ dependencies: {} }))
  const line = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', 'pg-boss@12']
  const { code, stderr } = await runProcess(t, line, { cwd: folder })
  t.equal(code, 0, stderr)
  t.ok(await checkJobs(t, bossProgram("import { PgBoss } from 'pg-boss'"), 2, 200, folder))
})

t.test('jobs in two databases lead to the requests of their own program', { skip }, async t => {
  const servers = await Promise.all([startDatabase(t), startDatabase(t)])
  const [one, two] = await checkServers(t, graphileProgram, servers)
  t.strictSame(one, two)
  await checkServers(t, bossProgram("import PgBoss from 'pg-boss'"), servers)
})
