import { listMethods } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { readProperty } from '../../lib/text/describe-value.ts'
import { nearestNames, suggestNames } from '../../lib/text/mistakes.ts'

/**
 * The end of a message about the failed step of a bundle: what is right, if it uses a service that
 * does not exist, or in a wrong way.
 */
export function adviseOnStep(cause: unknown, services: object, step: unknown): string {
  return adviseOnServices(cause, services, step) || adviseOnParameter(cause, services, step)
}

/**
 * The end of a message of the engine about a function that a service does not have, or about a name that is a
 * service: what is right. The message quotes the code, in which most variables have the names of their services.
 */
function adviseOnServices(cause: unknown, services: object, step: unknown): string {
  const message = String(readProperty(cause, 'message'))
  const [, undeclared = ''] = /^(\w+) is not defined$/.exec(message) ?? []
  if (Object.hasOwn(services, undeclared))
    return `: it is a service of the application: write register({ ${undeclared} })`
  const right = adviseOnModuleName(message)
  if (right !== undefined) return `: ${right}`
  const [similar] = undeclared === '' ? [] : nearestNames(undeclared, Object.keys(services))
  if (similar !== undefined) return `: is it the service "${similar}"? Write register({ ${similar} })`
  const [, added = ''] = /^Cannot add property (\w+), /.exec(message) ?? []
  if (added !== '' && new RegExp(`\\bapp\\.${added}\\b|\\bassign\\(app\\b`).test(String(step)))
    return `: each bundle has its own app: create "${added}" in bundles/index.ts, and pass it to the bundles that use it`
  const [, owner = '', method = ''] = /(\w+)\.(\w+) is not a function$/.exec(message) ?? []
  if (owner === 'app') {
    if (method === 'get') return ': use app.routes.get() for a route; other objects are imported, not asked for by name'
    if (method === 'use') return ': use app.dispatcher.on(RequestEvent, listener)'
    const hasMethod = (service: unknown) => typeof readProperty(service, method) === 'function'
    const fitting = Object.keys(services).filter(name => hasMethod(readProperty(services, name)))
    if (fitting.length > 0) return `: use ${fitting.map(name => `app.${name}.${method}()`).join(' or ')}`
    return `: it has the services ${Object.keys(services).join(', ')}`
  }
  const service: unknown = readProperty(services, owner)
  if (Array.isArray(service)) return ': it is a list: use push()'
  if (owner === 'settings') return ': use settings.of(settings of the bundle)'
  const methods = listMethods(service).filter(
    name => name !== 'constructor' && typeof readProperty(service, name) === 'function',
  )
  // A variable of this name may be something else.
  if (methods.length === 0 || methods.includes(method)) return ''
  return suggestNames(method, methods) || `: use ${methods.join(', ')}`
}

/** What is right instead of a name that only CommonJS modules have, as the engine reports it. */
export function adviseOnModuleName(message: string): string | undefined {
  const [, name = ''] = /^(require|__dirname|__filename|module|exports) is not defined$/.exec(message) ?? []
  if (name === 'require') return "write import fs from 'node:fs' at the top of the file"
  if (name.startsWith('__')) return 'write path.join(app.directory, …), which begins at the folder of the application'
  return name === '' ? undefined : 'write export before what other files import'
}

/** What is right, if a step of a bundle takes a service that does not exist, or one service instead of all. */
function adviseOnParameter(cause: unknown, services: object, step: unknown): string {
  if (!(cause instanceof TypeError)) return ''
  const [, names = '', single = ''] = /^[^(]*\(\s*(?:\{([^{}()]*)\}|(\w+))/.exec(String(step)) ?? []
  if (Object.hasOwn(services, single)) return `: register() gets all services at once: write register({ ${single} })`
  const taken = names.split(',').map(name => /^\s*(\w*)/.exec(name)?.[1] ?? '')
  const unknown = taken.find(name => name !== '' && !Object.hasOwn(services, name))
  if (unknown === undefined) return ''
  const known = Object.keys(services)
  return `: there is no service "${unknown}"${suggestNames(unknown, known) || `: use ${known.join(', ')}`}`
}
