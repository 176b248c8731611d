import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { copyProject } from '#tests/bin/site-process.ts'

/** The output of a command, errors included, and its exit code. */
export interface Ran {
  readonly code: number | null
  readonly output: string
}

/** A copy of the project in which guides are followed, like a new clone. */
export class GuideProject {
  readonly directory: string

  constructor(t: Test) {
    this.directory = t.testdir()
    copyProject(this.directory)
    for (const name of ['biome.json', '.gitignore', '.taprc']) cpSync(name, path.join(this.directory, name))
  }

  read(file: string): string {
    return readFileSync(path.join(this.directory, file), 'utf8')
  }

  write(file: string, content: string): void {
    const place = path.join(this.directory, file)
    mkdirSync(path.dirname(place), { recursive: true })
    writeFileSync(place, content)
  }

  /** Runs a line of a shell in the project, with nothing in its environment that tap puts there. */
  async run(line: string): Promise<Ran> {
    const { HOME = '', PATH = '' } = process.env
    const command = ['-i', `HOME=${HOME}`, `PATH=${PATH}`, 'sh', '-c', `exec 2>&1; ${line}`]
    const child = spawn('env', command, { cwd: this.directory, stdio: ['ignore', 'pipe', 'ignore'] })
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    return { code, output }
  }
}
