import { once } from 'node:events'
import path from 'node:path'
import { type Test, t } from 'tap'
import { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const crashes = `
import express from 'express'
const app = express()
const fail = () => { throw new Error('not caught') }
app.get('/late', (request, response) => { setTimeout(fail, 10); response.send('ok') })
app.get('/pending', (request, response) => { setTimeout(fail, 10); setTimeout(() => response.send('ok'), 60) })
app.get('/rejected', (request, response) => { setTimeout(async () => fail(), 10); response.send('ok') })
app.get('/fine', (request, response) => response.send('ok'))
const server = app.listen(0, '127.0.0.1', () => process.stdout.write(JSON.stringify([server.address().port]) + '\\n'))
process.stdin.on('end', () => process.exit()).resume()
`

function startExpress(t: Test, program: string, flags = '') {
  const folder = t.testdir({ node_modules: {}, 'package.json': JSON.stringify({ dependencies: { express: '*' } }) })
  return startProfiled(t, program, flags === '' ? {} : { NODE_OPTIONS: `${process.env.NODE_OPTIONS} ${flags}` }, folder)
}

/** The first sentence of a profile. */
async function readSentence(viewer: string, target: string): Promise<string> {
  const { summary } = await findProfile(viewer, target)
  const [sentence = ''] = (await (await fetch(`${viewer}/_profiler/${summary.token}.md`)).text()).split('\n')
  return sentence
}

/** Ways to take errors, after which the process goes on. */
const takers: Readonly<Record<string, readonly [code: string, flags: string, paths: readonly string[]]>> = {
  listener: [`process.on('uncaughtException', () => {})`, '', ['/late', '/pending', '/rejected']],
  callback: [`process.setUncaughtExceptionCaptureCallback(() => {})`, '', ['/late', '/pending']],
  rejections: [`process.on('unhandledRejection', () => {})`, '', ['/rejected']],
  warn: ['', '--unhandled-rejections=warn', ['/rejected']],
  none: ['', '--unhandled-rejections none', ['/rejected']],
  strict: [`process.on('uncaughtException', () => {})`, '--unhandled-rejections=strict', ['/rejected']],
}

t.test('an error that the application takes is in the profile, and has not ended the process', async t => {
  const wrong: string[] = []
  for (const [name, [code, flags, paths]] of Object.entries(takers)) {
    const { stop, url, viewer } = await startExpress(t, crashes + code, flags)
    for (const target of paths) {
      t.equal(await (await fetch(url + target)).text(), 'ok')
      await until(async () => (await findProfile(viewer, target)).summary.exception !== null)
      const sentence = await readSentence(viewer, target)
      if (/process/.test(sentence)) wrong.push(`${name} ${target}: ${sentence}`)
    }
    await fetch(`${url}/fine`)
    await stop()
  }
  t.strictSame(wrong, [])
})

/** Ways in which an error ends the process, or another reason does; with the outcome of the request, and its exit code. */
const ends: Readonly<Record<string, readonly [code: string, target: string, outcome: string, exit: number]>> = {
  nothing: ['', '/late', 'crashed', 1],
  exit: [`process.on('uncaughtException', () => process.exit(1))`, '/late', 'crashed', 1],
  later: [`process.on('uncaughtException', () => setTimeout(() => process.exit(1), 100))`, '/late', 'crashed', 1],
  'after the responses': [
    `process.on('uncaughtException', () => { process.exitCode = 1; process.stdin.destroy(); server.close() })`,
    '/late',
    'crashed',
    1,
  ],
  rejection: [`process.on('unhandledRejection', () => process.exit(3))`, '/rejected', 'crashed', 3],
  'another reason': [`process.on('uncaughtException', () => {})`, '/late', 'complete', 0],
  'without a response': [`process.on('uncaughtException', () => process.exit(0))`, '/pending', 'crashed', 0],
}

t.test('a request has ended with the process if its error has ended it', async t => {
  const found: string[] = []
  for (const [name, [code, target]] of Object.entries(ends)) {
    const { child, cwd, url, viewer } = await startExpress(t, crashes + code)
    const exited = once(child, 'exit')
    await fetch(url + target, { headers: { connection: 'close' } }).catch(() => undefined)
    if (name === 'another reason') {
      await until(async () => (await findProfile(viewer, target)).summary.exception !== null)
      child.stdin?.end()
    }
    const [exit] = await exited
    const directory = path.join(cwd, 'node_modules/.cache/sinfonietta/profiler')
    const storage = new FileProfileStorage({ directory, onProblem: () => undefined })
    const [summary] = (await storage.search({ limit: 1 })).summaries
    await storage.close()
    found.push(`${name}: ${summary?.outcome}, ${summary?.exception}, ${exit}`)
  }
  t.strictSame(
    found,
    Object.entries(ends).map(([name, [, , outcome, exit]]) => `${name}: ${outcome}, Error, ${exit}`),
  )
})
