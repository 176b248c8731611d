import { t } from 'tap'
import { findStartingFetch } from '#bundles/libraries/fetch.ts'
import { patchProcess } from '#bundles/libraries/libraries.ts'

/** Replaces the global fetch by one that asks whether the call is limited. */
function replaceFetch(calls: (boolean | undefined)[]): () => void {
  const { fetch } = globalThis
  globalThis.fetch = async function replaced() {
    calls.push(findStartingFetch()?.isLimited)
    return new globalThis.Response('done')
  }
  return () => {
    globalThis.fetch = fetch
  }
}

t.test('a call of fetch is limited by a signal, a dispatcher or a request that may have a signal', async t => {
  const calls: (boolean | undefined)[] = []
  t.teardown(replaceFetch(calls))
  const stop = patchProcess()
  const { signal } = new AbortController()
  await fetch('http://a/')
  await fetch('http://a/', { method: 'POST', signal: null })
  await fetch('http://a/', { signal })
  await fetch(new globalThis.Request('http://a/', { signal }))
  await fetch('http://a/', Object.assign<RequestInit, object>({}, { dispatcher: {} }))
  t.strictSame(calls, [false, false, true, true, true])
  t.equal(findStartingFetch(), undefined, 'outside of a call')
  stop()
  await fetch('http://a/')
  t.equal(calls.at(-1), undefined)
})

t.test('a call of fetch may be limited by a global dispatcher of the application', async t => {
  const calls: (boolean | undefined)[] = []
  t.teardown(replaceFetch(calls))
  t.teardown(patchProcess())
  t.ok(globalThis.Request, 'Node.js loads its dispatcher with it, as packages do before the first call')
  const key = [2, 1].map(at => Symbol.for(`undici.globalDispatcher.${at}`)).find(each => each in globalThis) ?? ''
  await fetch('http://a/')
  const dispatcher: unknown = Reflect.get(globalThis, key)
  t.ok(dispatcher, 'Node.js has one')
  class Agent {
    constructor(options: object) {
      Object.assign(this, { [Symbol('options')]: { connect: undefined, ...options } })
    }
    dispatch(): void {}
  }
  const composed = new Proxy(new Agent({}), {
    get: (agent, key) => (key === 'dispatch' ? () => {} : Reflect.get(agent, key)),
  })
  for (const each of [{}, new Agent({ headersTimeout: 500 }), composed, new Agent({})]) {
    Reflect.set(globalThis, key, each)
    await fetch('http://a/')
  }
  Reflect.set(globalThis, key, dispatcher)
  await fetch('http://a/')
  t.strictSame(calls, [false, true, true, true, false, false])
})

t.test('a kernel that is closed twice does not end the watch of another', async t => {
  const { fetch } = globalThis
  const [first, second] = [patchProcess(), patchProcess()]
  first()
  first()
  t.not(globalThis.fetch, fetch)
  second()
  t.equal(globalThis.fetch, fetch)
  t.teardown(patchProcess())
  t.not(globalThis.fetch, fetch, 'the next watch begins')
})

t.test('fetch behaves as before, and is put back with the last watch', async t => {
  const { fetch } = globalThis
  const stops = [patchProcess(), patchProcess()]
  for (const name of ['name', 'length'] as const) t.equal(globalThis.fetch[name], fetch[name])
  await t.rejects(globalThis.fetch('no address'), TypeError)
  stops[0]?.()
  t.not(globalThis.fetch, fetch)
  const replaced = async () => new globalThis.Response('replaced')
  const watched = globalThis.fetch
  globalThis.fetch = replaced
  stops[1]?.()
  t.equal(globalThis.fetch, replaced, 'that of another library stays')
  globalThis.fetch = watched
  t.equal(await globalThis.fetch('data:,text').then(response => response.text()), 'text')
  globalThis.fetch = fetch
})
