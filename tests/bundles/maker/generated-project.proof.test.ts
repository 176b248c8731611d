import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Test, t } from 'tap'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import { makeApplication } from '#tests/support/new-application.ts'
import { documented, execute, generate, others } from './generate.ts'

/** Copies what a project is built of to where no other project is around it. */
function copyProject(t: Test): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'sinfonietta-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const tests = ['tests/tsconfig.json', 'tests/bundles/profiler/client']
  const files = ['.env', '.gitignore', '.taprc', 'biome.json', 'package.json', 'tsconfig.json', ...tests]
  for (const name of ['.ci', 'bin', 'bundles', 'kernel', 'lib', 'templates', ...files]) {
    cpSync(name, path.join(directory, name), { recursive: true })
  }
  symlinkSync(path.resolve('node_modules'), path.join(directory, 'node_modules'))
  return directory
}

async function checkRoutes(t: Test, directory: string): Promise<void> {
  // On Node 20 the sources are compiled first, and a message says so.
  const { text } = await execute(t, directory, 'bin/console', 'debug:routes', 'o', '--json')
  const names: unknown[] = JSON.parse(text.slice(text.indexOf('['), text.lastIndexOf(']') + 1)).map(
    ({ name }: { name: unknown }) => name,
  )
  for (const name of ['books', 'photographs_of_all_new_starlet', 'about_us']) t.ok(names.includes(name), name)
}

t.test('what is generated compiles, is in house style, and has tests that are green at once', async t => {
  t.equal(documented.length, 4, 'the README has one of each')
  const directory = copyProject(t)
  // The page is for a bundle that has something.
  const lines = [...documented, 'make:page about-us --bundle site']
  const { sources, tests } = await generate(t, directory, siteBundle, [...lines, ...others])
  const shown = tests.slice(0, lines.length)
  const [style, run] = await Promise.all([
    execute(t, directory, 'node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', ...sources),
    execute(t, directory, 'bin/test', '-Rtap', '--disable-coverage', ...shown),
  ])
  t.equal(style.code, 0, style.text)
  t.equal(run.code, 0, run.text)
  for (const [index, test] of shown.entries()) t.match(run.text, `\nok ${index + 1} - `, test)
  await checkRoutes(t, directory)
})

t.test('the same in a new application', async t => {
  const directory = makeApplication(t)
  const home = { name: 'home', register() {} }
  const { tests } = await generate(t, directory, home, [...documented, 'make:page about-us --bundle home', ...others])
  const types = await execute(t, directory, 'node_modules/typescript/bin/tsc')
  t.equal(types.code, 0, types.text)
  // One of each, and the test of the application itself.
  const shown = tests.slice(0, documented.length + 1)
  const run = await execute(t, directory, 'bin/test', '--test-reporter=tap', 'tests/home.test.ts', ...shown)
  t.equal(run.code, 0, run.text)
  t.match(run.text, /^# pass 9\n# fail 0$/m)
  await checkRoutes(t, directory)
})
