// The load process: sends requests over keep-alive connections. Each connection waits for its
// response before the next request.
import { connect } from 'node:net'
import { browserHeaders, host } from './work.js'

/**
 * The request to send, and the response to expect; its length is that of the body in bytes, if it is always the same.
 *
 * @typedef {object} Load
 * @property {number} port
 * @property {string} target
 * @property {string} [body] the text of a POST request; the default is a GET request
 * @property {number} [bytes] the length of a body of zeros, in place of a text
 * @property {string} [contentType] of the body; the default is that of JSON
 * @property {string} [accept] the Accept header; the default is that of a browser
 * @property {boolean} [wantsTimes] whether the answer has the time of each request, in microseconds
 * @property {number} requests
 * @property {number} connections
 * @property {number} status
 * @property {number} [length]
 */

/**
 * The connections of each port. They stay open between two messages, so that accepting them is part of the warm-up.
 *
 * @type {Map<number, Connection[]>}
 */
const opened = new Map()

/** @type {NodeJS.MessageListener} */
const onMessage = async message => {
  try {
    const times = await send(/** @type {Load} */ (message))
    process.send?.({ isDone: true, times })
  } catch (error) {
    process.send?.({ failure: String(error) })
  }
}
process.on('message', onMessage)
process.on('disconnect', () => process.exit())

/** @param {Load} load */
async function send(load) {
  const left = { requests: load.requests, times: load.wantsTimes ? /** @type {number[]} */ ([]) : undefined }
  // Never asleep: waking it is part of the system call by which a server writes, and only a server
  // that is slower than this process would have to pay for it.
  const stayAwake = () => void (left.requests > 0 && setImmediate(stayAwake))
  stayAwake()
  const connections = (opened.get(load.port) ?? []).filter(({ isOpen }) => isOpen)
  while (connections.length < load.connections) connections.push(new Connection(load.port))
  opened.set(load.port, connections)
  const used = connections.slice(0, load.connections)
  const request = Buffer.concat([Buffer.from(toText(load)), Buffer.alloc(load.bytes ?? 0)])
  await Promise.all(used.map(connection => connection.send(request, load, left)))
  return left.times
}

class Connection {
  isOpen = true
  #socket
  #take = (/** @type {Buffer} */ _chunk) => {}
  #fail = (/** @type {Error} */ _error) => {}

  /** @param {number} port */
  constructor(port) {
    const buffer = Buffer.alloc(65_536)
    this.#socket = connect({
      port,
      host,
      noDelay: true,
      onread: {
        buffer,
        callback: length => {
          this.#take(buffer.subarray(0, length))
          return true
        },
      },
    })
    this.#socket.on('error', error => this.#fail(error))
    this.#socket.on('close', () => {
      this.isOpen = false
      this.#fail(Error('The server has closed the connection.'))
    })
  }

  /**
   * Sends a request again and again, until none is left.
   *
   * @param {Buffer} request
   * @param {Load} load
   * @param {{ requests: number, times: number[] | undefined }} left for all connections together
   * @returns {Promise<void>}
   */
  send(request, load, left) {
    const isComplete = createReader(load)
    let begin = 0
    return new Promise((resolve, reject) => {
      const next = () => {
        if (begin > 0) left.times?.push(Math.round((performance.now() - begin) * 1000))
        if (left.requests-- <= 0) return resolve()
        begin = performance.now()
        this.#socket.write(request)
      }
      this.#fail = reject
      this.#take = chunk => {
        try {
          if (isComplete(chunk)) next()
        } catch (error) {
          reject(error)
          this.#socket.destroy()
        }
      }
      next()
    })
  }
}

/**
 * Reads responses chunk by chunk and returns whether one is complete. A head is expected to come in one piece.
 *
 * @param {Load} load
 * @returns {(chunk: Buffer) => boolean}
 */
function createReader({ status, length }) {
  const start = `HTTP/1.1 ${status} `
  let missing = 0
  return chunk => {
    if (missing > 0) missing -= chunk.length
    else {
      const end = chunk.indexOf('\r\n\r\n')
      const head = chunk.toString('latin1', 0, end)
      if (end === -1 || !head.startsWith(start)) throw new Error(`Expected "${start}", got ${head.slice(0, 200)}`)
      const announced = Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1])
      if (length !== undefined && announced !== length) throw new Error(`Expected ${length} bytes, got ${announced}`)
      missing = announced - (chunk.length - end - 4)
    }
    if (missing < 0) throw new Error('Got more than one response.')
    return missing === 0
  }
}

/** @param {Load} load */
function toText({ port, target, body, bytes, contentType = 'application/json', accept = browserHeaders.accept }) {
  const length = bytes ?? (body === undefined ? undefined : Buffer.byteLength(body))
  const fields = Object.entries({
    host: `${host}:${port}`,
    ...browserHeaders,
    accept,
    ...(length !== undefined && { 'content-type': contentType, 'content-length': length }),
  })
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return `${length === undefined ? 'GET' : 'POST'} ${target} HTTP/1.1\r\n${head}\r\n${body ?? ''}`
}
