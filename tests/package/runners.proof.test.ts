import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Test, t } from 'tap'
import { readRows, readSections } from '#tests/support/markdown.ts'
import { makeApplication } from '#tests/support/new-application.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { runProcess, withVariables } from '#tests/support/start-process.ts'

/** The rows of the guide: the name of a runner, its import, and how it calls a function at the end of a test. */
const rows = readRows(readSections('docs/guides/testing.md').get('Test runners') ?? '')

const home = '../../bundles/home/home-bundle.ts'

/** Tests with the main functions of the kit. The last one fails. */
function writeTest(line: string, atEnd: string): string {
  return `${line}
import assert from 'node:assert/strict'
import { createFrameworkBundle, RequestEvent } from 'sinfonietta'
import { createProfiledTestKernel } from 'sinfonietta/profiler/testing'
import { createBareKernel, createRequestEvent, createTestKernel, RecordingDispatcher } from 'sinfonietta/testing'
import { homeBundle } from '${home}'

const bundles = [createFrameworkBundle(), homeBundle]
let closed = 0

test('an application answers, and its events are recorded', async t => {
  const dispatcher = new RecordingDispatcher()
  const { client, close: end } = await createTestKernel({ bundles, dispatcher })
  const close = () => end().then(() => closed++)
  ${atEnd}
  assert.match((await client.get('/')).text, /Welcome/)
  assert.equal(dispatcher.last(RequestEvent).stoppedBy, undefined)
})

test('the first application is closed', async () => assert.equal(closed, 1))

test('an event and a kernel without bundles', async () => {
  assert.equal(createRequestEvent().response, undefined)
  const { kernel, request } = createBareKernel()
  assert.equal((await kernel.handle(request)).body, 'done')
})

test('a profile is examined', async t => {
  const { client, close, expectProfile } = await createProfiledTestKernel({ bundles })
  ${atEnd}
  const profile = await expectProfile(await client.get('/'))
  profile.matched('home').rendered('home/home').not.logged('warning')
})

test('a failure has its profile', async t => {
  const { client, close, expectProfile } = await createProfiledTestKernel({ bundles })
  ${atEnd}
  const profile = await expectProfile(await client.get('/'))
  profile.logged('error')
})
`
}

/** What every report contains: the claim, both values, the place, and the profile in lines of its own. */
const shown = [
  /a failure has its profile/,
  /Expected GET http:\/\/localhost\/ to log .*, but /,
  /at least 1/,
  /kit\.test\.[jt]s/,
  /^ *- Route: `home`$/m,
]

function checkReport(t: Test, { code, stderr, stdout }: { code: unknown; stdout: string; stderr: string }): void {
  const report = stdout + stderr
  const missing = shown.filter(pattern => !pattern.test(report))
  t.strictSame(missing, [], 'the report is readable', { report })
  t.equal(code, 1)
  const failed = /^# \{ total: \d+, pass: (\d+), fail: 1 \}|^. pass (\d+)$|Tests .*1 failed.* (\d+) passed/m.exec(
    report,
  )
  t.equal(failed?.slice(1).find(Boolean), '4', 'all other tests pass', { report })
}

t.test('the kit works with each runner of the guide, and its failures are readable', async t => {
  t.strictSame(
    rows.map(([name = '']) => name.replace(/\[(.*)\].*/, '$1')),
    ['Node', 'tap', 'Vitest'],
  )
  const directory = makeApplication(t)
  const write = (name: string, [, line = '', atEnd = '']: readonly string[] = []) => {
    mkdirSync(path.join(directory, 'tests', name))
    writeFileSync(path.join(directory, 'tests', name, 'kit.test.ts'), writeTest(line, atEnd))
  }
  const run = (...words: string[]) =>
    runProcess(t, withVariables({ NO_COLOR: '1' }, process.execPath, ...words), { cwd: directory })

  await t.test('Node', async t => {
    write('node', rows[0])
    checkReport(t, await run('bin/test', 'tests/node'))
  })
  await t.test('tap', async t => {
    symlinkSync(path.resolve('node_modules/tap'), path.join(directory, 'node_modules/tap'))
    write('tap', rows[1])
    checkReport(t, await run('bin/test', '--reporter=tap', 'tests/tap'))
  })
  await t.test('Vitest', { skip: noRegistry }, async t => {
    const folder = path.join(directory, 'vitest')
    mkdirSync(folder)
    writeFileSync(path.join(folder, 'package.json'), '{}')
    const installed = await runProcess(t, ['npm', 'install', '--no-audit', '--no-fund', 'vitest'], { cwd: folder })
    t.equal(installed.code, 0, 'it is installed', { installed })
    symlinkSync(path.join(folder, 'node_modules/vitest'), path.join(directory, 'node_modules/vitest'))
    write('vitest', rows[2])
    const command = String(rows[2]?.[3]).split(' ').slice(2)
    checkReport(t, await run('node_modules/vitest/vitest.mjs', ...command, 'tests/vitest'))
  })
})
