import { PROFILER_MCP_PACKAGE_MISSING } from './errors.ts'

/** The parts of the SDK of MCP that are used, and zod, in which its tools are described. */
export type McpSdk = Pick<typeof import('@modelcontextprotocol/sdk/server/mcp.js'), 'McpServer'> &
  Pick<typeof import('@modelcontextprotocol/sdk/server/stdio.js'), 'StdioServerTransport'> &
  Pick<
    typeof import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
    'WebStandardStreamableHTTPServerTransport'
  > &
  Pick<typeof import('zod'), 'z'>

/**
 * Loads the SDK, an optional package of some megabytes, when the first agent asks.
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
  const [mcp, stdio, http, zod] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/mcp.js'),
    import('@modelcontextprotocol/sdk/server/stdio.js'),
    import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
    import('zod'),
  ])
  return { ...mcp, ...stdio, ...http, z: zod.z }
}
