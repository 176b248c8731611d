import { t } from 'tap'
import { findProfile, type ProfileData, startProfiled } from '#tests/support/start-profiled.ts'

const source = `
import childProcess from 'node:child_process'
import { scrypt } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import http from 'node:http'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
const hash = promisify(scrypt)
const run = promisify(childProcess.exec)
let answerLater
let service
writeFileSync('service.js', 'process.on("message", () => process.send("answer"))')
const pages = {
  login: number => hash('hunter2000', 'salt', 64, { N: 2 ** 16, maxmem: 2 ** 28, p: number }),
  async thumb(number) {
    const { stdout } = await run('sleep 0.' + number + '; echo --token abcdefgh12345678')
    return stdout.trim()
  },
  failed: () => run('sleep 0.1; exit 3').catch(({ code }) => code),
  thread: () => new Promise(resolve => {
    const worker = new Worker('setTimeout(() => require("node:worker_threads").parentPort.postMessage("done"), 50)', { eval: true })
    worker.on('message', resolve)
  }),
  held: () => new Promise(resolve => {
    childProcess.spawn('sleep', ['30'])
    setTimeout(resolve, 50)
  }),
  first: () => new Promise(resolve => { answerLater = resolve }),
  async second() {
    await run('sleep 0.1')
    answerLater()
  },
  service: () => new Promise(resolve => {
    service ??= childProcess.fork('service.js')
    service.once('message', resolve)
    service.send(1)
  }),
}
const server = http.createServer(async (message, reply) => {
  const [, page, number = '1'] = message.url.split('/')
  reply.end(String(await pages[page](Number(number))))
})
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify([server.address().port])))
process.stdin.on('end', () => process.exit()).resume()
`

interface CallView {
  readonly name: string
  readonly command?: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

function callsOf({ data }: ProfileData): readonly CallView[] {
  return (data.time?.asyncCalls ?? []) as readonly CallView[]
}

t.test('work of other threads and processes has its name, its place and its time, in its own request', async t => {
  const { stop, url, viewer } = await startProfiled(t, source)
  const get = async (page: string) => (await fetch(`${url}/${page}`)).text()
  const profileOf = async (page: string) => {
    const answer = await get(page)
    const profile = await findProfile(viewer, `/${page}`)
    const report = await (await fetch(`${viewer}/_profiler/${profile.summary.token}.md`)).text()
    return { answer, report, calls: callsOf(profile), duration: Number(profile.summary.duration) }
  }

  const thumb = await profileOf('thumb/3')
  t.equal(thumb.answer, '--token abcdefgh12345678')
  t.match(thumb.calls, [
    { name: 'child process', command: 'sleep 0.3; echo --token ******', caller: { file: 'app.mjs' } },
  ])
  const [{ end, start } = { start: 0, end: 0 }] = thumb.calls
  t.ok(end - start >= 290 && end <= thumb.duration, `${start} ${end} of ${thumb.duration}`)
  t.match(thumb.report, /`child process sleep 0\.3; echo --token \*{6}` took [\d.]+ m?s .*\(`app\.mjs:\d+`\)/)
  t.match(thumb.report, /## Asynchronous calls\n\n- `child process sleep/)

  const login = await profileOf('login/2')
  t.match(login.calls, [{ name: 'crypto.scrypt', caller: { file: 'app.mjs' } }])
  t.match(login.report, /`crypto\.scrypt` took /)
  t.notMatch(login.report, /hunter2000/)

  const failed = await profileOf('failed')
  t.equal(failed.answer, '3')
  t.match(failed.calls, [{ name: 'child process', exit: 'exit code 3' }])
  t.match((await profileOf('thread')).calls, [{ name: 'worker thread' }])
  t.strictSame((await profileOf('held')).calls, [], 'it is not known whether the request waits for a process that runs')
  t.match((await profileOf('service')).calls, [{ name: 'child process', command: 'node service.js' }])

  const waiting = get('first')
  await get('second')
  await waiting
  t.strictSame(callsOf(await findProfile(viewer, '/first')), [], 'the promise of another request')

  const numbers = [5, 6, 7, 8]
  await Promise.all(numbers.map(number => get(`thumb/${number}`)))
  const overlapping = await Promise.all(numbers.map(number => findProfile(viewer, `/thumb/${number}`)))
  t.strictSame(
    overlapping.map(profile => callsOf(profile).map(({ command = '' }) => command.slice(0, 9))),
    numbers.map(number => [`sleep 0.${number}`]),
  )
  await stop()
})
