import { once } from 'node:events'
import { readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { t } from 'tap'
import { WebSocket } from 'ws'
import { packageDirectory } from '#lib/package.ts'
import { childrenOf } from '#tests/support/children-of.ts'
import { createSmallApplication } from '#tests/support/create-small-application.ts'
import { findPort, isFree } from '#tests/support/find-port.ts'
import { until } from '#tests/support/until.ts'
import { endAtFirstFailure, startApplicationProgram } from './site-process.ts'

// More claims about a running site are in supervisor.test.ts.
endAtFirstFailure(t)
const directory = t.testdir()
createSmallApplication(directory)
const inCopy = (file: string) => path.join(directory, file)

/** Writes a version of the application. It is registered when the file `wait` is gone. */
function save(version: string, first = ''): void {
  writeFileSync(
    inCopy('bundles/home/home-bundle.ts~'),
    `${first}
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type Application, type Bundle, EventStream, Response, WebSocketUpgrade } from 'sinfonietta'
import { WebSocketServer } from 'ws'

export const homeBundle: Bundle = {
  name: 'home',
  async register({ routes }: Application) {
    while (existsSync(${JSON.stringify(inCopy('wait'))})) await delay(10)
    const sockets = new WebSocketServer({ noServer: true })
    routes.get('version', '/', () => new Response('${version} ' + process.pid))
    routes.get('events', '/events', request => new EventStream(request, stream => void stream.send({ data: '${version}' })))
    routes.get('socket', '/socket', request => new WebSocketUpgrade(request, (message, socket, head) =>
      sockets.handleUpgrade(message, socket, head, client => client.send('${version}'))))
  },
}
`,
  )
  renameSync(inCopy('bundles/home/home-bundle.ts~'), inCopy('bundles/home/home-bundle.ts'))
}

writeFileSync(inCopy('wait'), '')
save('first')
const port = await findPort()
const url = `http://127.0.0.1:${port}`
const site = startApplicationProgram(t, ['superviseHastily', directory, `--port=${port}`])

/** Requests a page. */
const visit = (target = '/', headers: Record<string, string> = {}) => fetch(url + target, { headers })

/** The version that answers, and the id of its process. */
async function ask(): Promise<readonly [version: string, pid: number]> {
  const [version = '', pid] = (await (await visit('/', { 'x-profiler': 'off' })).text()).split(' ')
  return [version, Number(pid)]
}

const answers = (version: string) => until(async () => (await ask())[0] === version)

/** Waits for the process that waits for the next start. Returns its id. */
async function findWaiting(): Promise<number> {
  const [, serving] = await ask()
  const others = () => childrenOf(site.child.pid).filter(pid => pid !== serving)
  // A compiler may still run, or end meanwhile.
  const isWaiting = (pid: number) => isRunning(pid) && commandOf(pid).includes('next-process.js')
  await until(() => others().some(isWaiting))
  return others().find(isWaiting) ?? 0
}

function commandOf(pid: number): string {
  const file = `/proc/${pid}/cmdline`
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

t.test('a request waits for a slow start for a limited time, and its answer says why', async t => {
  await until(() =>
    visit().then(
      () => true,
      () => false,
    ),
  )
  const response = await visit()
  t.equal(response.status, 503)
  t.match(await response.text(), 'The application has not started within 0.5 s. It is still starting.')
  rmSync(inCopy('wait'))
  await answers('first')
})

t.test('the process that waits serves the next save, which is its start for profiles', async t => {
  const waiting = await findWaiting()
  const time = Date.now()
  save('second')
  await answers('second')
  t.equal((await ask())[1], waiting)
  const token = (await visit()).headers.get('x-debug-token')
  const { process } = (await (await visit(`/_profiler/${token}.json`)).json()) as {
    process: { server: { process: { started: string } } }
  }
  t.ok(Date.parse(process.server.process.started) >= time)
})

t.test('after an installation of the package, a process that has loaded it before does not serve', async t => {
  const waiting = await findWaiting()
  const manifest = path.join(packageDirectory, 'package.json')
  const { atime, mtime } = statSync(manifest)
  utimesSync(manifest, atime, mtime)
  save('third')
  await answers('third')
  t.not((await ask())[1], waiting)
  t.notOk(isRunning(waiting))
})

t.test('events and WebSockets end with the replaced process, and new ones have the new code', async t => {
  const [, old] = await ask()
  const openSocket = () => new WebSocket(`${url.replace('http', 'ws')}/socket`)
  const socket = openSocket()
  t.equal(String((await once(socket, 'message'))[0]), 'third')
  const closed = once(socket, 'close')
  const events = await visit('/events')
  save('fourth')
  t.match(await events.text(), /data: third\n\n[\s\S]*retry: \d+\n\n$/)
  await closed
  await until(() => !isRunning(old))
  const next = openSocket()
  t.equal(String((await once(next, 'message'))[0]), 'fourth')
  next.terminate()
})

t.test('of quick saves, also during a start, the last one counts, and no other version answers', async t => {
  const answered = new Set<string>()
  let isOver = false
  const load = Promise.all(
    [1, 2].map(async () => {
      while (!isOver) {
        // This supervisor soon ends a replaced process, with its last requests.
        const [version] = await ask().catch(() => [])
        if (version !== undefined) answered.add(version)
      }
    }),
  )
  save('quick')
  save('fifth')
  await answers('fifth')
  writeFileSync(inCopy('wait'), '')
  save('slow')
  const [, serving] = await ask()
  await until(() => childrenOf(site.child.pid).filter(pid => pid !== serving).length > 0)
  save('last')
  rmSync(inCopy('wait'))
  await answers('last')
  await until(() => answered.has('last'))
  isOver = true
  await load
  t.strictSame([...answered], ['fourth', 'fifth', 'last'])
})

t.test('a source that is gone is reported to each open page, and the next save mends it', async t => {
  writeFileSync(inCopy('bundles/home/part.ts'), 'export {}\n')
  save('part', "import './part.ts'")
  await answers('part')
  const { body } = await visit('/_profiler/state')
  rmSync(inCopy('bundles/home/part.ts'))
  let text = ''
  for await (const chunk of body ?? []) {
    text += Buffer.from(chunk)
    if (/"problem":"(?:[^"\\]|\\.)+part\./.test(text)) break
  }
  t.equal((await ask())[0], 'part')
  save('mended')
  await answers('mended')
})

t.test('a process whose bundle has a port of its own starts when the running one has ended', async t => {
  const own = await findPort()
  const listen = `.listen(${own}, '127.0.0.1')`
  const starts = [
    `import { once } from 'node:events'\nimport { createServer } from 'node:net'\nawait once(createServer()${listen}, 'listening')`,
    `import { createServer } from 'node:net'\ncreateServer()${listen}`,
  ]
  for (const [index, first] of starts.entries()) {
    for (const version of [`own-${index}`, `replaced-${index}`]) {
      save(version, first)
      await answers(version)
    }
  }
  save('closed')
  await answers('closed')

  // The process before may still be ending.
  await until(() => isFree(own))
  const program = createServer().listen(own, '127.0.0.1')
  t.teardown(() => program.close())
  await once(program, 'listening')
  const [, serving] = await ask()
  for (const [index, first] of starts.entries()) {
    save(`taken-${index}`, first)
    await site.until(
      new RegExp(
        `address already in use 127\\.0\\.0\\.1:${own}\\n[\\s\\S]*The new process has ended .*: the one before goes on`,
      ),
    )
    t.strictSame(await ask(), ['closed', serving], 'with the port of another program, the running process goes on')
  }
})

t.test('the supervisor ends with the process that waits, and with the check of types', async t => {
  // If an assertion fails, nothing else would end it, and this program would wait for it.
  t.teardown(() => site.child.kill('SIGKILL'))
  save('end')
  await answers('end')
  site.child.kill()
  t.equal(await site.end(), 0)
})
