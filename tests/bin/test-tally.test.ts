import { Readable } from 'node:stream'
import { t } from 'tap'
import { TestTally } from '#bin/testing/test-tally.ts'

const chromium = 'there is no Chromium on the PATH'

/** Lines of some programs, whether they failed, and the line at the end. */
const rows: readonly (readonly [lines: readonly string[], hasFailed: boolean, expected: string])[] = [
  [[], false, '0 passed, 0 failed, 0 skipped'],
  [['# { total: 3, pass: 3 }'], false, '3 passed, 0 failed, 0 skipped'],
  [['    # { total: 2, pass: 2 }', '# { total: 3, pass: 1, fail: 2 }'], true, '1 passed, 2 failed, 0 skipped'],
  [['# tests 4', '# pass 1', '# fail 1', '# cancelled 1', '# skipped 1'], true, '1 passed, 2 failed, 0 skipped'],
  [['# { total: 3, pass: 3 }'], true, '3 passed, 1 failed, 0 skipped'],
  [
    ['    ok 2 - a page # SKIP there is no Chromium on the PATH', '# { total: 3, pass: 2, skip: 1 }'],
    false,
    `2 passed, 0 failed, 1 skipped (${chromium}: 1)`,
  ],
  [['ok 2 - without # SKIP', '# { total: 1, skip: 1 }'], false, '0 passed, 0 failed, 1 skipped (no reason: 1)'],
  [['not ok 2 - later # TODO', '# pass the salt', '# SKIP', 'ok 1 - SKIP'], false, '0 passed, 0 failed, 0 skipped'],
]

const read = async (tally: TestTally, lines: readonly string[]) => {
  for await (const line of tally.read(Readable.from(lines.map(line => `${line}\n`)))) t.ok(lines.includes(line))
}

t.test('the passed, failed and skipped tests of TAP are counted, with the reasons of the skipped ones', async t => {
  const wrong: unknown[] = []
  for (const [lines, hasFailed, expected] of rows) {
    const [own, total] = [new TestTally(), new TestTally()]
    await read(own, lines)
    total.add(own, hasFailed)
    if (String(total) !== expected) wrong.push([lines, String(total)])
  }
  t.strictSame(wrong, [])
})

t.test('the tests of several programs are counted together, with those skipped for the same reason', async t => {
  const total = new TestTally()
  for (const [lines, hasFailed] of rows) {
    const own = new TestTally()
    await read(own, lines)
    total.add(own, hasFailed)
    if (lines.some(line => line.includes(chromium))) total.add(own, false)
  }
  t.equal(String(total), `12 passed, 5 failed, 3 skipped (${chromium}: 2; no reason: 1)`)
})
