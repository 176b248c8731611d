import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import { createApplication, type Kind } from '#bin/package/new-application.ts'
import { runProcess, withVariables } from './start-process.ts'

/** The output of a command, errors included, and its exit code. */
export interface Ran {
  readonly code: number | NodeJS.Signals | null
  readonly output: string
}

/** Packages of an application, as `npm install` puts them into its node_modules. */
const packages = [
  '@types',
  'tap',
  'typescript',
  '.bin',
  '@biomejs',
  '@opentelemetry',
  'express',
  'fastify',
  'hono',
  'ioredis',
  'pg',
  'prom-client',
  'rate-limiter-flexible',
  'i18next',
  'nodemailer',
  'valibot',
  'ws',
]

/** The folder of compiled code of all guides. */
export const compiled = '.checked'

const kept = ['node_modules', 'dist', compiled]

/** A new application, in which guides are followed. Its packages are links. */
export class GuideProject {
  readonly directory: string
  /** A new application, from which the project is made. */
  readonly #origin: string
  readonly #test: Test
  #built: Promise<unknown> | undefined

  constructor(t: Test, kind?: Kind) {
    this.#test = t
    const folder = t.testdir()
    this.directory = path.join(folder, 'my-site')
    this.#origin = path.join(folder, 'origin/my-site')
    createApplication(this.#origin, 'file:the-package', kind)
    cpSync('biome.json', path.join(this.#origin, 'biome.json'))
    mkdirSync(path.join(this.directory, 'node_modules'), { recursive: true })
    for (const name of packages) this.#link(name, path.join('node_modules', name))
    this.#link('sinfonietta', '.')
    this.reset()
  }

  /** Makes the project a new application again. What was compiled stays: a compiler needs a second to start. */
  reset(): void {
    for (const name of readdirSync(this.directory)) {
      if (!kept.includes(name)) rmSync(path.join(this.directory, name), { recursive: true })
    }
    cpSync(this.#origin, this.directory, { recursive: true })
  }

  has(file: string): boolean {
    return existsSync(path.join(this.directory, file))
  }

  read(file: string): string {
    return readFileSync(path.join(this.directory, file), 'utf8')
  }

  write(file: string, content: string): void {
    const place = path.join(this.directory, file)
    mkdirSync(path.dirname(place), { recursive: true })
    writeFileSync(place, content)
    // As `npm install ./packages/shop` does it.
    const [, name] = /^packages\/([^/]+)\/package\.json$/.exec(file) ?? []
    if (name !== undefined) this.#link(name, path.join(this.directory, 'packages', name))
  }

  /** Runs a line of a shell in the project, with these variables and nothing in its environment that tap puts there. */
  async run(line: string, variables: Readonly<Record<string, string>> = {}): Promise<Ran> {
    const command = withVariables(variables, 'sh', '-c', `exec 2>&1; ${line}`)
    const { code, stdout } = await runProcess(this.#test, command, { cwd: this.directory })
    return { code, output: stdout }
  }

  /**
   * Compiles the project for the first time, which the first command would report. Readers of a
   * guide have started theirs before.
   */
  async build(): Promise<void> {
    this.#built ??= this.run('bin/console about')
    await this.#built
  }

  #link(name: string, target: string): void {
    const place = path.join(this.directory, 'node_modules', name)
    if (!existsSync(place)) symlinkSync(path.resolve(target), place)
  }
}
