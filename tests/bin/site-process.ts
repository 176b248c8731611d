import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Readable } from 'node:stream'
import type { Test } from 'tap'
import { type ProcessOptions, startProcess } from '#tests/support/start-process.ts'
import { until, within } from '#tests/support/until.ts'

type Piped = ChildProcessByStdio<null, Readable, Readable>

/** A process of the site and its output. It is killed when the test ends. */
export class SiteProcess {
  readonly child: Piped
  stdout = ''
  stderr = ''
  #unread = ''
  readonly #ended: Promise<unknown>

  constructor(t: Test, command: readonly string[], options: ProcessOptions = {}) {
    // Its output is piped, which its type does not say.
    this.child = startProcess(t, command, options) as Piped
    const { stdout, stderr } = this.child
    // Node emits no "close" for a child that was disconnected.
    this.#ended = Promise.all([once(this.child, 'exit'), once(stdout, 'close'), once(stderr, 'close')])
    stdout.on('data', chunk => {
      this.stdout += chunk
      this.#unread += chunk
    })
    stderr.on('data', chunk => {
      this.stderr += chunk
      this.#unread += chunk
    })
  }

  /** Waits for an output after the one that the previous `until` has found. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    const find = () => pattern.exec(this.#unread)
    const isFound = () => {
      if (find() !== null) return true
      if (this.child.exitCode !== null) throw new Error(this.#describe(`has ended without the output ${pattern}`))
      return false
    }
    await until(isFound, 20, () => this.#describe(`has not printed ${pattern}`))
    // It was found.
    const found = find() as RegExpExecArray
    this.#unread = this.#unread.slice(found.index + found[0].length)
    return found
  }

  /** Waits until the site serves (again). Resolves with its URL. */
  async url(): Promise<string> {
    return String((await this.until(/Sinfonietta serves (https?:\S+)/))[1])
  }

  /** Waits until the process has ended. Resolves with its exit code, or with the signal that has ended it. */
  async end(): Promise<number | NodeJS.Signals | null> {
    await within(this.#ended, () => this.#describe('has not ended'))
    return this.child.exitCode ?? this.child.signalCode
  }

  #describe(state: string): string {
    return `The process "${this.child.spawnargs.join(' ')}" ${state}; its output: ${this.#unread}`
  }
}

/** Starts the main process of the project itself, without a supervisor. Its workers have its options of Node, too. */
export function startSite(
  t: Test,
  options: readonly string[],
  variables: NodeJS.ProcessEnv = {},
  nodeOptions: readonly string[] = [],
): SiteProcess {
  const command = [process.execPath, ...nodeOptions, 'dist/bin/serving/worker.js', '.', ...options]
  return startProgram(t, command, variables)
}

/** Starts any program. */
export function startProgram(t: Test, command: readonly string[], variables: NodeJS.ProcessEnv = {}): SiteProcess {
  const env = { ...process.env, ...variables }
  return new SiteProcess(t, command, { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
}

/** Starts a program of `tests/fixtures`. */
export function startFixture(
  t: Test,
  name: string,
  variables: NodeJS.ProcessEnv,
  parameters: readonly string[] = [],
  options: readonly string[] = [],
): SiteProcess {
  const command = [
    process.execPath,
    ...options,
    '--enable-source-maps',
    `dist/tests/fixtures/${name}.js`,
    ...parameters,
  ]
  return startProgram(t, command, variables)
}

/** Starts `bin/serve` of an application. */
export function startApplication(
  t: Test,
  directory: string,
  options: readonly string[] = ['--port=0'],
  variables: NodeJS.ProcessEnv = {},
): SiteProcess {
  return startProgram(t, [process.execPath, path.join(directory, 'bin/serve'), ...options], variables)
}

/** Starts a program of an application: the name of its function, the directory, and options. */
export function startApplicationProgram(t: Test, parameters: readonly string[]): SiteProcess {
  return startProgram(t, [process.execPath, 'dist/tests/fixtures/application-program.js', ...parameters])
}

/**
 * For tests that continue one another, such as those of one site: after the first one that fails,
 * the others fail at once. Each of them would wait for its time limit.
 */
export function endAtFirstFailure(t: Test): void {
  let failed: string | undefined
  t.beforeEach(() => {
    if (failed !== undefined) throw new Error(`It was not run: "${failed}" has failed.`)
  })
  t.afterEach(test => {
    if (!test.passing()) failed ??= test.name
  })
}

/** Copies the files of the site, so that a test may change them. */
export function copyProject(directory: string): void {
  const parts = ['bin', 'bundles', 'kernel', 'lib', 'templates', '.env', 'package.json', 'tsconfig.json']
  for (const part of parts) cpSync(part, path.join(directory, part), { recursive: true })
  // The tests of the project are not copied, nor is the project for tests of client code.
  const tests = JSON.parse(readFileSync('tests/tsconfig.json', 'utf8'))
  mkdirSync(path.join(directory, 'tests'))
  writeFileSync(path.join(directory, 'tests/tsconfig.json'), JSON.stringify({ ...tests, references: [{ path: '..' }] }))
  symlinkSync(path.resolve('node_modules'), path.join(directory, 'node_modules'))
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, milliseconds))
}
