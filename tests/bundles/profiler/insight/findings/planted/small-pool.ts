import { pathToFileURL } from 'node:url'
import { createProject } from '#tests/support/project.ts'

/** Creates a pool with so many connections. Each query takes the given milliseconds. */
export type CreatePool = (size: number) => { run(query: string, time: number): Promise<unknown> }

/**
 * A package: its frames are not those of the application. It passes each free connection on, and
 * publishes the messages of mysql2.
 */
const source = `
import { tracingChannel } from 'node:diagnostics_channel'

const connecting = tracingChannel('mysql2:pool:connect')
const querying = tracingChannel('mysql2:query')
const server = { database: 'shop', serverAddress: 'localhost', serverPort: 3306 }

export function createPool(size) {
  let free = size
  const waiting = []
  const ask = done => {
    if (free === 0) return waiting.push(done)
    free--
    process.nextTick(done)
  }
  const release = () => {
    const next = waiting.shift()
    if (next === undefined) free++
    else next()
  }
  return {
    run: (query, time) =>
      new Promise(resolve => {
        const end = () => {
          release()
          resolve([])
        }
        const send = () => {
          querying.traceCallback(done => setTimeout(done, time), 0, { ...server, query }, null, end)
        }
        connecting.traceCallback(ask, 0, { ...server }, null, send)
      }),
  }
}
`

/** Installs the package in a folder, and imports it. */
export async function loadSmallPool(folder: string): Promise<CreatePool> {
  createProject(folder, { 'node_modules/small-pool/index.mjs': source })
  const { createPool } = await import(pathToFileURL(`${folder}/node_modules/small-pool/index.mjs`).href)
  return createPool
}
