import path from 'node:path'
import { report } from '../../kernel/contracts/functions.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { followHandler, loadPrototype, nameOf, noteFunctions } from './framework-calls.ts'
import type { Library } from './library.ts'

/** The class of its applications, each of which has a list of its functions. */
export const tinyhttp: Library = {
  name: '@tinyhttp/app',
  reports: 'functions',
  seenBy: 'patch',
  from: '2',
  opens: { '@tinyhttp/app': openTinyhttp, '@tinyhttp/router': openRouter },
}

interface TinyhttpFunction {
  readonly path: string
  readonly type?: string
  handler: AnyFunction
}

interface TinyhttpApplication {
  readonly middleware: readonly TinyhttpFunction[]
  path(): string
}

async function openTinyhttp(folder: string): Promise<void> {
  const prototype = await loadPrototype(path.join(folder, 'dist/app.js'), 'App')
  observeMethod(prototype, 'use', function use(_, args) {
    noteFunctions(args, use)
  })
  observeMethod(prototype, 'handler', given => {
    const application = given as TinyhttpApplication
    for (const each of application.middleware) watchFunction(application, each)
    if (!applications.has(application)) {
      applications.add(application)
      observeMethod(application, 'onError', (_, [error, request]) => {
        if (error instanceof Error) report(Object(request), work => work.fail(error))
      })
    }
  })
}

/** The methods of an application are what `add` returns. */
async function openRouter(folder: string): Promise<void> {
  observeMethod(await loadPrototype(path.join(folder, 'dist/index.js'), 'Router'), 'add', () => ({
    after: method =>
      observeCalls(method as AnyFunction, function add(_, args) {
        noteFunctions(args, add)
      }),
  }))
}

const applications = new WeakSet<object>()

const watched = new WeakSet<object>()

function watchFunction(application: TinyhttpApplication, entry: TinyhttpFunction): void {
  if (watched.has(entry)) return
  watched.add(entry)
  const { handler: code, path: pattern, type } = entry
  // That of a mounted application, whose functions are watched themselves.
  if (code.name === 'bound handler') return
  // A function that gets `next` may call the functions behind it.
  const isHandler = type === 'route' && code.length < 3
  const called = { phase: isHandler ? 'handler' : 'middleware', name: nameOf(code), code }
  entry.handler = observeCalls(code, (_, [request]) =>
    followHandler(Object(request), called, work => {
      const { params: parameters } = Object(request)
      const whole = application.path() + pattern
      if (type === 'route') work.noteRoute({ key: entry, pattern: whole, parameters, handler: called.name })
    }),
  )
}
