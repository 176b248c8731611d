import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import type { Block } from '../../../lib/console/document.ts'
import { Request } from '../../../lib/http/request.ts'
import { NearestRoutes, type NearRoute } from '../../../lib/routing/nearest-routes.ts'
import type { RouteCollection } from '../../../lib/routing/route-collection.ts'
import { type RouteMatch, RouteMatcher } from '../../../lib/routing/route-matcher.ts'
import { controllerOf } from './debug-routes.ts'

/** How many of the other routes are listed by default. */
const shownRoutes = 10

/** Creates the command that finds the route of a request, and explains why each other route does not match. */
export function createDebugRouteMatch(routes: RouteCollection): ConsoleCommand {
  return {
    name: 'debug:route-match',
    description: 'Finds the route of a request, and explains why each other route does not match',
    arguments: [
      { name: 'method', description: 'the method, such as GET' },
      { name: 'url', description: 'a path, or a URL whose scheme and host count' },
    ],
    options: [{ name: 'all', description: `lists all other routes, not only the nearest ${shownRoutes}` }],
    examples: [
      { line: 'debug:route-match GET /', purpose: 'finds the route of the home page' },
      { line: 'debug:route-match POST https://example.org/ --all', purpose: 'finds the reason of a 405' },
    ],
    run({ arguments: { method = '', url = '' }, options }, output) {
      const request = createRequest(method.toUpperCase(), url)
      if (request.problem !== undefined) {
        output.error(request.problem.message)
        return exitCodes.failure
      }
      const match = new RouteMatcher(routes).match(request)
      const winner = match.outcome === 'match' ? match.route.name : undefined
      const others = new NearestRoutes(routes).find(request, routes.size).filter(({ name }) => name !== winner)
      const shown = options.all === undefined ? others.slice(0, shownRoutes) : others
      const hidden = others.length - shown.length
      const blocks: Block[] = [...describeMatch(match, request)]
      if (shown.length > 0) blocks.push({ kind: 'table', table: listOthers(shown) })
      output.print({ blocks, json: { ...toJson(match), others } })
      if (hidden > 0 && output.format === 'text') output.note(`${hidden} more routes: add --all.`)
      return match.outcome === 'match' || match.outcome === 'redirect' ? exitCodes.success : exitCodes.failure
    },
  }
}

/** A request from this machine. The URL is read as the server reads it: nothing in it is corrected. */
function createRequest(method: string, url: string): Request {
  const [, scheme, host = 'localhost', target = url] = /^(https?):\/\/([^/?#]+)(.*)$/i.exec(url) ?? []
  const connection = { remoteAddress: '127.0.0.1', encrypted: scheme?.toLowerCase() === 'https' }
  const path = target.startsWith('/') ? target : `/${target}`
  return new Request({ method, target: path.replace(/#.*$/, ''), headers: { host }, connection })
}

function describeMatch(match: RouteMatch, { method, url }: Request): Block[] {
  const asked = `${method} ${url}`
  switch (match.outcome) {
    case 'match': {
      const { name, path } = match.route
      const parameters = Object.entries(match.parameters).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
      const fields: [string, string][] = [
        ['Path', path.source],
        ['Controller', controllerOf(match.route)],
        ['Parameters', parameters.join(', ') || 'none'],
      ]
      return [
        { kind: 'text', text: `${asked} is for the route "${name}".`, tone: 'ok' },
        { kind: 'fields', fields },
      ]
    }
    case 'redirect':
      return [
        {
          kind: 'text',
          text: `${asked} is sent to ${match.location}, for the route "${match.route.name}".`,
          tone: 'warning',
        },
      ]
    case 'method-not-allowed':
      return [
        { kind: 'text', text: `${asked} is answered with 405: allowed are ${match.allow.join(', ')}.`, tone: 'error' },
      ]
    case 'not-found':
      return [{ kind: 'text', text: `${asked} is answered with 404: no route takes it.`, tone: 'error' }]
  }
}

function listOthers(others: readonly NearRoute[]) {
  return {
    columns: [{ title: 'Route' }, { title: 'Path' }, { title: 'Why not' }],
    rows: others.map(({ name, path, reason, text }) => [
      name,
      path,
      reason === 'match' ? 'Another one that matches is tried before it' : text,
    ]),
  }
}

function toJson(match: RouteMatch): object {
  if (match.outcome === 'match' || match.outcome === 'redirect') {
    const { route, ...rest } = match
    return { ...rest, route: route.name, controller: controllerOf(route) }
  }
  return match
}
