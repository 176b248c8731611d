import type { SourceProblem } from '../kernel/bundle.ts'
import { createServer, listen } from '../kernel/server/http-server.ts'
import { type HoldingServer, holdingHeaders, holdingPage } from './holding-answer.ts'
import { type Options, parseOptions } from './serve-options.ts'

/**
 * A page in the place of an application that cannot start: a browser that waits for it loads the application as soon as it
 * runs again. Developers see the mistakes with their places.
 */
export class HoldingPage {
  readonly #directory: string
  readonly #commandLine: readonly string[]
  #server: Promise<HoldingServer | undefined> | undefined

  /** The page is served at the address of this command line, for the application in a directory. */
  constructor(directory: string, commandLine: readonly string[]) {
    this.#directory = directory
    this.#commandLine = commandLine
  }

  /**
   * Answers each request with the page, instead of an earlier one. Without a fixed port, or if the port is taken, it does
   * nothing.
   */
  async open(problems: readonly SourceProblem[] = []): Promise<void> {
    await this.close()
    this.#server = this.#listen(problems).catch(() => undefined)
    await this.#server
  }

  /** Leaves the port to the application. */
  async close(): Promise<void> {
    const server = await this.#server
    this.#server = undefined
    await server?.close()
  }

  async #listen(problems: readonly SourceProblem[]): Promise<HoldingServer | undefined> {
    const options = parseOptions(this.#commandLine)
    if (options === 'help' || options.port === 0) return undefined
    if (problems.length === 0) return serveConstant(options)
    try {
      // The code of the framework is loaded with the first mistake.
      const { serveProblems } = await import('./holding-application.ts')
      return await serveProblems(this.#directory, options, problems)
    } catch {
      // The mistake may be in a setting, or in a template that replaces one of the framework.
      return serveConstant(options)
    }
  }
}

async function serveConstant({ host, identity, port }: Options): Promise<HoldingServer> {
  const server = await createServer((_request, response) => {
    response.writeHead(503, holdingHeaders).end(holdingPage)
  }, identity)
  await listen(server, host, port)
  return {
    async close() {
      const closed = new Promise(resolve => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
