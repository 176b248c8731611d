import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Test, t } from 'tap'
import { createFrameworkBundle } from '#bundles/framework/framework-bundle.ts'
import { makerBundle } from '#bundles/maker/maker-bundle.ts'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import type { Bundle } from '#kernel/bundle.ts'
import { runInTerminal } from '#tests/support/fake-terminal.ts'
import { makeApplication } from '#tests/support/new-application.ts'
import { runProcess } from '#tests/support/start-process.ts'

/** Copies what a project is built of to where no other project is around it. */
function copyProject(t: Test): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'sinfonietta-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const tests = ['tests/tsconfig.json', 'tests/bundles/profiler/client']
  const files = ['.env', '.gitignore', '.taprc', 'biome.json', 'package.json', 'tsconfig.json', ...tests]
  for (const name of ['bin', 'bundles', 'kernel', 'lib', 'templates', ...files]) {
    cpSync(name, path.join(directory, name), { recursive: true })
  }
  symlinkSync(path.resolve('node_modules'), path.join(directory, 'node_modules'))
  return directory
}

/** Runs a program as if no test ran it. */
async function execute(t: Test, directory: string, ...words: string[]): Promise<{ code: unknown; text: string }> {
  const { HOME = '', PATH = '' } = process.env
  const clean = ['env', '-i', `HOME=${HOME}`, `PATH=${PATH}`, process.execPath]
  const { code, stderr, stdout } = await runProcess(t, [...clean, ...words], { cwd: directory })
  return { code, text: stdout + stderr }
}

/** The commands of the README. */
const documented = readFileSync('README.md', 'utf8').match(/(?<=^bin\/console )make:.*?(?= *(?:#|$))/gm) ?? []

/** The shortest names, and the longest: these are only compiled. */
const others = [
  ['a', 'b', 'kernel.controller_arguments'],
  ['photographs-of-all-old-starlet', 'photographs-of-all-new-starlet', 'kernel.exception'],
].flatMap(([bundle, name, event]) => [
  `make:bundle ${bundle}`,
  `make:page ${name} --bundle ${bundle}`,
  `make:listener ${name} ${event} --bundle ${bundle}`,
  `make:collector ${name} --bundle ${bundle}`,
])

/** Runs generators in a directory. Returns the tests, and all sources, that they have written or changed. */
async function generate(t: Test, directory: string, bundle: Bundle, lines: readonly string[]) {
  const tests: string[] = []
  const sources = new Set<string>()
  for (const line of lines) {
    const load = async () => [createFrameworkBundle(), bundle, makerBundle]
    const { code, stdout } = await runInTerminal(`${line} --json`, { load, directory })
    t.equal(code, 0, line)
    const { byHand, files, test } = JSON.parse(stdout)
    for (const { path } of files) if (path.endsWith('.ts')) sources.add(path)
    t.strictSame(byHand, [], 'it is registered')
    tests.push(test)
  }
  return { tests, sources: [...sources] }
}

async function checkRoutes(t: Test, directory: string): Promise<void> {
  // On Node 20 the sources are compiled first, and a message says so.
  const { text } = await execute(t, directory, 'bin/console', 'debug:routes', 'o', '--json')
  const names: unknown[] = JSON.parse(text.slice(text.indexOf('['))).map(({ name }: { name: unknown }) => name)
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
  const run = await execute(
    t,
    directory,
    'bin/test',
    '-Rtap',
    'tests/home.test.ts',
    ...tests.slice(0, documented.length + 1),
  )
  t.equal(run.code, 0, run.text)
  t.match(run.text, '# { total: 18, pass: 18 }')
  await checkRoutes(t, directory)
})
