import { execFile, execSync } from 'node:child_process'
import { EventEmitter } from 'node:events'
import fs, { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Application } from 'sinfonietta'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { attachedTrace } from '#bundles/profiler/record/trace.ts'
import { Response } from '#lib/http/response.ts'
import { type Pages, page } from './page.ts'

/** The console of the process, which is the one that is recorded. */
const { console: terminal } = globalThis

const isLate = ({ data }: Profile): boolean => data.late !== undefined

/** Uses CPU time: on a busy machine it takes longer than the given milliseconds. */
export function toil(milliseconds: number): void {
  const begin = process.cpuUsage()
  const spent = () => {
    const { system, user } = process.cpuUsage(begin)
    return (system + user) / 1000
  }
  while (spent() < milliseconds);
}

/** Pages with work of their own: CPU time, files, processes, templates, log messages. Their files are in the folder. */
export function createWorkPages({ logger, view }: Application, folder: string): Pages {
  const list = async (length: number, time: number) => {
    const items = Array.from({ length }, () => time)
    return Response.html(await view.render('planted/list', { items }))
  }
  return {
    block: {
      answer: 'blocked-loop',
      handle() {
        toil(350)
        return page()
      },
    },
    'waits-for-a-process': {
      answer: 'synchronous-call',
      handle() {
        execSync('sleep 0.08') // here: waits-for-a-process
        return page()
      },
    },
    'waits-long-for-a-process': {
      answer: 'blocked-loop',
      handle() {
        execSync('sleep 0.4') // here: waits-long-for-a-process
        return page()
      },
    },
    'waits-for-a-file': {
      answer: 'synchronous-call',
      async handle() {
        const pipe = `${folder}/pipe-${process.hrtime.bigint()}`
        await new Promise(resolve => execFile('mkfifo', [pipe], resolve))
        // The pipe is open for writing when it is open for reading.
        execFile('sh', ['-c', `exec 3> ${pipe}; sleep 0.08; echo rates >&3`])
        return Response.html(readFileSync(pipe, 'utf8')) // here: waits-for-a-file
      },
    },
    'reads-a-file': {
      answer: 'healthy',
      handle() {
        fs.writeFileSync(`${folder}/rates`, 'rates')
        return Response.html(readFileSync(`${folder}/rates`, 'utf8'))
      },
    },
    'awaits-a-process': {
      answer: 'healthy',
      async handle() {
        await new Promise(resolve => execFile('sleep', ['0.4'], resolve))
        return page()
      },
    },
    'busy-for-a-moment': {
      answer: 'healthy',
      handle() {
        toil(40)
        return page()
      },
    },
    'long-timer': {
      answer: 'healthy',
      async handle() {
        await sleep(350)
        return page()
      },
    },
    'slow-hash': {
      answer: 'out of sight',
      reason: 'It blocks the event loop for less than 200 ms of CPU time, and waits for no file or process.',
      handle() {
        toil(60)
        return page()
      },
    },
    'kept-timer': {
      answer: 'out of sight',
      reason: 'Node.js does not report which timers a request leaves behind.',
      handle() {
        setInterval(() => undefined, 60_000).unref()
        return page()
      },
    },
    // The listener of the bundle waits for it.
    'slow-listener': { answer: 'slow-listener', handle: page },
    'long-list': { answer: 'repeated-template', handle: () => list(60, 0.6) },
    'short-list': { answer: 'healthy', handle: () => list(40, 0.6) },
    'many-logs': {
      answer: 'many-logs',
      handle() {
        for (let item = 0; item < 400; item++) {
          logger.info('Item {item} is shown.', { item }) // here: many-logs
        }
        return page()
      },
    },
    'many-texts': {
      answer: 'many-logs',
      handle() {
        for (let item = 0; item <= 100; item++) {
          logger.info(`Item ${item} is shown.`) // here: many-texts
        }
        return page()
      },
    },
    'console-flood': {
      answer: 'many-console-calls',
      handle() {
        for (let item = 0; item <= 100; item++) {
          terminal.debug('Item', item) // here: console-flood
        }
        return page()
      },
    },
    'sixty-logs': {
      answer: 'healthy',
      handle() {
        for (let item = 0; item < 60; item++) logger.info('Item {item} is shown.', { item })
        return page()
      },
    },
    'debug-logs': {
      answer: 'healthy',
      handle() {
        for (let item = 0; item < 400; item++) logger.debug('Item {item} is shown.', { item })
        return page()
      },
    },
    'listener-leak': {
      answer: 'listener-leak',
      handle() {
        const prices = new EventEmitter()
        for (let item = 0; item < 11; item++) {
          prices.on('change', () => item) // here: listener-leak
        }
        return page()
      },
    },
    'signal-leak': {
      answer: 'listener-leak',
      async handle() {
        const { signal } = new AbortController()
        for (let item = 0; item < 11; item++) {
          signal.addEventListener('abort', () => item) // here: signal-leak
        }
        await sleep(1)
        return page()
      },
    },
    'ten-listeners': {
      answer: 'healthy',
      async handle() {
        const prices = new EventEmitter()
        for (let item = 0; item < 10; item++) prices.on('change', () => item)
        for (let item = 0; item < 40; item++) prices.once('sale', () => item).emit('sale')
        await sleep(1)
        return page()
      },
    },
    // What another framework in a mounted handler reports.
    'second-response': {
      answer: 'second-response',
      handle(request) {
        const refused = Object.assign(new Error('write after end'), { code: 'ERR_STREAM_WRITE_AFTER_END' }) // here: second-response
        attachedTrace(request)?.addThrown(refused)
        return page()
      },
    },
    // The kernel counts the bytes itself: this is what another server has sent.
    'wrong-length': {
      answer: 'wrong-length',
      handle(request) {
        Object.defineProperty(Object(attachedTrace(request)), 'sentBytes', { get: () => 3, set: () => undefined })
        return page()
      },
    },
    'late-error': {
      answer: 'late-error',
      isComplete: ({ summary }) => summary.exception !== null,
      handle(request) {
        const fail = () => attachedTrace(request)?.addThrown(new TypeError('The mail was lost.')) // here: late-error
        void sleep(30).then(fail)
        return page()
      },
    },
    'late-log': {
      answer: 'late-work',
      isComplete: isLate,
      handle() {
        void sleep(30).then(() => logger.info('Logged too late.'))
        return page()
      },
    },
    'late-render': {
      answer: 'late-work',
      isComplete: isLate,
      handle() {
        void sleep(30).then(() => list(3, 0))
        return page()
      },
    },
    // Its listener of kernel.terminate works after the response.
    'work-after': { answer: 'healthy', handle: page },
  }
}
