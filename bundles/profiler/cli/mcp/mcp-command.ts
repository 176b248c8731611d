import { Writable } from 'node:stream'
import { type ConsoleCommand, exitCodes } from '../../../../kernel/console-command.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import type { McpSdk } from './load-sdk.ts'
import type { OpenServer } from './open-server.ts'

/** The SDK, and a server of tools for each agent. */
export interface LoadedMcp {
  readonly sdk: McpSdk
  readonly open: () => OpenServer
}

/** The services that the command uses. */
export interface McpCommandServices {
  readonly storage: Pick<ProfileStorage, 'load'>
  readonly load: () => Promise<LoadedMcp>
}

/** Creates the command that answers an agent on stdin and stdout. */
export function createMcpCommand({ load, storage }: McpCommandServices): ConsoleCommand {
  return {
    name: 'mcp',
    description: 'Answers a coding agent from the profiles, on stdin and stdout, by the Model Context Protocol',
    examples: [{ line: 'mcp', purpose: 'is started by the agent; see guides/coding-agents.md in the documents' }],
    async run({ signal, stdin }, output) {
      const { open, sdk } = await load()
      await storage.load()
      const { server, whenAnswered } = open()
      const hasEnded = new Promise<unknown>(resolve => {
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
      output.note('Waiting for a coding agent on stdin.')
      await hasEnded
      await whenAnswered()
      await server.close()
      return exitCodes.success
    },
  }
}
