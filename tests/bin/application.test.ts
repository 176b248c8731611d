import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Bundle } from 'sinfonietta'
import { createOpenTelemetryBundle } from 'sinfonietta/opentelemetry'
import { bootApplication, createNodeServer } from 'sinfonietta/server'
import { silentLogger } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { importBundles, loadApplication, readSettings } from '#bin/application/application.ts'
import { describeFailure } from '#bin/application/describe-failure.ts'
import { createSources, listOrphans, runsTypeScript, toDirectory } from '#bin/application/sources.ts'
import { runApplicationTests } from '#bin/testing/run-tests.ts'
import { defineSettings } from '#lib/env/settings.ts'
import { packageDirectory } from '#lib/package.ts'
import { asOtherUser } from '#tests/support/as-other-user.ts'
import { createSmallApplication } from '#tests/support/create-small-application.ts'
import { until } from '#tests/support/until.ts'
import { startApplicationProgram, startFixture, startProgram } from './site-process.ts'

const directory = t.testdir()
createSmallApplication(directory)
const inApplication = (file: string) => path.join(directory, file)

/** Calls a function, with all that is written to stderr meanwhile. */
async function capture<T>(t: Test, work: () => Promise<T>): Promise<readonly [T, string]> {
  const written = t.capture(process.stderr, 'write', () => true)
  const result = await work()
  return [
    result,
    written()
      .map(({ args: [text] }) => text)
      .join(''),
  ]
}

t.test('where Node runs TypeScript, nothing is compiled, and an old dist/ is ignored', async t => {
  const sources = createSources(directory, true)
  t.equal(sources.bundles, inApplication('bundles/index.ts'))
  t.equal(sources.output, undefined)
  t.equal(sources.toProgram(inApplication('tests/home.test.ts')), inApplication('tests/home.test.ts'))
  t.strictSame(await Promise.all([sources.build(), sources.buildWhenStale(), sources.buildTests()]), [true, true, true])
  t.equal(sources.isBuilt(), true)
  t.equal(sources.isBuiltSince(0), false)
  t.notOk(existsSync(inApplication('dist')))
})

t.test('where Node runs TypeScript, the types are checked apart from the start, without those of tests', async t => {
  const wrong = 'export const wrong: number = ""\n'
  const files = ['bundles/wrong.ts', 'tests/wrong.test.ts'].map(inApplication)
  for (const file of files) writeFileSync(file, wrong)
  const sources = createSources(directory, true)
  const [problems, printed] = await capture(t, () => sources.checkTypes(new AbortController().signal))
  t.match(problems, { length: 1, 0: { file: files[0], line: 1, message: /not assignable/ } })
  t.match(printed, /bundles\/wrong\.ts.* TS2322[\s\S]*tests\/wrong\.test\.ts.* TS2322/, 'all are printed')
  for (const file of files) rmSync(file)
})

t.test('elsewhere the sources are compiled when they are stale, and tests apart from them', async t => {
  const sources = createSources(directory, false)
  t.equal(sources.isBuilt(), false)
  const begin = Date.now()
  t.strictSame(await capture(t, () => sources.buildWhenStale()), [true, 'Compiling all sources …\n'])
  t.equal(sources.isBuilt(), true)
  t.equal(sources.isBuiltSince(begin), true)
  t.equal(sources.isBuiltSince(Date.now() + 60_000), false)
  t.notOk(existsSync(inApplication('dist/tests/home.test.js')))
  const time = () => statSync(inApplication('dist/.built')).mtimeMs
  const before = time()
  t.equal(await sources.buildWhenStale(), true)
  t.equal(time(), before, 'nothing is stale')
  writeFileSync(inApplication('tests/wrong.test.ts'), 'export const wrong: number = ""\n')
  t.equal(await sources.build(), true)
  t.ok(time() > before)
  rmSync(inApplication('tests/wrong.test.ts'))
  t.equal(await sources.buildTests(), true)
  t.ok(existsSync(sources.toProgram(inApplication('tests/home.test.ts'))))
  t.equal(sources.toProgram(inApplication('tests/home.test.ts')), inApplication('dist/tests/home.test.js'))
})

t.test('the output of a source that is gone is removed', async t => {
  const sources = createSources(directory, false)
  const home = inApplication('dist/bundles/home')
  for (const name of ['old.js', 'old.js.map', 'old.d.ts', 'older.mjs', 'older.d.mts', 'notes.txt']) {
    writeFileSync(path.join(home, name), '')
  }
  writeFileSync(inApplication('bundles/home/older.mts'), 'export {}\n')
  t.equal(await sources.buildWhenStale(), true)
  t.strictSame(readdirSync(home), [
    ...['home-bundle.js', 'home-bundle.js.map', 'notes.txt', 'older.d.mts', 'older.mjs', 'older.mjs.map'],
  ])

  const [own, moved] = [inApplication('bundles/index.ts'), inApplication('bundles/moved.ts')]
  renameSync(own, moved)
  t.equal(await sources.buildWhenStale(), true, 'a file that was moved keeps its time')
  t.equal(sources.isBuilt(), false)
  t.ok(existsSync(sources.toProgram(moved)))
  renameSync(moved, own)
  t.equal(await sources.buildTests(), true)
  t.equal(sources.isBuilt(), true, 'a source that comes back is compiled, also for tests')
  t.equal(await sources.buildWhenStale(), true)
  t.notOk(existsSync(sources.toProgram(moved)))
  t.strictSame(listOrphans(directory, inApplication('dist'), ['no-folder']), [])
})

t.test('each change of a source compiles, whatever types it exports and wherever tsconfig.json writes', async t => {
  const tsconfig = inApplication('tsconfig.json')
  const own = JSON.parse(readFileSync(tsconfig, 'utf8'))
  const outputs = {
    ...{ declaration: true, declarationDir: 'types', declarationMap: true, emitDeclarationOnly: true, composite: true },
    ...{ inlineSourceMap: true, incremental: true, tsBuildInfoFile: 'info', outDir: 'out', rootDir: 'bundles' },
  }
  writeFileSync(tsconfig, JSON.stringify({ ...own, compilerOptions: { ...own.compilerOptions, ...outputs } }))
  const [file, sources] = [inApplication('bundles/inferred.ts'), createSources(directory, false)]
  const exports = `
    export async function one() { return NUMBER }
    export const two = async () => one()
    export function* three() { yield* [NUMBER] }
    export async function* four() { for await (const value of three()) yield value }
    export const five = Symbol(), six = NUMBERn, seven = new Map([[NUMBER, /a/]]).entries(), eight = import('node:fs')\n`
  const failures: string[] = []
  for (const number of ['1', '2', '3']) {
    writeFileSync(file, exports.replaceAll('NUMBER', number))
    const [isBuilt, printed] = await capture(t, () => sources.build({ isLenient: true }))
    if (!isBuilt || !readFileSync(sources.toProgram(file), 'utf8').includes(`six = ${number}n`)) failures.push(printed)
  }
  t.strictSame(failures, [])
  writeFileSync(tsconfig, JSON.stringify(own))
  rmSync(file)
})

t.test('a build without a check of the types serves the next start, which makes the check', async t => {
  const file = inApplication('bundles/wrong.ts')
  const signal = new AbortController().signal
  writeFileSync(file, 'export const wrong: number = ""\n')
  t.equal(await createSources(directory, false).build({ isLenient: true }), true)
  const next = createSources(directory, false)
  const time = () => statSync(inApplication('dist/.compiled')).mtimeMs
  const built = time()
  t.equal(await next.buildWhenStale({ isLenient: true }), true)
  t.equal(time(), built, 'nothing is compiled again')
  for (const sources of [next, createSources(directory, false)])
    t.match(await capture(t, () => sources.checkTypes(signal)), { 0: { length: 1 }, 1: /TS2322/ }, 'until it succeeds')
  t.match(await capture(t, () => next.buildWhenStale()), { 0: false, 1: /TS2322/ }, 'production checks before')
  writeFileSync(file, 'export const wrong: number = 1\n')
  // A source of the millisecond in which a build begins is compiled again by the next one.
  await until(() => Date.now() > statSync(file).mtimeMs, 1)
  t.equal(await next.build({ isLenient: true }), true)
  t.strictSame(await next.checkTypes(signal), [])
  const checked = time()
  t.equal(await createSources(directory, false).buildWhenStale(), true)
  t.equal(time(), checked, 'what is checked is not compiled again')
  rmSync(file)
})

t.test('a stamp that cannot be written costs time only', async t => {
  for (const file of ['dist/.built', 'dist/.compiled'].map(inApplication)) {
    rmSync(file)
    mkdirSync(file)
    t.equal(await createSources(directory, false).build(), true)
    rmSync(file, { recursive: true })
  }
})

t.test('the package itself is compiled in each version of Node', async t => {
  const sources = createSources(packageDirectory, true)
  t.equal(sources.bundles, path.join(packageDirectory, 'dist/bundles/index.js'))
  t.equal(await sources.build(), true)
})

t.test('the list of bundles is a function of bundles/index.ts', async t => {
  t.type(await importBundles(packageDirectory), 'function')
  const empty = t.testdir({ bundles: {}, dist: { bundles: {} } })
  const source = path.join(empty, 'bundles/index.ts')
  const compiled = path.join(empty, 'dist/bundles/index.js')
  const isMissing = (file: string) => ({
    code: 'APPLICATION_BUNDLES_MISSING',
    message: `There is no list of bundles: the file ${file} does not exist. It must export a function "createBundles".`,
  })
  const isInvalid = (file: string) => ({
    code: 'APPLICATION_BUNDLES_INVALID',
    message: `The file ${file} must export a function "createBundles", which returns the list of bundles.`,
  })
  // The source is named, also where Node runs the compiled file.
  await t.rejects(importBundles(empty, { isDirect: true }), isMissing(source))
  await t.rejects(importBundles(empty, { isDirect: false }), isMissing(source))
  writeFileSync(compiled, 'export const bundles = []\n')
  await t.rejects(importBundles(empty, { isDirect: false }), isInvalid(compiled))
  writeFileSync(source, 'export const bundles = []\n')
  await t.rejects(importBundles(empty, { isDirect: false }), isInvalid(source))
  rmSync(compiled)
  await t.rejects(importBundles(empty, { isDirect: false }), isMissing(compiled))
})

t.test('unknown names of .env files are logged after a boot or with wrong settings, not before errors', async t => {
  const settings = defineSettings({ LIBRARY_PAGE_SIZE: { help: 'books on a page' } })
  const wanted = defineSettings({ LIBRARY_NAME: { help: 'the name' } })
  const library: Bundle = { name: 'library', settings, register: app => void app.settings.of(settings) }
  const shop: Bundle = { name: 'shop', settings: wanted, register() {} }
  const application = t.testdir({ '.env': 'LIBRARY_PAGE_SIZE=20\nLIBRARY_NAM=Ada\n' })
  const load = async (...bundles: Bundle[]) => {
    const warnings: unknown[] = []
    const logger = { ...silentLogger, warning: (_: string, context: unknown) => void warnings.push(context) }
    const read = readSettings(application, { APP_SECRET: 'long enough for each environment, and a secret' }, 'test')
    const options = { logger, load: async () => bundles, isServed: false, warns: true }
    const outcome = await loadApplication(read, options).then(
      kernel => kernel.close(),
      error => error.code,
    )
    return [outcome, ...warnings]
  }
  const suggestion =
    ': declare it by defineSettings() in a bundle, and read it by settings.of(); process.env does not have it'
  const unknown = { place: 'The file .env', name: 'LIBRARY_NAM', suggestion }
  t.strictSame(await load(library), [undefined, unknown])
  const nearest = { ...unknown, suggestion: '; the nearest is "LIBRARY_NAME"' }
  t.strictSame(await load(library, shop), ['CONFIG_INVALID', nearest])
  t.strictSame(await load(library, library), ['KERNEL_BUNDLE_REPEATED'])
  const { name, register } = library
  t.strictSame(await load({ name, register }), ['KERNEL_BUNDLE_FAILED'])
})

t.test('an endpoint for traces adds their bundle, unless it is listed; a command has its settings only', async t => {
  const load = async (isServed: boolean, bundles: readonly Bundle[], env = {}) => {
    const variables = { APP_SECRET: 'long enough for each environment, and a secret', ...env }
    const options = { logger: silentLogger, load: async () => bundles, isServed, warns: false }
    const kernel = await loadApplication(readSettings(t.testdir(), variables, 'test'), options)
    const { context, settings, bundles: names } = kernel.app
    const isListed = settings.list().some(({ name }) => name === 'OTEL_TRACES_SAMPLER')
    await kernel.close()
    return [names.join(), isListed, context.constructor.name]
  }
  const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:9/traces' }
  const own = { name: 'own', register() {} }
  t.strictSame(await load(true, [own]), ['own', false, 'RequestContext'])
  t.strictSame(await load(true, [own], env), ['opentelemetry,own', true, 'TracedContext'])
  t.strictSame(await load(true, [own, createOpenTelemetryBundle()], env), ['own,opentelemetry', true, 'TracedContext'])
  t.strictSame(await load(false, [own], env), ['opentelemetry,own', true, 'RequestContext'])
})

t.test('a program of one’s own boots an application and serves it', async t => {
  const kernel = await bootApplication(pathToFileURL(`${directory}/`), { environment: 'test' })
  const server = await createNodeServer(kernel.app)
  const url = await server.listen('127.0.0.1', 0)
  t.match(await (await fetch(url)).text(), '<body>Hello.</body>')
  t.equal(kernel.app.directory, directory)
  await server.close({ deadline: 100 })
  await kernel.close()
})

/** A package tap that reports its parameters, in a folder that has no other packages above it. */
function createRunner(t: Test, code: string): string {
  const alone = mkdtempSync(path.join(tmpdir(), 'application-'))
  t.teardown(() => rmSync(alone, { recursive: true }))
  cpSync(directory, alone, { recursive: true, verbatimSymlinks: true })
  const folder = path.join(alone, 'node_modules/tap')
  mkdirSync(folder)
  writeFileSync(path.join(folder, 'package.json'), '{ "name": "tap", "bin": { "tap": "run.cjs" } }')
  writeFileSync(path.join(folder, 'run.cjs'), code)
  return alone
}

const noting = `
  const { TAP_TYPE_STRIP_ONLY } = process.env
  const noted = { parameters: process.argv.slice(2), directory: process.cwd(), TAP_TYPE_STRIP_ONLY }
  require('node:fs').writeFileSync('noted.json', JSON.stringify(noted))
  process.exitCode = 3
`

t.test('without a compiler, the output runs, and a source with another content is named', async t => {
  const alone = createRunner(t, '')
  mkdirSync(path.join(alone, 'dist/bundles'), { recursive: true })
  for (const file of ['bundles/index.js', '.built']) writeFileSync(path.join(alone, 'dist', file), '')
  const modules = path.join(alone, 'node_modules')
  const sources = createSources(alone, false)
  const build = () => capture(t, () => sources.build())
  t.strictSame(await build(), [true, ''], 'a build without digests')
  mkdirSync(path.join(modules, 'typescript/lib'), { recursive: true })
  for (const [name, text] of [
    ['package.json', '{}'],
    ['lib/tsc.js', ''],
  ] as const)
    writeFileSync(path.join(modules, 'typescript', name), text)
  symlinkSync('ada@machine.7', path.join(alone, 'bundles/.#index.ts'))
  t.ok(await createSources(alone, false).build(), 'with a compiler, and a source that an editor has locked')
  mkdirSync(path.join(alone, 'dist/bundles'), { recursive: true })
  writeFileSync(path.join(alone, 'dist/bundles/index.js'), '')
  const source = path.join(alone, 'bundles/index.ts')
  const text = readFileSync(source, 'utf8')
  const later = Date.now() / 1000 + 60
  utimesSync(source, later, later)
  t.strictSame(await build(), [true, ''], 'a checkout')
  writeFileSync(source, `${text}\n`)
  t.match(await build(), [
    true,
    /^bundles\/index\.ts has changed since dist\/ was built, which runs: there is no compiler\. Run "npm install"/,
  ])
  rmSync(source)
  t.strictSame(await build(), [true, ''], 'an image with a part of the sources')
})

t.test('tests are given to tap by their programs, and its exit code is theirs', async t => {
  const alone = createRunner(t, noting)
  mkdirSync(path.join(alone, 'tests/deep'))
  writeFileSync(path.join(alone, 'tests/deep/other.test.ts'), '')
  writeFileSync(path.join(alone, 'tests/deep/helper.ts'), '')
  const noted = () => JSON.parse(readFileSync(path.join(alone, 'noted.json'), 'utf8'))
  const reporter = '--node-arg=--test-reporter=tap'
  const libraries = `--node-arg=--import=${pathToFileURL(path.resolve('dist/bin/testing/open-libraries.js'))}`
  const defaults = [libraries, reporter, '--disable-coverage', '--test-env=TAP_TYPE_STRIP_ONLY=1']

  t.equal(await runApplicationTests(alone, ['--reporter=tap'], { isDirect: true }), 3)
  t.strictSame(noted(), {
    parameters: [...defaults, '--reporter=tap', 'tests/deep/other.test.ts', 'tests/home.test.ts'],
    directory: alone,
    TAP_TYPE_STRIP_ONLY: '1',
  })
  t.equal(
    await runApplicationTests(alone, [path.join(alone, 'tests/deep'), '--coverage-report=text'], { isDirect: true }),
    3,
  )
  t.strictSame(noted().parameters, [
    libraries,
    reporter,
    '--allow-incomplete-coverage',
    '--test-env=TAP_TYPE_STRIP_ONLY=1',
    '--coverage-report=text',
    'tests/deep/other.test.ts',
  ])
  const group = (programs: readonly string[]) => [path.join(alone, `group-of-${programs.length}.js`)]
  t.equal(await runApplicationTests(alone, ['--jobs=1'], { isDirect: true, group }), 3)
  t.strictSame(noted().parameters, [...defaults, '--jobs=1', 'group-of-2.js'])
  const deep = [path.join(alone, 'tests/deep'), '--jobs=1']
  t.equal(await runApplicationTests(alone, deep, { isDirect: true, group }), 3)
  t.strictSame(noted().parameters, [...defaults, '--jobs=1', 'group-of-1.js'])
  const file = path.join(alone, 'tests/deep/other.test.ts')
  t.equal(await runApplicationTests(alone, [file, '--jobs=1'], { isDirect: true, group }), 3)
  t.strictSame(noted().parameters, [...defaults, '--jobs=1', 'tests/deep/other.test.ts'])
  writeFileSync(path.join(alone, 'instrumentation.ts'), '')
  t.equal(await runApplicationTests(alone, [path.join(alone, 'tests/deep')], { isDirect: true }), 3)
  t.match(noted().parameters, [/^--node-arg=--import=file:.+\/dist\/bin\/testing\/instrument-tests\.js$/, ...defaults])
  t.strictSame(await capture(t, () => runApplicationTests(alone, [], { isDirect: false })), [
    1,
    'The sources are not compiled, and there is no compiler: run "npm install", which installs the package typescript.\nNode 22.18 and later run the sources as they are.\n',
  ])
  t.strictSame(await capture(t, () => runApplicationTests(alone, ['tests/nope.test.ts'], { isDirect: true })), [
    1,
    `There is no test tests/nope.test.ts: tests are files tests/…/*.test.ts, and paths count from the current folder, ${process.cwd()}.\n`,
  ])
  rmSync(path.join(alone, 'tests'), { recursive: true })
  const none = 'There are no tests: tests are files tests/…/*.test.ts.\n'
  t.strictSame(await capture(t, () => runApplicationTests(alone, [], { isDirect: true })), [1, none])
})

t.test('files that look like tests, and are not run, are named', async t => {
  const alone = createRunner(t, noting)
  const notRun = [
    'bundles/shop/shop.test.ts',
    'lib/a.spec.ts',
    'tests/b.spec.ts',
    'tests/d.test.js',
    'tests/deep/c.test.mts',
  ]
  const others = [
    'tests/deep/e.test.ts',
    'tests/helper.ts',
    'node_modules/one/f.test.ts',
    'dist/tests/home.test.js',
    'var/g.test.ts',
    '.hidden/h.test.ts',
    'examples/shop/tests/i.test.ts',
    'bundles/shop/shop.ts',
    'bundles/testing.ts',
  ]
  for (const file of [...notRun, ...others]) {
    mkdirSync(path.dirname(path.join(alone, file)), { recursive: true })
    writeFileSync(path.join(alone, file), '')
  }
  const run = async (...words: string[]) => {
    const stderr = t.capture(process.stderr, 'write', () => true)
    await runApplicationTests(alone, [...words, '--reporter=tap'], { isDirect: true })
    stderr.restore()
    return stderr().map(({ args: [text] }) => text)
  }
  t.strictSame(await run(), [`Not run: ${notRun.join(', ')}. Tests are files tests/…/*.test.ts.\n`])
  t.strictSame(await run(path.join(alone, 'tests/home.test.ts')), [], 'others are not run on purpose')
  writeFileSync(path.join(alone, 'lib/z.test.ts'), '')
  t.match(await run(), [/^Not run: (?:\S+, ){4}\S+ and 1 more\. /])
  for (const file of [...notRun, 'lib/z.test.ts']) rmSync(path.join(alone, file))
  t.strictSame(await run(), [])
})

t.test('without a compiler, dist/ is used as it is', async t => {
  const alone = createRunner(t, '')
  rmSync(path.join(alone, 'dist/.compiled'))
  t.equal(createSources(alone, false).isBuilt(), true)
  t.equal(await createSources(alone, false).buildWhenStale(), true)
})

t.test('if a signal ends tap, the tests have failed', async t => {
  const alone = createRunner(t, 'process.kill(process.pid, "SIGKILL")')
  t.equal(await runApplicationTests(alone, [], { isDirect: true }), 1)
})

t.test('a syntax error is described by its place and code, without calls of Node', async t => {
  const error = new SyntaxError('enum is not supported')
  error.stack =
    'file:///home-bundle.ts:2\nenum A {}\n^^^^\n\nSyntaxError: no enum\n    at parse (node:internal:1:1)\n    at b'
  t.equal(describeFailure(error), 'file:///home-bundle.ts:2\nenum A {}\n^^^^\n\nSyntaxError: no enum')

  const json = await Promise.resolve('{').then(JSON.parse).catch(describeFailure)
  t.match(
    json,
    /^SyntaxError: .*JSON.*\n {4}at .*\n[\s\S]*application\.test/,
    'other mistakes have their place in the calls',
  )
})

t.test('an import of a name that an entry point does not export is described by a hint', async t => {
  const folder = t.testdir({
    'type.mjs': "import { Bundle } from 'sinfonietta'",
    'wrong.mjs': "import { Respons } from 'sinfonietta'",
    'other.mjs': "import { nothing } from 'node:path'",
    'module.mjs': "import { serve } from 'sinfonietta'",
    'default.mjs': "import sinfonietta from 'sinfonietta'",
  })
  const describe = (name: string) => import(pathToFileURL(path.join(folder, name)).href).catch(describeFailure)
  t.match(await describe('type.mjs'), /type\.mjs:1\n[\s\S]*\nIt is a type: import \{ type Bundle \}\.$/)
  t.match(await describe('wrong.mjs'), /\nThere is no "Respons" in sinfonietta; the nearest is "Response"\.$/)
  t.match(await describe('module.mjs'), /\nImport "serve" from sinfonietta\/server instead\.$/)
  t.match(
    await describe('default.mjs'),
    /\nThere is no "default" in sinfonietta: import names, such as \{ Response \}\.$/,
  )
  t.match(await describe('other.mjs'), /\nIf "nothing" is a type: .* Otherwise look at the exports of node:path\.$/)
})

t.test('an import of an own file that does not exist is described by a hint with the right path', async t => {
  const folder = t.testdir({
    'common.ts': '',
    bundles: {
      home: { 'home-bundle.ts': '', 'home-bundle.test.ts': '', 'types.d.ts': '' },
      other: { 'other.mts': '' },
      empty: {},
    },
  })
  const importing = path.join(folder, 'bundles/index.mjs')
  const describe = async (name: string) => {
    writeFileSync(importing, `import '${name}'`)
    const url = `${pathToFileURL(importing).href}?${encodeURIComponent(name)}`
    const text = await import(url).then(() => 'imported', describeFailure)
    return text.slice(text.lastIndexOf('\n') + 1)
  }
  const whole = async (name: string) => {
    writeFileSync(importing, `\n\nimport '${name}'`)
    return import(`${pathToFileURL(importing).href}?${Math.random()}`).then(() => 'imported', describeFailure)
  }
  t.equal(
    await whole('./gone/gone-bundle.ts'),
    `${importing}:3: the import of "./gone/gone-bundle.ts" finds no file.\nIf the file was deleted, remove the import, and what it imports from the list.`,
  )
  t.match(await whole('./empty'), `${importing}:3: the import of "./empty" finds a folder.\nAn import names a file`)
  t.match(
    await whole('a-package'),
    /finds no package\.\nInstall it: npm install a-package\. The path of an own file begins/,
  )
  t.match(await whole('@/texts'), /\nNode does not read "paths" of tsconfig\.json: write a relative path/)
  const ending = (name: string) => `Imports of own files end in .ts: import "${name}" instead.`
  const hints = {
    './home/home-bundle': ending('./home/home-bundle.ts'),
    './home/home-bundle.js': ending('./home/home-bundle.ts'),
    '../common': ending('../common.ts'),
    './other/other.mjs': ending('./other/other.mts'),
    './home': 'An import names a file, not a folder: import "./home/home-bundle.ts" instead.',
    './home/hom-bundle.ts': 'There is no such file: import "./home/home-bundle.ts" instead.',
  }
  for (const [name, hint] of Object.entries(hints)) t.equal(await describe(name), hint, name)
  for (const name of ['./home/nothing', './nowhere/nothing.ts', './empty', 'a-package-that-is-missing']) {
    t.notMatch(await describe(name), / instead\.$/, name)
  }
})

t.test('without tap, Node runs the tests', async t => {
  const alone = createRunner(t, noting)
  const test = "import { test } from 'node:test'\n\ntest('it runs', () => {})\n"
  writeFileSync(path.join(alone, 'tests/home.test.ts'), test)
  rmSync(path.join(alone, 'node_modules/tap'), { recursive: true })
  for (const name of ['@types', 'typescript']) {
    symlinkSync(path.resolve('node_modules', name), path.join(alone, 'node_modules', name), 'junction')
  }
  const program = startApplicationProgram(t, ['runTests', alone, '--test-reporter=tap'])
  t.equal(await program.end(), 0)
  t.match(program.stdout, /^ *ok 1 - it runs$/m)
})

t.test(
  'Ctrl-C leaves tap the time to report; SIGTERM ends it',
  { skip: runsTypeScript && 'dist/ is for Node 20' },
  async t => {
    const code = `
    const { existsSync, writeFileSync } = require('node:fs')
    process.on('SIGTERM', () => process.exit(5))
    writeFileSync('begun', '')
    setInterval(() => existsSync('go') && process.exit(4), 20)
  `
    const folder = inApplication('node_modules/tap')
    mkdirSync(folder)
    writeFileSync(path.join(folder, 'package.json'), '{ "name": "tap", "bin": { "tap": "run.cjs" } }')
    writeFileSync(path.join(folder, 'run.cjs'), code)
    const program = startApplicationProgram(t, ['runTests', directory])
    await until(() => existsSync(inApplication('begun')))
    program.child.kill('SIGINT')
    writeFileSync(inApplication('go'), '')
    t.equal(await program.end(), 4)
    for (const name of ['begun', 'go']) rmSync(inApplication(name))
    const ended = startApplicationProgram(t, ['runTests', directory])
    await until(() => existsSync(inApplication('begun')))
    ended.child.kill('SIGTERM')
    t.equal(await ended.end(), 5)
    rmSync(folder, { recursive: true })
  },
)

t.test('bin/test prints only the failures of named files, which run without the program of tap', async t => {
  const [good, broken] = [inApplication('tests/good.test.ts'), inApplication('tests/home.test.ts')]
  writeFileSync(
    good,
    "import { t } from 'tap'\nt.test('it holds', async t => t.equal(process.env.TAP_TIMEOUT, '77'))\n",
  )
  writeFileSync(broken, readFileSync(broken, 'utf8').replace('length, 2', 'length, 3'))
  writeFileSync(inApplication('.taprc'), 'timeout: 77\n')
  const program = startProgram(t, [process.execPath, inApplication('bin/test'), broken, good], {})
  t.equal(await program.end(), 1)
  const printed = program.stdout.split('\n').filter(line => /^ *(?:not )?ok|^FAILED|^ {8}[-+]\d|^# \{/.test(line))
  t.strictSame(
    printed.map(line => line.replace(/ # time=.*/, '').replace(/dist\/|\.[jt]s$/g, '')),
    [
      ...['    not ok 1 - should be equal', '        -3', '        +2', 'not ok 1 - there are two bundles'],
      ...['# { total: 1, pass: 0, fail: 1 }', 'FAILED tests/home.test'],
      ...['# { total: 1, pass: 1 }', 'ok tests/good.test'],
    ],
  )
})

t.test('a signal ends the running one of named files with its processes, and leaves out the others', async t => {
  const files = ['hanging', 'later'].map(name => inApplication(`tests/${name}.test.ts`))
  const code = `
    import { spawn } from 'node:child_process'
    import { writeSync } from 'node:fs'
    const { pid } = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined)
    writeSync(2, 'It has started ' + pid + '.')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  `
  for (const file of files) {
    writeFileSync(file, code)
    t.teardown(() => rmSync(file))
  }
  const program = startApplicationProgram(t, ['runTests', directory, ...files])
  const [, pid] = await program.until(/It has started (\d+)\./)
  program.child.kill()
  t.equal(await program.end(), 1)
  t.match(
    program.stdout,
    /^FAILED (\S+hanging\.test\.[jt]s)\n1 of 2 programs failed: \1\n0 passed, 1 failed, 0 skipped\n$/,
  )
  await until(() => !existsSync(`/proc/${pid}`))
})

t.test('groups of tests run at once, without the program of tap; each reports when it has ended', async t => {
  const waitFor = (own: string, other: string, end: string) => `
    import { existsSync, writeFileSync } from 'node:fs'
    console.log('not ok 1 - ${own} begins # TODO')
    writeFileSync('${own}', '')
    const timer = setInterval(() => {
      if (!existsSync('${other}')) return
      clearInterval(timer)
      ${end}
    }, 10)
  `
  const fail = "console.log('not ok 2 - left\\n# { total: 2, pass: 0, fail: 2 }')"
  const pass = "console.log('ok 2 - right # SKIP no Chromium\\n# { total: 2, pass: 1, skip: 1 }')"
  writeFileSync(inApplication('.taprc'), 'jobs: 2\ntimeout: 77\n')
  writeFileSync(
    inApplication('left.mjs'),
    waitFor('left', 'right', `${fail}; console.error('a trace of left'); process.exitCode = 1`),
  )
  writeFileSync(inApplication('right.mjs'), waitFor('right', 'left', `${pass}; console.error('a warning of right')`))
  const program = startApplicationProgram(t, ['runGroups', directory])
  t.equal(await program.end(), 1)
  t.match(program.stdout, /^not ok 2 - left\n# [\s\S]*^FAILED left\.mjs$/m)
  t.match(program.stdout, /^ok right\.mjs$/m)
  t.match(program.stdout, /\n1 of 2 programs failed: left\.mjs\n1 passed, 2 failed, 1 skipped \(no Chromium: 1\)\n$/)
  t.match(program.stderr, 'a trace of left')
  t.match(program.stderr, 'read: right is skipped\n')
  t.match(program.stderr, 'ended: left.mjs false, right.mjs true\n')
  t.notMatch(program.stderr, 'a warning of right', 'what a passing program writes on stderr')
  t.notMatch(program.stdout, 'begins')
})

/** A folder that every user may read, with the folder `private` that only root can read. */
function createPartlyPrivate(t: Test, name: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), `${name}-`))
  t.teardown(() => rmSync(folder, { recursive: true }))
  chmodSync(folder, 0o755)
  mkdirSync(path.join(folder, 'private'))
  chmodSync(path.join(folder, 'private'), 0)
  t.teardown(() => chmodSync(path.join(folder, 'private'), 0o755))
  return folder
}

t.test('sources are not looked for in folders that may not be read', async t => {
  const folder = createPartlyPrivate(t, 'sources')
  const compiler = path.join(folder, 'node_modules/typescript/lib/tsc.js')
  mkdirSync(path.dirname(compiler), { recursive: true })
  writeFileSync(path.join(folder, 'node_modules/typescript/package.json'), '{}')
  writeFileSync(compiler, 'process.exit(1)')
  mkdirSync(path.join(folder, 'dist/bundles'), { recursive: true })
  const source = path.join(folder, 'bundles/index.ts')
  mkdirSync(path.dirname(source))
  writeFileSync(source, '')
  utimesSync(source, 1, 1)
  for (const file of ['bundles/index.js', '.compiled', '.built']) writeFileSync(path.join(folder, 'dist', file), '')
  const sources = createSources(folder, false)
  t.equal(await asOtherUser(() => sources.buildWhenStale()), true, 'nothing is stale')
  t.equal(await sources.build(), false, 'the compiler would fail')
})

t.test('the directory of an application is a real path', async t => {
  const link = path.join(t.testdir(), 'link')
  symlinkSync(directory, link, 'junction')
  t.equal(toDirectory(link), directory)
  t.equal(toDirectory(pathToFileURL(`${link}/`)), directory)
  t.equal(toDirectory(path.join(link, 'missing')), path.join(link, 'missing'))
})

t.test('folders that are removed at once or are unreadable are not watched; other mistakes are not hidden', async t => {
  const folder = createPartlyPrivate(t, 'watching')
  mkdirSync(path.join(folder, 'old'))
  const program = startFixture(t, 'watching', {}, [folder])
  await program.until(/watches\n/)
  mkdirSync(path.join(folder, 'gone'))
  writeFileSync(path.join(folder, 'old/file.ts'), '')
  await program.until(/^old\/file\.ts$/m)
  // Each folder appears with its content. What is written into it later could be found in two ways.
  const appear = (file: string) => {
    mkdirSync(path.dirname(path.join(`${folder}-new`, file)), { recursive: true })
    writeFileSync(path.join(`${folder}-new`, file), '')
    renameSync(`${folder}-new`, path.join(folder, 'new'))
  }
  for (const file of ['first.ts', 'second.ts']) {
    appear(file)
    await program.until(new RegExp(`^new/${file}$`, 'm'))
    rmSync(path.join(folder, 'new'), { recursive: true })
  }
  appear('odd/third.ts')
  t.equal(await program.end(), 1)
  t.match(program.stderr, 'Error: It is odd.')
})
