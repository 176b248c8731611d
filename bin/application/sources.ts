import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import module, { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import type { SourceProblem } from '../../kernel/bundle.ts'
import type { HealthCheck } from '../../kernel/contracts/health-check.ts'
import { checkString } from '../../lib/errors/arguments.ts'
import { checkFolder, listEntries } from '../../lib/folders.ts'
import { packageDirectory } from '../../lib/package.ts'

/** The TypeScript sources of an application: Node runs them as they are, or a compiler writes them into `dist/`. */
export interface Sources {
  /** The program of `bundles/index.ts`. */
  readonly bundles: string
  /** The folder of compiled files; `undefined` if Node runs the sources. */
  readonly output: string | undefined
  /**
   * Compiles the sources, and removes the output of sources that are gone. Resolves with false if the sources cannot be
   * used. A lenient build compiles sources with wrong types as well, and does not look for them.
   */
  build(options?: { readonly isLenient?: boolean }): Promise<boolean>
  /**
   * Like `build`, but starts the compiler only if a source is newer than the beginning of the last successful build, or
   * was removed. To look at the files takes a tenth of the time.
   */
  buildWhenStale(options?: { readonly isLenient?: boolean }): Promise<boolean>
  /** The mistakes that the last build has found. */
  readonly problems: readonly SourceProblem[]
  /**
   * Finds the wrong types of sources that run, unless a build has looked for them; none without a
   * compiler, or after the signal.
   */
  checkTypes(signal: AbortSignal): Promise<readonly SourceProblem[]>
  /** Compiles the tests, and the sources that they import. */
  buildTests(): Promise<boolean>
  /** The program of a source: the file that Node runs. Paths are absolute. */
  toProgram(source: string): string
  /** Whether there is a whole build, however old. */
  isBuilt(): boolean
  /** Whether a compiler has finished since a time in milliseconds. */
  isBuiltSince(time: number): boolean
}

/**
 * Whether this Node runs TypeScript: 22.18 and later do, without a flag. The types of Node 20 do not have the feature.
 */
export const runsTypeScript: boolean = Boolean((process.features as { typescript?: unknown }).typescript)

/**
 * The sources of the application in a directory. Those of the package itself are always compiled: its programs are
 * compiled files.
 */
export function createSources(directory: string, isDirect: boolean = runsTypeScript): Sources {
  if (isPackage(directory)) return new CompiledSources(directory, packagePlan)
  return isDirect ? createPlainSources(directory) : new CompiledSources(directory, applicationPlan)
}

/** The directory of an application as Node names its modules: without symbolic links, if it exists. */
export function toDirectory(directory: string | URL): string {
  if (!(directory instanceof URL)) checkString("new URL('..', import.meta.url)", 'the directory', directory)
  const absolute = path.resolve(directory instanceof URL ? fileURLToPath(directory) : directory)
  return existsSync(absolute) ? realpathSync(absolute) : absolute
}

/**
 * Whether a folder of an application may contain sources of the server: not packages, output, tests, or hidden files.
 */
export function mayContainSources(directory: string, folder: string): boolean {
  const name = path.basename(folder)
  if (name === 'node_modules' || name.startsWith('.')) return false
  return path.dirname(folder) !== directory || !otherFolders.includes(name)
}

/**
 * The folders with templates and assets of the package, if it is a link to its repository: an
 * installed package does not change, and in its repository the package is the application.
 */
export function listPackageFolders(directory: string, ownDirectory: string = packageDirectory): string[] {
  const isConstant = ownDirectory === directory || ownDirectory.split(path.sep).includes('node_modules')
  return isConstant ? [] : ['bundles', 'templates'].map(name => path.join(ownDirectory, name))
}

/** Whether the server has to be started again after a change of a file. */
export function isSource(file: string): boolean {
  return /\.[cm]?ts$/.test(file)
}

const otherFolders = ['coverage', 'dist', 'tests', 'var']

function isPackage(directory: string): boolean {
  return path.relative(packageDirectory, directory) === ''
}

function createPlainSources(directory: string): Sources {
  const yes = async () => true
  const compiler = findCompiler(directory)
  const buildInfo = path.join(directory, 'var/cache/types.tsbuildinfo')
  return {
    bundles: path.join(directory, 'bundles/index.ts'),
    output: undefined,
    build: yes,
    buildWhenStale: yes,
    problems: [],
    async checkTypes(signal) {
      if (compiler === undefined) return []
      const options = ['--project', '.', '--noEmit', '--incremental', '--tsBuildInfoFile', buildInfo]
      const { output } = await compile([...compiler, ...options], directory, signal)
      // A mistake in a test does not concern the server: only those in its sources are returned.
      return parseCompilerOutput(output, directory).filter(
        ({ file }) => file === undefined || mayContainSources(directory, path.dirname(file)),
      )
    },
    buildTests: yes,
    toProgram: source => source,
    isBuilt: () => true,
    isBuiltSince: () => false,
  }
}

/** Sources that a compiler of the application writes into `dist/`. */
class CompiledSources implements Sources {
  readonly bundles: string
  readonly output: string
  readonly #directory: string
  readonly #plan: CompilerPlan
  readonly #compiler: readonly string[] | undefined
  readonly #marker: string
  readonly #stamp: string
  /** The stamp of a build whose types are not checked yet. `bin/build.js` leaves one, too. */
  readonly #unchecked: string
  problems: readonly SourceProblem[] = []

  constructor(directory: string, plan: CompilerPlan) {
    this.#directory = directory
    this.#plan = plan
    this.#compiler = findCompiler(directory)
    this.output = path.join(directory, 'dist')
    this.bundles = path.join(this.output, 'bundles/index.js')
    this.#marker = path.join(this.output, compiledMarker)
    this.#stamp = path.join(this.output, '.built')
    this.#unchecked = path.join(this.output, '.emitted')
  }

  async build({ isLenient = false } = {}): Promise<boolean> {
    if (this.#compiler === undefined) {
      if (!this.isBuilt()) process.stderr.write(noCompilerMessage)
      else this.#nameChanged()
      return this.isBuilt()
    }
    const begin = Date.now()
    const digests = isLenient ? [] : this.#digestSources()
    if (!this.isBuilt()) process.stderr.write('Compiling all sources …\n')
    const { isCompiled, problems } = await this.#compile(this.#compiler, isLenient ? this.#plan.emit : this.#plan.build)
    this.problems = problems
    if (!isCompiled) return false
    touch(this.#marker, Date.now())
    removeOrphans(this.#directory, this.output, this.#plan.folders)
    // With the time of the beginning, a source that is saved during the build is compiled next time.
    touch(isLenient ? this.#unchecked : this.#stamp, begin, digests.join('\n'))
    if (!isLenient) forget(this.#unchecked)
    return true
  }

  async checkTypes(signal: AbortSignal): Promise<readonly SourceProblem[]> {
    const begin = timeOf(this.#unchecked)
    if (begin === 0 || this.#compiler === undefined) return []
    const { isCompiled, problems } = await this.#compile(this.#compiler, this.#plan.check, signal)
    // Otherwise the next start reports the mistakes again.
    if (isCompiled && timeOf(this.#unchecked) === begin) {
      touch(this.#stamp, begin)
      forget(this.#unchecked)
    }
    return problems
  }

  async buildTests(): Promise<boolean> {
    if (this.#compiler === undefined) {
      process.stderr.write(noCompilerMessage)
      return false
    }
    const { isCompiled } = await this.#compile(this.#compiler, this.#plan.tests)
    if (isCompiled) touch(this.#marker, Date.now())
    return isCompiled
  }

  toProgram(source: string): string {
    return path.join(this.output, path.relative(this.#directory, source).replace(/ts$/, 'js'))
  }

  async buildWhenStale(options: { readonly isLenient?: boolean } = {}): Promise<boolean> {
    return (this.#compiler !== undefined && this.isBuilt() && !this.#isStale(options)) || this.build(options)
  }

  isBuilt(): boolean {
    // Only a compiler can leave an incomplete build.
    return existsSync(this.bundles) && (existsSync(this.#marker) || this.#compiler === undefined)
  }

  isBuiltSince(time: number): boolean {
    return timeOf(this.#marker) >= time
  }

  #isStale({ isLenient = false }: { readonly isLenient?: boolean }): boolean {
    const time = Math.max(timeOf(this.#stamp), isLenient ? timeOf(this.#unchecked) : 0)
    const isNewer = listSources(this.#directory).some(file => timeOf(file) >= time)
    // A file that was moved keeps its time, but leaves its old output behind.
    return isNewer || listOrphans(this.#directory, this.output, this.#plan.folders).length > 0
  }

  /** Names a source that has another content than in the build. A checkout, or a copy, has other times only. */
  #nameChanged(): void {
    const built = existsSync(this.#stamp) ? readFileSync(this.#stamp, 'utf8') : ''
    const changed = built && this.#digestSources().find(line => !built.includes(line))
    if (changed) process.stderr.write(`${changed.slice(digestLength + 1)} ${changedMessage}`)
  }

  /** For each source that can be read its digest, a blank, and its path. Emacs locks a file by a link to nothing. */
  #digestSources(): string[] {
    return listSources(this.#directory).flatMap(file => {
      try {
        const digest = createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, digestLength)
        return `${digest} ${path.relative(this.#directory, file)}`
      } catch {
        return []
      }
    })
  }

  async #compile(
    compiler: readonly string[],
    commands: CompilerPlan['build'],
    signal?: AbortSignal,
  ): Promise<{ readonly isCompiled: boolean; readonly problems: readonly SourceProblem[] }> {
    this.#plan.prepare(this.output)
    for (const options of commands) {
      const { isCompiled, output } = await compile([...compiler, ...options], this.#directory, signal)
      if (!isCompiled) return { isCompiled, problems: parseCompilerOutput(output, this.#directory) }
    }
    return { isCompiled: true, problems: [] }
  }
}

/** A file that cannot be written costs time only: the next start compiles again. */
function touch(file: string, time: number, text = ''): void {
  try {
    writeFileSync(file, text)
    utimesSync(file, time / 1000, time / 1000)
  } catch {}
}

function forget(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch {}
}

/** The file in the output that is written after all others. */
export const compiledMarker = '.compiled'

const noCompilerMessage =
  'The sources are not compiled, and there is no compiler: run "npm install", which installs the package typescript.\n' +
  'Node 22.18 and later run the sources as they are.\n'

const digestLength = 32

const changedMessage =
  'has changed since dist/ was built, which runs: there is no compiler. Run "npm install", which installs the package typescript.\n'

/** The command of the compiler that the application depends on. */
function findCompiler(directory: string): readonly string[] | undefined {
  try {
    const manifest = createRequire(path.join(directory, 'package.json')).resolve('typescript/package.json')
    // Not `bin/tsc`: tools that hook into Node need a file name extension.
    return findNativeCompiler(manifest) ?? [process.execPath, path.join(path.dirname(manifest), 'lib/tsc.js')]
  } catch {
    return undefined
  }
}

/**
 * The program of TypeScript 7 for this system: that of the package `typescript` only starts it,
 * which takes as long as its work.
 */
function findNativeCompiler(manifest: string): readonly string[] | undefined {
  try {
    const name = `@typescript/typescript-${process.platform}-${process.arch}/package.json`
    const folder = path.dirname(createRequire(manifest).resolve(name))
    const program = path.join(folder, 'lib', process.platform === 'win32' ? 'tsc.exe' : 'tsc')
    return existsSync(program) ? [program] : undefined
  } catch {
    return undefined
  }
}

/** Characters of the compiler's messages that are read. */
const outputLimit = 200_000

/** Writes the messages of the compiler on stderr, because stdout is for the results of commands. */
async function compile(
  [program = '', ...options]: readonly string[],
  directory: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly isCompiled: boolean; readonly output: string }> {
  // A debugger is for the main process: the compiler must not take its port, and needs no module of its preloads.
  const env = { ...process.env, NODE_OPTIONS: '' }
  const child = spawn(program, [...options, '--pretty', String(process.stderr.isTTY === true)], {
    stdio: ['ignore', 'pipe', 2],
    cwd: directory,
    env,
    ...(signal !== undefined && { signal }),
  })
  // The signal ends the compiler.
  child.on('error', () => undefined)
  let output = ''
  child.stdout?.setEncoding('utf8').on('data', text => {
    process.stderr.write(text)
    if (output.length < outputLimit) output += text
  })
  return new Promise(resolve => child.on('close', code => resolve({ isCompiled: code === 0, output })))
}

/** Directory entries say whether they are folders: for hundreds of files this saves a call each. */
function listSources(directory: string, folder: string = directory): string[] {
  return listEntries(folder).flatMap(entry => {
    const file = path.join(folder, entry.name)
    if (entry.isDirectory()) return mayContainSources(directory, file) ? listSources(directory, file) : []
    return isSource(entry.name) || entry.name === 'tsconfig.json' ? [file] : []
  })
}

/** Milliseconds; 0 for a file that does not exist. */
function timeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/**
 * How the compiler is called: the command lines of each task. Before one of them begins, all before it have succeeded.
 */
interface CompilerPlan {
  /** Checks the types, and writes the output of sources without a mistake. It may compare the times of the files. */
  readonly build: readonly (readonly string[])[]
  /** Writes the output also of wrong types, in a tenth of the time. It compares contents. */
  readonly emit: readonly (readonly string[])[]
  /** Finds wrong types after `emit`. */
  readonly check: readonly (readonly string[])[]
  readonly tests: readonly (readonly string[])[]
  /** The folders of sources whose output is removed together with its source. */
  readonly folders: readonly string[]
  /** Writes the files that the command lines need. */
  prepare(output: string): void
}

const packageBuild = [['--build']]

/** The package itself, in its repository. */
const packagePlan: CompilerPlan = {
  build: packageBuild,
  emit: [
    ['--project', 'bundles/profiler/client', '--noCheck'],
    ['--project', '.', '--noCheck'],
  ],
  check: packageBuild,
  tests: [['--build', '--stopBuildOnErrors', 'tests']],
  folders: ['bin', 'bundles', 'kernel', 'lib'],
  prepare() {},
}

/** The names of the routes, which the development server writes. The file may be missing. */
const routeTypes = 'var/routes.d.ts'

const applicationEmit = [['--project', 'dist/compiler']]
const applicationCheck = [['--project', 'dist/compiler/check.json']]

/** An application. The tests are compiled apart, so that a mistake in a test does not keep the server from starting. */
const applicationPlan: CompilerPlan = {
  build: [...applicationCheck, ...applicationEmit],
  emit: applicationEmit,
  check: applicationCheck,
  tests: [['--project', 'dist/tests']],
  folders: ['bundles'],
  prepare(output) {
    const include = ['bundles', 'instrumentation.ts']
    const folder = path.join(output, 'compiler')
    const writes = { noEmit: false, noEmitOnError: true, outDir: '../../dist' }
    writeWhenNew(path.join(folder, 'globals.d.ts'), globals)
    writeProject(path.join(folder, 'tsconfig.json'), include, { ...writes, ...withoutTypes }, ['globals.d.ts'])
    writeProject(path.join(folder, 'check.json'), [...include, routeTypes], {
      noEmit: true,
      tsBuildInfoFile: 'check.tsbuildinfo',
    })
    writeProject(path.join(output, 'tests/tsconfig.json'), [...include, 'tests', routeTypes], writes)
  },
}

/**
 * The compiler reads no package and no library for these options: it only removes the types of
 * each file. Imports of packages lead to an empty file, except for `#` names of the application.
 * An incremental build would infer the types of what a changed file exports, and lack `Promise`.
 */
const withoutTypes = {
  incremental: false,
  tsBuildInfoFile: null,
  noCheck: true,
  noLib: true,
  lib: null,
  types: [],
  paths: { '*': ['./globals.d.ts'], '#*': ['./none/*'] },
}

/** The types that the compiler cannot do without. */
const globals = [
  'Boolean',
  'CallableFunction',
  'Function',
  'IArguments',
  'NewableFunction',
  'Number',
  'Object',
  'RegExp',
]
  .concat('String', 'Array<T>')
  .map(name => `interface ${name} {}\n`)
  .join('')

/**
 * Writes a project of the compiler, two folders below the application, which is independent of
 * `include` and of the options for output of the application's own project. Each file is compiled
 * alone: Node 22.18 and later run it like that.
 */
function writeProject(file: string, include: readonly string[], options: object, files: readonly string[] = []): void {
  const compilerOptions = {
    rootDir: '../..',
    composite: false,
    declaration: false,
    declarationDir: null,
    declarationMap: false,
    emitDeclarationOnly: false,
    inlineSourceMap: false,
    isolatedDeclarations: false,
    isolatedModules: true,
    incremental: true,
    tsBuildInfoFile: '.tsbuildinfo',
    sourceMap: true,
    rewriteRelativeImportExtensions: true,
    ...options,
  }
  const project = {
    extends: '../../tsconfig.json',
    compilerOptions,
    files,
    include: include.map(name => `../../${name}`),
    exclude: [],
    references: [],
  }
  writeWhenNew(file, JSON.stringify(project, undefined, 2))
}

function writeWhenNew(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, text)
}

const limit = 50

/** Reads the mistakes from the output of the TypeScript compiler, plain or with colours. Files are absolute. */
export function parseCompilerOutput(output: string, directory: string): SourceProblem[] {
  // `a.ts(3,7): error TS2304: Cannot find name 'x'.`, or with colours `a.ts:3:7 - error TS2304: …`.
  const pattern = /^(?:(.+?)[(:](\d+)[,:](\d+)\)?(?::| -) )?error TS\d+: (.*(?:\n +\S.*)*)/gm
  return [...stripVTControlCharacters(output).matchAll(pattern)].slice(0, limit).map(found => {
    const [, file, line, column, text = ''] = found
    const message = text.trim()
    if (file === undefined) return { message }
    return { message, file: path.resolve(directory, file), line: Number(line), column: Number(column) }
  })
}

/**
 * Lists compiled files whose sources are gone: no compiler removes them, and a program may still import them. `folders`
 * are folders of sources in a directory, which have the same names in the folder `output`. There may also be sources
 * directly in the directory.
 */
export function listOrphans(directory: string, output: string, folders: readonly string[]): string[] {
  return [...readdirSync(output), ...folders.flatMap(folder => listFiles(output, folder))]
    .filter(file => {
      const [, base, ofTypes, ofCode = ofTypes] = /^(.+)\.(?:d\.([cm]?)ts|([cm]?)js)(?:\.map)?$/.exec(file) ?? []
      if (base === undefined) return false
      const endings = [`${ofCode}ts`, 'tsx', `${ofCode}js`, 'jsx']
      return !endings.some(ending => existsSync(path.join(directory, `${base}.${ending}`)))
    })
    .map(file => path.join(output, file))
}

/** Removes the files of {@link listOrphans}. */
function removeOrphans(directory: string, output: string, folders: readonly string[]): void {
  const orphans = listOrphans(directory, output, folders)
  for (const file of orphans) rmSync(file, { force: true })
  // Otherwise the compiler of the tests would not write the output of a source that comes back.
  if (orphans.length > 0) rmSync(path.join(output, 'tests/.tsbuildinfo'), { force: true })
}

function listFiles(output: string, folder: string): string[] {
  if (!existsSync(path.join(output, folder))) return []
  const files = readdirSync(path.join(output, folder), { recursive: true, encoding: 'utf8' })
  return files.map(file => path.join(folder, file))
}

/** Node 22.10 and later have both functions. The types of Node 20 have none. */
const { enableCompileCache = ignore, flushCompileCache = ignore } = module as {
  enableCompileCache?: (folder: string) => unknown
  flushCompileCache?: () => void
}

function ignore(): void {}

/**
 * Keeps the compiled code of an application and of the package in the application's `var/cache/`.
 * The next start reads it there, and takes a third less time. Earlier versions of Node, and a
 * folder that is not writable, change nothing. Call it before the modules are imported.
 */
export function enableCodeCache(directory: string): void {
  enableCompileCache(path.join(directory, 'var/cache'))
}

/** Creates the check of the folder of {@link enableCodeCache}; none if no code is kept. */
export function createCodeCacheChecks(directory: string): readonly HealthCheck[] {
  if (enableCompileCache === ignore || process.env.NODE_DISABLE_COMPILE_CACHE !== undefined) return []
  const folder = path.join(directory, 'var/cache')
  return [{ name: 'code cache', isOptional: true, check: checkFolder.bind(undefined, folder, {}) }]
}

/** Writes the code that is compiled so far. After a change of flags, V8 would reject what is written later. */
export function flushCodeCache(): void {
  flushCompileCache()
}
