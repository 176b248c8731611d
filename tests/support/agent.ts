import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { Test } from 'tap'
import { endFirst } from './start-process.ts'

/** What a tool has answered. */
export interface AgentAnswer {
  /** All texts, one below the other. */
  readonly text: string
  readonly texts: readonly string[]
  readonly isError: boolean
}

/** A coding agent, as a server sees it. */
export interface Agent {
  readonly client: Client
  ask(tool: string, given?: Readonly<Record<string, unknown>>): Promise<AgentAnswer>
}

/** Connects the client of the SDK; it is closed when the test ends, and with it the process of a transport on stdin. */
export async function connectAgent(t: Test, transport: Transport): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  endFirst(t, () => client.close())
  await client.connect(transport)
  return {
    client,
    async ask(name, given = {}) {
      const { content, isError } = await client.callTool({ name, arguments: { ...given } })
      const texts = (content as { readonly text: string }[]).map(({ text }) => text)
      return { text: texts.join('\n'), texts, isError: isError === true }
    },
  }
}
