import { Writable } from 'node:stream'
import { type ConsoleCommand, exitCodes } from '../../../../kernel/console-command.ts'
import type { Logger } from '../../../../lib/log/logger.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import type { McpSdk } from './load-sdk.ts'
import { openServer } from './open-server.ts'
import type { Tool } from './tool.ts'

/** What agents are answered with. */
export interface McpServices {
  readonly loadSdk: () => Promise<McpSdk>
  /** They are loaded when they are asked for first. */
  readonly tools: () => Promise<readonly Tool[]>
  readonly storage: Pick<ProfileStorage, 'load'>
  readonly logger: Logger
}

/** Creates the command that answers an agent on stdin and stdout. */
export function createMcpCommand({ loadSdk, logger, storage, tools }: McpServices): ConsoleCommand {
  return {
    name: 'mcp',
    description: 'Answers a coding agent from the records, on stdin and stdout, by the Model Context Protocol',
    examples: [{ line: 'mcp', purpose: 'is what an agent starts; docs/guides/coding-agents.md says how' }],
    async run({ signal, stdin }, output) {
      const sdk = await loadSdk()
      await storage.load()
      const { server, whenAnswered } = openServer(sdk, await tools(), logger)
      const isOver = new Promise<unknown>(resolve => {
        stdin.once('end', resolve)
        signal.addEventListener('abort', resolve, { once: true })
        if (signal.aborted) resolve(undefined)
      })
      const stdout = new Writable({
        decodeStrings: false,
        write(text, _encoding, done) {
          output.write(String(text))
          done()
        },
      })
      await server.connect(new sdk.StdioServerTransport(stdin, stdout))
      output.note('A coding agent is answered here until stdin ends.')
      await isOver
      await whenAnswered()
      await server.close()
      return exitCodes.success
    },
  }
}
