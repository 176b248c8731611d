import type { Application } from '../../kernel/bundle.ts'
import { createDeclarations, handlerRule } from '../../kernel/controller.ts'
import { describeListener } from '../../lib/event-dispatcher/event-dispatcher.ts'
import type { Route } from '../../lib/routing/route.ts'
import { suggestNames } from '../../lib/text/mistakes.ts'

/**
 * Logs controllers and listeners whose source looks like a mistake. Their source is only read:
 * such a function runs like any other, because it may be right.
 */
export function reportSuspectFunctions({
  controllers,
  directory,
  dispatcher,
  logger,
  routes,
  signals,
}: Application): void {
  signals.on('kernel.booted', () => {
    const declarations = createDeclarations({ controllers, directory, routes })
    const variables = listVariables(routes)
    for (const route of routes) {
      const suspicion = findSuspicion(route, variables)
      if (suspicion === undefined) continue
      const place = declarations.find(route)
      const where = place === undefined ? '' : ` (${place.file}:${place.line})`
      logger.warning('The route "{route}"{where}: its controller {suspicion}.', { route: route.name, where, suspicion })
    }
    for (const type of dispatcher.types()) {
      for (const entry of dispatcher.listeners(type)) {
        const suspicion = describeLostThis(entry.listener)
        if (suspicion === undefined) continue
        logger.warning('The listener {listener} {suspicion}.', { listener: describeListener(entry), suspicion })
      }
    }
  })
}

function findSuspicion({ controller, path }: Route, variables: Variables): string | undefined {
  if (typeof controller !== 'function') return undefined
  if (foreignHandler.test(sourceOf(controller))) return `takes (req, res): ${handlerRule}`
  const known = variables.get(controller) ?? new Set()
  const missing = listTaken(controller).find(name => !known.has(name))
  if (missing === undefined) return describeLostThis(controller)
  return `takes the parameter "${missing}", but its path is ${path.source}${suggestNames(missing, known)}`
}

function sourceOf(value: object): string {
  return Function.prototype.toString.call(value)
}

/** Handlers of other frameworks answer by a second argument. */
const foreignHandler = /^[^(]*\(\s*\w+\s*,\s*(?:res|response|reply)\b/

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
  if (!/\bthis\s*(?:\?\.|[.[])/.test(source.replace(textsAndComments, ''))) return undefined
  return `is the method ${method.name}() without its object, which its "this" needs: write value => object.${method.name}(value)`
}

const textsAndComments = /\/\/.*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g
