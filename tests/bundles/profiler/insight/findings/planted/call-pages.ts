import { once } from 'node:events'
import { type ClientRequest, get, type IncomingMessage, type RequestOptions } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Application } from 'sinfonietta'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { type Pages, page } from './page.ts'

const isLate = ({ data }: Profile): boolean => data.late !== undefined

const ask = async (url: string): Promise<string> => (await fetch(url)).text()

/**
 * Pages with HTTP client calls to a server. Its path `/wait/<milliseconds>/…` answers after a
 * delay; `/status/<number>` has that status.
 */
export function createCallPages({ logger, queries }: Application, upstream: string): Pages {
  const askTogether = async (...paths: string[]) => {
    await Promise.all(paths.map(path => ask(upstream + path)))
    return page()
  }
  return {
    'same-calls': {
      answer: 'repeated-calls',
      async handle() {
        for (let time = 0; time < 3; time++) {
          const response = await fetch(`${upstream}/rates`) // here: same-calls
          await response.text()
        }
        return page()
      },
    },
    'alike-calls': {
      answer: 'repeated-calls',
      async handle() {
        for (let id = 1; id <= 5; id++) {
          const response = await fetch(`${upstream}/item/${id}`) // here: alike-calls
          await response.text()
        }
        return page()
      },
    },
    // Two equal calls, writing calls and retries after a failure are ignored.
    'right-calls': {
      answer: 'healthy',
      async handle() {
        for (const method of ['POST', 'POST', 'POST']) await (await fetch(`${upstream}/a`, { method })).text()
        return askTogether('/a', '/a', '/status/503', '/status/503', '/status/503')
      },
    },
    'four-items': {
      answer: 'healthy',
      handle: () => askTogether('/item/1', '/item/2', '/item/3', '/item/4', '/one', '/two'),
    },
    'call-sequence': {
      answer: 'sequential-calls',
      async handle() {
        const user = await fetch(`${upstream}/wait/70/user`) // here: call-sequence
        await user.text()
        await ask(`${upstream}/wait/70/basket`)
        return page()
      },
    },
    'calls-together': { answer: 'healthy', handle: () => askTogether('/wait/70/user', '/wait/70/basket') },
    'unknown-host': {
      answer: 'failed-call',
      async handle() {
        const rates = await fetch('http://rates.invalid/today').catch(() => undefined) // here: unknown-host
        await rates?.text()
        return page()
      },
    },
    'refused-call': {
      answer: 'failed-call',
      async handle() {
        await new Promise<void>(resolve => {
          // Nothing listens on this port.
          get('http://127.0.0.1:9/', () => resolve()).on('error', () => resolve())
        })
        return page()
      },
    },
    'cut-call': {
      answer: 'failed-call',
      async handle() {
        const response = await fetch(`${upstream}/cut`) // here: cut-call
        await response.text().catch(() => '')
        return page()
      },
    },
    'reported-call': {
      answer: 'healthy',
      async handle() {
        await fetch('http://127.0.0.1:9/').catch(error => {
          logger.warning('No rates today.', { exception: error })
        })
        return page()
      },
    },
    'call-again': {
      answer: 'healthy',
      async handle() {
        const url = `${upstream}/every-second`
        const first = await ask(url).catch(() => undefined)
        if (first === undefined) await ask(url)
        return page()
      },
    },
    'expected-404': {
      answer: 'healthy',
      async handle() {
        const avatar = await fetch(`${upstream}/status/404`)
        await avatar.text()
        const rates = await fetch(`${upstream}/status/502`)
        await rates.text()
        return page()
      },
    },
    'unlimited-call': {
      answer: 'unlimited-call',
      async handle() {
        const response = await fetch(`${upstream}/wait/450/rates`) // here: unlimited-call
        await response.text()
        return page()
      },
    },
    'unlimited-get': {
      answer: 'unlimited-call',
      async handle() {
        await new Promise(resolve =>
          get(`${upstream}/wait/450/rates`, response => response.resume().on('end', resolve)),
        )
        return page()
      },
    },
    'limited-call': {
      answer: 'healthy',
      async handle() {
        const response = await fetch(`${upstream}/wait/450/rates`, { signal: AbortSignal.timeout(20_000) })
        await response.text()
        return page()
      },
    },
    'limited-get': {
      answer: 'healthy',
      async handle() {
        const send = (options: RequestOptions) =>
          new Promise(resolve =>
            get(`${upstream}/wait/450/rates`, options, response => response.resume().on('end', resolve)),
          )
        await Promise.all([send({ timeout: 20_000 }), send({ signal: AbortSignal.timeout(20_000) })])
        return page()
      },
    },
    'own-timeout': {
      answer: 'healthy',
      async handle() {
        const signal = AbortSignal.timeout(40)
        await fetch(`${upstream}/wait/80/slow`, { signal }).catch(() => undefined)
        return page()
      },
    },
    'aborts-a-call': {
      answer: 'healthy',
      isComplete: ({ collectors }) => collectors.http?.calls.some(({ isAborted }) => isAborted) === true,
      handle() {
        fetch(`${upstream}/wait/80/slow`, { signal: AbortSignal.timeout(1) }).catch(() => undefined)
        return page()
      },
    },
    'user-left': {
      answer: 'healthy',
      async handle() {
        const leave = async (path: string, read: boolean) => {
          const controller = new AbortController()
          const response = fetch(upstream + path, { signal: controller.signal })
          if (read) await response
          else setTimeout(() => controller.abort(new Error('user left')), 20)
          const text = response.then(response => response.text())
          if (read) controller.abort(new Error('user left'))
          await text.catch(() => undefined)
        }
        await leave('/wait/80/slow', false)
        await leave('/endless', true)
        return page()
      },
    },
    'destroyed-gets': {
      answer: 'healthy',
      async handle() {
        const end = (path: string, destroy: (request: ClientRequest, response?: IncomingMessage) => void) =>
          new Promise<void>(resolve => {
            const request = get(upstream + path, response => {
              response.on('error', () => undefined).on('close', resolve)
              destroy(request, response.resume())
            })
            request.on('error', () => undefined).on('close', resolve)
            if (path !== '/endless') setTimeout(() => destroy(request), 20)
          })
        await end('/wait/80/slow', request => request.destroy())
        await end('/wait/80/slow', request => request.destroy(new Error('user left')))
        await end('/endless', request => request.destroy())
        await end('/endless', (_, response) => response?.destroy())
        await end('/endless', (_, response) => response?.destroy(new Error('user left')))
        return page()
      },
    },
    'hung-up-get': {
      answer: 'failed-call',
      async handle() {
        await new Promise<void>(resolve => {
          get(`${upstream}/hang-up`).on('error', () => resolve())
        })
        return page()
      },
    },
    'cut-get': {
      answer: 'failed-call',
      async handle() {
        await new Promise<void>(resolve => {
          get(`${upstream}/cut`, response => response.on('error', () => resolve()).resume())
        })
        return page()
      },
    },
    'own-protocol': {
      answer: 'out of sight',
      reason: 'A library without channels and an instrumentation, whose calls the application does not measure.',
      async handle() {
        const { hostname, port } = new URL(upstream)
        const socket = connect(Number(port), hostname)
        await once(socket, 'connect')
        socket.end('GET / HTTP/1.0\r\n\r\n')
        for await (const _ of socket);
        return page()
      },
    },
    'transaction-call': {
      answer: 'transaction-call',
      async handle() {
        await queries.measure('postgresql', 'BEGIN', undefined, async () => [])
        await (await fetch(`${upstream}/wait/20/pay`)).text() // here: transaction-call
        await queries.measure('postgresql', 'COMMIT', undefined, async () => [])
        return page()
      },
    },
    'calls-beside': {
      answer: 'healthy',
      async handle() {
        const transact = async () => {
          for (const text of ['BEGIN', 'COMMIT']) await queries.measure('postgresql', text, undefined, () => sleep(20))
        }
        await ask(`${upstream}/before`)
        await Promise.all([transact(), ask(`${upstream}/wait/10/beside`)])
        return askTogether('/after')
      },
    },
    'late-call': {
      answer: 'late-work',
      isComplete: isLate,
      handle() {
        void sleep(30).then(() => fetch(`${upstream}/wait/20/late`)) // here: late-call
        return page()
      },
    },
  }
}
