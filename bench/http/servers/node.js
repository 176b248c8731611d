import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { openEvents, publish } from '../events.js'
import { createPage } from '../page.js'
import { cacheControl, createPieces, fileSize, greeting, host, protection, targets } from '../work.js'

/**
 * Bare `node:http`: nothing is found out about a request but its URL.
 *
 * @param {string} [feature] `protected`: with the header fields that our kernel sends by default
 */
export async function start(feature) {
  if (feature === 'protected') createHeaders = () => ({ ...protection, 'x-request-id': randomUUID() })
  const renderPage = createPage()
  const server = createServer((request, response) => {
    if (request.url === targets.page) send(response, 200, 'text/html; charset=UTF-8', renderPage())
    else if (request.url === targets.json) send(response, 200, 'application/json', JSON.stringify(greeting))
    else if (request.url === targets.echo && request.method === 'POST') echo(request, response)
    else if (request.url === targets.download) {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': fileSize })
      Readable.from(createPieces()).pipe(response)
    } else if (request.url === targets.upload) {
      let bytes = 0
      request.on('data', chunk => {
        bytes += chunk.length
      })
      request.on('end', () => send(response, 200, 'application/json', JSON.stringify({ bytes })))
    } else if (request.url === targets.events) openEvents(response)
    else if (request.url === targets.publish) {
      publish()
      send(response, 200, 'application/json', JSON.stringify(greeting))
    } else send(response, 404, 'text/plain; charset=UTF-8', 'Not Found')
  })
  await new Promise(resolve => server.listen(0, host, () => resolve(undefined)))
  return Number(Object(server.address()).port)
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
function echo(request, response) {
  let text = ''
  request.setEncoding('utf8')
  request.on('data', chunk => {
    text += chunk
  })
  request.on('end', () => send(response, 200, 'application/json', JSON.stringify(JSON.parse(text))))
}

/** @type {() => Record<string, string> | undefined} */
let createHeaders = () => undefined

/**
 * @param {import('node:http').ServerResponse} response
 * @param {number} status
 * @param {string} type
 * @param {string} body
 */
function send(response, status, type, body) {
  const length = Buffer.byteLength(body)
  response.writeHead(status, {
    'content-type': type,
    'content-length': length,
    'cache-control': cacheControl,
    ...createHeaders(),
  })
  response.end(body)
}
