import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { SourceProblem } from '../../kernel/bundle.ts'
import { forkWithSocket, sendTo } from './child-processes.ts'

/**
 * A page in the place of an application that cannot start: a browser that waits for it loads the application as
 * soon as it runs again. Developers see the mistakes with their places. A process of its own serves the page.
 */
export class HoldingPage {
  readonly #parameters: readonly string[]
  readonly #socket: number | undefined
  #process: ChildProcess | undefined
  /** The number of calls: only the last one counts. */
  #calls = 0

  /** The page is served at the address of this command line, or on a socket, for the application in a directory. */
  constructor(directory: string, commandLine: readonly string[], socket?: number) {
    this.#parameters = [directory, ...commandLine]
    this.#socket = socket
  }

  /**
   * Answers each request with the page, instead of an earlier one, and resolves then. If the port
   * is taken, or after a later call, it does nothing.
   */
  async open(problems: readonly SourceProblem[] = []): Promise<void> {
    const call = ++this.#calls
    await this.#end()
    if (call !== this.#calls) return
    // A debugger is for the application.
    const child = forkWithSocket('holding-process.js', this.#parameters, this.#socket, [])
    this.#process = child
    sendTo(child, { problems })
    await Promise.race([once(child, 'message'), once(child, 'exit')])
  }

  /** Leaves the port to the application. */
  async close(): Promise<void> {
    this.#calls++
    await this.#end()
  }

  async #end(): Promise<void> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill()
    await ended
  }
}

/** A server at the port of an application that cannot start. */
export interface HoldingServer {
  close(): Promise<void>
}

const style = `body { max-width: 34rem; margin: 18vh auto; padding: 0 1.5rem; font: 1rem/1.6 system-ui, sans-serif }
h1 { margin: 0 0 0.5rem; padding-top: 1rem; border-top: 4px solid light-dark(#a2231d, #f2958c); font-size: 1.5rem; line-height: 1.3 }
`

/** A page without the reason: any client may see it. */
export const holdingPage: string = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta http-equiv="refresh" content="1">
<title>The application does not run</title><style>${style}</style></head>
<body>
<h1>The application does not run</h1>
<p>The terminal of the server shows the reason. This page looks every second whether the application runs again.</p>
</body></html>
`

/** The headers of {@link holdingPage}. */
export const holdingHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
  'cache-control': 'no-store',
  'retry-after': '1',
} as const
