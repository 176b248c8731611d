import { PassThrough } from 'node:stream'
import type { LoadBundles } from '#bin/application/application.ts'
import { runApplicationCommand } from '#bin/commands/console.ts'
import type { OutputStream } from '#lib/console/output.ts'

/** What a command is run with in a test. */
export interface RunInit {
  /** The bundles; by default those of the site. */
  readonly load?: LoadBundles
  /** The directory of the application; the working directory by default. */
  readonly directory?: string
  /** The columns of a terminal; a pipe where there are none. */
  readonly width?: number
  readonly env?: Readonly<Record<string, string>>
  /** What is typed. */
  readonly answer?: string
  readonly signal?: AbortSignal
  /** Called with everything on stdout so far. */
  readonly onOutput?: (stdout: string) => void
}

/** The output of a command. */
export interface RunResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Takes note of what is written. */
export function createFakeStream(
  width?: number,
  onText: (text: string) => void = () => {},
): OutputStream & { text: string } {
  return {
    text: '',
    ...(width !== undefined && { isTTY: true, columns: width }),
    write(text) {
      this.text += text
      onText(this.text)
    },
  }
}

/** Runs a command line in this process, in a terminal that is none. */
export async function runInTerminal(line: string | readonly string[], init: RunInit = {}): Promise<RunResult> {
  const { answer, env = {}, onOutput, signal = new AbortController().signal, width } = init
  const { directory = process.cwd(), load } = init
  const stdin = Object.assign(new PassThrough(), { isTTY: answer !== undefined })
  stdin.end(answer)
  const stdout = createFakeStream(width, onOutput)
  const stderr = createFakeStream(width)
  const words = typeof line === 'string' ? line.split(' ').filter(word => word !== '') : line
  const code = await runApplicationCommand(directory, words, { stdin, stdout, stderr, env, signal }, load)
  return { code, stdout: stdout.text, stderr: stderr.text }
}
