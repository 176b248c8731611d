import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Test, t } from 'tap'
import { createFrameworkBundle } from '#bundles/framework/framework-bundle.ts'
import { makerBundle } from '#bundles/maker/maker-bundle.ts'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import { runInTerminal } from '#tests/support/fake-terminal.ts'

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
function execute(directory: string, ...words: string[]): Promise<{ code: unknown; text: string }> {
  const { HOME = '', PATH = '' } = process.env
  const clean = ['-i', `HOME=${HOME}`, `PATH=${PATH}`, process.execPath]
  const child = spawn('env', [...clean, ...words], { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (text += chunk))
  return new Promise(resolve => child.on('close', code => resolve({ code, text })))
}

/** What the README has its reader make. */
const documented = readFileSync('README.md', 'utf8').match(/(?<=^bin\/console )make:.*?(?= *(?:#|$))/gm) ?? []

// The last one is for a bundle that has something.
const lines = [...documented, 'make:page about-us --bundle site']

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

t.test('what is generated compiles, is in house style, and has tests that are green at once', async t => {
  t.equal(documented.length, 4, 'the README has one of each')
  const directory = copyProject(t)
  const tests: string[] = []
  const written = new Set<string>()
  for (const line of [...lines, ...others]) {
    const load = async () => [createFrameworkBundle(), siteBundle, makerBundle]
    const { code, stdout } = await runInTerminal(`${line} --json`, { load, directory })
    t.equal(code, 0, line)
    const { byHand, files, test } = JSON.parse(stdout)
    for (const { path } of files) if (path.endsWith('.ts')) written.add(path)
    t.strictSame(byHand, [], 'it is registered')
    if (lines.includes(line)) tests.push(test)
  }
  const [style, run] = await Promise.all([
    execute(directory, 'node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', ...written),
    execute(directory, 'bin/test', '-Rtap', '--disable-coverage', ...tests),
  ])
  t.equal(style.code, 0, style.text)
  t.equal(run.code, 0, run.text)
  for (const test of tests) t.match(run.text, `\nok ${tests.indexOf(test) + 1} - `)

  const { text } = await execute(directory, 'bin/console', 'debug:routes', 'o', '--json')
  const names: unknown[] = JSON.parse(text).map(({ name }: { name: unknown }) => name)
  for (const name of ['books', 'photographs_of_all_new_starlet', 'about_us']) t.ok(names.includes(name), name)
})
