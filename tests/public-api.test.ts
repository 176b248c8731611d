import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { findUnnamedChanges, reportFile, writeReport } from './support/api-report.ts'
import { readDeclarations } from './support/declarations.ts'
import { type ReportedDeclaration, readEntryPoints, readReport } from './support/public-api.ts'
import { runProcess } from './support/start-process.ts'

const entries = readEntryPoints()
const declarations = readReport()

t.test('each name of each entry point has a doc comment', async t => {
  const names = entries.flatMap(({ name, names }) => names.map(each => ({ entry: name, ...each })))
  t.ok(names.length > 100, 'names are found')
  t.strictSame(
    names.filter(({ declaration }) => declaration.meaning.length < 8).map(({ entry, name }) => `${entry}: ${name}`),
    [],
  )
})

t.test('each member of an exported name has a doc comment, which editors show', async t => {
  const names = entries.flatMap(({ name, names }) => names.map(each => ({ entry: name, ...each })))
  t.strictSame(
    names.flatMap(({ declaration, entry, name }) => declaration.silentMembers.map(each => `${entry}: ${name}.${each}`)),
    [],
  )
})

t.test('no public declaration is of the type any', async t => {
  t.ok(declarations.length > 300, 'declarations are found')
  t.strictSame(
    declarations.filter(({ text }) => /\bany\b/.test(text)).map(({ title }) => title),
    [],
  )
})

t.test('an entry point exports a name once, and no two entry points have the same name', async t => {
  const names = entries.flatMap(entry => entry.names.map(({ name }) => name))
  t.strictSame(
    names.filter((name, index) => names.indexOf(name) < index),
    [],
  )
})

t.test('an entry point exports only names that it lists', async t => {
  const files = readdirSync('dist/bin/exports').filter(file => file.endsWith('.d.ts'))
  const whole = files.flatMap(file => readDeclarations(path.resolve('dist/bin/exports', file)).wholeReexports)
  t.ok(whole.length > 0, 'modules without names are found')
  t.strictSame(
    whole.flatMap(file => [...readDeclarations(file).declarations.keys()]),
    [],
  )
})

t.test('an entry point loads no more than its names need', async t => {
  const loads = (name: string, pattern: RegExp) =>
    [...loadedBy(`dist/bin/exports/${name}.js`)].filter(file => pattern.test(file))
  const heavy = /^dist\/(?:bundles\/(?:profiler|maker)|bin)\/|^(?:handlebars|highlight|commander|mime|tough)|^@/
  const own = (name: string) => `dist/bin/exports/${name}.js`
  t.ok(loads('sinfonietta', /./).length > 50)
  t.strictSame(loads('sinfonietta', heavy), [own('sinfonietta'), 'dist/bin/profiling/preloaded.js'])
  t.strictSame(loads('testing', new RegExp(`${heavy.source}|^dist/bundles/`)), [
    own('testing'),
    'dist/bin/commands/run-command.js',
  ])
  t.strictSame(loads('profiler', /\/mcp\/tool|\/maker\/|\/framework\/|^(?:handlebars|highlight|zod|@)/), [])
  t.strictSame(loads('console', /\/(?:lib|profiler|framework)\/|^[^d]/), [])
  t.strictSame(loads('server', /\/kernel\/|\/bundles\/|^[^d]/), [])
})

/** The files of `dist/` and the packages that are loaded with a file, before any function is called. */
function loadedBy(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded
  loaded.add(file)
  if (!file.startsWith('dist/')) return loaded
  for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(
    /^(?:import|export) (?:[^'"\n]* from )?'([^']+)';$/gm,
  )) {
    if (!name.startsWith('node:')) loadedBy(name.startsWith('.') ? path.join(path.dirname(file), name) : name, loaded)
  }
  return loaded
}

t.test('the changelog names each public declaration that differs from the released version', async t => {
  const report = readFileSync(reportFile, 'utf8')
  const unnamed = findUnnamedChanges(report, declarations, readFileSync('CHANGELOG.md', 'utf8'))
  const advice = 'add a line with each of these names in backticks to the part "Unreleased" of CHANGELOG.md'
  t.strictSame(unnamed, [], unnamed.length > 0 ? advice : 'each is named')
})

t.test('the report is not renewed as long as changes are unreleased', async t => {
  const cwd = t.testdir({ 'CHANGELOG.md': '# Changelog\n\n## Unreleased\n\n- `Bundle` is new.\n' })
  const program = path.resolve('dist/tests/support/write-references.js')
  const { code, stderr } = await runProcess(t, [process.execPath, program, '--release'], { cwd })
  t.match({ code, stderr }, { code: 1, stderr: 'has the part "Unreleased"' })
})

t.test('what counts as a difference', async t => {
  const bundle = { title: 'sinfonietta: `Bundle`', text: 'interface Bundle {}', names: ['Bundle'] }
  const routes = { title: 'reached: `Routes`', text: 'class Routes {}', names: ['Application', 'Routes'] }
  const signal = {
    title: 'member of SignalMap: `kernel.booted`',
    text: "'kernel.booted': undefined;",
    names: ['kernel.booted'],
  }
  const report = writeReport('0.2.0', [bundle, routes, signal])
  const released = '# Changelog\n\n## 0.2.0\n\n`Bundle` is new.\n'
  const find = (today: readonly ReportedDeclaration[], changelog = released) =>
    findUnnamedChanges(report, today, changelog)
  const unreleased = (line: string) => released.replace('## 0.2.0', `## Unreleased\n\n${line}\n\n## 0.2.0`)

  t.strictSame(find([bundle, routes, signal]), [])
  const changed = [{ ...bundle, text: 'interface Bundle { name: string }' }, routes, signal]
  t.strictSame(find(changed), ['changed sinfonietta: `Bundle`'])
  t.strictSame(find(changed, unreleased('Bundle has a name.')), ['changed sinfonietta: `Bundle`'])
  t.strictSame(find(changed, unreleased('`Bundles` have names.')), ['changed sinfonietta: `Bundle`'])
  t.strictSame(find(changed, unreleased('A `Bundle` has a name.')), [])
  t.strictSame(find(changed, unreleased('`Bundle.name` is new.')), [])

  const deep = [bundle, { ...routes, text: 'class Routes { add(): void }' }, signal]
  t.strictSame(find(deep), ['changed reached: `Routes` (by Application, Routes)'])
  t.strictSame(find(deep, unreleased('`Application` has routes.')), [])
  t.strictSame(find([bundle, signal]), [], 'a name that is reached no more')
  const newlyReached = { ...routes, title: 'reached: `Route`' }
  t.strictSame(find([bundle, routes, signal, newlyReached]), [], 'a name that is reached for the first time')
  t.strictSame(find([routes]), ['removed sinfonietta: `Bundle`', 'removed member of SignalMap: `kernel.booted`'])
  t.strictSame(find([routes], unreleased('`kernel.booted` and `Bundle` are gone.')), [])
  t.strictSame(find([bundle, routes, signal, { ...bundle, title: 'sinfonietta: `New`', names: ['New'] }]), [
    'added sinfonietta: `New`',
  ])
})
