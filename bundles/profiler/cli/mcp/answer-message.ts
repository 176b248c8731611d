import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import type { McpSdk } from './load-sdk.ts'

/** What the transport looks at. */
const headers: readonly string[] = ['accept', 'content-type', 'mcp-protocol-version']

/**
 * Answers one message over HTTP. The transport of the SDK knows the requests and responses of the Fetch API only, so ours
 * becomes one of those, and its answer one of ours.
 *
 * @throws BODY_TYPE_UNSUPPORTED (415) BODY_JSON_INVALID (400)
 */
export async function answerMessage(request: Request, server: Server, sdk: McpSdk): Promise<Response> {
  const message = await request.json()
  // MCP has dropped them in 2025; one with a call that is cancelled would never be answered.
  if (Array.isArray(message)) return Response.json(noBatches, { status: 400 })
  const sent = headers.flatMap(name => request.headers.getAll(name).map((value): [string, string] => [name, value]))
  const web = new globalThis.Request(`http://localhost${request.rawPath}`, { method: request.method, headers: sent })
  const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    const answer = await transport.handleRequest(web, { parsedBody: message })
    return new Response((await answer.text()) || null, { status: answer.status, headers: [...answer.headers] })
  } finally {
    await server.close()
  }
}

/** As JSON-RPC 2.0 tells of what cannot be taken. */
const noBatches = {
  jsonrpc: '2.0',
  error: { code: -32600, message: 'Invalid Request: send one message at a time.' },
  id: null,
}
