import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { SourceMap } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Change, listChanges } from './changes.ts'

/** Which mutants are made. */
export interface MutantOptions {
  /** Only lines that have changed since this commit; by default all lines. */
  readonly since?: string | undefined
  /** A pathspec of git for the sources; by default all of the product. */
  readonly files?: string | undefined
  readonly count: number
  readonly seed: number
  /** Milliseconds that a test may last longer than usual; by default 10,000. */
  readonly patience?: number
}

/** A change of a compiled file. */
export interface Mutant extends Change {
  /** The source file, relative to the directory. */
  readonly file: string
  readonly line: number
  /** The compiled file, relative to the directory. */
  readonly program: string
}

/** What the tests say about a mutant. */
export interface Verdict {
  readonly mutant: Mutant
  readonly isCaught: boolean
  /** The number of test files that execute the place. */
  readonly tests: number
}

/** The nearest test files that are looked at for a mutant; others only until one executes its place. */
export const lookLimit = 16
/** The test files that run for a mutant. */
export const runLimit = 12

const product = ['lib', 'kernel', 'bundles', 'bin']

/** What the trial of all mutants has shown. */
export interface Trials {
  /** In the order of trial. */
  readonly verdicts: readonly Verdict[]
  /** The test files that fail without a change. They say nothing about mutants. */
  readonly failing: readonly string[]
}

/** Makes mutants, and tries each. The sources must be compiled. */
export async function tryMutants(
  directory: string,
  options: MutantOptions,
  onVerdict: (verdict: Verdict) => void = () => undefined,
): Promise<Trials> {
  const mutants = choose(listMutants(directory, options), options)
  const trial = new Trial(directory, new Set(mutants.map(({ program }) => program)), options.patience)
  const verdicts: Verdict[] = []
  try {
    for (const mutant of mutants) {
      const verdict = await trial.judge(mutant)
      verdicts.push(verdict)
      onVerdict(verdict)
    }
  } finally {
    trial.close()
  }
  return { verdicts, failing: trial.failing }
}

function listMutants(directory: string, { files, since }: MutantOptions): Mutant[] {
  const specs = files === undefined ? product : [files]
  const git = (...words: string[]) =>
    execFileSync('git', [...words, '--', ...specs], { cwd: directory, encoding: 'utf8', maxBuffer: 2 ** 28 })
  const lines = since === undefined ? undefined : parseDiff(git('diff', '--unified=0', '--no-ext-diff', since))
  const sources = lines === undefined ? git('ls-files').split('\n') : [...lines.keys()]
  return sources
    .filter(file => product.includes(file.split('/', 1)[0] ?? '') && file.endsWith('.ts'))
    .flatMap(file => mutantsOf(directory, file))
    .filter(({ file, line }) => lines === undefined || lines.get(file)?.has(line))
}

/** The changed lines of each file, from a diff without context. */
function parseDiff(diff: string): Map<string, Set<number>> {
  const files = new Map<string, Set<number>>()
  let lines = new Set<number>()
  for (const [, file, start, count = '1'] of diff.matchAll(/^(?:\+\+\+ b\/(.+)|@@ -\S+ \+(\d+)(?:,(\d+))? @@.*)$/gm)) {
    if (file !== undefined) {
      lines = new Set()
      files.set(file, lines)
    } else for (let line = 0; line < Number(count); line++) lines.add(Number(start) + line)
  }
  return files
}

function mutantsOf(directory: string, file: string): Mutant[] {
  const program = `dist/${file.replace(/ts$/, 'js')}`
  const compiled = path.join(directory, program)
  // A file of types has no program, and the programs of the browser have no source map.
  if (!existsSync(`${compiled}.map`)) return []
  const text = readFileSync(compiled, 'utf8')
  const map = new SourceMap(JSON.parse(readFileSync(`${compiled}.map`, 'utf8')))
  return listChanges(text).flatMap(change => {
    const before = text.slice(0, change.start)
    const line = before.split('\n').length - 1
    const entry = map.findEntry(line, change.start - before.lastIndexOf('\n') - 1)
    return 'originalLine' in entry ? [{ ...change, file, line: entry.originalLine + 1, program }] : []
  })
}

/** Chooses at random, but a second mutant of a line only when all lines have one. */
function choose(mutants: readonly Mutant[], { count, seed }: MutantOptions): Mutant[] {
  const random = createRandom(seed)
  const drawn = mutants.map(mutant => ({ mutant, rank: random() })).sort((one, other) => one.rank - other.rank)
  const taken = new Map<string, number>()
  const rounds = drawn.map(({ mutant }) => {
    const place = `${mutant.file}:${mutant.line}`
    const round = taken.get(place) ?? 0
    taken.set(place, round + 1)
    return { mutant, round }
  })
  return rounds
    .sort((one, other) => one.round - other.round)
    .slice(0, count)
    .map(({ mutant }) => mutant)
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A part of a program, and how often it was executed. */
interface Range {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

/** A test of the unchanged product. */
interface Baseline {
  readonly isPassed: boolean
  readonly duration: number
  /** What each process of the test has executed, by the program. */
  readonly ranges: ReadonlyMap<string, readonly (readonly Range[])[]>
}

/** Tries mutants in a copy of the directory. */
class Trial {
  readonly #copy: string
  readonly #programs: ReadonlySet<string>
  readonly #patience: number
  readonly #importers: ReadonlyMap<string, readonly string[]>
  readonly #tests: readonly string[]
  readonly #baselines = new Map<string, Baseline>()
  #running: number | undefined
  readonly #onExit = () => this.close()

  constructor(directory: string, programs: ReadonlySet<string>, patience = 10_000) {
    this.#patience = patience
    this.#copy = realpathSync(mkdtempSync(path.join(tmpdir(), 'mutants-')))
    const left = ['node_modules', '.git', '.tap', 'var']
    cpSync(directory, this.#copy, { recursive: true, filter: from => !left.includes(path.relative(directory, from)) })
    const packages = path.join(directory, 'node_modules')
    if (existsSync(packages)) symlinkSync(packages, path.join(this.#copy, 'node_modules'))
    this.#programs = programs
    const files = listPrograms(this.#copy)
    this.#importers = readImporters(this.#copy, files)
    this.#tests = files.filter(file => /^dist\/tests\/(?!browser\/).*(?<!\.proof)\.test\.js$/.test(file))
    process.once('exit', this.#onExit)
  }

  /** Ends the tests that still run, and removes the copy. */
  close(): void {
    process.off('exit', this.#onExit)
    this.#endGroup()
    rmSync(this.#copy, { recursive: true, force: true, maxRetries: 5 })
  }

  /**
   * Runs the tests that execute the place of a mutant, the nearest first, until one of them fails or lasts too long.
   */
  async judge(mutant: Mutant): Promise<Verdict> {
    const file = path.join(this.#copy, mutant.program)
    const text = await readFile(file, 'utf8')
    let tests = 0
    for (const [index, test] of this.#findTests(mutant.program).entries()) {
      if (tests === runLimit || (index >= lookLimit && tests > 0)) break
      const { duration, isPassed, ranges } = await this.#baseline(test)
      if (!isPassed || !ranges.get(mutant.program)?.some(each => isExecuted(each, mutant.start))) continue
      tests++
      await writeFile(file, text.slice(0, mutant.start) + mutant.text + text.slice(mutant.end))
      const limit = this.#patience + 5 * duration
      // On a busy machine, a test may fail once for another reason.
      const isNoticed = !(await this.#run(test, {}, limit)) && !(await this.#run(test, {}, limit))
      await writeFile(file, text)
      if (isNoticed) return { mutant, isCaught: true, tests }
    }
    return { mutant, isCaught: false, tests }
  }

  /**
   * The tests that import a program, directly or not, and those of its folder, which may start it as a process:
   * first of the same name, then those that import it in one step, then by the folders in common, then by steps.
   */
  #findTests(program: string): string[] {
    const steps = new Map([[program, 0]])
    for (const [file, step] of steps) {
      for (const importer of this.#importers.get(file) ?? []) if (!steps.has(importer)) steps.set(importer, step + 1)
    }
    const folders = path.dirname(program).split('/').slice(1)
    const distance = (test: string) => {
      const own = test.split('/').slice(2)
      if (own.at(-1) === `${path.basename(program, '.js')}.test.js`) return 0
      const shared = folders.findIndex((folder, index) => folder !== own[index])
      const apart = folders.length - (shared === -1 ? folders.length : shared)
      const step = Math.min(steps.get(test) ?? 99, 99)
      return Math.min(step, 2) * 10_000 + apart * 100 + step
    }
    const ofFolder = `dist/tests/${folders.join('/')}/`
    return this.#tests
      .filter(test => steps.has(test) || test.startsWith(ofFolder))
      .sort((one, other) => distance(one) - distance(other))
  }

  get failing(): string[] {
    return [...this.#baselines].filter(([, { isPassed }]) => !isPassed).map(([test]) => test)
  }

  async #baseline(test: string): Promise<Baseline> {
    const known = this.#baselines.get(test) ?? (await this.#measure(test))
    this.#baselines.set(test, known)
    return known
  }

  async #measure(test: string): Promise<Baseline> {
    const folder = mkdtempSync(path.join(this.#copy, 'coverage-'))
    const begin = performance.now()
    // A test of time may fail with coverage, which is slow.
    const isPassed =
      (await this.#run(test, { NODE_V8_COVERAGE: folder, TAP_BAIL: '0' }, 300_000)) ||
      (await this.#run(test, {}, 300_000))
    const duration = performance.now() - begin
    const ranges = new Map<string, Range[][]>()
    const urls = new Map([...this.#programs].map(each => [pathToFileURL(path.join(this.#copy, each)).href, each]))
    for (const name of readdirSync(folder)) {
      for (const { functions, url } of await readCoverage(path.join(folder, name))) {
        const program = urls.get(url)
        if (program === undefined) continue
        const all = ranges.get(program) ?? []
        ranges.set(program, all)
        all.push(functions.flatMap(each => each.ranges))
      }
    }
    rmSync(folder, { recursive: true, force: true })
    return { isPassed, duration, ranges }
  }

  /** Whether a test passes in some milliseconds. It has a process group of its own, which is ended with it. */
  async #run(test: string, variables: NodeJS.ProcessEnv, limit: number): Promise<boolean> {
    const child = spawn(process.execPath, ['--enable-source-maps', test], {
      cwd: this.#copy,
      env: { ...withoutTap(), TAP_BAIL: '1', TAP_TIMEOUT: '600', ...variables },
      stdio: 'ignore',
      detached: true,
    })
    this.#running = child.pid
    const timer = setTimeout(() => this.#endGroup(), limit)
    const code = await new Promise<number | null>((resolve, reject) =>
      child.once('error', reject).once('exit', resolve),
    )
    clearTimeout(timer)
    this.#endGroup()
    return code === 0
  }

  #endGroup(): void {
    try {
      if (this.#running !== undefined) process.kill(-this.#running, 'SIGKILL')
    } catch {
      // The group has ended.
    }
    this.#running = undefined
  }
}

/** The environment without the variables by which tap takes over processes. */
function withoutTap(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^_?TAP/.test(name)))
}

/** The innermost part that contains a place says whether the place was executed. */
function isExecuted(ranges: readonly Range[], offset: number): boolean {
  const around = ranges.filter(({ endOffset, startOffset }) => startOffset <= offset && offset < endOffset)
  const size = ({ endOffset, startOffset }: Range) => endOffset - startOffset
  const innermost = around.toSorted((one, other) => size(one) - size(other))[0]
  return innermost !== undefined && innermost.count > 0
}

interface Coverage {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly Range[] }[]
}

/** Empty if the process was ended while it wrote the file. */
async function readCoverage(file: string): Promise<readonly Coverage[]> {
  try {
    return JSON.parse(await readFile(file, 'utf8')).result
  } catch {
    return []
  }
}

/** The compiled files, relative to the directory. Groups of tests have no source, and are left out. */
function listPrograms(directory: string): string[] {
  const hasSource = (file: string) => existsSync(path.join(directory, file.replace(/js$/, 'ts')))
  return readdirSync(path.join(directory, 'dist'), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.js') && hasSource(file))
    .map(file => `dist/${file}`)
}

/** The compiled files that import each compiled file, all relative to the directory. */
function readImporters(directory: string, files: readonly string[]): Map<string, string[]> {
  const importers = new Map<string, string[]>()
  for (const file of files) {
    const text = readFileSync(path.join(directory, file), 'utf8')
    for (const [, name = ''] of text.matchAll(/\b(?:from|import)\b[\s(]*['"]((?:[.#]|sinfonietta\b)[^'"]*)['"]/g)) {
      const imported = resolveImport(name, file)
      importers.set(imported, [...(importers.get(imported) ?? []), file])
    }
  }
  return importers
}

/**
 * The compiled file of an import: `#lib/signals.ts`, `./sample.js`, or an entry point such as
 * `sinfonietta/profiler/testing`.
 */
function resolveImport(name: string, file: string): string {
  if (name.startsWith('#')) return `dist/${name.slice(1).replace(/ts$/, 'js')}`
  if (name.startsWith('.')) return path.posix.join(path.posix.dirname(file), name)
  return `dist/bin/exports/${name.split('/').slice(1).join('-') || name}.js`
}
