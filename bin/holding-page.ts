import { createServer, listen } from '../kernel/server/http-server.ts'
import { parseOptions } from './serve-options.ts'

const page = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><meta http-equiv="refresh" content="1">
<title>The application does not run</title></head>
<body>
<h1>The application does not run</h1>
<p>The terminal of the server shows the reason. This page looks every second whether the application runs again.</p>
</body></html>
`

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'",
  'cache-control': 'no-store',
  'retry-after': '1',
}

/** A server for `http:` or `https:`. */
type Server = Awaited<ReturnType<typeof createServer>>

/**
 * A page in the place of an application that cannot start: a browser that waits for it loads the application as soon as it
 * runs again. Any client may see the page, so it does not show the reason.
 */
export class HoldingPage {
  readonly #commandLine: readonly string[]
  #server: Promise<Server | undefined> | undefined

  /** The page is served at the address of this command line. */
  constructor(commandLine: readonly string[]) {
    this.#commandLine = commandLine
  }

  /** Answers each request with the page. Without a fixed port, or if the port is taken, it does nothing. */
  async open(): Promise<void> {
    this.#server ??= this.#listen().catch(() => undefined)
    await this.#server
  }

  /** Leaves the port to the application. */
  async close(): Promise<void> {
    const server = await this.#server
    this.#server = undefined
    if (server === undefined) return
    const closed = new Promise(resolve => server.close(resolve))
    server.closeAllConnections()
    await closed
  }

  async #listen(): Promise<Server | undefined> {
    const options = parseOptions(this.#commandLine)
    if (options === 'help' || options.port === 0) return undefined
    const server = await createServer((_request, response) => {
      response.writeHead(503, headers).end(page)
    }, options.identity)
    await listen(server, options.host, options.port)
    return server
  }
}
