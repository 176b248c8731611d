import { readFileSync } from 'node:fs'
import path from 'node:path'
import { guard } from '../../lib/guard.ts'
import { type Running, readSites } from '../../lib/stack/callers.ts'
import { toPath } from '../../lib/stack/stack-frames.ts'

/** What the copies of the API of OpenTelemetry share, as far as it is used. The application registers the parts. */
export interface ApiGlobal {
  version?: string | undefined
  trace?: { getTracer(...scope: readonly unknown[]): object }
  context?: { active(): object }
}

/** Each copy of version 1 of the API, also one in a bundle, reads its parts from this property of the global object. */
const apiKey = Symbol.for('opentelemetry.js.api.1')

/** A copy of the API takes the parts of another one with the same minor version or a later one. */
const anyVersion = '1.999.0'

/** What the application has registered. */
let registered: ApiGlobal | undefined

/** Whether the application has a provider of its own. */
export function hasProvider(): boolean {
  return registered?.trace !== undefined
}

/**
 * Puts a provider on the global of the API for an application that has registered none, until the
 * returned function is called. `onProvider` gets the one that the application registers, which it does as
 * without the profiler: the API allows that once, and only to copies with the version of the first one.
 * So a registration sees the parts of the application alone; it begins when a copy writes the global.
 */
export function shareApi(
  createProvider: (api: ApiGlobal) => NonNullable<ApiGlobal['trace']>,
  onProvider: (provider: object) => void,
): () => void {
  const before = Object.getOwnPropertyDescriptor(globalThis, apiKey)
  const api: ApiGlobal = before?.value ?? {}
  registered = api
  const provider = createProvider(api)
  const note = guard('a provider of spans', onProvider)
  let isRegistering = false
  const handler: ProxyHandler<ApiGlobal> = {
    get: function get(_, name) {
      if (name === 'version') {
        if (isRegistering) api.version ??= findVersion(readSites(handler.get as Running, 1)[0]?.getFileName())
        isRegistering = false
        return api.version ?? anyVersion
      }
      return name === 'trace' && !isRegistering ? (api.trace ?? provider) : Reflect.get(api, name)
    },
    set(_, name, value) {
      Reflect.set(api, name, value)
      if (name === 'trace') note(value)
      return true
    },
  }
  const shared = new Proxy(api, handler)
  if (api.trace !== undefined) note(api.trace)
  Object.defineProperty(globalThis, apiKey, {
    configurable: true,
    enumerable: true,
    get: () => shared,
    set(value: unknown) {
      isRegistering = true
      if (value !== shared) Object.assign(api, value)
    },
  })
  return () => {
    Reflect.deleteProperty(globalThis, apiKey)
    if (Object.keys(api).length > 0) Object.assign(globalThis, { [apiKey]: api })
  }
}

/** The version of a copy of the API, by the file that registers: it is written there, or in a file beside it. */
const findVersion = guard('the API of OpenTelemetry', (name: string | null | undefined): string | undefined => {
  const file = toPath(name ?? '')
  const code = readFileSync(file, 'utf8')
  const versions = [...code.slice(0, code.indexOf(apiName)).matchAll(versionText)]
  return (versions.at(-1) ??
    versionText.exec(readFileSync(path.join(path.dirname(file), '../version.js'), 'utf8')))?.[1]
})

const apiName = 'opentelemetry.js.api.'

const versionText = /["'`](1\.\d+\.\d+[\w.-]*)["'`]/g
