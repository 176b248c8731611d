import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { createApplication } from '#bin/new-application.ts'

/** The output of a command, errors included, and its exit code. */
export interface Ran {
  readonly code: number | null
  readonly output: string
}

/** Packages of an application, as `npm install` puts them into its node_modules. */
const packages = ['@types', 'tap', 'typescript', '.bin', '@biomejs', 'valibot']

/** A new application, in which guides are followed. Its packages are links. */
export class GuideProject {
  readonly directory: string
  /** The content of files before the guide; `undefined` for files that the guide has added. */
  readonly #before = new Map<string, string | undefined>()

  constructor(t: Test) {
    this.directory = path.join(t.testdir(), 'my-site')
    createApplication(this.directory, 'file:the-package')
    mkdirSync(path.join(this.directory, 'node_modules'))
    for (const name of packages) this.#link(name, path.join('node_modules', name))
    this.#link('sinfonietta', '.')
    this.#put('biome.json', readFileSync('biome.json', 'utf8'))
  }

  read(file: string): string {
    return readFileSync(path.join(this.directory, file), 'utf8')
  }

  /** Writes a file of a guide, until `restore` is called. */
  write(file: string, content: string): void {
    const before = existsSync(path.join(this.directory, file)) ? this.read(file) : undefined
    if (before === content) return
    if (!this.#before.has(file)) this.#before.set(file, before)
    this.#put(file, content)
    // As `npm install ./packages/shop` does it.
    const [, name] = /^packages\/([^/]+)\/package\.json$/.exec(file) ?? []
    if (name !== undefined) this.#link(name, path.join(this.directory, 'packages', name))
  }

  /** Undoes what a guide has written. */
  restore(): void {
    for (const [file, content] of this.#before) {
      if (content === undefined) rmSync(path.join(this.directory, file), { force: true })
      else this.#put(file, content)
    }
    this.#before.clear()
  }

  /** Runs a line of a shell in the project, with nothing in its environment that tap puts there. */
  async run(line: string): Promise<Ran> {
    const { HOME = '', PATH = '' } = process.env
    const command = ['-i', `HOME=${HOME}`, `PATH=${PATH}`, 'sh', '-c', `exec 2>&1; ${line}`]
    const child = spawn('env', command, { cwd: this.directory, stdio: ['ignore', 'pipe', 'ignore'] })
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    return { code, output }
  }

  #put(file: string, content: string): void {
    const place = path.join(this.directory, file)
    mkdirSync(path.dirname(place), { recursive: true })
    writeFileSync(place, content)
  }

  #link(name: string, target: string): void {
    const place = path.join(this.directory, 'node_modules', name)
    if (!existsSync(place)) symlinkSync(path.resolve(target), place)
  }
}
