import { PROFILER_MCP_PACKAGE_MISSING } from './errors.ts'

/** What is used of the SDK of MCP. */
export type McpSdk = Pick<typeof import('@modelcontextprotocol/sdk/server/index.js'), 'Server'> &
  Pick<typeof import('@modelcontextprotocol/sdk/server/stdio.js'), 'StdioServerTransport'> &
  Pick<
    typeof import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
    'WebStandardStreamableHTTPServerTransport'
  > &
  Pick<
    typeof import('@modelcontextprotocol/sdk/types.js'),
    'CallToolRequestSchema' | 'ErrorCode' | 'ListToolsRequestSchema' | 'McpError'
  >

/**
 * Loads the SDK, an optional package of some megabytes: only those pay for it who have an agent.
 *
 * @throws PROFILER_MCP_PACKAGE_MISSING
 */
export async function loadSdk(load: () => Promise<McpSdk> = importSdk): Promise<McpSdk> {
  try {
    return await load()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') {
      throw new PROFILER_MCP_PACKAGE_MISSING([], { cause: error })
    }
    throw error
  }
}

async function importSdk(): Promise<McpSdk> {
  const [server, stdio, http, types] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/server/stdio.js'),
    import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ])
  return { ...server, ...stdio, ...http, ...types }
}
