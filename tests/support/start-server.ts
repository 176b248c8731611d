import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { startProcess } from './start-process.ts'
import { within } from './until.ts'

/** A program of a package of Debian that tests start as a server. */
export interface ServerProgram {
  readonly command: string
  readonly args: readonly string[]
  /** What it writes when it answers. */
  readonly ready: RegExp
  /** The signal that ends it at once. */
  readonly stop: NodeJS.Signals
}

/** Databases refuse to run as root: then they run as a user without privileges. */
const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** Where Debian has programs that are not in the `PATH`. */
const folders = ['/usr/sbin', ...listFolders('/usr/lib/postgresql')]

function listFolders(parent: string): string[] {
  return existsSync(parent)
    ? readdirSync(parent)
        .map(version => path.join(parent, version, 'bin'))
        .reverse()
    : []
}

/** The path of a program; `undefined` if it is not installed. */
export function findProgram(name: string): string | undefined {
  if (spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined) return name
  return folders.map(folder => path.join(folder, name)).find(file => existsSync(file))
}

/** The reason to skip tests that need programs; `false` if all are installed. */
export function lacksPrograms(server: string, ...names: string[]): string | false {
  const missing = names.filter(name => findProgram(name) === undefined)
  return missing.length === 0 ? false : `needs ${server}: ${missing.join(', ')} is not installed`
}

/** Creates a temporary folder of the user of the servers, which is removed when the test ends. */
export function createServerFolder(t: Test): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'server-'))
  if (unprivileged.uid !== undefined) chownSync(folder, unprivileged.uid, unprivileged.gid)
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** Runs a program as the user of the servers. @throws if it fails */
export function runAsServer(command: string, args: readonly string[]): void {
  execFileSync(String(findProgram(command)), args, { ...unprivileged, cwd: tmpdir(), stdio: 'pipe' })
}

/** Starts a server, waits until it answers, and ends it with the test. @throws with its output if it does not answer */
export async function startServer(t: Test, { args, command, ready, stop }: ServerProgram): Promise<ChildProcess> {
  const server = startProcess(t, [String(findProgram(command)), ...args], { ...unprivileged, cwd: tmpdir(), stop })
  let output = ''
  const started = new Promise<void>((resolve, reject) => {
    const fail = (reason: string) => reject(new Error(`${command} ${reason}:\n${output}`))
    const take = (text: Buffer) => {
      output += text
      if (ready.test(output)) resolve()
    }
    server.stdout?.on('data', take)
    server.stderr?.on('data', take)
    server.once('error', error => fail(error.message))
    server.once('exit', () => fail('has ended; its output'))
  })
  await within(started, () => `${command} has not printed ${ready}; its output:\n${output}`)
  return server
}
