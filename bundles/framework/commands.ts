import { statSync } from 'node:fs'
import path from 'node:path'
import { inputsOf, type RouteInput } from '../../kernel/argument-sources.ts'
import type { Application, Foundation } from '../../kernel/bundle.ts'
import { CommandUsageError, type ConsoleCommand, exitCodes } from '../../kernel/contracts/console-command.ts'
import { nameOfController } from '../../kernel/controller.ts'
import { AnswerableEvent } from '../../kernel/events.ts'
import type { Block, Column, Document } from '../../lib/console/document.ts'
import type { EventClass, EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { describeCachePolicy } from '../../lib/http/cache-policy.ts'
import { Request } from '../../lib/http/request.ts'
import { describeHiddenRoute, findHiddenRoutes } from '../../lib/routing/hidden-routes.ts'
import { NearestRoutes, type NearRoute } from '../../lib/routing/nearest-routes.ts'
import type { Route } from '../../lib/routing/route.ts'
import type { RouteCollection } from '../../lib/routing/route-collection.ts'
import { type RouteMatch, RouteMatcher } from '../../lib/routing/route-matcher.ts'
import { type DescribedSchema, toDescribedSchema } from '../../lib/schema/describe-schema.ts'
import { showPath } from '../../lib/stack/stack-frames.ts'
import { suggestNames } from '../../lib/text/mistakes.ts'
import { writeRouteTypes } from './route-types.ts'

/** Creates the commands that describe the application. */
export function createCommands(app: Application): ConsoleCommand[] {
  return [
    createDebugConfig(app),
    createDebugEvents(app.dispatcher),
    createDebugRouteMatch(app.routes),
    createDebugRoutes(app),
    createDebugTemplates(app),
  ]
}

/**
 * Creates the command that lists routes, in the order in which they are tried. In development it writes their types,
 * too, as the server does: the compiler knows new routes without a server.
 */
function createDebugRoutes(app: Application): ConsoleCommand {
  const { config, routes } = app
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
      { line: 'debug:routes --json', purpose: 'lists all routes with the schemas of their inputs' },
    ],
    async run({ arguments: { filter = '' } }, output) {
      if (config.environment === 'dev') await writeRouteTypes(app)
      const all = [...routes]
      const named = all.find(({ aliases, name }) => name === filter || aliases.includes(filter))
      const found = all.filter(route => textsOf(route).some(text => text.includes(filter)))
      if (found.length === 0) {
        output.error(`No route has "${filter}" in its name, path, host or controller${suggestEntry(filter, all)}.`)
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

function controllerOf({ controller, name }: Route): string {
  return nameOfController(controller, name)
}

function textsOf(route: Route): string[] {
  return [route.name, ...route.aliases, route.path.source, route.host?.source ?? '', controllerOf(route)]
}

const anything = 'any'

function listRoutes(routes: readonly Route[]): Document {
  const hasPolicies = routes.some(({ defaults }) => defaults._cache)
  const rows = routes.map(route => {
    const { defaults, guards, host, methods, name, path } = route
    const shown = [name, methods.join(', ') || anything, path.source, guards.join(', ') || 'none']
    const policies = hasPolicies ? [describeCachePolicy(defaults) || 'none'] : []
    return [...shown, ...policies, controllerOf(route), host?.source ?? anything]
  })
  const table = {
    columns: [
      { title: 'Name' },
      { title: 'Methods', cut: 'never' },
      { title: 'Path', least: 32 },
      { title: 'Guard', isOptional: true },
      ...(hasPolicies ? [{ title: 'Cache', isOptional: true }] : []),
      { title: 'Controller', isOptional: true },
      { title: 'Host', isOptional: true },
    ],
    rows,
  } as const
  return { blocks: [{ kind: 'table', table }], json: routes.map(routeToJson) }
}

function describeRoute(route: Route, position: number): Document {
  const { aliases, condition, defaults, guards, host, methods, name, path, priority, schemes } = route
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
    ['Guards', guards.join(', ') || 'none'],
    ['Cache', describeCachePolicy(defaults) || 'none'],
    ['Controller', controllerOf(route)],
    ['Inputs', describeInputs(route).map(inputToText).join('; ') || 'without a schema'],
    ['Priority', String(priority)],
    ['Position', String(position)],
  ]
  return { blocks: [{ kind: 'fields', fields }], json: routeToJson(route) }
}

function routeToJson(route: Route): object {
  const { aliases, defaults, guards, host, methods, name, path, priority, schemes } = route
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
    guards,
    controller: controllerOf(route),
    inputs: describeInputs(route),
    priority,
  }
}

/** An input that a schema validates. */
interface DescribedInput extends DescribedSchema {
  readonly source: RouteInput['source']
}

function describeInputs(route: Route): DescribedInput[] {
  return inputsOf(route).map(({ schema, source }) => ({ source, ...toDescribedSchema(schema) }))
}

function inputToText({ fields, source, vendor }: DescribedInput): string {
  return fields === undefined ? `${source} by ${vendor}` : `${source} by ${vendor}: ${fields.join(', ')}`
}

/** How many of the other routes are listed by default. */
const shownRoutes = 10

/** Creates the command that finds the route of a request, and explains why each other route does not match. */
function createDebugRouteMatch(routes: RouteCollection): ConsoleCommand {
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
      if (!/^[\w-]+$/.test(method))
        throw new CommandUsageError(`The method is a name such as GET, before the URL, not "${method}".`)
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
      output.print({ blocks, json: { ...matchToJson(match), others } })
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

function matchToJson(match: RouteMatch): object {
  if (match.outcome === 'match' || match.outcome === 'redirect') {
    const { route, ...rest } = match
    return { ...rest, route: route.name, controller: controllerOf(route) }
  }
  return match
}

/** Creates the command that lists the listeners of each event. */
function createDebugEvents(dispatcher: EventDispatcher): ConsoleCommand {
  const typesOf = () => [...dispatcher.types()].filter(type => dispatcher.listeners(type).length > 0)
  return {
    name: 'debug:events',
    description: 'Lists the listeners of each event in the order in which they are called',
    arguments: [
      {
        name: 'event',
        description: 'a part of the name of the event, such as kernel.request, or of its class',
        isOptional: true,
        suggest: () => typesOf().map(type => [type.eventName, `${dispatcher.listeners(type).length} listeners`]),
      },
    ],
    examples: [
      { line: 'debug:events', purpose: 'lists all listeners' },
      { line: 'debug:events kernel.response', purpose: 'lists the listeners of responses, in their order' },
    ],
    run({ arguments: { event = '' } }, output) {
      const types = typesOf()
      const isWanted = (type: EventClass) => [type.eventName, classOf(type)].some(name => name.includes(event))
      const exact = types.filter(({ eventName }) => eventName === event)
      const found = exact.length > 0 ? exact : types.filter(isWanted)
      if (found.length === 0) {
        const nearest = suggestNames(
          event,
          types.map(({ eventName }) => eventName),
        )
        output.error(`No event with listeners matches "${event}"${nearest}.`)
        return exitCodes.failure
      }
      const events = found.map(type => describe(type, dispatcher))
      output.print({ blocks: events.flatMap(toBlocks), json: events })
      return exitCodes.success
    },
  }
}

interface DescribedEvent {
  readonly event: string
  readonly class: string
  /** Whether a response ends the event before later listeners, as `stopPropagation()` does. */
  readonly isStoppedByResponse: boolean
  readonly listeners: readonly { readonly name: string; readonly priority: number; readonly file?: string }[]
}

function describe(type: EventClass, dispatcher: EventDispatcher): DescribedEvent {
  const listeners = dispatcher.listeners(type).map(registered => {
    const file = dispatcher.originOf(registered)
    return { name: registered.name, priority: registered.priority, ...(file !== undefined && { file }) }
  })
  const isStoppedByResponse = type.prototype instanceof AnswerableEvent
  return { event: type.eventName, class: classOf(type), isStoppedByResponse, listeners }
}

function toBlocks({ class: name, event, isStoppedByResponse, listeners }: DescribedEvent): Block[] {
  const isLocated = listeners.some(({ file }) => file !== undefined)
  const columns = [
    { title: '#', align: 'right' },
    { title: 'Priority', align: 'right', cut: 'never' },
    { title: 'Listener' },
    ...(isLocated ? [{ title: 'Registered in', cut: 'start' } as const] : []),
  ] as const
  const rows = listeners.map(({ file = '', name, priority }, index) => [
    String(index + 1),
    String(priority),
    name,
    ...(isLocated ? [file] : []),
  ])
  const stop = isStoppedByResponse ? '; a response ends it' : ''
  return [
    { kind: 'title', text: `${event} (${name}${stop})` },
    { kind: 'table', table: { columns, rows } },
  ]
}

function classOf(type: EventClass): string {
  return type.prototype.constructor.name
}

/** Creates the command that checks all templates, and lists them. */
function createDebugTemplates({ directory, view }: Pick<Foundation, 'directory' | 'view'>): ConsoleCommand {
  return {
    name: 'debug:templates',
    description: 'Checks all templates, and lists them',
    arguments: [{ name: 'filter', description: 'a part of the name; all are checked nevertheless', isOptional: true }],
    examples: [
      { line: 'debug:templates', purpose: 'fails when a template has a mistake, and names each' },
      { line: 'debug:templates site/', purpose: 'lists the templates of the site' },
    ],
    run({ arguments: { filter = '' } }, output) {
      // Its error names every mistake.
      view.load()
      const all = view.files()
      // Those of the application first: the profiler alone has dozens.
      const templates = all
        .filter(({ name }) => name.includes(filter))
        .map(({ file, name, replaces }) => ({
          name,
          file: showPath(file, directory),
          ...(replaces !== undefined && { replaces: showPath(replaces, directory) }),
          bytes: statSync(file).size,
        }))
        .sort((one, other) => Number(isPackaged(one.file)) - Number(isPackaged(other.file)))
      if (templates.length === 0) {
        output.error(`No template has "${filter}" in its name${suggestEntry(filter, all)}.`)
        return exitCodes.failure
      }
      const hasReplaced = templates.some(({ replaces }) => replaces !== undefined)
      const columns: readonly Column[] = [
        { title: 'Template' },
        { title: 'File', isOptional: true },
        ...(hasReplaced ? [{ title: 'Replaces', isOptional: true }] : []),
        { title: 'Bytes', align: 'right' },
      ]
      const rows = templates.map(({ bytes, file, name, replaces = '' }) => [
        ...[name, file],
        ...(hasReplaced ? [replaces] : []),
        bytes.toLocaleString('en'),
      ])
      output.print({ blocks: [{ kind: 'table', table: { columns, rows } }], json: templates })
      const globals = view.globals()
      if (globals.length > 0) output.note(`Globals of all templates: ${globals.map(name => `@${name}`).join(', ')}.`)
      output.note(`${all.length} templates have no mistakes.`, 'ok')
      return exitCodes.success
    },
  }
}

/** Whether a shown path is of a package: outside of the application, or in its `node_modules`. */
function isPackaged(file: string): boolean {
  return path.isAbsolute(file) || file.startsWith(`node_modules${path.sep}`)
}

/** Creates the command that lists the settings. Values that may be secret are masked. */
export function createDebugConfig(
  app: Pick<Foundation, 'bundles' | 'config' | 'redactor' | 'settings'>,
): ConsoleCommand {
  const { bundles, config, redactor, settings } = app
  return {
    name: 'debug:config',
    description: 'Lists the settings, with secrets masked, and where each comes from',
    arguments: [
      {
        name: 'setting',
        description: 'a part of the name of a setting, or a bundle',
        isOptional: true,
        suggest: () => settings.list().map(({ help, name }) => [name, help]),
      },
    ],
    examples: [
      { line: 'debug:config', purpose: 'lists all settings' },
      { line: 'debug:config APP_ --env prod', purpose: 'lists some settings as production has them' },
    ],
    run({ arguments: { setting = '' } }, output) {
      const chosenBundle = setting.toLowerCase()
      const found = settings
        .list()
        .filter(({ bundle, name }) => name.includes(setting.toUpperCase()) || bundle === chosenBundle)
        .map(({ bundle, from, help, name, value }) => ({ name, value: redactor.text(value), from, bundle, help }))
      if (found.length === 0) {
        const isBundle = bundles.includes(chosenBundle)
        const nearest = suggestEntry(setting.toUpperCase(), settings.list())
        output.error(
          isBundle
            ? `The bundle "${chosenBundle}" has no settings.`
            : `There is no setting "${setting}"${nearest || ': without a name, all are listed'}.`,
        )
        return exitCodes.failure
      }
      const table = {
        columns: [
          { title: 'Setting', cut: 'never' },
          { title: 'Value' },
          { title: 'From' },
          { title: 'Bundle', isOptional: true },
          { title: 'Meaning', isOptional: true },
        ],
        rows: found.map(({ bundle, from, help, name, value }) => [name, value, from, bundle, help]),
      } as const
      const parts = [config.environment, `debug ${config.isDebug ? 'on' : 'off'}`]
      // With wrong settings, no bundle is registered.
      if (bundles.length > 0) parts.push(`bundles: ${bundles.join(', ')}`)
      const unknown = settings.listUnknown()
      const remarks = unknown.map(
        ({ file = 'The environment', name, suggestion }) =>
          `${file} sets ${name}, which is not a setting${suggestion}.`,
      )
      output.print({
        blocks: [
          { kind: 'text', text: parts.join(', '), tone: 'muted' },
          { kind: 'table', table },
          ...remarks.map(text => ({ kind: 'text', text }) as const),
        ],
        json: {
          environment: config.environment,
          isDebug: config.isDebug,
          bundles,
          settings: found,
          unknown: unknown.map(({ file, name }) => ({ name, file })),
        },
      })
      return exitCodes.success
    },
  }
}

/** The end of a message about a word that is the name of no entry. */
function suggestEntry(word: string, entries: readonly { readonly name: string }[]): string {
  return suggestNames(
    word,
    entries.map(({ name }) => name),
  )
}
