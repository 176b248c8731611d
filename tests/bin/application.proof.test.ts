import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { t } from 'tap'
import { runsTypeScript } from '#bin/application/sources.ts'
import { createSmallApplication } from '#tests/support/create-small-application.ts'
import { startApplicationProgram, startProgram } from './site-process.ts'

t.test(
  'an application that does not compile is not booted',
  { skip: runsTypeScript && 'Node runs the sources' },
  async t => {
    const wrong = t.testdir()
    createSmallApplication(wrong)
    writeFileSync(path.join(wrong, 'tsconfig.json'), '{ "compilerOptions": { "nope": true } }')
    const program = startApplicationProgram(t, ['serve', wrong, '--port=0', '--env=test'])
    t.equal(await program.end(), 2)
    t.match(program.stderr, /nope/)
  },
)

t.test('without tap, Node runs the tests, also those of an application that uses both', async t => {
  // No folder above it has packages.
  const alone = mkdtempSync(path.join(tmpdir(), 'application-'))
  t.teardown(() => rmSync(alone, { recursive: true }))
  createSmallApplication(alone)
  const file = (name: string) => path.join(alone, 'tests', name)
  const run = async (...words: string[]) => {
    const program = startApplicationProgram(t, ['runTests', alone, ...words])
    const code = await program.end()
    return { code, ran: program.stdout.match(/(?<=^ *(?:not )?ok \d+ - )it \S+$/gm) }
  }
  const write = (name: string, sum: number) =>
    writeFileSync(
      file(name),
      `import assert from 'node:assert/strict'\nimport { test } from 'node:test'\n\ntest('it ${name}', () => assert.equal(1 + 1, ${sum}))\n`,
    )
  write('home.test.ts', 2)
  mkdirSync(file('deep'))
  write('deep/other.test.ts', 3)
  symlinkSync(path.resolve('node_modules/@types'), path.join(alone, 'node_modules/@types'), 'junction')
  symlinkSync(path.resolve('node_modules/typescript'), path.join(alone, 'node_modules/typescript'), 'junction')
  const tap = '--test-reporter=tap'
  t.strictSame(await run(tap), { code: 1, ran: ['it deep/other.test.ts', 'it home.test.ts'] })
  t.strictSame(
    await run(tap, '--test-name-pattern', 'home'),
    { code: 0, ran: ['it home.test.ts'] },
    'an option of Node',
  )
  t.strictSame(await run(tap, file('deep')), { code: 1, ran: ['it deep/other.test.ts'] }, 'a named folder')
  symlinkSync(path.resolve('node_modules/tap'), path.join(alone, 'node_modules/tap'), 'junction')
  t.strictSame(await run('--reporter=tap', file('home.test.ts')), { code: 0, ran: ['it home.test.ts'] }, 'tap reads it')
  t.strictSame(await run(file('deep/other.test.ts')), { code: 1, ran: ['it deep/other.test.ts'] })
})

t.test('bin/test runs the tests of an application, from any directory', async t => {
  const directory = t.testdir()
  createSmallApplication(directory)
  const inApplication = (file: string) => path.join(directory, file)
  const good = startProgram(t, [process.execPath, inApplication('bin/test')], {})
  t.equal(await good.end(), 0)
  t.match(good.stdout, /^ok 1 - (?:dist\/)?tests\/home\.test\.[jt]s/m)
  const test = inApplication('tests/home.test.ts')
  writeFileSync(test, readFileSync(test, 'utf8').replace('length, 2', 'length, 3'))
  const bad = startProgram(t, [process.execPath, inApplication('bin/test')], {})
  t.equal(await bad.end(), 1)
})
