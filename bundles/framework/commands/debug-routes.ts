import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import { nameOfController } from '../../../kernel/controller.ts'
import type { Document } from '../../../lib/console/document.ts'
import { describeHiddenRoute, findHiddenRoutes } from '../../../lib/routing/hidden-routes.ts'
import type { Route } from '../../../lib/routing/route.ts'

/** Creates the command that lists routes, in the order in which they are tried. */
export function createDebugRoutes(routes: Iterable<Route>): ConsoleCommand {
  return {
    name: 'debug:routes',
    description: 'Lists the routes in the order in which they are tried',
    arguments: [
      {
        name: 'filter',
        description: 'a part of the name, path, host or controller; a whole name shows the details of that route',
        isOptional: true,
        suggest: () => [...routes].map(({ name, path }) => [name, path.source]),
      },
    ],
    examples: [
      { line: 'debug:routes', purpose: 'lists all routes' },
      { line: 'debug:routes home', purpose: 'shows the details of the route "home"' },
      { line: 'debug:routes /api --md', purpose: 'lists routes with "/api" in them, as Markdown' },
    ],
    run({ arguments: { filter = '' } }, output) {
      const all = [...routes]
      const named = all.find(({ aliases, name }) => name === filter || aliases.includes(filter))
      const found = all.filter(route => textsOf(route).some(text => text.includes(filter)))
      if (found.length === 0) {
        output.error(`No route has "${filter}" in its name, path, host or controller.`)
        return exitCodes.failure
      }
      output.print(named === undefined ? listRoutes(found) : describeRoute(named, all.indexOf(named) + 1))
      const shown = named === undefined ? found : [named]
      for (const hidden of findHiddenRoutes(all).filter(({ route }) => shown.includes(route))) {
        output.note(`${describeHiddenRoute(hidden)}.`)
      }
      return exitCodes.success
    },
  }
}

/** The name of the controller of a route. */
export function controllerOf({ controller, name }: Route): string {
  return nameOfController(controller, name)
}

function textsOf(route: Route): string[] {
  return [route.name, ...route.aliases, route.path.source, route.host?.source ?? '', controllerOf(route)]
}

const anything = 'any'

function listRoutes(routes: readonly Route[]): Document {
  const rows = routes.map(route => {
    const { host, methods, name, path } = route
    return [name, methods.join(', ') || anything, path.source, controllerOf(route), host?.source ?? anything]
  })
  const table = {
    columns: [
      { title: 'Name' },
      { title: 'Methods', cut: 'never' },
      { title: 'Path', least: 32 },
      { title: 'Controller', isOptional: true },
      { title: 'Host', isOptional: true },
    ],
    rows,
  } as const
  return { blocks: [{ kind: 'table', table }], json: routes.map(toJson) }
}

function describeRoute(route: Route, position: number): Document {
  const { aliases, condition, defaults, host, methods, name, path, priority, schemes } = route
  const requirements = [...path.requirements, ...(host?.requirements ?? [])]
  const fields: [string, string][] = [
    ['Name', name],
    ['Aliases', aliases.join(', ') || 'none'],
    ['Path', path.source],
    ['Methods', methods.join(', ') || anything],
    ['Host', host?.source ?? anything],
    ['Schemes', schemes.join(', ') || anything],
    ['Requirements', requirements.map(({ name, text }) => `${name}: ${text}`).join(', ') || 'none'],
    ['Defaults', Object.keys(defaults).length === 0 ? 'none' : JSON.stringify(defaults)],
    ['Condition', condition === undefined ? 'none' : String(condition).replace(/\s+/g, ' ')],
    ['Controller', controllerOf(route)],
    ['Priority', String(priority)],
    ['Position', String(position)],
  ]
  return { blocks: [{ kind: 'fields', fields }], json: toJson(route) }
}

function toJson(route: Route): object {
  const { aliases, defaults, host, methods, name, path, priority, schemes } = route
  const requirements = [...path.requirements, ...(host?.requirements ?? [])].map(({ name, text }) => [name, text])
  return {
    name,
    aliases,
    path: path.source,
    methods,
    host: host?.source ?? null,
    schemes,
    requirements: Object.fromEntries(requirements),
    defaults,
    hasCondition: route.condition !== undefined,
    controller: controllerOf(route),
    priority,
  }
}
