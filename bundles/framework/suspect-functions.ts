import { hasCheckedForm, inputsOf } from '../../kernel/argument-sources.ts'
import type { Application } from '../../kernel/bundle.ts'
import {
  type Controller,
  createDeclarations,
  handlerRule,
  isController,
  listParameters,
  listSourceNames,
  readsBody,
} from '../../kernel/controller.ts'
import { ExceptionEvent, RequestEvent } from '../../kernel/events.ts'
import {
  describeListener,
  type EventClass,
  originalOf,
  type RegisteredListener,
} from '../../lib/event-dispatcher/event-dispatcher.ts'
import { isRetrieval } from '../../lib/http/conditions.ts'
import type { Route } from '../../lib/routing/route.ts'
import { showPlace } from '../../lib/stack/declaration-sites.ts'
import { describeSplitName, explainSplitName, listSplitNames, suggestNames } from '../../lib/text/mistakes.ts'
import { handlePriority } from './listeners/error-listener.ts'
import { routingPriority } from './listeners/router-listener.ts'

/**
 * Logs controllers and listeners whose source looks like a mistake. Their source is only read:
 * such a function runs like any other, because it may be right.
 */
export function reportSuspectFunctions({
  controllers,
  directory,
  dispatcher,
  guards,
  logger,
  routes,
  signals,
}: Application): void {
  signals.on('kernel.booted', () => {
    const declarations = createDeclarations({ controllers, directory, routes })
    const variables = listVariables(routes)
    const bodies = listBodies(routes)
    for (const route of routes) {
      const { controller, name } = route
      const suspicion =
        findSuspicion(route, variables) ??
        describeNoBody(route, bodies) ??
        (isController(controller)
          ? (describeLostCall(controller.call, 'write return', listSourceNames(controller)) ??
            describeIssues(controller))
          : describeLostCall(controller, 'write return'))
      if (suspicion === undefined) continue
      const where = showPlace(declarations.find(route))
      logger.warning('The route "{route}"{where}: its controller {suspicion}.', { route: name, where, suspicion })
    }
    for (const guard of guards) {
      const suspicion = describeLostCall(guard.check, 'write return')
      if (suspicion === undefined) continue
      const where = showPlace(declarations.find(guard))
      logger.warning('The guard "{guard}"{where} {suspicion}.', { guard: guard.name, where, suspicion })
    }
    for (const type of dispatcher.types()) {
      for (const entry of dispatcher.listeners(type)) {
        const listener = originalOf(entry.listener)
        const suspicion =
          describeLostThis(listener) ??
          describeEarly(type, entry) ??
          describeLate(type, entry) ??
          describeLostCall(listener, 'use event.respond()')
        if (suspicion === undefined) continue
        logger.warning('The listener {listener} {suspicion}.', { listener: describeListener(entry), suspicion })
      }
    }
  })
}

function findSuspicion(route: Route, variables: Variables): string | undefined {
  const { controller, host, path } = route
  if (isController(controller)) return findLostValue(controller) ?? describeSplit(route, controller.call)
  if (typeof controller !== 'function') return undefined
  if (foreignHandler.test(sourceOf(controller))) return `takes (req, res): ${handlerRule}`
  const known = variables.get(controller) ?? new Set()
  const missing = listTaken(controller).find(name => !known.has(name))
  if (missing === undefined) return describeSplit(route, controller) ?? describeLostThis(controller)
  const suggestion = explainSplitName([path.source, host?.source], missing) || suggestNames(missing, known)
  return `takes the parameter "${missing}", but its path is ${path.source}${suggestion}`
}

/**
 * The end of a sentence about a function that reads `user-id` where the path `/users/:user-id` has the variable `user`;
 * or that does not read `user`, if the text behind the variable is a word for an id.
 */
function describeSplit(route: Route, call: object): string | undefined {
  const { controller, host, path } = route
  const source = sourceOf(call)
  for (const split of [path.source, host?.source ?? ''].flatMap(listSplitNames)) {
    const reading = `: ${describeSplitName(split)}`
    if (readsOneOf(split.meant, source)) return `reads a variable that its path ${path.source} does not have${reading}`
    const isRead =
      source.split(/[^\w$]+/).includes(split.name) ||
      (isController(controller) && listParameters(controller).includes(split.name)) ||
      inputsOf(route).some(input => input.source === 'route')
    if (!isRead && /^-(?:id|uuid|slug)$/i.test(split.text))
      return `does not read the variable "${split.name}" of its path ${path.source}${reading}`
  }
  return undefined
}

/** Whether a function reads a parameter of its route by one of these names, which need not be declared. */
function readsOneOf(names: readonly string[], source: string): boolean {
  const [, parameters = '0'] = /^[^(]*\(\s*[\w$]+\s*,\s*([\w$]+)/.exec(source) ?? []
  const name = `(?:${names.join('|')})`.replaceAll('$', '\\$')
  const quoted = `['"\`]${name}['"\`]`
  const uses = [
    `\\b${parameters}(?:\\??\\.${name}\\b|(?:\\?\\.)?\\[${quoted}\\])`,
    `^[^=]*,\\s*\\{[^}]*${quoted}\\s*:`,
    `\\battributes\\.get\\(${quoted}`,
  ]
  return new RegExp(uses.join('|')).test(source)
}

/** A value that a function takes under a name that no source has, or not out of the object of the values. */
function findLostValue(controller: Controller): string | undefined {
  const known = listSourceNames(controller)
  const [, list, name] = takenValues.exec(sourceOf(controller.call)) ?? []
  if (known.length === 0) return undefined
  const second = listTaken(controller.call)
  if (/^_?req/.test(name ?? '') && second.length > 0 && second.every(each => known.includes(each)))
    return `gets its values before the request: write ({ ${second.join(', ')} }, ${name})`
  if (name !== undefined && known.includes(name) && !sourceOf(controller.call).includes(`${name}.${name}`))
    return `gets its values as one object: write ({ ${name} }), not (${name})`
  const missing = listNames(list).find(name => !known.includes(name))
  return (
    missing && `takes the value "${missing}", but its sources are ${known.join(', ')}${suggestNames(missing, known)}`
  )
}

/** The first parameter of a function with sources: the names that it takes of an object, or one name. */
const takenValues = /^(?:async\b)?[\s\w$]*?\(?\s*(?:\{([\s\w$,:]*)\}|([\w$]+))\s*(?:,|\)|=>)/

function sourceOf(value: object): string {
  return Function.prototype.toString.call(value)
}

/** Handlers of other frameworks answer by a second argument. */
const foreignHandler = /^[^(=]*\(\s*\w+\s*,\s*(?:res|response|reply)\b/

/**
 * The names of the variables and defaults that the routes of a controller have: a function may answer several routes.
 */
type Variables = ReadonlyMap<unknown, ReadonlySet<string>>

function listVariables(routes: Iterable<Route>): Variables {
  const variables = new Map<unknown, Set<string>>()
  for (const { controller, defaults, host, path } of routes) {
    const known = variables.get(controller) ?? new Set()
    for (const name of [...path.names, ...(host?.names ?? []), ...Object.keys(defaults)]) known.add(name)
    variables.set(controller, known)
  }
  return variables
}

/** The names that a function takes from its second argument, `(request, { id })`; none if one of them has a default. */
function listTaken(controller: object): string[] {
  const [, list = ''] = takenParameters.exec(sourceOf(controller)) ?? []
  return listNames(list)
}

function listNames(list = ''): string[] {
  return list.split(',').flatMap(name => /^\s*([\w$]+)/.exec(name)?.[1] ?? [])
}

const takenParameters = /^(?:async\b)?[\s\w$]*\(\s*(?:[\w$]+|\{[\s\w$,:]*\})\s*,\s*\{([\s\w$,:]*)\}\s*,?\s*\)/

/**
 * The end of a sentence about a method that uses `this`: without its object, `this` is another value.
 * `undefined` for a method that is bound, and if an inner function may have a `this` of its own.
 */
function describeLostThis(method: { readonly name: string }): string | undefined {
  const source = sourceOf(method)
  if (!/^(?:async\s+)?[\w$]+\s*\(/.test(source) || /^(?:async\s*)?\(|\b(?:function|class)\b/.test(source))
    return undefined
  const code = codeOf(method)
  if (innerMethod.test(code.slice(code.indexOf('{'))) || !/\bthis\s*(?:\?\.|[.[])/.test(code)) return undefined
  return `is the method ${method.name}() without its object, which its "this" needs: write value => object.${method.name}(value)`
}

const innerMethod = /[{},;\s](?!(?:if|for|while|switch|catch|with)\b)[\w$]+\s*\([^()]*\)\s*\{/

/** The end of a sentence about a listener that would never see the route of a request. */
function describeEarly(type: EventClass, { listener, priority }: RegisteredListener): string | undefined {
  if (type !== RequestEvent || priority <= routingPriority) return undefined
  const source = codeOf(originalOf(listener))
  const [, name] = /\.get\(['"`](_route|_route_params)['"`]\)/.exec(source) ?? []
  // A sub-request may have the attributes of the request that it comes from.
  if (/\b(?:isMainRequest|parent)\b/.test(source)) return undefined
  return (
    name &&
    `reads "${name}" at the priority ${priority}, before the router (${routingPriority}) sets it: use a lower one`
  )
}

/** The controllers with a route for clients that send a body. */
function listBodies(routes: Iterable<Route>): ReadonlySet<unknown> {
  const withBody = [...routes].filter(({ methods }) => methods.length === 0 || !methods.every(isRetrieval))
  return new Set(withBody.map(({ controller }) => controller))
}

/** The end of a sentence about a function that reads a body which no client sends. */
function describeNoBody({ controller, methods }: Route, bodies: ReadonlySet<unknown>): string | undefined {
  if (readsBody(controller) && methods.length > 0 && methods.every(isRetrieval))
    return 'reads a body, but clients send none with GET: use routes.post()'
  if (typeof controller !== 'function' || bodies.has(controller)) return undefined
  const source = codeOf(controller)
  const [head = '', request = ''] = /^(?:async\b)?[\s\w$]*?\(?\s*([\w$]+)\s*(?:,|\)|=>)/.exec(source) ?? []
  const [, call] = new RegExp(`(?<![\\w$.])${request.replaceAll('$', '\\$')}\\.(formData|json)\\(`).exec(source) ?? []
  if (request === '' || call === undefined || /\bhasBody\b/.test(source)) return undefined
  if (isNamedAgain(request, source.slice(head.length))) return undefined
  return `calls ${request}.${call}(), but clients send no body with GET: use ${request}.query, or routes.post()`
}

/** The end of a sentence about a listener that is never called: the error listener answers each error before it. */
function describeLate(type: EventClass, { priority }: RegisteredListener): string | undefined {
  if (type !== ExceptionEvent || priority >= handlePriority) return undefined
  return `is never called at the priority ${priority}: the error page answers at ${handlePriority}, use a higher one`
}

/**
 * The end of a sentence about a call whose result is lost: a response that nothing sends, such as behind a forgotten
 * `return`, or a promise that is used as its value. `values` are the names that the function has from its sources.
 */
function describeLostCall(value: unknown, advice: string, values: readonly string[] = []): string | undefined {
  if (typeof value !== 'function') return undefined
  const source = codeOf(value)
  const [, dropped] = droppedResponse.exec(source) ?? []
  if (dropped !== undefined) return `makes a response by ${dropped}(), which is not sent: ${advice}`
  const [, mail] = droppedMail.exec(source) ?? []
  if (mail !== undefined)
    return `does not await ${mail}(), and a mail that fails may end the process: write await ${mail}(…)`
  const takesSession = !values.includes('session') && isSessionTaken(source)
  for (const [declaration, name, call = ''] of source.matchAll(promised)) {
    if (call.startsWith('session.') && !takesSession) continue
    if (name === undefined || name.startsWith('{') || isValue(name, source.replace(declaration, ''), sourceOf(value)))
      return `uses the promise of ${call}() as its value: write await ${call}(…)`
  }
  return undefined
}

/** The end of a sentence about the value of a checked form, the only value of its controller, that may have issues. */
function describeIssues(controller: Controller): string | undefined {
  const source = codeOf(controller.call)
  if (!hasCheckedForm(controller) || !checkedValue.test(source)) return undefined
  if (/\bform\b(?!\.value\.)/.test(source.replace(/\bform\b/, ''))) return undefined
  return 'uses form.value, which is undefined for a form with issues: answer form.issues first'
}

/** Whether `session` is that of the request, and no other value of this name. */
function isSessionTaken(source: string): boolean {
  const rest = source.replace(takenSession, '0=0')
  return rest !== source && !isNamedAgain('session', rest)
}

const takenSession =
  /[(,]\s*\{[^{}:]*\bsession\b[^{}:]*\}\s*[,)]|\{[^{}:]*\bsession\b[^{}:]*\}\s*=\s*(?:[\w$]+\.)?req(?:uest)?\b(?!\.)|\bsession\s*=\s*(?:[\w$]+\.)?req(?:uest)?\.session\b/g

/** Whether a code may have a variable or parameter of a name. */
function isNamedAgain(name: string, code: string): boolean {
  const escaped = name.replaceAll('$', '\\$')
  const again = `(?:const|let|var|catch)\\b[^=;]*\\b${escaped}\\b|\\b${escaped}\\b[\\w$\\s,]*\\)?\\s*(?:=>|\\{)`
  return new RegExp(again).test(code)
}

/** Whether each use of a promise takes it for its value. A promise that is passed on may be awaited there. */
function isValue(name: string, code: string, source: string): boolean {
  if (new RegExp(`await[\\s(]+${name}\\b|\\b${name}\\s*\\??\\.\\s*(?:then|catch|finally)\\b`).test(source)) return false
  const use = `typeof\\s+${name}\\b|!${name}\\b|\\+\\s*${name}\\b|\\bif\\s*\\(${name}\\)|(?<!\\.)\\b${name}\\s*(?:[.[+<>]|\\?|[!=]=|&&|\\|\\|)`
  const shown = `(?<=\\b(?:json|render)\\([^()]*[{,]\\s*)${name}\\s*(?=[,}])`
  const rest = code.replace(new RegExp(`${use}|${shown}`, 'g'), '')
  return rest !== code && !new RegExp(`(?<!\\.)\\b${name}\\b`).test(rest)
}

/** The beginning of a statement. An attempt may be the test of an address. */
const beginning =
  /(?:(?<!\btry\s*)[;{})]\s*|\belse\s+|[\w$\]](?<!\b(?:await|case|in|instanceof|of|typeof|void))\s*\n\s*)/

const droppedResponse = new RegExp(
  `${beginning.source}(?:await\\s+)?((?:[\\w$]+\\.)?req(?:uest)?\\.redirect(?:To|Back)|Response\\.(?:redirect|text|html|json|empty|stream))\\(`,
)

/** A mail without a callback, whose promise is not used. */
const droppedMail = new RegExp(
  `${beginning.source}((?:[\\w$]+\\.)+sendMail)\\(\\s*(?:\\{[^{}]*\\}|[\\w$]+)\\s*\\)(?!\\s*[.,)\\]])`,
)

/** A call that returns a promise, as a condition or as the value of a variable. */
const promised =
  /(?:!\s*|\bif\s*\(\s*|\b(?:const|let|var)\s+(\w+|\{[^{}]*\})\s*=\s*)((?:(?:event\.)?req(?:uest)?\.)?session\.(?:get|has|all|take|update|flashes|peekFlashes|metadata)|req(?:uest)?\.(?:json|text|formData))\(/g

/** A controller whose values are a checked form alone. */
const checkedValue = /^(?:async\s*)?\(\s*\{\s*form\s*\}[^{}]*\)\s*=>[\s\S]*\bform\.value\./

/** The source of a function without comments, and with `0` for texts; the values in templates are added to them. */
function codeOf(value: object): string {
  return sourceOf(value).replace(textsAndComments, text => {
    if (text.startsWith('/')) return ''
    const values = text.startsWith('`') ? Array.from(text.matchAll(/\$\{([^{}]*)\}/g), ([, each]) => each) : []
    return /^.(?:_route|_route_params).$/.test(text) ? text : ['0', ...values].join('+')
  })
}

const textsAndComments = /\/\/.*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g
