import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { encodeUpload } from 'sinfonietta/testing'
import { badRequests, findComplaints } from '#tests/support/bad-requests.ts'

/** One visit of a client to a port; gives what was wrong with the answer, `undefined` when nothing was. */
export type Visit = (port: number) => Promise<string | undefined>

const between = (least: number, most: number) => least + Math.floor(Math.random() * (most - least))
const oneOf = <item>(items: readonly item[]): item => items[between(0, items.length)] as item

const head = (line: string, more = '') => `${line} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`

const pages: readonly (readonly [path: string, status: number, part: string])[] = [
  ['/star-photo-booth', 200, '</html>'],
  ['/partnership', 200, '</html>'],
  ['/text', 200, 'text'],
  ['/item/5', 200, 'item 5'],
  ['/json', 200, '{"ok":true}'],
  ['/stream', 200, 'one two three'],
  ['/nope', 404, 'Not Found'],
  ['/boom', 500, 'Internal Server Error'],
]

let count = 0

async function visitPage(port: number): Promise<string | undefined> {
  if (Math.random() < 0.3) {
    const id = `id-${count++}`
    const text = await (await fetch(`http://127.0.0.1:${port}/own?id=${id}`)).text()
    return text === id ? undefined : `/own?id=${id} was answered with ${text}`
  }
  const [path, status, part] = oneOf(pages)
  const response = await fetch(`http://127.0.0.1:${port}${path}`)
  const text = await response.text()
  return response.status === status && text.includes(part) ? undefined : `${path} was answered with ${response.status}`
}

async function sendBadRequest(port: number): Promise<string | undefined> {
  const one = oneOf(badRequests)
  const complaints = await findComplaints(port, one)
  return complaints.length === 0 ? undefined : `${one.id}: ${complaints.join(', ')}`
}

/** Leaves in the middle of its request, or of the answer. */
async function abort(port: number): Promise<undefined> {
  const body = 'x'.repeat(between(0, 20_000))
  const request = oneOf([
    head('GET /star-photo-booth'),
    head('GET /much'),
    head('POST /echo', `Content-Type: text/plain\r\nContent-Length: ${body.length}\r\n`) + body,
    head('GET /text').repeat(3),
  ])
  const length = between(1, request.length + 1)
  let left = length < request.length ? 0 : between(1, 200_000)
  const socket = connect(port, '127.0.0.1')
  const closed = new Promise<void>(resolve => socket.on('close', () => resolve()).on('error', () => undefined))
  const leave = () => (Math.random() < 0.5 ? socket.resetAndDestroy() : socket.destroy())
  socket.on('data', ({ length }) => {
    left -= length
    if (left <= 0) leave()
  })
  socket.write(request.slice(0, length))
  await wait(between(0, 30))
  const timer = setTimeout(leave, left > 0 ? 100 : 0)
  await closed
  clearTimeout(timer)
  return undefined
}

/** Takes an answer of two megabytes in small pieces. */
function readSlowly(port: number): Promise<string | undefined> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined).write(head('GET /much', 'Connection: close\r\n'))
  let length = 0
  socket.on('data', chunk => {
    length += chunk.length
    socket.pause()
    setTimeout(() => socket.resume(), 5)
  })
  return new Promise(resolve =>
    socket.on('close', () => resolve(length > 2 ** 21 ? undefined : `/much had only ${length} bytes`)),
  )
}

async function upload(port: number): Promise<string | undefined> {
  const size = between(0, 300_000)
  const file = { name: 'file.bin', type: 'application/octet-stream', content: 'x'.repeat(size) }
  const { body, contentType } = encodeUpload({ title: 'a file', file })
  const controller = new AbortController()
  const isAborted = Math.random() < 0.3
  if (isAborted) setTimeout(() => controller.abort(), between(0, 10))
  try {
    const init = { method: 'POST', body, headers: { 'content-type': contentType }, signal: controller.signal }
    const text = await (await fetch(`http://127.0.0.1:${port}/form`, init)).text()
    return text ===
      JSON.stringify([
        ['title', 'a file'],
        ['file', size],
      ])
      ? undefined
      : `/form: ${text.slice(0, 200)}`
  } catch (error) {
    return isAborted ? undefined : `/form: ${error}`
  }
}

/** Listens to events for a while. */
async function listen(port: number): Promise<string | undefined> {
  const controller = new AbortController()
  const response = await fetch(`http://127.0.0.1:${port}/ticks`, { signal: controller.signal })
  setTimeout(() => controller.abort(), between(100, 600))
  let text = ''
  try {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk)
  } catch {
    // It is this end that has left.
  }
  const expected = Array.from({ length: text.split('\n\n').length - 1 }, (_, index) => `data: ${index}\n\n`).join('')
  return text === expected && text !== '' ? undefined : `/ticks: ${text.slice(0, 200)}`
}

/** Each kind of client, and how many of them there are. */
export const clients: readonly (readonly [name: string, visit: Visit, count: number])[] = [
  ['good', visitPage, 3],
  ['bad', sendBadRequest, 3],
  ['aborted', abort, 3],
  ['slow reader', readSlowly, 1],
  ['upload', upload, 2],
  ['listener', listen, 2],
]
