import path from 'node:path'
import { currentMessage, type FrameworkWork, report } from '../../kernel/contracts/functions.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { loadPrototype, nameOf } from './framework-calls.ts'
import type { Library } from './library.ts'

/** All its handlers have one class, and each has a codec, which gets the procedure of a request and its error. */
export const orpc: Library = {
  name: '@orpc/server',
  reports: 'functions',
  seenBy: 'patch',
  from: '1',
  notSeen: 'functions',
  opens: { '@orpc/server': openHandlers },
}

interface OrpcProcedure {
  readonly '~orpc': { readonly handler?: unknown; readonly route?: { readonly path?: string } }
}

const codecs = new WeakSet<object>()

const prefixes = new WeakMap<FrameworkWork, string>()

async function openHandlers(folder: string): Promise<void> {
  const handler = await loadPrototype(path.join(folder, 'dist/adapters/standard/index.mjs'), 'StandardHandler')
  observeMethod(handler, 'handle', (self, [, options]) => {
    const { codec } = self as { readonly codec: object }
    report(currentMessage, work => prefixes.set(work, String(Object(options).prefix ?? '').replace(/\/$/, '')))
    if (!codecs.has(codec)) watchCodec(codec)
  })
}

function watchCodec(codec: object): void {
  codecs.add(codec)
  observeMethod(codec, 'decode', (_, [request, parameters, procedure]) => {
    const { handler, route } = (procedure as OrpcProcedure)['~orpc']
    const { pathname } = (request as { readonly url: URL }).url
    report(currentMessage, work => {
      // A path without parameters is that of the procedure.
      const pattern = parameters === undefined ? pathname : `${prefixes.get(work)}${route?.path}`
      work.noteRoute({ key: Object(procedure), pattern, parameters, handler: nameOf(handler) })
    })
  })
  observeMethod(codec, 'encodeError', (_, [error]) => {
    const { cause, status } = Object(error)
    // An error that is not of this package is wrapped.
    report(currentMessage, work => work.fail(status >= 500 && cause instanceof Error ? cause : error))
  })
}
