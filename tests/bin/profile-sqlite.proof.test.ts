import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { t } from 'tap'
import type { QueryData } from '#tests/support/create-profile.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { readProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const isOld = Number(process.versions.node.split('.')[0]) < 22 && 'better-sqlite3 13 needs Node 22'

const application = `
import { createServer } from 'node:http'
import Database from 'better-sqlite3'
const database = new Database(':memory:')
database.exec('CREATE TABLE books (id int PRIMARY KEY)')
const server = createServer((message, reply) => {
  for (const id of [1, 2, 3]) {
    database.prepare('SELECT count(*) FROM books WHERE id < ?').get(id) // queries
  }
  reply.end('sqlite')
})
server.listen(0, '127.0.0.1', () => process.stdout.write(JSON.stringify([server.address().port]) + '\\n'))
process.stdin.on('end', () => process.exit()).resume()
`

// The package has an install script, which npm would mention to everybody who installs the packages of this repository.
t.test('queries of better-sqlite3 have their lines and rows', { skip: isOld || noRegistry }, async t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sqlite-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(path.join(folder, 'package.json'), '{}')
  // It contains compiled programs.
  const line = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', 'better-sqlite3@13']
  const { code, stderr } = await runProcess(t, line, { cwd: folder })
  t.equal(code, 0, 'it is installed', { stderr })
  const { stop, url, viewer } = await startProfiled(t, application, {}, folder)
  const response = await fetch(url)
  t.equal(await response.text(), 'sqlite')
  const token = String(response.headers.get('x-debug-token'))
  await until(async () => (await fetch(`${viewer}/_profiler/${token}.json`)).ok)
  const { data } = await readProfile(viewer, token)
  const queries = (data.queries?.queries ?? []) as readonly QueryData[]
  const place = application.split('\n').findIndex(line => line.endsWith('// queries')) + 1
  const expected = { system: 'sqlite', server: ':memory:', rows: 1, source: 'channel', caller: { line: place } }
  t.match(queries, Array(3).fill(expected))
  t.equal(queries.length, 3)
  await stop()
})
