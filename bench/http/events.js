import { event } from './work.js'

/** Server-sent events by `node:http`, for the peers that have no own form of them. */

/** @type {Set<import('node:http').ServerResponse>} */
const open = new Set()

/** @param {import('node:http').ServerResponse} response */
export function openEvents(response) {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=UTF-8', 'cache-control': 'no-store' })
  response.write(':\n\n')
  open.add(response)
  response.on('close', () => open.delete(response))
}

/** Sends an event to each client. */
export function publish() {
  for (const response of open) response.write(`event: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`)
}
