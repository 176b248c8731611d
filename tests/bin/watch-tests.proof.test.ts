import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { runsTypeScript } from '#bin/application/sources.ts'
import { createSmallApplication } from '#tests/support/create-small-application.ts'
import { until } from '#tests/support/until.ts'
import { startApplicationProgram } from './site-process.ts'

const directory = t.testdir()
createSmallApplication(directory)
const inApplication = (file: string) => path.join(directory, file)
const home = inApplication('bundles/home/home-bundle.ts')
const original = readFileSync(home, 'utf8')

/** The lines of a pass of `bin/test --watch` that name files and count them. */
const linesOf = (output: string) =>
  output
    .split('\n')
    .flatMap(line => (/^(?:ok|FAILED) |: no test|test file/.test(line) ? [line.replace(/dist\/|\.[jt]s$/g, '')] : []))

t.test('bin/test --watch runs the tests that import what was saved, and ends with its processes', async t => {
  writeFileSync(inApplication('tests/other.test.ts'), "import { t } from 'tap'\nt.pass('other')\n")
  const watching = startApplicationProgram(t, ['runTests', directory, '--watch'])
  await watching.until(/Waiting for changes: Ctrl-C ends\.\n/)
  /** Saves a file, and waits for the end of what follows. */
  const save = async (file: string, text: string, end: RegExp) => {
    const before = watching.stdout.length
    writeFileSync(file, text)
    await watching.until(end)
    return linesOf(watching.stdout.slice(before))
  }
  const total = /passed, \d+ failed\n/
  t.strictSame(await save(home, `${original}// A comment.\n`, total), [
    'bundles/home/home-bundle.ts: 1 test file',
    'ok tests/home.test',
    '1 test file: 1 passed, 0 failed',
  ])
  t.strictSame(await save(inApplication('bundles/alone.ts'), 'export {}\n', /no test imports it\n/), [
    'bundles/alone.ts: no test imports it',
  ])
  const failing = "import { t } from 'tap'\nimport '../bundles/alone.ts'\nt.fail('it fails')\n"
  t.strictSame(await save(inApplication('tests/other.test.ts'), failing, total), [
    'tests/other.test.ts: 1 test file',
    'FAILED tests/other.test',
    '1 test file: 0 passed, 1 failed',
  ])
  t.match(watching.stdout, /^not ok 1 - it fails/m)
  if (!runsTypeScript) {
    await save(home, 'const = 1\n', /Nothing is run: waiting for a change\.\n/)
    t.match(watching.stderr, /home-bundle\.ts.*error TS1/)
    const mended = await save(inApplication('bundles/alone.ts'), 'export const a = 1\n', /Nothing is run/)
    t.strictSame(mended, [], 'the mistake is still there')
    t.strictSame((await save(home, original, total)).sort(), [
      '2 test files: 1 passed, 1 failed',
      'FAILED tests/other.test',
      'bundles/alone.ts: 1 test file',
      'bundles/home/home-bundle.ts: 1 test file',
      'ok tests/home.test',
    ])
  }

  const endless = `
    import { spawn } from 'node:child_process'
    import { writeFileSync } from 'node:fs'
    import { t } from 'tap'
    t.test('waits', async () => {
      const child = spawn(process.execPath, ['-e', 'process.on("SIGINT", () => {}); setInterval(() => {}, 1000)'])
      writeFileSync(${JSON.stringify(inApplication('pids'))}, process.pid + ',' + child.pid)
      await new Promise(() => setInterval(() => {}, 1000))
    })
  `
  writeFileSync(inApplication('tests/endless.test.ts'), endless)
  const text = () => existsSync(inApplication('pids')) && readFileSync(inApplication('pids'), 'utf8')
  await until(() => /,\d/.test(String(text())))
  const pids = String(text()).split(',').map(Number)
  t.strictSame(pids.map(isAlive), [true, true])
  watching.child.kill('SIGINT')
  t.equal(await watching.end(), 0)
  await until(() => !pids.some(isAlive))
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
