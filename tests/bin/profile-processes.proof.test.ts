import { once } from 'node:events'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Test, t } from 'tap'
import { type Ran, runProcess, startProcess } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const preload = path.join(root, 'dist/bin/exports/profile.js')
const { NODE_ENV: _, PROFILER_VIEWER: __, ...variables } = process.env
const environment = { ...variables, PROFILER_PORT: '0' }

/** Each way to start a program: the command before its file. */
const ways: Readonly<Record<string, readonly string[]>> = {
  'node --import': [process.execPath, '--import', preload],
  'sinfonietta profile': [process.execPath, path.join(root, 'dist/tests/fixtures/profiled-program.js')],
  NODE_OPTIONS: ['env', `NODE_OPTIONS=--import ${pathToFileURL(preload)}`, process.execPath],
}

/** A server that answers its own requests. */
const site = `
import http from 'node:http'
export const listen = handler => new Promise(resolve => {
  const server = http.createServer(handler).listen(0, '127.0.0.1', () => resolve(server))
})
export const ask = (server, target = '/', body) => new Promise(resolve => {
  const { port } = server.address()
  const request = http.request({ port, path: target, method: body ? 'POST' : 'GET', agent: false }, message => {
    let text = message.statusCode + ' '
    message.on('data', chunk => (text += chunk)).on('end', () => resolve(text))
  })
  request.on('error', error => resolve(error.code)).end(body)
})
`
const using = `import { ask, listen } from './site.mjs'\n`

/** A client of a WebSocket: it prints all that it gets, and what the server has got. */
const chat = `
import { once } from 'node:events'
import { WebSocket } from 'ws'
export const answer = (socket, { url }) => {
  socket.send('hello ' + url)
  socket.on('message', (data, isBinary) => socket.send(isBinary ? Buffer.from(data).reverse() : 'echo ' + data))
  socket.on('close', (code, reason) => console.log('server', code, String(reason)))
}
export const talk = async port => {
  const open = target => new WebSocket('ws://127.0.0.1:' + port + target)
  const client = open('/chat?room=1')
  const get = async () => (await once(client, 'message'))[0]
  console.log(String(await get()))
  for (const text of ['one', 'two', 'x'.repeat(100_000)]) {
    client.send(text)
    console.log(String(await get()).length)
  }
  client.send(Buffer.alloc(300_000, 'abc'))
  console.log((await get()).subarray(0, 4))
  client.ping('are you there')
  console.log(String((await once(client, 'pong'))[0]))
  client.close(4001, 'enough')
  console.log('client', (await once(client, 'close'))[0])
  const refused = open('/other')
  const [error] = await once(refused, 'error')
  console.log(error.message)
  console.log(await (await fetch('http://127.0.0.1:' + port + '/page')).text())
}
`

/** Programs, by what they do to their process. */
const programs: Readonly<Record<string, string>> = {
  'exit.mjs': `${using}
    process.on('exit', code => console.log('exit', code))
    await ask(await listen(() => process.exit(3)))`,
  'throw.mjs': `${using} await ask(await listen(() => { throw new Error('of the application') }))`,
  'throw-later.mjs': `${using}
    await ask(await listen(message => message.on('data', () => { throw new Error('in a listener') })), '/', 'abc')`,
  'reject.mjs': `${using} await ask(await listen(async () => { await null; throw new Error('of the application') }))`,
  'reject-value.mjs': `${using} await ask(await listen(async () => { await null; throw 7 }))`,
  'caught.mjs': `${using}
    process.on('uncaughtException', (error, origin) => console.log(origin, error.message))
    const server = await listen(async (message, reply) => {
      setTimeout(() => {
        reply.end('late')
        throw new Error('after the response')
      }, 5)
      throw new Error('before the response')
    })
    console.log(await ask(server))
    server.close()`,
  'rejections.mjs': `${using}
    process.on('unhandledRejection', error => console.log('rejected', error.message))
    const server = await listen(async (message, reply) => { reply.end('fine'); throw new Error('no caller waits') })
    console.log(await ask(server))
    server.close()`,
  'reply-error.mjs': `${using} await ask(await listen((message, reply) => reply.emit('error', new Error('of the reply'))))`,
  'abort.mjs': `${using} await ask(await listen(() => process.abort()))`,
  'kill.mjs': `${using} await ask(await listen(() => process.kill(process.pid, 'SIGTERM')))`,
  'handled.mjs': `${using}
    process.once('SIGINT', () => { console.log('once'); process.kill(process.pid, 'SIGINT') })
    await ask(await listen(() => process.kill(process.pid, 'SIGINT')))`,
  'never.mjs': 'await new Promise(() => {})',
  'events.mjs': `
    for (const name of ['beforeExit', 'exit']) process.on(name, code => console.log(name, code))
    process.exitCode = 9`,
  'syntax.mjs': 'const a = ;',
  'missing.mjs': `import './none.mjs'`,
  'warning.cjs': `process.emitWarning('careful', 'DeprecationWarning', 'DEP1'); Buffer(3)`,
  'port-in-use.mjs': `${using}
    const { port } = (await listen(() => {})).address()
    const { default: net } = await import('node:net')
    net.createServer().on('error', error => { console.log(error.code); process.exit(5) }).listen(port, '127.0.0.1')`,
  'input.mjs': `let text = ''; for await (const chunk of process.stdin) text += chunk; console.log(text.length)`,
  'main.cjs': `
    const count = name => name + ' ' + process.listenerCount(name)
    const names = ['SIGINT', 'SIGTERM', 'SIGHUP', 'uncaughtException', 'unhandledRejection', 'beforeExit']
    console.log(require.main === module, process.argv.slice(2), ...names.map(count), Error.stackTraceLimit)`,
  'globals.mjs': `${using}
    const before = Object.getOwnPropertyNames(globalThis)
    const server = await listen((message, reply) => reply.end('fine'))
    console.log(await ask(server), await ask(server))
    setTimeout(() => {
      server.close()
      console.log(Object.getOwnPropertyNames(globalThis).filter(name => !before.includes(name)))
    }, 100)`,
  'printed.mjs': `${using}
    const { inspect } = await import('node:util')
    const server = await listen((message, reply) => reply.end(Object.keys(message) + Object.keys(reply) + /xchange/.test(inspect(reply))))
    console.log(await ask(server))
    server.close()`,
  'early.cjs': `
    const { IncomingMessage, ServerResponse, createServer, get } = require('http')
    const { emit } = IncomingMessage.prototype
    IncomingMessage.prototype.emit = function (name, ...values) {
      if (name === 'end') console.log('end of a message')
      return emit.call(this, name, ...values)
    }
    const server = createServer((message, reply) => message.resume().on('end', () => reply.end('fine')))
    server.listen(0, () => get({ port: server.address().port, agent: false }, message => {
      message.resume().on('end', () => server.close())
    }))`,
  'fork.cjs': `
    const { fork } = require('node:child_process')
    if (process.argv[2] === 'child') process.send('hello', () => process.exit(6))
    else fork(__filename, ['child']).on('message', console.log).on('exit', (...end) => console.log(...end))`,
  'thread.mjs': `${using}
    import { isMainThread, parentPort, Worker } from 'node:worker_threads'
    if (isMainThread) {
      const worker = new Worker(new URL(import.meta.url))
      for (const name of ['message', 'error', 'exit']) worker.on(name, value => console.log(name, value?.message ?? value))
      worker.once('message', () => worker.postMessage('go on'))
    } else {
      const server = await listen((message, reply) => reply.end('of a thread'))
      parentPort.postMessage(await ask(server))
      server.close()
      parentPort.once('message', () => { throw new Error('in a thread') })
    }`,
  'thread-work.mjs': `${using}
    import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
    if (isMainThread) {
      const server = await listen((message, reply) => {
        const worker = new Worker(new URL(import.meta.url), { workerData: [1, 2, 3], argv: ['own'] })
        worker.once('message', sum => worker.once('exit', code => reply.end(sum + ' exit ' + code)))
      })
      console.log(await ask(server))
      server.close()
    } else {
      console.log('in a thread', process.argv.slice(2))
      parentPort.postMessage(workerData.reduce((sum, each) => sum + each))
      process.exit(7)
    }`,
  'thread-servers.cjs': `
    const http = require('node:http')
    const { isMainThread, parentPort, threadId, Worker } = require('node:worker_threads')
    const server = http.createServer((message, reply) => reply.end(isMainThread ? 'main' : 'thread ' + threadId))
    const get = port => new Promise(resolve => http.get({ port, agent: false }, async message => {
      let text = ''
      for await (const chunk of message) text += chunk
      resolve(text)
    }))
    server.listen(0, async () => {
      const { port } = server.address()
      if (!isMainThread) return parentPort.postMessage(port)
      const workers = [1, 2, 3].map(() => new Worker(__filename))
      const ports = await Promise.all(workers.map(worker => new Promise(resolve => worker.once('message', resolve))))
      console.log(await Promise.all([...ports, port, ...ports].map(get)))
      console.log(await Promise.all(workers.map(worker => worker.terminate())))
      server.close()
    })`,
  'websocket-express.mjs': `
    import express from 'express'
    import { WebSocketServer } from 'ws'
    import { answer, talk } from './chat.mjs'
    const app = express().get('/page', (request, response) => response.send('a page'))
    const server = app.listen(0, '127.0.0.1', async () => {
      await talk(server.address().port)
      process.exitCode = 6
      server.close()
      server.closeAllConnections()
    })
    new WebSocketServer({ server, path: '/chat' }).on('connection', answer)`,
  'websocket-fastify.mjs': `
    import Fastify from 'fastify'
    import websocket from '@fastify/websocket'
    import { answer, talk } from './chat.mjs'
    const app = Fastify({ forceCloseConnections: true })
    await app.register(websocket)
    app.get('/page', async () => 'a page')
    app.get('/chat', { websocket: true }, (socket, request) => answer(socket, request.raw))
    await app.listen({ host: '127.0.0.1', port: 0 })
    await talk(app.server.address().port)
    await app.close()
    process.exitCode = 6`,
  'cluster.cjs': `
    const cluster = require('node:cluster')
    const http = require('node:http')
    if (cluster.isPrimary) {
      cluster.fork()
      cluster.on('exit', (worker, ...end) => console.log('worker', ...end))
      cluster.on('listening', (worker, { port }) => http.get({ port, agent: false }, message => {
        console.log(message.statusCode)
        message.resume()
      }))
    } else http.createServer((message, reply) => {
      reply.end('x')
      reply.on('close', () => process.exit(4))
    }).listen(0)`,
}

/** Runs a program with an input of its own. */
function run(t: Test, command: readonly string[]): Promise<Ran> {
  const script = ['sh', '-c', 'yes | head -c 100000 | "$@"', 'sh', ...command, 'first', 'second word']
  return runProcess(t, script, { cwd: t.testdirName, env: environment })
}

/** What may differ: lines of the profiler in the error output, its frames in stacks, and numbers of processes. */
function withoutOwn({ stderr, ...others }: Ran): Ran {
  const lines = stderr
    .split('\n')
    .filter(
      line =>
        !/^Profiler: |^A worker thread answers |^[\d:.]{12} [A-Z]+ +|any-server\/servers\.|^ +at AsyncLocalStorage\.run /.test(
          line,
        ),
    )
  return { ...others, stderr: lines.join('\n').replace(/\(node:\d+\)/g, '(node)') }
}

t.test('a program ends as without the profiler, with the same output', async t => {
  t.testdir({ 'a folder': { node_modules: {}, 'site.mjs': site, 'chat.mjs': chat, ...programs } })
  for (const name of Object.keys(programs)) {
    const file = path.join('a folder', name)
    const wanted = await run(t, [process.execPath, file])
    for (const [way, command] of Object.entries(ways)) {
      const found = await run(t, [...command, file])
      t.strictSame(withoutOwn(found), withoutOwn(wanted), `${name} by ${way}`)
      t.equal(found.stderr.match(/^Profiler: /gm)?.length, 1, `${name} by ${way} is profiled, on one port`)
    }
  }
})

t.test('a signal ends a program as without the profiler', async t => {
  t.testdir({
    node_modules: {},
    'idle.mjs': `setInterval(() => undefined, 1000); console.log('ready')`,
    'busy.mjs': `console.log('ready'); setTimeout(() => { for (;;); }, 1)`,
    'handles.mjs': `
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
        process.on(name, () => { console.log(name); process.exit(5) })
      }
      setInterval(() => undefined, 1000)
      console.log('ready')`,
  })
  const end = async (command: readonly string[], signal: NodeJS.Signals) => {
    const child = startProcess(t, command, { cwd: t.testdirName, env: environment })
    let output = ''
    child.stdout?.setEncoding('utf8').on('data', text => (output += text))
    const closed = once(child, 'close')
    await until(() => output.includes('ready'))
    child.kill(signal)
    return { end: await closed, output }
  }
  const files = ['idle.mjs', 'handles.mjs', 'busy.mjs']
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const) {
    // The others end a process in the same way.
    for (const file of signal === 'SIGINT' || signal === 'SIGTERM' ? files : files.slice(0, 1)) {
      const wanted = await end([process.execPath, file], signal)
      for (const [way, command] of Object.entries(ways)) {
        t.strictSame(await end([...command, file], signal), wanted, `${file} after ${signal} by ${way}`)
      }
    }
  }
})

t.test('a restart by node --watch ends the old process and starts a new one, each with its requests', async t => {
  const source = (text: string) => `
    import { ask, listen } from './site.mjs'
    process.on('exit', () => console.log('over'))
    const server = await listen((message, reply) => reply.end('${text}'))
    console.log(await ask(server))`
  const folder = t.testdir({ node_modules: {}, 'site.mjs': site, 'app.mjs': source('one') })
  const child = startProcess(t, [...(ways['sinfonietta profile'] ?? []), '--watch', 'app.mjs'], {
    cwd: folder,
    env: environment,
  })
  let output = ''
  child.stdout?.setEncoding('utf8').on('data', text => (output += text))
  await until(() => output.includes('200 one'))
  writeFileSync(path.join(folder, 'app.mjs'), source('two'))
  await until(() => output.includes('200 two'))
  t.equal(output.match(/200 (?:one|two)/g)?.length, 2, 'stored profiles restart nothing')
  child.kill('SIGTERM')
  await once(child, 'exit')
})

t.test('an application whose folder cannot be written runs as before', async t => {
  const folder = t.testdir({
    node_modules: {},
    'site.mjs': site,
    'app.mjs': `${using} const server = await listen((message, reply) => reply.end('fine')); console.log(await ask(server)); server.close(); process.exitCode = 8`,
  })
  chmodSync(path.join(folder, 'node_modules'), 0o555)
  const found = await runProcess(t, [process.execPath, '--import', preload, 'app.mjs'], {
    cwd: folder,
    // Root may write to every folder.
    ...(process.getuid?.() === 0 && { uid: 65_534 }),
    env: environment,
  })
  t.match(found, { code: 8, stdout: '200 fine\n', stderr: /WARNING .*Profiles are dropped/ })
  t.notOk(existsSync(path.join(folder, 'node_modules/.cache')))
})

t.test('requests to the main thread are recorded, those to a server of a thread are not', async t => {
  const folder = t.testdir({
    node_modules: {},
    'site.mjs': site,
    'app.mjs': `${using}
      import { isMainThread, parentPort, Worker } from 'node:worker_threads'
      const server = await listen((message, reply) => reply.end('fine'))
      if (isMainThread) {
        new Worker(new URL(import.meta.url)).once('message', port => console.log(port + ' ' + server.address().port))
      } else parentPort.postMessage(server.address().port)`,
  })
  const child = startProcess(t, [process.execPath, '--import', preload, 'app.mjs'], { cwd: folder, env: environment })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', text => (output += text))
  await until(() => /^\d+ \d+$/m.test(output) && output.includes('Profiler: '))
  const [, viewer] = /Profiler: (http:\S+)\n/.exec(output) ?? []
  const [, ofThread, ofMain] = /^(\d+) (\d+)$/m.exec(output) ?? []
  for (const [port, target] of [
    [ofThread, '/thread'],
    [ofMain, '/main'],
  ] as const) {
    const response = await fetch(`http://127.0.0.1:${port}${target}`)
    t.equal(await response.text(), 'fine')
    t.equal(response.headers.has('x-debug-token'), port === ofMain, target)
  }
  const list = async () => (await fetch(`${viewer}search.json`)).text()
  await until(async () => (await list()).includes('/main'))
  t.notMatch(await list(), '/thread')
  child.kill('SIGTERM')
  await once(child, 'exit')
})
