import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { SiteProcess } from '#tests/bin/site-process.ts'
import { type Registry, startRegistry } from './registry.ts'
import { runProcess, signalGroup } from './start-process.ts'

/** The output of a command, errors included, and its exit code. */
export interface Ran {
  readonly code: number | NodeJS.Signals | null
  readonly output: string
}

/** The reason for which tests of the package are skipped; false if they can be run. */
export const noNpm: string | false = spawnSync('npm', ['--version']).status === 0 ? false : 'there is no npm here'

/**
 * An empty folder on a machine without this repository and without a network: `npm` knows only the
 * registry of the test, and its home, cache and settings are in the folder.
 */
export class Workplace {
  readonly directory: string
  readonly registry: Registry
  readonly #test: Test

  private constructor(t: Test, directory: string, registry: Registry) {
    this.#test = t
    this.directory = directory
    this.registry = registry
  }

  static async create(t: Test): Promise<Workplace> {
    const directory = mkdtempSync(path.join(findRoom(), 'sinfonietta-'))
    t.teardown(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
    return new Workplace(t, directory, await startRegistry(t))
  }

  /** Runs a line of a shell in a folder of the workplace. */
  async run(line: string, folder = '.', variables: Readonly<Record<string, string>> = {}): Promise<Ran> {
    const cwd = path.join(this.directory, folder)
    const { code, stdout } = await runProcess(this.#test, ['env', ...this.#inShell(`exec 2>&1; ${line}`, variables)], {
      cwd,
    })
    return { code, output: stdout }
  }

  /** Starts a line of a shell that serves until the test ends. All its processes are in one group, as in a terminal. */
  start(t: Test, line: string, folder: string, variables: Readonly<Record<string, string>> = {}): SiteProcess {
    return new SiteProcess(t, ['env', ...this.#inShell(line, variables)], { cwd: path.join(this.directory, folder) })
  }

  path(name: string): string {
    return path.join(this.directory, name)
  }

  has(name: string): boolean {
    return existsSync(this.path(name))
  }

  read(name: string): string {
    return readFileSync(this.path(name), 'utf8')
  }

  write(name: string, content: string | Buffer): void {
    mkdirSync(path.dirname(this.path(name)), { recursive: true })
    writeFileSync(this.path(name), content)
  }

  /** Lists the files of a folder that are neither installed nor written by programs, with their texts. */
  filesOf(folder: string): Map<string, string> {
    const names = readdirSync(this.path(folder), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => path.relative(this.path(folder), path.join(entry.parentPath, entry.name)))
      .filter(name => !/^(?:node_modules|var|dist|\.tap)\//.test(name))
    return new Map(names.sort().map(name => [name, this.read(path.join(folder, name))]))
  }

  /**
   * The parameters of `env` for a shell without the variables of this process. Tap adds its own to each child process.
   */
  #inShell(line: string, variables: Readonly<Record<string, string>>): string[] {
    const all = {
      PATH: process.env.PATH ?? '',
      HOME: this.path('home'),
      npm_config_registry: this.registry.url,
      npm_config_cache: this.path('cache'),
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
      ...variables,
    }
    return ['-i', ...Object.entries(all).map(([name, value]) => `${name}=${value}`), 'sh', '-c', line]
  }
}

/** Sends a signal to all processes of a line that `start` has started, as a terminal does for Ctrl-C. */
export function interrupt({ child }: SiteProcess, signal: NodeJS.Signals): void {
  if (child.pid !== undefined) signalGroup(child.pid, signal)
}

/** A folder for some ten thousand files: in memory if there is room, because that halves the time of `npm install`. */
function findRoom(): string {
  const memory = '/dev/shm'
  if (!existsSync(memory)) return tmpdir()
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > 2 ** 31 ? memory : tmpdir()
}
