import { Readable } from 'node:stream'
import type { Application } from '../../kernel/bundle.ts'

/** How a console command has ended, and what it has printed. */
export interface CommandResult {
  /** 0 for success; see `exitCodes`. */
  readonly code: number
  /** The result of the command: its stdout. */
  readonly output: string
  /** Messages and mistakes: its stderr. */
  readonly errors: string
}

/**
 * Runs a command of the console in a test, with the words that follow its name:
 * `runCommand(app, 'visits:list', ['--json'])`. An error of the command is printed, as in `bin/console`.
 */
export async function runCommand(
  app: Pick<Application, 'commands' | 'config'>,
  name: string,
  words: readonly string[] = [],
): Promise<CommandResult> {
  const { runCommandOf } = await import('./console.ts')
  const output: string[] = []
  const errors: string[] = []
  const terminal = {
    stdin: Readable.from([]),
    stdout: { write: (text: string) => output.push(text) },
    stderr: { write: (text: string) => errors.push(text) },
    env: {},
    signal: new AbortController().signal,
  }
  const code = await runCommandOf(app, [name, ...words], terminal)
  return { code, output: output.join(''), errors: errors.join('') }
}
