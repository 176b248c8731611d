import { type Parameters, readArguments, type Values } from './read-arguments.ts'

/** What agents are told of the effects of a tool, by the words of MCP. */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

/** Of tools that only read records. */
export const readsRecords: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}

/** What an agent can be told of. */
export interface Tool {
  readonly name: string
  /** For people who are asked whether an agent may use it. */
  readonly title: string
  /** For the agent. */
  readonly description: string
  readonly parameters: Parameters
  readonly annotations: ToolAnnotations
  /** Answers with one text or several. @throws ToolError */
  readonly call: (given: Readonly<Record<string, unknown>>) => Promise<readonly string[]>
}

/** How a tool is declared: what it is given has the types that its parameters say. */
export interface ToolDefinition<parameters extends Parameters> extends Omit<Tool, 'parameters' | 'call'> {
  readonly parameters: parameters
  readonly answer: (values: Values<parameters>) => Promise<readonly string[]>
}

/** Declares a tool. */
export function defineTool<parameters extends Parameters>(definition: ToolDefinition<parameters>): Tool {
  const { answer, ...tool } = definition
  return { ...tool, call: async given => answer(readArguments(definition.parameters, given)) }
}
