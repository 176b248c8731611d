import { once } from 'node:events'
import { createServer, listen } from '../../kernel/server/http-server.ts'
import { report, type ToHoldingProcess } from './child-processes.ts'
import { type HoldingServer, holdingHeaders, holdingPage } from './holding-page.ts'
import { type Options, parseOptions } from './serve-options.ts'

// The program that serves a page in the place of an application: the directory of the application,
// then options. The first message of the supervisor has the mistakes.
process.once('disconnect', () => process.exit())
const [directory = '', ...commandLine] = process.argv.slice(2)
const options = parseOptions(commandLine)
const [{ problems }] = (await once(process, 'message')) as [ToHoldingProcess]
const server = options === 'help' ? undefined : await serveHolding(options)
process.once('SIGTERM', async () => {
  await server?.close()
  process.exit()
})
void report('listening')

async function serveHolding(options: Options): Promise<HoldingServer> {
  if (problems.length === 0) return serveConstant(options)
  try {
    // The code of the framework is loaded only to show mistakes.
    const { serveProblems } = await import('./holding-application.ts')
    return await serveProblems(directory, options, problems)
  } catch {
    // The mistake may be in a setting, or in a template that replaces one of the framework.
    return serveConstant(options)
  }
}

/** Milliseconds for requests that have just arrived. */
const closingTime = 200

async function serveConstant({ host, identity, port, socket }: Options): Promise<HoldingServer> {
  const server = await createServer((_request, response) => {
    response.writeHead(503, holdingHeaders).end(holdingPage)
  }, identity)
  await listen(server, host, port, socket)
  return {
    async close() {
      const closed = new Promise(resolve => server.close(resolve))
      const timer = setTimeout(() => server.closeAllConnections(), closingTime)
      await closed
      clearTimeout(timer)
    },
  }
}
