// The load process: asks a server over keep-alive connections, each of which waits for its answer before it asks again.
import { connect } from 'node:net'
import { browserHeaders, host } from './work.js'

/**
 * What to ask, and what to expect of each response; its length is that of the body in bytes, if it is always the same.
 *
 * @typedef {object} Load
 * @property {number} port
 * @property {string} target
 * @property {string} [accept] the Accept header; the default is that of a browser
 * @property {number} requests
 * @property {number} connections
 * @property {number} status
 * @property {number} [length]
 */

/** @type {NodeJS.MessageListener} */
const onMessage = async message => {
  try {
    await send(/** @type {Load} */ (message))
    process.send?.({ isDone: true })
  } catch (error) {
    process.send?.({ failure: String(error) })
  }
}
process.on('message', onMessage)
process.on('disconnect', () => process.exit())

/** @param {Load} load */
async function send(load) {
  const left = { requests: load.requests }
  // Never asleep: waking it is part of the system call by which a server writes, and only a server that is slower than this
  // process would have to pay for it.
  const stayAwake = () => void (left.requests > 0 && setImmediate(stayAwake))
  stayAwake()
  await Promise.all(Array.from({ length: load.connections }, () => askRepeatedly(load, left)))
}

/**
 * @param {Load} load
 * @param {{ requests: number }} left to be asked by all connections together
 * @returns {Promise<void>}
 */
function askRepeatedly(load, left) {
  const request = Buffer.from(toText(load))
  const isComplete = createReader(load)
  return new Promise((resolve, reject) => {
    const ask = () => {
      if (left.requests-- > 0) socket.write(request)
      else socket.end(resolve)
    }
    const take = (/** @type {number} */ length, /** @type {Uint8Array} */ bytes) => {
      try {
        if (isComplete(/** @type {Buffer} */ (bytes.subarray(0, length)))) ask()
        return true
      } catch (error) {
        socket.destroy(Error(String(error)))
        return false
      }
    }
    const socket = connect({
      port: load.port,
      host,
      noDelay: true,
      onread: { buffer: Buffer.alloc(65_536), callback: take },
    })
    socket.on('connect', ask)
    socket.on('error', reject)
    socket.on('close', () => reject(Error('The server has closed the connection.')))
  })
}

/**
 * Reads responses chunk by chunk and says when one is complete. A head is expected to come in one piece.
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
function toText({ port, target, accept = browserHeaders.accept }) {
  const fields = Object.entries({ host: `${host}:${port}`, ...browserHeaders, accept })
  return `GET ${target} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}
