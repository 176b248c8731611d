import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { listEntries } from '../../lib/folders.ts'
import { toAmount } from '../../lib/text/describe-value.ts'
import { nearestNames, quoteNearest } from '../../lib/text/mistakes.ts'
import { createSources, isSource, mayContainSources, type Sources } from '../application/sources.ts'
import { watchFolder } from '../application/watch.ts'
import { TestTally } from './test-tally.ts'

/** How tests are run. */
interface TestOptions {
  /** Whether Node runs the sources; by default, if it can. */
  readonly isDirect?: boolean
  /**
   * Makes programs of many tests, unless all are named by their files. By default each test is a
   * program. Without options, Node alone runs these programs, too.
   */
  readonly group?: (programs: readonly string[]) => readonly string[]
  /**
   * A module that is loaded before each test; by default, one that lets the libraries of databases
   * report their queries.
   */
  readonly preload?: string
  /** How many programs run at once if Node alone runs them. By default, those of tap if they are grouped, else one. */
  readonly jobs?: number
  /** Is called with each line in TAP of the programs that Node alone runs. */
  readonly onLine?: (line: string) => void
  /** Is called when Node alone has run a program, with its path. */
  readonly onEnd?: (program: string, hasPassed: boolean) => void
}

/** The others are those of tap. */
const ownOptions = ['--watch', '--changed']

/**
 * Runs the tests of the application in a directory, all `*.test.ts` below `tests`, with the tap that
 * the application has installed, and else with the test runner of Node. The command line names some
 * of them by files or folders, relative to the working directory; the rest of it are options of the
 * runner. Resolves with the exit code of the runner. With `--watch`, the tests run again after each
 * change. With `--changed`, the tests run that import what has changed since the last commit, and
 * those that are named; `--changed=main` begins where the work left that branch or commit.
 *
 * Tap measures coverage if an option begins with `--coverage-`. It need not be complete. Named files without
 * options are run by Node itself, one after the other, and only their failures are printed: the program of
 * tap needs two CPU-seconds more, and changes how modules are loaded in each process that a test starts.
 */
export async function runApplicationTests(
  directory: string,
  commandLine: readonly string[],
  { group, isDirect, jobs, onEnd, onLine, preload }: TestOptions = {},
): Promise<number> {
  const sources = createSources(directory, isDirect)
  const tests = listTests(directory)
  const named = commandLine.filter(isPath)
  const since = commandLine.map(argument => /^--changed(?:=(.+))?$/.exec(argument)).find(found => found !== null)
  const options = commandLine.filter(argument => !isPath(argument) && argument !== since?.[0])
  const unknown = named.find(name => choose(tests, [name]).length === 0)
  if (unknown !== undefined) {
    const from = `paths count from the current folder, ${process.cwd()}`
    return fail(`There is no test ${unknown}: tests are files tests/…/*.test.ts, and ${from}.`)
  }
  const mistyped = options.find(option => !ownOptions.includes(option))
  const nearest = mistyped === undefined ? '' : quoteNearest(nearestNames(mistyped, ownOptions, 2))
  if (nearest !== '') return fail(`There is no option ${mistyped}${nearest}.`)
  if (named.length === 0) warnOfOtherTests(directory)
  let chosen = choose(tests, named)
  if (since !== undefined) {
    const changed = listChanged(directory, since[1] ?? 'HEAD')
    if (changed === undefined) return fail(`git does not know what has changed since ${since[1] ?? 'the last commit'}.`)
    if (!(await sources.buildTests())) return 1
    const affected = findAffected(changed, tests, { directory, sources })
    const others = named.length === 0 ? [] : chosen
    chosen = tests.filter(test => affected.has(test) || others.includes(test))
    if (chosen.length === 0) return 0
  }
  if (chosen.length === 0) return fail('There are no tests: tests are files tests/…/*.test.ts.')
  const tap = findTap(directory)
  const runNamed = tap === undefined ? runByNode : runFiles
  if (options.includes('--watch')) {
    if (options.length > 1 || since !== undefined)
      return fail('Beside --watch there are no options, only files and folders of tests.')
    return watchTests(named.length === 0 ? [] : chosen, {
      directory,
      sources,
      list: () => choose(listTests(directory), named),
      run: (test, signal) => runNamed([test], directory, sources, { preload, signal }),
    })
  }
  if (!(await sources.buildTests())) return 1
  if (tap === undefined) return runByNode(chosen, directory, sources, { options, preload })
  const areFiles = named.length > 0 && named.every(name => tests.includes(path.resolve(name)))
  const isGrouped = group !== undefined && !(areFiles && since === undefined)
  const single = chosen.map(file => sources.toProgram(file))
  const programs = isGrouped ? group(single) : single
  if (options.length === 0 && (isGrouped || areFiles || since !== undefined)) {
    const atOnce = jobs ?? (isGrouped ? readNumber(directory, 'jobs') : undefined) ?? 1
    return runPrograms(programs, directory, sources, { preload, jobs: atOnce, isQuiet: atOnce > 1, onLine, onEnd })
  }
  const isCounted = options.some(option => option.startsWith('--coverage-'))
  const parameters = [
    ...[...listPreloads(directory, sources, preload), asTap].map(option => `--node-arg=${option}`),
    isCounted ? '--allow-incomplete-coverage' : '--disable-coverage',
    `--test-env=${withoutCompiler}`,
    ...options,
    ...programs.map(file => path.relative(directory, file)),
  ]
  return runProgram([tap, ...parameters], directory)
}

/** A module that is loaded before each test, and the signal that ends those that run. */
interface RunOptions {
  readonly preload: string | undefined
  readonly signal?: AbortSignal
  /** How many programs run at once. By default, one. */
  readonly jobs?: number
  /** Whether warnings and the like of a program, on stderr, are printed only if it fails. */
  readonly isQuiet?: boolean
  readonly onLine?: TestOptions['onLine']
  readonly onEnd?: TestOptions['onEnd']
}

/**
 * Runs tests with the test runner of Node. By default its report is that for readers: the one in TAP leaves out causes.
 */
function runByNode(
  tests: readonly string[],
  directory: string,
  sources: Sources,
  { options = [], preload, signal }: RunOptions & { readonly options?: readonly string[] },
): Promise<number> {
  const reporter = options.some(option => option.startsWith('--test-reporter')) ? [] : ['--test-reporter=spec']
  const files = tests.map(file => path.relative(directory, sources.toProgram(file)))
  const command = ['--enable-source-maps', ...reporter, ...options, '--test', ...files]
  return runProgram([...listPreloads(directory, sources, preload), ...command], directory, { signal })
}

/** Tests that use the test runner of Node report as tap expects it. */
const asTap = '--test-reporter=tap'

/** Runs files of tests without the program of tap. Returns 1 if one of them fails. */
function runFiles(tests: readonly string[], directory: string, sources: Sources, options: RunOptions): Promise<number> {
  const programs = tests.map(file => sources.toProgram(file))
  return runPrograms(programs, directory, sources, options)
}

/**
 * Runs programs of tests without the program of tap. Returns 1 if one of them fails. A signal ends
 * the running ones with their processes, and leaves out the others.
 */
async function runPrograms(
  programs: readonly string[],
  directory: string,
  sources: Sources,
  { isQuiet = false, jobs = 1, onEnd, onLine, preload, signal }: RunOptions,
): Promise<number> {
  const failed: string[] = []
  const total = new TestTally()
  const stop = new AbortController()
  const end = () => stop.abort()
  if (signal === undefined) for (const each of endSignals) process.on(each, end)
  // Below another run of tap, a test would leave out its totals.
  const variables = { TAP_TIMEOUT: String(readNumber(directory, 'timeout') ?? 30), TAP_CHILD_ID: undefined }
  const waiting = programs.values()
  const work = async () => {
    for (const program of waiting) {
      if (stop.signal.aborted) return
      const command = [...listPreloads(directory, sources, preload), asTap, '--enable-source-maps', program]
      const tally = new TestTally()
      const errors: Buffer[] = []
      let failures = ''
      const ended = await runProgram(command, directory, {
        variables,
        read: async tap => {
          failures = await findFailures(tally.read(tap, onLine))
        },
        signal: signal ?? stop.signal,
        ...(isQuiet && { onError: chunk => errors.push(chunk) }),
      })
      total.add(tally, ended !== 0)
      const name = path.relative(directory, program)
      if (ended !== 0) process.stderr.write(Buffer.concat(errors))
      writeLine(`${failures}${ended === 0 ? 'ok' : 'FAILED'} ${name}`)
      if (ended !== 0) failed.push(name)
      onEnd?.(program, ended === 0)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  for (const each of endSignals) process.off(each, end)
  const { length } = programs
  if (failed.length > 0 && length > 1) writeLine(`${failed.length} of ${length} programs failed: ${failed.join(' ')}`)
  if (signal === undefined) writeLine(String(total))
  return failed.length === 0 ? 0 : 1
}

/** Ctrl-C, the end by another program, and the end of the terminal. */
const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * The options of Node for a test: modules that are loaded before it, such as the instrumentations of an application.
 */
function listPreloads(directory: string, sources: Sources, preload: string | undefined): string[] {
  const isInstrumented = existsSync(sources.toProgram(path.join(directory, 'instrumentation.ts')))
  const modules = [
    ...(isInstrumented ? [new URL('instrument-tests.js', import.meta.url)] : []),
    preload ?? new URL('open-libraries.js', import.meta.url),
  ]
  return modules.map(module => `--import=${module}`)
}

/** A setting of the program of tap, such as `timeout`, the seconds for each test. Tests alone do not read it. */
function readNumber(directory: string, name: 'jobs' | 'timeout'): number | undefined {
  const file = path.join(directory, '.taprc')
  const found = existsSync(file) ? new RegExp(`^${name}: *(\\d+)`, 'm').exec(readFileSync(file, 'utf8')) : null
  return found === null ? undefined : Number(found[1])
}

/**
 * The failed assertions of a TAP stream with their diagnostics, the names of failed tests, and the
 * totals. They are printed when the stream has ended: other programs may run at the same time.
 */
async function findFailures(tap: AsyncIterable<string>): Promise<string> {
  const shown: string[] = []
  let isShown = false
  let closedIndent = -1
  for await (const line of tap) {
    const found = /^( *)(ok|not ok|# Subtest|\d+\.\.)/.exec(line)
    const isFailed = found?.[2] === 'not ok' && !/ # (?:TODO|SKIP)/.test(line)
    if (found !== null) {
      const [, { length: indent } = '', kind = ''] = found
      // The assertions of a test are printed before the test itself, whose diagnostics only say where it is.
      isShown = isFailed && closedIndent !== indent + 4
      closedIndent = kind.endsWith('..') ? indent : -1
    }
    if (isShown || isFailed || /^(?:# (?!Subtest)|Bail out!)/.test(line)) shown.push(`${line}\n`)
  }
  return shown.join('')
}

/** How a program is run. By default it writes to the streams of this process. */
interface ProgramOptions {
  readonly variables?: NodeJS.ProcessEnv
  readonly read?: (output: Readable) => Promise<void>
  readonly onError?: (chunk: Buffer) => void
  readonly signal?: AbortSignal | undefined
}

function runProgram(
  command: readonly string[],
  directory: string,
  { onError, read, signal, variables = {} }: ProgramOptions = {},
): Promise<number> {
  const env = { ...process.env, ...Object.fromEntries([withoutCompiler.split('=')]), ...variables }
  const child = spawn(process.execPath, command, {
    stdio: ['inherit', read === undefined ? 'inherit' : 'pipe', onError === undefined ? 'inherit' : 'pipe'],
    cwd: directory,
    env,
    // The signal is for the processes of the test, too.
    detached: signal !== undefined,
  })
  const onAbort = () => void endGroup(child)
  signal?.addEventListener('abort', onAbort)
  if (onError !== undefined) child.stderr?.on('data', onError)
  const wasRead = child.stdout === null ? undefined : read?.(child.stdout)
  // Ctrl-C reaches the runner, too, which then reports the tests that have run.
  const onInterrupt = () => undefined
  process.on('SIGINT', onInterrupt)
  // Another program ends this process only: the runner would go on with its tests.
  const onTerminate = () => void child.kill()
  process.on('SIGTERM', onTerminate)
  return new Promise(resolve =>
    child.on('close', async code => {
      process.off('SIGINT', onInterrupt).off('SIGTERM', onTerminate)
      signal?.removeEventListener('abort', onAbort)
      await wasRead
      resolve(code ?? 1)
    }),
  )
}

/** Ends a process and those that it has started. They get a second, as after Ctrl-C. */
async function endGroup({ pid }: ChildProcess): Promise<void> {
  const send = (signal: NodeJS.Signals) => {
    try {
      process.kill(-Number(pid), signal)
    } catch {
      // The processes have ended already.
    }
  }
  send('SIGINT')
  await delay(1_000)
  send('SIGKILL')
}

/**
 * Keeps tap from loading a compiler of its own, which does not run with TypeScript 7. Tests need none: Node runs their
 * sources, or they are compiled. The tests get this variable as an option, because tap resets its own on Node 20.
 */
const withoutCompiler = 'TAP_TYPE_STRIP_ONLY=1'

/** An argument that looks like a path is a path, even if it is mistyped. */
function isPath(argument: string): boolean {
  return /^[^-].*(?:[\\/]|\.ts$)/.test(argument) || existsSync(argument)
}

/** The absolute paths of all tests, in their order. */
function listTests(directory: string): string[] {
  const folder = path.join(directory, 'tests')
  if (!existsSync(folder)) return []
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return files
    .filter(file => file.endsWith('.test.ts'))
    .map(file => path.join(folder, file))
    .sort()
}

/** Names the files that look like tests, but are not run. */
function warnOfOtherTests(directory: string): void {
  const files = listOtherTests(directory, directory, false)
  const others = files.map(file => path.relative(directory, file)).sort()
  if (others.length === 0) return
  const shown = others.length > 5 ? `${others.slice(0, 5).join(', ')} and ${others.length - 5} more` : others.join(', ')
  process.stderr.write(`Not run: ${shown}. Tests are files tests/…/*.test.ts.\n`)
}

/** A folder `tests` elsewhere belongs to another project. */
function listOtherTests(directory: string, folder: string, isInTests: boolean): string[] {
  return listEntries(folder).flatMap(entry => {
    const file = path.join(folder, entry.name)
    if (!entry.isDirectory()) {
      const looksLike = /\.(?:test|spec)\.[cm]?[jt]sx?$/.test(entry.name)
      return looksLike && !(isInTests && entry.name.endsWith('.test.ts')) ? [file] : []
    }
    const isTests = entry.name === 'tests'
    const isRead = isTests ? folder === directory : isInTests || mayContainSources(directory, file)
    return isRead ? listOtherTests(directory, file, isInTests || isTests) : []
  })
}

/** The tests that are named by files or folders, or all. */
function choose(tests: readonly string[], names: readonly string[]): readonly string[] {
  if (names.length === 0) return tests
  const paths = names.map(name => path.resolve(name))
  return paths.flatMap(name => tests.filter(test => test === name || test.startsWith(name + path.sep)))
}

function findTap(directory: string): string | undefined {
  try {
    const file = createRequire(path.join(directory, 'package.json')).resolve('tap/package.json')
    const { bin } = JSON.parse(readFileSync(file, 'utf8')) as { bin: { tap: string } }
    return path.join(path.dirname(file), bin.tap)
  } catch {
    return undefined
  }
}

function fail(message: string): number {
  process.stderr.write(`${message}\n`)
  return 1
}

/** Milliseconds: editors write a file in several steps, and other tools many files at once. */
const quietTime = 60

/** The tests of a directory. All paths are absolute. */
interface WatchedTests {
  readonly directory: string
  readonly sources: Sources
  /** Lists the tests: a change may have added one. */
  list(): readonly string[]
  /** Runs a test, and prints its failures. Returns 0 if there are none. The signal ends its processes. */
  run(test: string, signal: AbortSignal): Promise<number>
}

/**
 * Runs some tests. Then, after each change of a source, it compiles, and runs the tests that
 * import the changed file, also through other files. A change during a run is handled after the
 * current test. Resolves with 0 after SIGINT or SIGTERM.
 */
async function watchTests(first: readonly string[], tests: WatchedTests): Promise<number> {
  const { directory, list, run, sources } = tests
  const queue = new Set(first)
  const stop = new AbortController()
  let changed = new Set<string>()
  let results: boolean[] = []
  let hasChanged = true
  let isBuilt = false
  let busy: Promise<void> | undefined

  async function work(): Promise<void> {
    while (!stop.signal.aborted && (hasChanged || (isBuilt && queue.size > 0))) {
      if (hasChanged) await handleChange()
      else await runNext()
    }
    busy = undefined
  }

  async function handleChange(): Promise<void> {
    await delay(quietTime)
    hasChanged = false
    const files = changed
    changed = new Set()
    isBuilt = await sources.buildTests()
    if (!isBuilt) {
      // The files count again after the correction.
      changed = new Set([...files, ...changed])
      return writeLine('Nothing is run: waiting for a change.')
    }
    if (files.size === 0) return
    for (const test of findAffected([...files], list(), tests)) queue.add(test)
  }

  async function runNext(): Promise<void> {
    const [test = ''] = queue
    queue.delete(test)
    results.push((await run(test, stop.signal)) === 0)
    if (queue.size > 0 || stop.signal.aborted) return
    const failed = results.filter(isGood => !isGood).length
    writeLine(`${count(results)}: ${results.length - failed} passed, ${failed} failed`)
    results = []
  }

  const isWatched = (folder: string) => mayContainSources(directory, folder) || isTests(directory, folder)
  const close = watchFolder(directory, isWatched, file => {
    // Editors keep hidden files of their own beside the edited files.
    if (!isSource(file) || path.basename(file).startsWith('.')) return
    changed.add(file)
    hasChanged = true
    busy ??= work()
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort())
  writeLine('Waiting for changes: Ctrl-C ends.')
  busy = work()
  await once(stop.signal, 'abort')
  await busy
  close()
  return 0
}

/** Finds the tests that import a changed file, also through other files. Prints how many there are for each file. */
function findAffected(
  files: readonly string[],
  tests: readonly string[],
  { directory, sources }: Pick<WatchedTests, 'directory' | 'sources'>,
): Set<string> {
  const programs = new Map(tests.map(test => [sources.toProgram(test), test]))
  const findImporters = readImporters(directory, [...programs.keys()])
  return new Set(
    files.flatMap(file => {
      const found = findImporters(sources.toProgram(file))
      writeLine(`${path.relative(directory, file)}: ${found.length === 0 ? 'no test imports it' : count(found)}`)
      return found.map(program => String(programs.get(program)))
    }),
  )
}

/**
 * The sources that differ from the commit where the work left another one, or are new. `undefined`
 * without git or the commit.
 */
function listChanged(directory: string, commit: string): string[] | undefined {
  const git = (...words: string[]) =>
    execFileSync('git', words, { cwd: directory, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    const changed = git('diff', '--name-only', '--relative', '-z', '--merge-base', commit, '--')
    const added = git('ls-files', '--others', '--exclude-standard', '-z')
    return `${changed}${added}`
      .split('\0')
      .filter(isSource)
      .map(file => path.join(directory, file))
  } catch {
    return undefined
  }
}

const isTests = (directory: string, folder: string) => folder === path.join(directory, 'tests')

const count = ({ length }: { readonly length: number }) => toAmount(length, 'test file')

function writeLine(line: string): void {
  process.stdout.write(`${line}\n`)
}

/**
 * Reads some programs of a directory, and the files of the directory that they import, directly or
 * through others, except for those in `node_modules`. Imports of types are none: they are gone
 * when a program runs. All paths are absolute.
 */
export function readImporters(directory: string, programs: readonly string[]): (file: string) => string[] {
  const { resolve } = createRequire(path.join(directory, 'package.json'))
  const resolved = new Map<string, string>()
  const importers = new Map<string, string[]>()
  const files = new Set(programs)
  for (const file of files) {
    for (const name of readImports(file)) {
      const imported = name.startsWith('.') ? path.resolve(path.dirname(file), name) : resolveName(name)
      if (!isOwn(directory, imported)) continue
      importers.set(imported, [...(importers.get(imported) ?? []), file])
      files.add(imported)
    }
  }
  return file => {
    const found = new Set([file])
    for (const each of found) for (const importer of importers.get(each) ?? []) found.add(importer)
    return programs.filter(program => found.has(program))
  }

  function resolveName(name: string): string {
    const known = resolved.get(name)
    if (known !== undefined) return known
    let file = ''
    try {
      file = resolve(name)
    } catch {
      // A text that looks like an import, or a package that is not installed.
    }
    resolved.set(name, file)
    return file
  }
}

function isOwn(directory: string, file: string): boolean {
  return file.startsWith(directory + path.sep) && !file.includes(`${path.sep}node_modules${path.sep}`)
}

/** The names that a file imports; none if it was removed. */
function readImports(file: string): string[] {
  try {
    const imports = /(?<!^(?:import|export) type .*)\b(?:from|import)\s*\(?\s*(['"])([^'"\n]+)\1/gm
    return Array.from(readFileSync(file, 'utf8').matchAll(imports), ([, , name]) => String(name))
  } catch {
    return []
  }
}
