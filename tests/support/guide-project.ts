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

/** The list of bundles with which each guide begins. */
const list = `import { type Bundle, type Config, createFrameworkBundle, isDebugOn } from 'sinfonietta'
import { homeBundle } from './home/home-bundle.ts'

/** The bundles of the application, in the order in which they are registered. Add yours to the list. */
export async function loadBundles(config: Config): Promise<readonly Bundle[]> {
  const bundles = [createFrameworkBundle(), homeBundle]
  return isDebugOn(config) ? [...bundles, ...(await loadDevelopment())] : bundles
}

/** Imports the bundles of development. Without debug they are not even loaded. */
async function loadDevelopment(): Promise<readonly Bundle[]> {
  const { makerBundle } = await import('sinfonietta/console')
  const { createProfilerBundle } = await import('sinfonietta/profiler')
  return [makerBundle, createProfilerBundle()]
}
`

const home = `import { type Bundle, Response } from 'sinfonietta'

/** The home page. */
export const homeBundle: Bundle = {
  name: 'home',
  register({ routes }) {
    routes.add({ name: 'home', path: '/', controller: () => Response.html('<h1>Welcome</h1>') })
  },
}
`

/** An application in which guides are followed. */
export class GuideProject {
  readonly directory: string

  constructor(t: Test) {
    this.directory = t.testdir()
    copyProject(this.directory)
    for (const name of ['biome.json', '.gitignore', '.taprc']) cpSync(name, path.join(this.directory, name))
    this.write('bundles/home/home-bundle.ts', home)
    this.reset()
  }

  /** Undoes the changes of a guide in the list of bundles. */
  reset(): void {
    this.write('bundles/index.ts', list)
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
