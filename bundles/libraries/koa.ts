import path from 'node:path'
import { type FrameworkFunction, type FrameworkRoute, report } from '../../kernel/contracts/functions.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { followCall, loadExport, loadPrototype, mountedAt, mountOf, nameOf, noteFunctions } from './framework-calls.ts'
import type { Library } from './library.ts'

/** The class of applications, what their contexts inherit, and its routers. */
export const koa: Library = {
  name: 'koa',
  reports: 'functions',
  seenBy: 'patch',
  opens: { koa: openKoa, '@koa/router': openKoaRouter, 'koa-router': openKoaRouter },
}

/** It has copies of Koa and its router. */
export const egg: Library = {
  name: 'egg',
  reports: 'functions',
  seenBy: 'patch',
  from: '3',
  opens: { '@eggjs/koa': openKoa, '@eggjs/router': openKoaRouter, 'egg-router': openKoaRouter },
}

interface KoaContext {
  readonly req: object
  readonly originalUrl: string
  readonly path: string
  readonly params?: unknown
  readonly _matchedRoute?: unknown
}

interface KoaLayer {
  readonly path?: unknown
  readonly methods?: readonly string[]
  stack: AnyFunction[]
}

/** A function of an application of Koa; that of a router leads to it. */
type KoaFunction = AnyFunction & { readonly router?: object }

/** Changes the class of applications, and what their contexts inherit. */
async function openKoa(folder: string): Promise<void> {
  for (const files of ['lib', 'dist/esm', 'dist/commonjs']) await openApplications(path.join(folder, files))
}

/** Only Egg has its classes by their names. */
async function openApplications(folder: string): Promise<void> {
  const application = await loadClass(path.join(folder, 'application.js'), 'Application')
  observeMethod(application, 'use', (_, args) => void noteFunctions(args))
  observeMethod(application, 'callback', self => {
    const app = self as { middleware: KoaFunction[] }
    const { middleware } = app
    // The list itself: functions that are added later are called, too.
    app.middleware = new Proxy(middleware, {
      get(list, key) {
        const value: unknown = Reflect.get(list, key)
        return typeof key === 'string' && /^\d+$/.test(key) ? watchKoa(value as KoaFunction, 'middleware') : value
      },
    })
    return {
      after() {
        app.middleware = middleware
      },
    }
  })
  const file = path.join(folder, 'context.js')
  const context = (await loadPrototype(file, 'Context')) ?? (await loadExport(file))
  observeMethod(context, 'onerror', (self, [error]) => {
    if (error !== null && error !== undefined) report((self as KoaContext).req, work => work.fail(error))
  })
}

async function loadClass(file: string, name: string): Promise<object | undefined> {
  return (await loadPrototype(file)) ?? loadPrototype(file, name)
}

/** Changes the class of routers. An application has it as an ES module, or as CommonJS. */
async function openKoaRouter(folder: string): Promise<void> {
  for (const file of [
    'dist/index.mjs',
    'dist/index.js',
    'lib/router.js',
    'dist/esm/Router.js',
    'dist/commonjs/Router.js',
  ]) {
    const router = await loadClass(path.join(folder, file), 'Router')
    for (const name of ['register', 'use']) observeMethod(router, name, (_, args) => void noteFunctions(args))
    // Routes may be added at any time, and another package may call the function of the router.
    observeMethod(router, 'match', self => {
      for (const each of (self as { readonly stack: readonly KoaLayer[] }).stack) watchKoaLayer(each)
    })
  }
}

/** The wrapper of each function of Koa; of a wrapper, itself. */
const koaWrappers = new WeakMap<object, KoaFunction>()

function watchKoa(code: KoaFunction, phase: string, layer?: KoaLayer): KoaFunction {
  if (typeof code !== 'function') return code
  const known = koaWrappers.get(code)
  if (known !== undefined) return known
  // The function of a router has no name, and that of Egg around a controller has the same for all.
  const name = code.router === undefined ? nameOf(code).replace(/^wrappedController$/, '') : 'router'
  const called: FrameworkFunction = { phase, name, code }
  const wrapped = observeCalls(code, (_, args) => {
    const context = args[0] as KoaContext
    if (layer !== undefined) report(context.req, work => work.noteRoute(readKoaRoute(context, layer, called.name)))
    // Koa passes what a function throws to the functions before it, as a rejection.
    return { after: followCall(context.req, called, args).after }
  })
  koaWrappers.set(code, wrapped)
  koaWrappers.set(wrapped, wrapped)
  return wrapped
}

const koaLayers = new WeakSet<object>()

/** The last function of a route is its handler; layers without methods have middleware. */
function watchKoaLayer(layer: KoaLayer): void {
  if (koaLayers.has(layer) || !Array.isArray(layer.stack)) return
  koaLayers.add(layer)
  const isRoute = (layer.methods?.length ?? 0) > 0
  layer.stack = layer.stack.map((code, at) =>
    isRoute && at === layer.stack.length - 1 ? watchKoa(code, 'handler', layer) : watchKoa(code, 'middleware'),
  )
}

function readKoaRoute(context: KoaContext, layer: KoaLayer, handler: string): FrameworkRoute {
  const mounts = mountedAt(context.req) + mountOf(context.originalUrl, context.path)
  const path = String(context._matchedRoute ?? layer.path)
  return { key: layer, pattern: mounts + path, parameters: context.params, handler }
}
