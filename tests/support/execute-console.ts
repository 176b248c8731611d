import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { startProcess } from './start-process.ts'

/** The program of the console, with coverage. */
export const consoleProgram: string = `"${process.execPath}" dist/tests/fixtures/application-program.js runConsole`

/** Where a command runs, and the beginning of its line in the shell. */
export interface ConsoleInit {
  readonly directory?: string
  readonly shell?: string
}

/** A running command. */
export interface ConsoleProcess {
  readonly child: ChildProcess
  /** What it has printed until now. */
  readonly printed: { readonly stdout: string; readonly stderr: string }
  /** Resolves with its exit code and signal. */
  readonly ended: Promise<unknown>
}

/** Runs a command of the application in a directory, in a process of its own. */
export function executeConsole(t: Test, line: string, init: ConsoleInit = {}): ConsoleProcess {
  const { directory = '.', shell = `exec ${consoleProgram}` } = init
  const child = startProcess(t, ['sh', '-c', `${shell} "${directory}" ${line}`])
  const printed = { stdout: '', stderr: '' }
  child.stdout?.on('data', chunk => (printed.stdout += chunk))
  child.stderr?.on('data', chunk => (printed.stderr += chunk))
  const ended = once(child, 'close')
  return { child, printed, ended }
}
