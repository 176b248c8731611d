import path from 'node:path'
import type { Request } from './request.ts'
import { Response } from './response.ts'

/**
 * Answers with a file: content type, etag, last-modified, conditional and range requests (RFC 9110, sections 13 and 14).
 * Statuses are those of @fastify/send: 200, 206, 304, 412, 416, and 404 for a file that is gone.
 */
export async function createFileResponse(request: Request, file: string, cacheControl: string): Promise<Response> {
  // Most processes never send a file: the module is loaded with the first one.
  const { default: send } = await import('@fastify/send')
  const headers = Object.fromEntries([...request.headers].map(([name, value]) => [name.toLowerCase(), value]))
  // Of a node request it reads these two, and nothing else.
  const nodeRequest = { method: request.method, headers } as unknown as Parameters<typeof send>[0]
  const options = { root: path.dirname(file), cacheControl: false } as const
  const sent = await send(nodeRequest, encodeURIComponent(path.basename(file)), options)

  const fields = Object.entries(sent.headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const)
  const response = new Response(sent.stream, { status: sent.statusCode, headers: fields })
  if (sent.type === 'file') response.headers.set('cache-control', cacheControl)
  return response
}
