import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { SourceProblem } from '../kernel/bundle.ts'
import { parseOptions } from './serve-options.ts'
import { forkWithSocket } from './site-processes.ts'

/**
 * A page in the place of an application that cannot start: a browser that waits for it loads the application as soon as it
 * runs again. Developers see the mistakes with their places. A process of its own serves the page.
 */
export class HoldingPage {
  readonly #parameters: readonly string[]
  readonly #socket: number | undefined
  readonly #isPossible: boolean
  #process: ChildProcess | undefined

  /** The page is served at the address of this command line, or on a socket, for the application in a directory. */
  constructor(directory: string, commandLine: readonly string[], socket?: number) {
    const options = parseOptions(commandLine)
    this.#parameters = [directory, ...commandLine]
    this.#socket = socket
    this.#isPossible = options !== 'help' && (socket !== undefined || options.port !== 0)
  }

  /**
   * Answers each request with the page, instead of an earlier one, and resolves then. Without a fixed port, or if the port is
   * taken, it does nothing.
   */
  async open(problems: readonly SourceProblem[] = []): Promise<void> {
    await this.close()
    if (!this.#isPossible) return
    // A debugger is for the application.
    const child = forkWithSocket('holding-process.js', this.#parameters, this.#socket, [])
    this.#process = child
    child.send({ problems }, () => undefined)
    await Promise.race([once(child, 'message'), once(child, 'exit')])
  }

  /** Leaves the port to the application. */
  async close(): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill()
    await ended
  }
}
