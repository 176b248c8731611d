import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { findEdits } from '#bin/profiling/find-edits.ts'

const begin = Date.parse('2026-11-20T12:00Z')
const minute = 60_000

t.test('a process knows the sources that were written since the process before, and the edits before that', async t => {
  const sources = ['app.mjs', '.env', 'lib/shop.ts', 'lib/page.jsx']
  const others = ['data.json', 'app.log', '.git/hook.js', 'lib/node_modules/pg/index.js']
  const directory = t.testdir({
    '.git': {},
    lib: { node_modules: { pg: {} } },
    ...Object.fromEntries(['app.mjs', '.env', 'data.json', 'app.log'].map(name => [name, ''])),
  })
  const write = (name: string, time: number) => {
    writeFileSync(path.join(directory, name), '')
    utimesSync(path.join(directory, name), time / 1000, time / 1000)
  }
  for (const name of [...sources, ...others]) write(name, begin - minute)
  const kept = path.join(directory, 'cache/sinfonietta/edits.json')
  const start = (minutes: number) => findEdits(directory, kept, begin + minutes * minute)
  t.strictSame(start(0), [], 'the first process')
  t.strictSame(start(1), [], 'the same sources')

  for (const name of [...sources, ...others]) write(name, begin + 2 * minute)
  const first = { time: begin + 3 * minute, files: sources.toSorted() }
  const sorted = (edits: ReturnType<typeof start>) =>
    edits.map(({ files, time }) => ({ time, files: files.toSorted() }))
  t.strictSame(sorted(start(3)), [first])
  t.strictSame(sorted(start(3)), [first], 'a worker of this process')
  t.strictSame(sorted(start(4)), [first], 'a restart without an edit')

  write('lib/shop.ts', begin + 5 * minute)
  write('app.mjs', begin + 9 * minute)
  const second = { time: begin + 6 * minute, files: ['lib/shop.ts'] }
  t.strictSame(sorted(start(6)), [first, second], 'not what is written after its beginning')
  t.strictSame(sorted(start(5)), [first], 'a process that is older than an edit')
  t.strictSame(sorted(start(10)).at(-1), { time: begin + 10 * minute, files: ['app.mjs'] })

  for (const text of ['', '{', '[]', '{"started":"x","edits":[{}]}']) {
    writeFileSync(kept, text)
    t.strictSame(start(11), [], text)
    t.match(JSON.parse(readFileSync(kept, 'utf8')), { started: begin + 11 * minute })
  }
  t.strictSame(findEdits(directory, path.join(directory, 'app.log/edits.json'), begin), [], 'no folder can be made')
})
