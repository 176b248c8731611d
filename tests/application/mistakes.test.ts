import { spawnSync } from 'node:child_process'
import { Readable } from 'node:stream'
import { inspect } from 'node:util'
import {
  type Application,
  addNodeMiddleware,
  asDate,
  asFlag,
  asInteger,
  asListOf,
  asOneOf,
  asUrl,
  type Bundle,
  ControllerArgumentsEvent,
  ControllerEvent,
  createFrameworkBundle,
  createTranslationCommand,
  EventStream,
  ExceptionEvent,
  HttpError,
  measureSqlite,
  mountNodeHandler,
  preferredLanguage,
  type Request,
  RequestEvent,
  ResponseEvent,
  setCookie,
  TerminateEvent,
  ViewEvent,
  WebSocketUpgrade,
} from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createRequest, createResponseEvent, createTestKernel, TestClient } from 'sinfonietta/testing'
import { t } from 'tap'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import {
  formBody,
  headerValue,
  jsonBody,
  queryValue,
  queryValues,
  routeParameter,
  uploadedFile,
} from '#kernel/argument-sources.ts'
import { defineController, toController } from '#kernel/controller.ts'
import { checkBundles } from '#kernel/mistakes/check-bundles.ts'
import { defineSettings } from '#lib/env/settings.ts'
import type { EventClass } from '#lib/event-dispatcher/event-dispatcher.ts'
import { createFileResponse } from '#lib/http/file-response.ts'
import { Response } from '#lib/http/response.ts'
import { MemorySessionStore } from '#lib/session/session-store.ts'
import { runInTerminal } from '#tests/support/fake-terminal.ts'

// Node runs TypeScript without a check of types, so each mistake of an application is refused when it runs.
// A value of the type `never` fits everywhere: the compiler must not refuse the mistakes of these tables.
const wrong = (value: unknown): never => value as never
const answer = () => new Response('done')

/** Adds a route with a wrong option. */
const addRoute =
  (options: object) =>
  ({ routes }: Application) =>
    routes.add(wrong({ name: 'a', path: '/a', controller: answer, ...options }))

/** A mistake in a bundle: the code of the error, and parts of its message. */
type Mistake<made> = readonly [name: string, make: (made: made) => unknown, code: string, ...parts: string[]]

/** Mistakes by their names. */
type Mistakes<made> = Readonly<Record<string, readonly [make: (made: made) => unknown, ...parts: string[]]>>

/** Makes the rows of a table whose mistakes are below the code of their error. */
function defineMistakes<made>(codes: Readonly<Record<string, Mistakes<made>>>): Mistake<made>[] {
  return Object.entries(codes).flatMap(([code, rows]) =>
    Object.entries(rows).map(([name, [make, ...parts]]): Mistake<made> => [name, make, code, ...parts]),
  )
}

class Guard {
  onRequest(): void {}
}

class Prices {
  readonly #prices = [1]
  get prices() {
    return this.#prices
  }
}

/** The schema of a library that gives numbers. */
const digits = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value: unknown) =>
      /^\d+$/.test(String(value)) ? { value: Number(value) } : { issues: [{ message: 'Not a number.' }] },
  },
} as const

const inRegister = [
  ...defineMistakes<Application>({
    ROUTE_DEFINITION_INVALID: {
      'an unknown key of a route': [addRoute({ method: 'POST' }), '"a"', 'no key "method"; the nearest is "methods"'],
      'a cache policy beside the defaults': [addRoute({ _cache: { maxAge: 60 } }), '"_cache": write it in "defaults"'],
      'a handler for a controller': [
        ({ routes }) => routes.add(wrong({ name: 'a', path: '/a', handler: answer })),
        'no key "handler": use name, path, controller',
      ],
      'methods that are no list': [addRoute({ methods: 'GET' }), '"methods" must be a list'],
      'a route without a name': [
        ({ routes }) => routes.get('/a', wrong(answer), wrong(undefined)),
        "get('books', '/books', …)",
      ],
      'a route of a group without a name': [
        ({ routes }) => routes.group({ prefix: '/a' }, group => void group.get('/b', wrong(answer), wrong(undefined))),
        "get('books', '/books', …)",
      ],
      'a host with a port': [addRoute({ host: 'localhost:8000' }), 'leave the port out'],
      'a condition that is no function': [
        addRoute({ condition: /a/ }),
        '"condition" must be a function without async, not an object of the class RegExp',
      ],
      'a text for a list of aliases': [addRoute({ aliases: 'old' }), '"aliases" must be a list'],
      'a conversion for a requirement': [
        ({ routes }) =>
          routes.add(wrong({ name: 'a', path: '/a/:id', requirements: { id: asInteger }, controller: answer })),
        'the requirement for "id" is a pattern, such as /\\d+/',
      ],
      'a requirement whose backslash is lost': [
        addRoute({ path: '/a/:id', requirements: { id: 'd{4}-d+' } }),
        'the requirement for "id" is d{4}-d+: a text loses its backslash, so write /\\d{4}-\\d+/',
      ],
      'a requirement with anchors whose backslash is lost': [
        addRoute({ path: '/a/:id', requirements: { id: '^(d+)$' } }),
        'write /^(\\d+)$/',
      ],
      'a function for a guard': [
        addRoute({ guard: answer }),
        "app.guards.push({ name: 'admin', check }), not the function",
      ],
      'a function for the guard of a group': [
        ({ routes }) => routes.group({ guard: wrong(answer) }, group => void group.get('a', '/a', answer)),
        "app.guards.push({ name: 'admin', check }), not the function",
      ],
      'a list of guards': [addRoute({ guard: ['a', 'b'] }), 'not an array of 2 items'],
      'a query in a path': [
        ({ routes }) => routes.get('a', '/a?q=:q', answer),
        'leave the query out, and read it by queryValue() or request.query',
      ],
      'the optional variables of Express': [({ routes }) => routes.get('a', '/a/:id?', answer), 'write "/a{/:id}"'],
      'the variables of Flask': [({ routes }) => routes.get('a', '/a/<id>', answer), 'write ":id" instead of "<id>"'],
      'an unknown option of a mount': [
        ({ routes }) => mountNodeHandler(routes, '/old', () => undefined, wrong({ methds: ['GET'] })),
        '"methds"; the nearest is "methods"',
      ],
      'a pattern for the requirements of a route': [
        ({ routes }) => routes.add(wrong({ name: 'a', path: '/a/:id', requirements: /\d+/, controller: answer })),
        '"requirements" must be an object with keys, not an object of the class RegExp',
      ],
      'a condition that waits': [
        addRoute({ condition: async () => true }),
        '"condition" must be a function without async, not the async function condition',
      ],
      'a map for the defaults of a route': [
        addRoute({ defaults: new Map() }),
        '"defaults" must be an object with keys, not an object of the class Map',
      ],
    },
    ARGUMENT_INVALID: {
      'a condition of a group that is no function': [
        ({ routes }) => routes.group(wrong({ condition: 'admin' }), () => undefined),
        '"condition" must be a function without async, not a string of 5 characters',
      ],
      'texts of a translation without the application': [
        () => createTranslationCommand(wrong({ texts: { en: {} } }), wrong(undefined)),
        'createTranslationCommand(app, options): it needs the texts of a language',
      ],
      'a prefix for the options of a group': [
        ({ routes }) => routes.group(wrong('/admin'), () => undefined),
        'routes.group',
        'an object with prefix',
      ],
      'an unknown option of a group': [
        ({ routes }) => routes.group(wrong({ path: '/admin' }), () => undefined),
        '"path": use prefix',
      ],
      'a controller without sources': [
        () => defineController('a', wrong(answer), wrong(undefined)),
        'the sources of "a"',
        'not an object such as { id: routeParameter() }',
      ],
      'a controller without a name': [
        () => defineController(wrong({ page: queryValue() }), answer),
        'the name must be a string, not an object',
      ],
      'a source that is no function': [
        () => defineController('a', wrong({ id: 'id' }), answer),
        'the source "id" of "a"',
        'a string of 2 characters',
      ],
      'a source that is not called': [
        () => defineController('a', wrong({ page: queryValue }), answer),
        'the source "page" of "a" is not called: write queryValue(…)',
      ],
      'a list for choices': [
        () => asOneOf(wrong(['small', 'large'])),
        "asOneOf('small', 'large'): each choice must be a string, not an array of 2 items",
      ],
      'a constructor for the conversion of a list': [() => asListOf(wrong(Number)), 'asListOf(asInteger)'],
      'a value for a handler': [
        () => toController(wrong('home')),
        'toController(function): its argument must be a function',
      ],
      'the name of an event': [
        ({ dispatcher }) => dispatcher.on(wrong('kernel.request'), answer),
        'RequestEvent for "kernel.request"',
      ],
      'a mistyped name of an event': [
        ({ dispatcher }) => dispatcher.on(wrong('kernel.respons'), answer),
        'ResponseEvent for "kernel.response"',
      ],
      'an event that is undefined': [({ dispatcher }) => dispatcher.on(wrong(undefined), answer), 'not undefined'],
      'a class that is no event': [({ dispatcher }) => dispatcher.on(wrong(Guard), answer), 'the class Guard'],
      'a class that extends the event of the platform': [
        ({ dispatcher }) =>
          dispatcher.on(
            wrong(
              class OrderPlaced extends Event {
                static eventName = 'order'
              },
            ),
            answer,
          ),
        'the class OrderPlaced extends the "Event" of the platform: import "Event" from "sinfonietta"',
      ],
      'a class for a listener': [
        ({ dispatcher }) => dispatcher.on(RequestEvent, wrong(Guard)),
        'the listener must be a function, not the class Guard',
      ],
      'a conversion that waits': [
        () => queryValue('page', wrong({ expected: 'a page', convert: async () => 1 })),
        'queryValue("page"): convert() of a conversion must be a function without async',
      ],
      'a conversion without its words': [
        () => asListOf(wrong({ convert: Number })),
        `"expected" of a conversion must be a string such as 'an integer', not undefined`,
      ],
      'a listener that is no function': [
        ({ dispatcher }) => dispatcher.on(RequestEvent, wrong(new Guard())),
        'the listener must be a function, not an object of the class Guard',
      ],
      'options for a priority': [
        ({ dispatcher }) => dispatcher.on(RequestEvent, answer, wrong({ priority: 1 })),
        'the priority must be a number',
      ],
      'a priority that is not computed': [
        ({ dispatcher }) => dispatcher.on(RequestEvent, answer, Number.NaN),
        'the priority must be a number, not NaN',
      ],
      'a missing method of subscribe': [
        ({ dispatcher }) => dispatcher.subscribe(RequestEvent, new Guard(), wrong('onRequset')),
        'the class Guard has no method "onRequset"; the nearest is "onRequest"',
      ],
      'subscribe with the method itself': [
        ({ dispatcher }) => dispatcher.subscribe(RequestEvent, wrong(answer), wrong(10)),
        'the second argument is the object, and the third one the name of its method',
      ],
      'a text for the languages': [
        () => preferredLanguage(createRequest('/').headers, wrong('en,de')),
        "the languages are a list such as ['en', 'de'], not a string of 5 characters",
      ],
      'subscribe without an object': [
        ({ dispatcher }) => dispatcher.subscribe(RequestEvent, wrong(undefined), wrong('onRequest')),
        'undefined has no method',
      ],
      'an object that is no event': [
        ({ dispatcher }) => dispatcher.dispatch(wrong({ book: 1 })),
        'extends Event',
        '"book"',
      ],
      'an unknown signal': [
        ({ signals }) => signals.on(wrong('kernel.bootet'), () => undefined),
        'no signal "kernel.bootet": use "kernel.booted"',
      ],
      'a signal of the server that is unknown': [
        ({ signals }) => signals.on(wrong('server.started'), () => undefined),
        '"server.listening"',
      ],
      'a signal of the process': [
        ({ signals }) => signals.on(wrong('SIGTERM'), () => undefined),
        '"SIGTERM" is a signal of the process: use "server.draining"',
      ],
      'an unknown signal that is emitted': [
        ({ signals }) => signals.emit(wrong('files.changes'), wrong(undefined)),
        'signals.emit(): there is no signal "files.changes": use "files.changed"',
      ],
      'a signal without a handler': [
        ({ signals }) => signals.on('kernel.booted', wrong(undefined)),
        'signals.on("kernel.booted", handler)',
      ],
      'a helper that is no function': [({ view }) => view.addHelper('price', wrong(undefined)), 'the helper "price"'],
      'a folder of files without a name': [
        ({ files }) => files.add(wrong('public'), wrong(undefined)),
        'files.add(name, directory, options): the directory must be a string, not undefined',
      ],
      'a helper without a name': [
        ({ view }) => view.addHelper(wrong(undefined), () => ''),
        'addHelper(name, function): the name must be a string',
      ],
      'an application for a dispatcher': [
        app => addNodeMiddleware(wrong(app), () => undefined),
        'addNodeMiddleware(dispatcher, middleware)',
      ],
      'a database without its queries': [
        () => measureSqlite({ prepare: answer, exec: answer } as never, wrong(undefined)),
        'measureSqlite(database, app.queries)',
      ],
      'an unknown key of a setting': [
        () => defineSettings(wrong({ SHOP_SIZE: { help: 'size', shema: asInteger } })),
        'SHOP_SIZE',
        '"shema"; the nearest is "schema"',
      ],
      'a constructor for a schema': [
        () => defineSettings(wrong({ SHOP_SIZE: { help: 'size', schema: Number } })),
        'SHOP_SIZE',
        'the function Number',
      ],
      'a value for the check of settings': [
        () => defineSettings(wrong({}), wrong(true)),
        'defineSettings(definitions, check)',
        'must be a function without async, not a boolean',
      ],
      'a text for a flag of a setting': [
        () => defineSettings(wrong({ SHOP_SIZE: { help: 'size', secret: 'no' } })),
        '"secret" must be true or false',
      ],
      'options of the framework that are no object': [
        () => createFrameworkBundle(wrong(false)),
        'createFrameworkBundle(): its options are an object with session',
      ],
      'a text for a list of the profiler': [
        () => createProfilerBundle(wrong({ ignoredPaths: '/_health' })),
        '"ignoredPaths" must be a list, not a string of 8 characters',
      ],
      'a pattern in a list of the profiler': [
        () => createProfilerBundle(wrong({ ignoredPaths: [/a/] })),
        '"ignoredPaths[0]" must be a string, not an object of the class RegExp',
      ],
      'an unknown option of the profiler': [
        () => createProfilerBundle(wrong({ stoarge: 1 })),
        'createProfilerBundle()',
        '"stoarge"; the nearest is "storage"',
      ],
      'a route with sources and no function': [
        ({ routes }) => Reflect.apply(routes.get, routes, ['a', '/a', { page: queryValue() }, undefined]),
        'routes.get(name, path, { sources }, function): the last argument of "a" must be a function, not undefined',
      ],
      'a route with a list of sources': [
        ({ routes }) => Reflect.apply(routes.get, routes, ['a', '/a', [queryValue('page')], answer]),
        'routes.get(name, path, { sources }, function): the sources of "a" are an array',
      ],
      'a route whose function takes an argument for each source': [
        ({ routes }) =>
          routes.group({ name: 'b_' }, group =>
            group.post(
              'a',
              '/a',
              { page: queryValue() },
              wrong((a: unknown, b: unknown, c: unknown) => [a, b, c]),
            ),
          ),
        'routes.post(name, path, { sources }, function): the function of "b_a" takes 3 arguments: it gets (values, request)',
      ],
      'a fallback for a name': [
        () => queryValue(wrong(1)),
        'queryValue(1): its name must be a string: a fallback is behind its conversion, as in queryValue(asInteger, 1)',
      ],
      'options for a fallback': [
        () => queryValue('page', asInteger, wrong({ fallback: 1 })),
        'queryValue("page"): the fallback is its third argument itself',
      ],
      'a function for a fallback': [
        () =>
          queryValue(
            'from',
            asDate,
            wrong(() => new Date()),
          ),
        'the fallback is a function, which is not called',
      ],
      'a text for the fallback of a number': [
        () => queryValue('page', asInteger, wrong('1')),
        'the fallback is a string of 1 character, but the conversion gives a number',
      ],
      'a listener with next': [
        ({ dispatcher }) =>
          dispatcher.on(
            RequestEvent,
            wrong((_event: unknown, next: () => void) => next()),
          ),
        'the listener takes the event alone',
      ],
      'a header whose name has a blank': [
        () => headerValue('user agent'),
        'headerValue("user agent"): no header has this name',
      ],
      'a registered controller without a name': [
        ({ controllers }) => controllers.register(wrong(undefined), toController(answer)),
        'controllers.register(name, controller): the name must be a string',
      ],
      'a mount without routes': [
        app => mountNodeHandler(wrong(app), '/old', () => undefined),
        'the routes of the application',
      ],
      'settings that are undefined': [
        ({ settings }) => settings.of(wrong(undefined)),
        'settings.of(settings): it needs the result of defineSettings(), not undefined',
      ],
      'a setting without its purpose': [
        () => defineSettings(wrong({ SHOP_SIZE: { default: '' } })),
        'SHOP_SIZE: "help" must be a string',
      ],
    },
    ROUTE_GROUP_INVALID: {
      'a group whose function uses the routes around it': [
        ({ routes }) => routes.group({ prefix: '/admin' }, () => void routes.get('a', '/a', answer)),
        'its function takes no routes, so what it declares is outside of the group: write routes => …',
      ],
    },
    MOUNT_PATH_INVALID: {
      'a mount without a path': [
        ({ routes }) => mountNodeHandler(routes, wrong(answer), wrong(undefined)),
        'a path is a text',
      ],
    },
    KERNEL_CONVERSION_INVALID: {
      'options for the name of a value': [
        () => defineController('a', { page: queryValue(wrong({ name: 'page' })) }, answer),
        'queryValue("page")',
      ],
      'a constructor for a conversion': [
        () => routeParameter('id', wrong(Number)),
        'routeParameter("id")',
        'the function Number',
      ],
      'a fallback for a conversion': [() => queryValue('page', wrong(1)), 'queryValue("page")', 'a number'],
    },
    KERNEL_SCHEMA_INVALID: {
      'an object for a schema': [() => jsonBody(wrong({ title: 'string' })), 'jsonBody()', '"title"'],
    },
    KERNEL_CONTROLLER_INVALID: {
      'a decorator that returns nothing': [
        ({ controllers }) => controllers.decorate('error_controller', wrong(answer)),
        '"error_controller"',
      ],
      'an unknown controller to decorate': [
        ({ controllers }) => controllers.decorate('error_controler', inner => inner),
        'the nearest is "error_controller"',
      ],
      'a function for a registered controller': [
        ({ controllers }) => controllers.register('a', wrong(answer)),
        'toController',
      ],
    },
    FRAMEWORK_OPTIONS_INVALID: {
      'an unknown option of the framework': [
        () => createFrameworkBundle(wrong({ sessions: {} })),
        '"sessions"; the nearest is "session"',
      ],
    },
    ReferenceError: {
      'a service that register does not take': [
        // @ts-expect-error
        () => routes.get('a', '/a', answer),
        'routes is not defined: it is a service of the application: write register({ routes })',
      ],
      'the router of another framework': [
        // @ts-expect-error
        () => router.get('a', '/a', answer),
        'router is not defined: is it the service "routes"? Write register({ routes })',
      ],
      'a name of CommonJS': [() => String(__dirname), '__dirname is not defined: write path.join(app.directory, …)'],
    },
  }),
  ...([jsonBody(digits), jsonBody(digits)] as const).map(
    (json, index): Mistake<Application> => [
      'one body as JSON and as a form',
      () => defineController('a', { json, form: index === 0 ? formBody(digits) : uploadedFile('cover') }, answer),
      'ARGUMENT_INVALID',
      'the sources of "a" read one body as JSON and as a form, which refuses each request: use one of them',
    ],
  ),
  ...([
    [{ session: false }, '"session" must be an object with store, lifetime, idleTime, cookie, not a boolean'],
    [{ session: { cookie: 'sid' } }, '"session.cookie" must be an object with name'],
    [{ session: { cookie: { name: 5 } } }, '"session.cookie.name" must be a string, not a number'],
    [{ session: { lifetime: '1d' } }, '"session.lifetime" must be a number'],
    [{ session: { store: MemorySessionStore } }, 'session.store is the class MemorySessionStore: use an object'],
    [{ without: 'robots' }, '"without" must be a list, not a string of 6 characters'],
    [{ crossOrigin: 'https://a.example' }, '"crossOrigin" must be a list'],
    [{ cors: '*' }, '"cors" must be an object with origins'],
    [{ cors: { origins: '*', headers: 'x-a' } }, '"cors.headers" must be a list'],
    [{ headers: false }, '"headers" must be an object with keys, not a boolean'],
  ].map(([options, part]) => [
    `wrong options of the framework: ${part}`,
    () => createFrameworkBundle(wrong(options)),
    'FRAMEWORK_OPTIONS_INVALID',
    String(part),
  ]) as Mistake<Application>[]),
  ...([
    [undefined, 'not undefined'],
    ['a', 'not a string'],
    [[{ name: 'a' }], 'not an array of 1 item'],
  ].map(([definition, part]) => [
    `a route definition that is ${part}`,
    ({ routes }) => routes.add(wrong(definition)),
    'ARGUMENT_INVALID',
    'routes.add(definition): its options are an object with name, path, controller',
    part,
  ]) as Mistake<Application>[]),
  ...(['get', 'post', 'put', 'patch', 'delete'] as const).map(
    (method): Mistake<Application> => [
      `a function before the controller of routes.${method}()`,
      ({ routes }) => Reflect.apply(routes[method], routes, ['a', '/a', answer, answer]),
      'ROUTE_DEFINITION_INVALID',
      "it has one controller: sources are an object before it, as in get('books', '/books', { page: queryValue() }, function)",
    ],
  ),
  ...([
    [{ schema: asInteger, default: '5' }, 'a string of 1 character, but the conversion gives a number'],
    [{ schema: asInteger, default: 'many' }, 'a string of 4 characters, but the conversion gives a number'],
    [{ schema: asFlag, default: 'off' }, 'a string of 3 characters, but the conversion gives a boolean'],
    [{ schema: asListOf(asInteger), default: '1,2' }, 'a string of 3 characters, but the conversion gives an array'],
    [{ default: 5 }, 'a number, but the conversion gives a string'],
    [{ schema: digits, default: '5' }, 'a string of 1 character, but the conversion gives a number'],
  ].map(([setting, part]) => [
    `a wrong default of a setting: ${JSON.stringify(setting)}`,
    () => defineSettings(wrong({ SHOP_SIZE: { help: 'size', ...Object(setting) } })),
    'ARGUMENT_INVALID',
    `defineSettings(), SHOP_SIZE: its default is ${part}`,
  ]) as Mistake<Application>[]),
  ...([
    // @ts-expect-error
    [({ routes }: Application) => routes.listen(80), 'routes.listen is not a function: use ', 'group'],
    // @ts-expect-error
    [({ routes }: Application) => routes.gett('a', '/a', answer), 'the nearest is "get"'],
    // @ts-expect-error
    [({ settings }: Application) => settings.get('A'), 'use settings.of(settings of the bundle)'],
    [
      // @ts-expect-error
      (app: Application) => app.get('a', '/a', answer),
      'app.get is not a function: use app.routes.get() for a route; other objects are imported',
    ],
    // @ts-expect-error
    [(app: Application) => app.use(answer), 'app.use is not a function: use app.dispatcher.on(RequestEvent, listener)'],
    // @ts-expect-error
    [(app: Application) => app.listen(80), 'app.listen is not a function: it has the services settings'],
    // @ts-expect-error
    [({ healthChecks }: Application) => healthChecks.add({}), 'it is a list: use push()'],
  ].map(([make, ...parts]) => [
    'a function that no service has',
    make,
    'TypeError',
    ...parts,
  ]) as Mistake<Application>[]),
]

/** Objects that are added by other ways than `push`: their place is not known. */
const byOtherWays = defineMistakes<Application>({
  KERNEL_CONTRIBUTION_INVALID: {
    'a guard before the others': [({ guards }) => guards.unshift(wrong({ name: 'admin' })), 'it needs the key "check"'],
    'a guard by its index': [
      ({ guards }) => void Object.assign(guards, [{ name: 'admin' }]),
      'it needs the key "check"',
    ],
    'a command that is spliced in': [({ commands }) => commands.splice(0, 0, wrong({ name: 'a' })), 'needs the key'],
  },
  ARGUMENT_INVALID: {
    'an isolation before the others': [({ isolated }) => isolated.unshift(wrong('/x')), 'must be a function'],
    'a list with one guard more': [
      app => Object.assign(app, { guards: app.guards.concat({ name: 'admin', check: () => true as const }) }),
      'app.guards: it is another list now: add to it by push()',
    ],
  },
})

/** The lists to which bundles add objects. */
const inLists = defineMistakes<Application>({
  KERNEL_CONTRIBUTION_INVALID: {
    'a guard without a function': [
      ({ guards }) => guards.push(wrong({ name: 'admin' })),
      'The guard "admin"',
      'it needs the key "check"',
    ],
    'a guard with next': [
      ({ guards }) => guards.push({ name: 'admin', check: wrong((_request: unknown, next: () => unknown) => next()) }),
      'its check takes 2 arguments: it gets the request, and returns true, or a response',
    ],
    'a command with a blank in its name': [
      ({ commands }) => commands.push({ name: 'shop import', description: 'a', run: () => 0 }),
      'its name is one word, such as "shop:import"',
    ],
    'a function for a health check': [
      ({ healthChecks }) => healthChecks.push(wrong(answer)),
      'health check',
      'the function answer',
    ],
    'a command without a description': [
      ({ commands }) => commands.push(wrong({ name: 'a', run: answer })),
      'command',
      'it needs the key "description"',
    ],
    'a command with an unknown key': [
      ({ commands }) => commands.push(wrong({ name: 'a', description: 'a', handler: answer })),
      '"handler": use name',
    ],
    'an object for the options of a command': [
      ({ commands }) => commands.push(wrong({ name: 'a', description: 'a', run: answer, options: { least: 1 } })),
      '"options" must be a list',
    ],
    'a text for the time of a health check': [
      ({ healthChecks }) => healthChecks.push(wrong({ name: 'a', check: answer, timeout: '5s' })),
      '"timeout" must be a number',
    ],
    'an unknown key of an option of a command': [
      ({ commands }) =>
        commands.push(wrong({ name: 'a', description: 'a', run: answer, options: [{ name: 'a', descrption: 'a' }] })),
      '"options[0].descrption"; the nearest is "description"',
    ],
    'an unknown key of the panel of a collector': [
      ({ collectors }) => collectors.push(wrong({ name: 'a', collect: answer, panel: { label: 'a', tempalte: 'a' } })),
      '"panel.tempalte"; the nearest is "template"',
    ],
    'a collector that collects nothing': [
      ({ collectors }) => collectors.push(wrong({ name: 'a', colect: answer })),
      '"colect"; the nearest is "collect"',
    ],
  },
  ARGUMENT_INVALID: {
    'an isolation by a path': [
      ({ isolated }) => isolated.push(wrong('/x')),
      'isolated.push(test): the test must be a function',
    ],
  },
})

/** Mistakes in the controllers of routes, which are known when all bundles are registered. */
const inRoutes = [
  ...defineMistakes<Application>({
    ROUTE_DEFINITION_INVALID: {
      'an unknown controller': [
        ({ routes }) => routes.get('a', '/a', wrong('error_controler')),
        'no controller "error_controler"; the nearest is "error_controller"',
      ],
      'the controller of another framework': [
        ({ routes }) => routes.get('a', '/a', wrong('ShopController::index')),
        'there is no controller "ShopController::index": write the function itself',
      ],
      'a route without a controller': [
        ({ routes }) => routes.get('a', '/a', wrong(undefined)),
        'its controller is undefined',
      ],
      'a response for a controller': [
        ({ routes }) => routes.get('a', '/a', wrong(answer())),
        'an object of the class Response',
      ],
      'a promise for a controller': [
        ({ routes }) => routes.get('a', '/a', wrong(Promise.resolve())),
        'its controller is a promise',
      ],
      'a class for a controller': [({ routes }) => routes.get('a', '/a', wrong(Guard)), 'the class Guard'],
      'a handler with next': [
        ({ routes }) =>
          routes.get(
            'a',
            '/a',
            wrong((_a: unknown, _b: unknown, next: unknown) => next),
          ),
        '(request, parameters)',
      ],
      'a parameter of a path without any': [
        ({ routes }) => routes.get('a', '/a', defineController('a', { id: routeParameter() }, answer)),
        'the parameter "id", but its path is /a',
      ],
      'a parameter in the defaults that is mistyped': [
        // @ts-expect-error
        ({ routes }) => routes.add({ name: 'a', path: '/a', defaults: { _bodylimit: 1 }, controller: answer }),
        'in its defaults, "_bodylimit" is declared by no bundle of the list; the nearest is "_body_limit"',
      ],
      'a role that is mistyped': [
        // @ts-expect-error
        ({ routes }) => routes.add({ name: 'a', path: '/a', defaults: { _rol: 'admin' }, controller: answer }),
        'in its defaults, "_rol" is declared by no bundle of the list; the nearest is "_role"',
      ],
      'a guard among the defaults': [
        ({ routes }) => routes.add({ name: 'a', path: '/a', defaults: { guard: 'admin' }, controller: answer }),
        'in its defaults, "guard" has no effect: write it beside "defaults"',
      ],
      'a default without its underscore': [
        ({ routes }) => routes.group({ defaults: { role: 'admin' } }, group => void group.get('a', '/a', answer)),
        'in its defaults, "role" has no effect: write "_role"',
      ],
      'a guard that is mistyped': [
        ({ guards, routes }) => {
          guards.push({ name: 'admin', check: () => true as const })
          routes.add({ name: 'a', path: '/a', guard: 'amdin', controller: answer })
        },
        'no bundle of the list has the guard "amdin"; the nearest is "admin"',
      ],
      'a list for the name of a guard': [
        addRoute({ guard: 'admin, owner' }),
        'its guard "admin, owner" is no name: a route has one guard',
      ],
      'a guard of a group that no bundle has': [
        ({ routes }) => routes.group({ guard: 'admin' }, group => void group.get('a', '/a', answer)),
        `no bundle of the list has the guard "admin": a bundle adds it by app.guards.push({ name: 'admin', check })`,
      ],
      'a page behind a guard that shared caches may keep': [
        ({ guards, routes }) => {
          guards.push({ name: 'admin', check: () => true as const })
          const defaults = { _cache: { sMaxAge: 60 } }
          routes.group({ guard: 'admin', defaults }, group => void group.get('a', '/a', answer))
        },
        'The route "a"',
        '_cache is public, and a shared cache would answer without the guard "admin": use maxAge, without public',
      ],
      'a default whose bundle is not in the list, in a group': [
        ({ routes }) => routes.group({ defaults: { _access: 'editor' } }, group => group.get('a', '/a', answer)),
        `"_access" is declared by no bundle of the list: the bundle that reads it has routeDefaults: ['_access']`,
      ],
      'a mistyped parameter of a path': [
        ({ routes }) => routes.get('a', '/a/:slug', defineController('a', { slgu: routeParameter() }, answer)),
        '"slgu"',
        'the nearest is "slug"',
      ],
    },
  }),
  ...([
    [{ _body_limit: '50mb' }, '"_body_limit" must be a number, not a string of 4 characters: write 50e6, in bytes'],
    [{ _body_limit: '1 GiB' }, '"_body_limit" must be a number, not a string of 5 characters: write 1e9, in bytes'],
    [{ _body_limit: '500' }, '"_body_limit" must be a number, not a string of 3 characters: write 500'],
    [{ _body_limit: '10 minutes' }, '"_body_limit" must be a number, not a string of 10 characters'],
    [{ _body_unread: 'yes' }, '"_body_unread" must be true or false'],
    [{ _format: 'application/json' }, '"_format" is the name of a format, such as "json"'],
    [{ _format: '.json' }, '"_format" is the name of a format'],
    [{ _format: 'JSON' }, '"_format" is the name of a format'],
    [{ _stateless: 1 }, '"_stateless" must be true or false'],
    [{ _public: 'token' }, '"_public" must be a list'],
    [{ _cross_origin: 'https://a.example' }, '"_cross_origin" must be true, false or a list'],
    [{ _cross_origin: ['a.example'] }, '_cross_origin has "a.example": use an origin such as "https://example.org"'],
    [{ _cors: true }, '"_cors" must be an object with origins'],
    [{ _cors: { origin: '*' } }, 'there is no key "_cors.origin"; the nearest is "origins"'],
    [{ _cors: { origins: '*', credentials: true } }, '_cors.credentials is true, and origins is "*": name the origins'],
    [{ _cors: { origins: ['a.example'] } }, '_cors.origins has "a.example": use an origin'],
    [{ _cache: true }, '"_cache" must be an object with public, maxAge, sMaxAge, vary'],
    [{ _cache: 60 }, '"_cache" must be an object'],
    [{ _cache: { smaxage: 60 } }, 'there is no key "_cache.smaxage"; the nearest are "maxAge", "sMaxAge"'],
    [{ _cache: { maxage: 60 } }, 'there is no key "_cache.maxage"; the nearest is "maxAge"'],
    [{ _cache: { maxAge: '60' } }, '"_cache.maxAge" must be a number, not a string of 2 characters: write 60'],
    [{ _cache: { maxAge: -1 } }, '_cache.maxAge is -1: use whole seconds, from 0 to 31536000'],
    [{ _cache: { sMaxAge: 0.5 } }, '_cache.sMaxAge is 0.5: use whole seconds'],
    [{ _cache: { maxAge: 1, vary: 'cookie' } }, '"_cache.vary" must be a list'],
    [{ _cache: { maxAge: 1, vary: ['*'] } }, '_cache.vary has "*": use names of request headers'],
    [{ _cache: { maxAge: 1, vary: ['a, b'] } }, '_cache.vary has "a, b": use names of request headers'],
    [{ _cache: { public: false, sMaxAge: 1 } }, '_cache.sMaxAge is for shared caches, and public is false: use maxAge'],
    [{ _cache: { staleWhileRevalidate: 9, etag: true } }, '_cache.staleWhileRevalidate begins after a lifetime'],
    [{ _cache: { public: true } }, '_cache has no effect on a cache without maxAge, sMaxAge or etag'],
    [{ _cache: {} }, '_cache has no effect on a cache without maxAge, sMaxAge or etag'],
  ].map(([defaults, part]) => [
    `a wrong default of a route: ${part}`,
    addRoute({ defaults }),
    'ROUTE_DEFINITION_INVALID',
    `in its defaults, ${part}`,
  ]) as Mistake<Application>[]),
]

const inController = [
  ...defineMistakes<Request>({
    ARGUMENT_INVALID: {
      'a status for the options of a response': [
        () => Response.json({}, wrong(201)),
        'an object with status, headers, not a number',
      ],
      'an unknown option of a response': [
        () => Response.html('', wrong({ status: 201, header: {} })),
        '"header"; the nearest is "headers"',
      ],
      'an object for a text': [() => Response.text(wrong({ a: 1 })), 'Response.text()', 'the key "a"'],
      'undefined for a text': [() => Response.text(wrong(undefined)), 'Response.text()', 'undefined'],
      'an object for HTML': [() => Response.html(wrong({ a: 1 })), 'Response.html()'],
      'an object for a body': [() => new Response(wrong({ a: 1 })), 'use Response.json()'],
      'a function for a body': [() => Response.stream(wrong(answer)), 'Readable.from() with what the function returns'],
      'a generator for a body': [() => Response.stream(wrong((async function* () {})())), 'use Readable.from(items)'],
      'a promise for JSON': [() => Response.json(Promise.resolve(1)), 'await it first'],
      'a list of promises for JSON': [() => Response.json([1, 2].map(async each => each)), 'await it first'],
      'the arguments of redirect in another order': [
        () => Response.redirect(wrong(303), wrong('/')),
        'Response.redirect()',
        'a number',
      ],
      'an etag for the one of the body': [() => Reflect.apply(answer().withEtag, answer(), ['v7']), 'in double quotes'],
      'a response for its headers': [() => setCookie(wrong(answer()), 'cart', ''), 'the headers of a response'],
      'an unknown option of a cookie': [
        () => setCookie(answer().headers, 'cart', '', wrong({ maxage: 1 })),
        '"maxage"; the nearest is "maxAge"',
      ],
      'a request for its headers': [
        request => preferredLanguage(wrong(request), ['en', 'de']),
        'preferredLanguage(request.headers, languages): it needs the headers of a request',
      ],
      'nothing for the name of a route': [
        request => Reflect.apply(request.redirectTo, request, []),
        'the name of the route must be a string, not undefined',
      ],
      'an id for the parameters of a URL': [
        request => Reflect.apply(request.redirectTo, request, ['a', 7]),
        'the parameters are an object such as { id: 7 }, not a number',
      ],
      'a status for a redirect to a route': [
        request => Reflect.apply(request.redirectTo, request, ['a', {}, 301]),
        'its third argument is a number: the status is 303',
      ],
      'a message of a session that is read by the function for writing': [
        request => request.session.flash('notice', undefined),
        'the message is undefined; to read messages, use flashes(type)',
      ],
      'a number for a cookie': [() => setCookie(answer().headers, 'cart', wrong(1)), 'the value of "cart"'],
      'a text for a flag of a cookie': [
        () => setCookie(answer().headers, 'cart', '', wrong({ secure: 'false' })),
        '"secure" must be true or false, not a string of 5 characters',
      ],
      'a cookie without a name': [
        () => setCookie(answer().headers, wrong(undefined), ''),
        'setCookie(): the name must be a string',
      ],
      'a cookie with two mistakes': [
        () => setCookie(answer().headers, 'cart', '', { sameSite: 'none', path: 'shop' }),
        '"path" is "shop": use a path such as "/" or "/shop", and "sameSite" is "none": browsers then demand secure: true.',
      ],
      'a cookie that is set at the request': [
        ({ cookies }) => Object(cookies).set('cart', '7'),
        'request.cookies.set()',
        'write setCookie(response.headers, "cart", value)',
      ],
      'a cookie that is deleted at the request': [
        ({ cookies }) => Object(cookies).delete('cart'),
        `write setCookie(response.headers, "cart", '', { maxAge: 0 })`,
      ],
      'a cookie that is cleared at the request': [
        ({ cookies }) => Object(cookies).clear('cart'),
        `write setCookie(response.headers, "cart", '', { maxAge: 0 })`,
      ],
      'a text for headers': [() => new Response('', { headers: wrong('x-shop: 1') }), 'they are an object or pairs'],
      'a map in JSON': [
        () => Response.json({ shop: { books: [{ prices: new Map() }] } }),
        'the JSON of "shop.books.0.prices", an object of the class Map, is {}: use Object.fromEntries(map)',
      ],
      'an object with getters in JSON': [
        () => Response.json({ prices: new Prices() }),
        'the JSON of "prices", an object of the class Prices, is {}: write an object of its values',
      ],
      'an error in JSON': [() => Response.json(new Error('No.')), 'is {}: write an object of its values'],
      'a set in JSON': [() => Response.json([new Set()]), 'the JSON of "0"', 'use [...set]'],
      'a promise in JSON': [
        ({ session }) => Response.json({ cart: session.get('cart') }),
        'the JSON of "cart", a promise, is {}: await it first',
      ],
      'a cookie whose name has a blank': [() => setCookie(answer().headers, 'a b', ''), '"name" is "a b"'],
      'a response by the request': [
        // @ts-expect-error
        request => request.json({ ok: true }),
        'request.json(): it reads the body, and takes no argument: a response is Response.json(…)',
      ],
      'a body for JSON': [
        request => Response.json(request.body),
        'its value is request.body: use await request.json()',
      ],
      'a stream of the platform for a body': [
        () => new Response(wrong(new ReadableStream())),
        'use Readable.fromWeb(stream)',
      ],
      'an object for the name of a value of the session': [
        request => request.session.set(wrong({ user: 1 }), wrong(undefined)),
        'session.set(name, value): the name must be a string',
      ],
      'a relative folder of files': [
        request => createFileResponse(request, 'package.json', { root: 'tests' }),
        '"root" is "tests": use an absolute path',
      ],
      'an unknown disposition of a file': [
        request => createFileResponse(request, 'package.json', { disposition: wrong('atachment') }),
        '"disposition" is "atachment": use "attachment" or "inline"',
      ],
      'a map for JSON': [() => Response.json(new Map()), 'use Object.fromEntries(map)'],
      'an event stream without a function': [
        request => new EventStream(request, wrong(undefined)),
        'new EventStream(request, open)',
      ],
      'an unknown option of an event stream': [
        request => new EventStream(request, () => undefined, wrong({ heartBeat: 1 })),
        '"heartBeat"; the nearest is "heartbeat"',
      ],
      'a text for an event': [
        request => new EventStream(request, stream => stream.send(wrong('hello'))),
        'EventStream.send()',
        'an object with event',
      ],
      'headers behind a status': [
        () => Reflect.apply(Response.empty, Response, [204, { headers: {} }]),
        'an object with the key "headers" behind the status has no effect: set headers by response.headers.set',
      ],
      'a default of a value of the session': [
        ({ session }) => Reflect.apply(session.get, session, ['user', 'guest']),
        'session.get(name): a string of 5 characters behind the name has no effect: leave it out',
      ],
      'a list for the parameters of a URL': [
        request => request.redirectTo('a', wrong([['id', 1]])),
        'the parameters are an object such as { id: 7 }, not an array of 1 item',
      ],
      'an upgrade without a function': [
        request => new WebSocketUpgrade(request, wrong(undefined)),
        'new WebSocketUpgrade(request, handler)',
      ],
      'an unknown option of a file': [
        request => createFileResponse(request, 'a', wrong({ filename: 'a' })),
        '"filename": use root, name',
      ],
      'an object for the path of a file': [
        request => createFileResponse(request, wrong({})),
        'createFileResponse()',
        'the path of the file is a text',
      ],
      'an unknown option of a request of a test': [
        () => createRequest('/', wrong({ header: {} })),
        '"header"; the nearest is "headers"',
      ],
      'an object for the body of a request of a test': [
        () => createRequest('/', { body: wrong({ title: 'Ink' }) }),
        '"body" must be a text, bytes or a stream, not an object with the key "title": use json or form',
      ],
      'an unknown option of an event of a test': [
        () => createResponseEvent(wrong({ responce: answer() })),
        '"responce"; the nearest is "response"',
      ],
      'an unknown option of a client': [
        () => new TestClient(wrong({ handle: answer }), wrong({ header: {} })),
        '"header"; the nearest is "headers"',
      ],
    },
    ROUTE_UNKNOWN: {
      'a path for the name of a route': [
        request => request.redirectTo('/a'),
        'no route "/a": a path is no name; the name is "a"',
      ],
    },
    HTTP_REDIRECT_INVALID: {
      'options for the status of a redirect': [
        () => Response.redirect('/', wrong({ status: 303 })),
        'the key "status"',
      ],
    },
    HTTP_COOKIE_TOO_LARGE: {
      'a large cookie': [
        () => setCookie(answer().headers, 'cart', 'x'.repeat(4093)),
        '"cart"',
        '4097 bytes',
        'in the session',
      ],
    },
    HTTP_HEADER_INVALID: {
      'a header without a value': [
        () => answer().headers.set('x-shop', wrong(undefined)),
        '"x-shop"',
        'its value must be a string, not undefined',
      ],
      'a list for the value of a header': [
        () => new Response('', { headers: wrong({ vary: ['accept', 'cookie'] }) }),
        '"vary"',
        'not an array of 2 items',
      ],
    },
    HTTP_JSON_INVALID: {
      'a BigInt for JSON': [() => Response.json({ id: 1n }), 'a BigInt; use String(value)'],
      'a BigInt in an event': [
        request => new EventStream(request, stream => stream.send({ data: { id: 1n } })),
        'An event got a value that JSON cannot represent: a BigInt',
      ],
      'a cycle for JSON': [
        () => {
          const book: Record<string, unknown> = {}
          return Response.json({ book: Object.assign(book, { self: book }) })
        },
        'an object that contains itself, at "self"',
      ],
    },
    KERNEL_NO_RESPONSE: {
      'an error that is returned': [() => new HttpError(404, 'No.'), 'an object of the class HttpError. Throw it'],
      'a generator that is returned': [() => [1].values(), 'Use Response.stream(Readable.from(items))'],
      'a stream that is returned': [() => Readable.from(['a']), 'Use Response.stream(stream)'],
    },
    KERNEL_RESPONSE_THROWN: {
      'a response that is thrown': [
        () => {
          throw answer()
        },
        'a controller returns it',
      ],
    },
    RangeError: {
      'a text for the status of an error': [
        () => new HttpError(wrong('404'), 'No.'),
        'from 400 to 599, not a string of 3 characters',
      ],
      'a redirect for an error': [
        () => new HttpError(302, '/login'),
        'not 302. For a redirect, return Response.redirect(url).',
      ],
    },
    TypeError: {
      'an unknown option of an error': [
        () => new HttpError(404, 'No.', wrong({ header: {} })),
        '"header"; the nearest is "headers"',
      ],
      'an error for the options of an error': [
        () => new HttpError(404, 'No.', wrong(new Error('The book is gone.'))),
        'its options are an object with headers, cause, members, not an object of the class Error',
      ],
      'an error without a message': [() => new HttpError(404, wrong(undefined)), 'must be a string'],
    },
  }),
  ...([
    [{ sameSite: 'none' }, '"sameSite" is "none": browsers then demand secure: true'],
    [{ sameSite: 'laxx' }, '"sameSite" is "laxx": use "strict", "lax" or "none"'],
    [{ maxAge: 1.5 }, '"maxAge" is 1.5: use whole seconds'],
    [{ domain: 'https://a.example' }, '"domain" is "https://a.example": use a host such as "example.org"'],
    [{ path: '/;' }, '"path" is "/;": use a path such as "/" or "/shop"'],
  ].map(([options, part]) => [
    `a wrong attribute of a cookie: ${part}`,
    () => setCookie(answer().headers, 'a', 'b', wrong(options)),
    'ARGUMENT_INVALID',
    `setCookie(): ${part}`,
  ]) as Mistake<Request>[]),
]

const inList = [
  ...defineMistakes<void>({
    KERNEL_BUNDLE_INVALID: {
      'a class': [() => [Guard], 'number 2 is the class Guard', 'new Guard()'],
      'a function': [() => [answer], 'the function answer', 'Call the function: answer()'],
      'a promise': [() => [Promise.resolve()], 'a promise', 'Write await'],
      'a module': [async () => [await import('#lib/http/response.ts')], 'import { Response }'],
      'an object without register': [() => [{ name: 'shop', boot: answer }], 'no key "boot": use name'],
      'an empty name': [() => [{ name: '', register: answer }], 'an object with a name'],
    },
    KERNEL_BUNDLE_KEY_INVALID: {
      'an unknown key': [
        () => [{ name: 'shop', register: answer, dependencies: [] }],
        '"shop"',
        '"dependencies": use name',
      ],
      'a value of another type': [
        () => [{ name: 'shop', register: answer, close: true }],
        '"close" must be a function, not a boolean',
      ],
      'settings that are not defined': [
        () => [{ name: 'shop', register: answer, settings: { SHOP_SIZE: { help: 'size' } } }],
        '"settings" must be the result of defineSettings()',
      ],
      'a default of routes that is no name for listeners': [
        () => [{ name: 'shop', register: answer, routeDefaults: ['role'] }],
        '"routeDefaults" has "role": names for listeners begin with "_"',
      ],
      'a mistyped key': [() => [{ name: 'shop', register: answer, asset: '' }], '"asset"; the nearest is "assets"'],
    },
    ARGUMENT_INVALID: {
      'a register that returns what closes the bundle': [
        () => [{ name: 'shop', register: () => answer }],
        'which has no effect: what ends its work is close() of the bundle',
      ],
      'services without the others': [
        () => [{ name: 'shop', register: answer, decorate: ({ view }: Application) => ({ view }) }],
        'it must return all services, such as { ...foundation, view }',
      ],
    },
  }),
  ...([
    [({ router }: never) => Reflect.get(router, 'get'), 'there is no service "router"; the nearest is "routes"'],
    [(routes: never) => Reflect.apply(Reflect.get(routes, 'get'), routes, []), 'write register({ routes })'],
  ].map(([register, part]) => [
    `a wrong argument of register: ${part}`,
    () => [{ name: 'shop', register }],
    'TypeError',
    part,
  ]) as Mistake<void>[]),
  ...([() => [{ name: 'a', path: '/a', controller: answer }], async () => ({ routes: [] })].map(register => [
    'a register that returns definitions',
    () => [{ name: 'shop', register }],
    'ARGUMENT_INVALID',
    'register(app): it has returned an',
    'which has no effect: use app.routes.add(definition)',
  ]) as Mistake<void>[]),
]

/** The differences between an error and the expected one. */
function compare(error: unknown, [name, , code, ...parts]: Mistake<never>, message = String(Object(error).message)) {
  const cause: unknown = Object(error).code === 'KERNEL_BUNDLE_FAILED' ? Object(error).cause : error
  const found = String(Object(cause).code ?? Object(cause).name)
  const missing = parts.filter(part => !message.includes(part))
  return found === code && missing.length === 0
    ? []
    : [`${name}: ${found}: ${message} without ${missing.join(' and ')}`]
}

const place = 'tests/application/mistakes.test.ts:'

async function findOffences(mistakes: readonly Mistake<Application>[], options: { readonly hasPlace: boolean }) {
  const offences: string[] = []
  for (const mistake of mistakes) {
    const shop: Bundle = { name: 'shop', routeDefaults: ['_role'], register: async app => void (await mistake[1](app)) }
    const error = await createTestKernel({ bundles: [createFrameworkBundle(), shop] }).then(
      () => new Error('It boots.'),
      (thrown: unknown) => thrown,
    )
    offences.push(...compare(error, options.hasPlace ? [...mistake, place] : mistake))
  }
  return offences
}

t.test('a mistake in register is refused with its place', async t => {
  t.strictSame(await findOffences(inRegister, { hasPlace: true }), [])
})

t.test('a template that is rendered before all helpers are known is refused by the reason', async t => {
  const directory = t.testdir({ templates: { shop: { 'list.hbs': '{{late 1}}' } } })
  const shop: Bundle = { name: 'shop', register: ({ view }) => void view.render('shop/list', {}) }
  const booted = createTestKernel({ bundles: [createFrameworkBundle(), shop], directory })
  await t.rejects(booted, { message: /view\.render\(\) in register\(\): .*: render it in a controller/ })
})

t.test('a wrong object in a list of the application is refused', async t => {
  t.strictSame(await findOffences(inLists, { hasPlace: true }), [])
  t.strictSame(await findOffences(byOtherWays, { hasPlace: false }), [])
  const check = () => true as const
  const shop: Bundle = {
    name: 'shop',
    register: ({ guards }) => void guards.push({ name: 'admin', check }, { name: 'admin', check }),
  }
  await t.rejects(createTestKernel({ bundles: [createFrameworkBundle(), shop] }), { message: 'has one of that name' })
})

t.test('what is added after the start, or twice, is refused; a listener and a route are not', async t => {
  const shop: Bundle = { name: 'shop', register: app => app.controllers.register('cart', toController(answer)) }
  const kernel = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
  t.teardown(() => kernel.close())
  const { app, client } = kernel
  const check = () => true as const
  const late = ': the application has started: call it in register() of a bundle.'
  const calls: readonly (readonly [call: () => unknown, message: string])[] = [
    [() => app.guards.push({ name: 'admin', check }), `app.guards.push({ name: 'admin' })${late}`],
    [() => app.isolated.push(check), `app.isolated.push({ name: 'check' })${late}`],
    [() => app.guards.unshift({ name: 'admin', check }), 'Cannot add property 0, object is not extensible'],
    [() => app.view.addHelper('money', String), `view.addHelper("money")${late}`],
    [() => app.view.addGlobal('shop', 'Books'), `view.addGlobal("shop")${late}`],
    [() => app.view.decorateTemplates((_name, template) => template), `view.decorateTemplates()${late}`],
    [
      () => app.controllers.register('cart', toController(answer)),
      'controllers.register("cart"): there is one of that name already: to replace it, call controllers.decorate("cart", () => controller).',
    ],
  ]
  const offences = calls.flatMap(([call, message]) => {
    try {
      return `${message}: ${call()}`
    } catch (error) {
      const { message: said, stack = '' } = error as Error
      return said === message && stack.includes('mistakes.test') ? [] : `${message}: ${stack}`
    }
  })
  t.strictSame(offences, [])
  app.dispatcher.on(ResponseEvent, ({ response }) => response.headers.set('x-late', '1'))
  app.routes.get('late', '/late', answer)
  t.equal((await client.get('/late')).headers.get('x-late'), '1')
})

t.test('a stream that answers two requests is refused at the second one', async t => {
  const text = Readable.from(['a', 'b'])
  const endless = new Readable({ read: () => undefined })
  endless.push('a')
  t.teardown(() => endless.destroy())
  const shop: Bundle = {
    name: 'shop',
    register({ routes, kernel }) {
      routes.get('text', '/text', () => Response.stream(text))
      routes.get('endless', '/endless', () => Response.stream(endless))
      routes.get('forwarded', '/forwarded', request =>
        kernel.forward(request, () => Response.stream(Readable.from('c'))),
      )
    },
  }
  const kernel = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
  t.teardown(() => kernel.close())
  const { app, client, records } = kernel
  const first = await app.kernel.handle(createRequest('/endless'))
  t.strictSame([first.status, (await client.get('/endless')).status], [200, 500], 'at the same time')
  t.strictSame([(await client.get('/text')).text, (await client.get('/text')).status], ['ab', 500], 'in turn')
  t.equal((await client.get('/forwarded')).text, 'c', 'of a sub-request')
  const codes = records.flatMap(({ context }) => (context.exception as { code?: string } | undefined)?.code ?? [])
  t.strictSame(codes, ['HTTP_STREAM_USED', 'HTTP_STREAM_USED'])
})

t.test('a route whose controller cannot answer is refused at boot with its place', async t => {
  t.strictSame(await findOffences(inRoutes, { hasPlace: true }), [])
})

t.test('a mistake in a controller is refused at the call, and logged with its place', async t => {
  const offences: string[] = []
  for (const mistake of inController) {
    const shop: Bundle = {
      name: 'shop',
      register: ({ routes }) => void routes.post('a', '/a', request => mistake[1](request)),
    }
    const { client, close, records } = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
    await client.post('/a?page=1', { form: { page: '1' }, headers: { cookie: 'sid=1', authorization: '1' } })
    await close()
    const record = records.find(({ level }) => level === 'critical')
    offences.push(...compare(record?.context.exception, [...mistake, 'mistakes.test.ts line'], record?.message ?? ''))
  }
  t.strictSame(offences, [])
})

t.test('a service that a bundle adds to its app is refused, because no other bundle would have it', async t => {
  const shop: Bundle = { name: 'shop', register: app => void Object.assign(app, { books: [] }) }
  const message = /create "books" in bundles\/index\.ts, and pass it to the bundles that use it \(tests\//
  await t.rejects(createTestKernel({ bundles: [createFrameworkBundle(), shop] }), { message })
})

t.test('a response that a listener returns is refused with its place, and the call that has an effect', async t => {
  const page = () => Response.text('page')
  const events: readonly (readonly [type: EventClass, call: string])[] = [
    [RequestEvent, 'event.respond(response)'],
    [ViewEvent, 'event.respond(response)'],
    [ExceptionEvent, 'event.respond(response)'],
    [ResponseEvent, 'event.response = response'],
  ]
  const offences: string[] = []
  for (const [type, call] of events) {
    for (const listener of [() => page(), async () => page()]) {
      const shop: Bundle = {
        name: 'shop',
        register({ dispatcher, routes }) {
          dispatcher.on(type, listener)
          routes.get('a', '/a', () => {
            if (type === ExceptionEvent) throw new Error('on purpose')
            return type === ViewEvent ? wrong({}) : answer()
          })
        },
      }
      const { client, close, records } = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
      const { status } = await client.get('/a')
      await close()
      const message = `(bundle "shop", mistakes.test.ts:`
      const found = records.find(({ context }) => Object(context.exception).code === 'KERNEL_RESULT_UNUSED')
      const text = String(Object(found?.context.exception).message)
      const isPlaced = records.some(record => /mistakes\.test\.ts line/.test(String(record.context.place)))
      if (status !== 500 || !text.includes(message) || !text.includes(call) || !isPlaced)
        offences.push(`${type.eventName}: ${status} ${text}`)
    }
  }
  t.strictSame(offences, [])
})

t.test('a wrong value for a member of an event is refused where the listener sets it', async t => {
  const platform = wrong(new globalThis.Response())
  const schema = { '~standard': { version: 1, vendor: 'test', validate: () => undefined } }
  const mistakes = defineMistakes<Application>({
    ARGUMENT_INVALID: {
      'a function for a controller': [
        ({ dispatcher }) => dispatcher.on(ControllerEvent, event => Reflect.set(event, 'controller', wrong(answer))),
        'event.controller: it must be a controller, such as toController(function), not the function answer',
      ],
      'no controller': [
        ({ dispatcher }) =>
          dispatcher.on(ControllerArgumentsEvent, event => Reflect.set(event, 'controller', wrong(undefined))),
        'event.controller: it must be a controller',
      ],
      'no arguments': [
        ({ dispatcher }) =>
          dispatcher.on(ControllerArgumentsEvent, event => Reflect.set(event, 'arguments', wrong(undefined))),
        'event.arguments: they are a list, not undefined',
      ],
      'a response of an event that is answered': [
        ({ dispatcher }) => dispatcher.on(RequestEvent, event => Reflect.set(event, 'response', answer())),
        'event.response: it is only read: use event.respond(response)',
      ],
      'a text for the request of the kernel': [
        ({ dispatcher, kernel }) => dispatcher.on(RequestEvent, () => kernel.handle(wrong('/b'))),
        'kernel.handle(request): the request is an object of the class Request, not a string of 2 characters',
      ],
      'a name for the request of a forward': [
        ({ dispatcher, kernel }) => dispatcher.on(RequestEvent, async () => kernel.forward(wrong('a'), 'b')),
        'kernel.forward(request, controller): the request is an object of the class Request',
      ],
      'no value to sign': [
        ({ dispatcher, secrets }) => dispatcher.on(RequestEvent, () => void secrets.sign('a', wrong(undefined))),
        'secrets.sign(name, value): the value must be a string, not undefined',
      ],
      'no text to verify': [
        ({ dispatcher, secrets }) =>
          dispatcher.on(RequestEvent, () => void Reflect.apply(secrets.verify, secrets, ['a.b.c'])),
        'secrets.verify(name, text): the text must be a string, not undefined',
      ],
      'no text to decrypt': [
        ({ dispatcher, secrets }) =>
          dispatcher.on(RequestEvent, () => void Reflect.apply(secrets.decrypt, secrets, ['a.b.c'])),
        'secrets.decrypt(name, text): the text must be a string, not undefined',
      ],
      'no value to encrypt': [
        ({ dispatcher, secrets }) => dispatcher.on(RequestEvent, () => void secrets.encrypt('a', wrong(undefined))),
        'secrets.encrypt(name, value): the value must be a string, not undefined',
      ],
      'a schema that returns nothing': [
        ({ routes }) => routes.post('b', '/a', defineController('b', { query: queryValues(wrong(schema)) }, answer)),
        'the query: its schema has returned undefined, not an object with a value or issues',
      ],
    },
    KERNEL_RESPONSE_INVALID: {
      'the response of the platform': [
        ({ dispatcher }) => dispatcher.on(ResponseEvent, event => Reflect.set(event, 'response', platform)),
        'the "Response" of the platform: import "Response" from "sinfonietta"',
      ],
    },
  })
  const offences: string[] = []
  for (const mistake of mistakes) {
    const shop: Bundle = {
      name: 'shop',
      register(app) {
        app.routes.get('a', '/a', answer)
        mistake[1](app)
      },
    }
    const { client, close, records } = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
    await (mistake[0].startsWith('a schema') ? client.post('/a', { form: {} }) : client.get('/a'))
    await close()
    const [record] = records.filter(({ level }) => level === 'critical')
    offences.push(...compare(record?.context.exception, [...mistake, 'mistakes.test.ts line'], record?.message ?? ''))
  }
  t.strictSame(offences, [])
})

t.test('development says what is right instead of a thrown value, as far as it is known', async t => {
  const status = 'The status 404 of this error has no effect: use throw new HttpError(404, message).'
  const thrown: Readonly<Record<string, readonly [error: unknown, advice?: string]>> = {
    express: [Object.assign(new Error('No such note.'), { status: 404 }), status],
    fastify: [Object.assign(new Error('No such note.'), { statusCode: 404 }), status],
    koa: [{ status: 404 }, status],
    text: ['No such note.', 'The thrown value has no stack: use throw new Error(message).'],
    server: [
      Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
      'No program listens at this address: start it, or correct the address.',
    ],
    file: [
      Object.assign(new Error('open'), { code: 'ENOENT', path: 'data/a.json' }),
      `The path is relative to ${process.cwd()}: use path.join(app.directory, 'data/a.json').`,
    ],
    other: [Object.assign(new Error('The socket has failed.'), { status: 'closed' })],
    own: [new HttpError(404, 'No such note.')],
    whole: [Object.assign(new Error('open'), { code: 'ENOENT', path: '/data/a.json' })],
    program: [Object.assign(new Error('spawn'), { code: 'ENOENT' })],
    code: [Object.assign(new Error('reset'), { code: 'ECONNRESET' })],
    usual: [new Error('No.')],
    type: [new TypeError('No.')],
    cause: [new Error('No.', { cause: 'text' })],
    object: [{ message: 'No.' }],
    file_code: [Object.assign(new Error('open'), { code: 'EACCES', path: 'data/a.json' })],
  }
  const shop: Bundle = {
    name: 'shop',
    register({ routes }) {
      routes.get('a', '/:name', (_request, { name }) => {
        throw thrown[String(name)]?.[0]
      })
    },
  }
  const bundles = [createFrameworkBundle(), createProfilerBundle({ storage: new MemoryProfileStorage() }), shop]
  const offences: string[] = []
  for (const APP_ENV of ['dev', 'prod']) {
    const { client, close, records } = await createTestKernel({ bundles, variables: { APP_ENV } })
    for (const [name, [, advice]] of Object.entries(thrown)) {
      const before = records.length
      const { text } = await client.get(`/${name}`, { headers: { accept: 'text/plain' } })
      const said = records
        .slice(before)
        .filter(({ level }) => level === 'warning')
        .map(({ message }) => message)
      const isRight = APP_ENV === 'prod' || advice === undefined ? said.length === 0 : said.join() === advice
      if (!isRight || (said[0] !== undefined && !text.includes(said[0]))) offences.push(`${APP_ENV} ${name}: ${said}`)
    }
    await close()
  }
  t.strictSame(offences, [])
})

t.test('the test client refuses requests if no listener would find their route', async t => {
  const handler = () => new Response('attribute')
  const shop: Bundle = { name: 'shop', register: ({ routes }) => void routes.get('a', '/a', answer) }
  const { app, client, close } = await createTestKernel({ bundles: [shop] })
  t.teardown(close)
  const refusal = { code: 'KERNEL_CONTROLLER_MISSING', message: 'is createFrameworkBundle() in the list of bundles?' }
  await t.rejects(client.get('/a'), refusal)
  await t.rejects(client.open('/a'), refusal)
  t.equal((await client.get('/a', { attributes: { _controller: handler } })).text, 'attribute')
  app.dispatcher.on(RequestEvent, event => event.respond(Response.text('listener')))
  t.equal((await client.get('/a')).text, 'listener')
  await (await client.open('/a')).close()
})

t.test('a signal that is emitted without a handler is logged, if a similar name has one', async t => {
  const shop: Bundle = {
    name: 'shop',
    register({ signals }) {
      signals.on(wrong('order.placed'), () => undefined)
      signals.emit(wrong('order.plaecd'), wrong(undefined))
    },
  }
  const { close, records } = await createTestKernel({ bundles: [shop] })
  t.teardown(close)
  t.match(
    records.filter(({ level }) => level === 'warning'),
    [
      {
        message: /^The signal "order\.plaecd" has no handler, but .* has one \(tests\/application\/mistakes.*:\d+\)\.$/,
      },
    ],
  )
})

t.test('a listener may return the response of its event, and that of a request of its own', async t => {
  const shop: Bundle = {
    name: 'shop',
    register({ dispatcher, kernel, routes }) {
      routes.get('a', '/a', answer)
      dispatcher.on(ResponseEvent, event => (event.response = Response.text('other')))
      dispatcher.on(TerminateEvent, () => kernel.handle(createRequest('/b')))
    },
  }
  const { client, close, records } = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
  t.teardown(close)
  t.equal((await client.get('/a')).text, 'other')
  t.strictSame(
    records.filter(({ level }) => level === 'critical'),
    [],
  )
})

t.test('a log message that is no text is logged with its value', async t => {
  const shop: Bundle = {
    name: 'shop',
    register({ logger }) {
      logger.error(wrong(new Error('on purpose')))
      logger.info(wrong({ book: 1 }), wrong('sold'))
      Reflect.apply(logger.warning, logger, ['sold', 'a book', 3])
    },
  }
  const { close, records } = await createTestKernel({ bundles: [shop] })
  t.teardown(close)
  t.match(
    records.filter(({ message }) => message.startsWith('A message must be a string')),
    [
      {
        level: 'error',
        message: /not an object of the class Error/,
        context: { arguments: [{ message: 'on purpose' }] },
      },
      { level: 'info', message: /the key "book"/, context: { arguments: [{ book: 1 }, 'sold'] } },
    ],
  )
  t.match(records, [{}, {}, { message: 'sold', context: { context: ['a book', 3] } }])
})

t.test('a value in the list of bundles that is none is refused with the way to make a bundle of it', async t => {
  const offences: string[] = []
  for (const mistake of inList) {
    const bundles = [createFrameworkBundle(), ...((await mistake[1]()) as Bundle[])]
    offences.push(...compare(await createTestKernel({ bundles }).catch((error: unknown) => error), mistake))
  }
  t.strictSame(offences, [])
  t.throws(() => checkBundles(undefined), {
    code: 'KERNEL_BUNDLES_MISSING',
    message: 'is undefined: it must be an array, which createBundles() in bundles/index.ts returns',
  })
})

t.test('a command of the console that cannot be used is refused when the console runs', async t => {
  const refuse = async (command: unknown, message: string, line = 'about') => {
    const shop: Bundle = { name: 'shop', register: ({ commands }) => void commands.push(wrong(async () => [command])) }
    const { code, stderr } = await runInTerminal(line, { load: async () => [createFrameworkBundle(), shop] })
    t.strictSame([code, stderr.includes(message)], [1, true], stderr)
  }
  const that = 'of the bundle "shop" that was added cannot be used'
  await refuse(undefined, `A command ${that}: it is undefined, not an object.`)
  await refuse({ name: 'shop:x', description: 'x' }, `The command "shop:x" ${that}: it needs the key "run".`)
  const read = { name: 'shop:x', description: 'x', options: [{ name: 'all', description: 'all' }] }
  await refuse(
    { ...read, run: (input: { readonly all?: string }) => Number(input.all) },
    'The command "shop:x": "all" is input.options.all',
    'shop:x --all',
  )
  const option = { name: '--all', description: 'all' }
  await refuse(
    { name: 'a', description: 'a', run: answer, options: [option] },
    'its option "--all" is named without the dashes',
  )
})

t.test('the store of sessions that a function creates may have to wait, and is checked', async t => {
  const stores: readonly (readonly [store: () => unknown, mistake?: string])[] = [
    [async () => new MemorySessionStore()],
    [async () => undefined, 'session.store has returned undefined: use an object with read'],
    [() => ({ read: answer }), 'session.store has no method insert'],
  ]
  const offences: string[] = []
  for (const [store, mistake] of stores) {
    const framework = createFrameworkBundle({ session: { store: wrong(store) } })
    const message = await createTestKernel({ bundles: [framework] }).then(
      ({ close }) => close().then(() => undefined),
      (error: unknown) => String(Object(error).message),
    )
    if (mistake === undefined ? message !== undefined : !message?.includes(mistake)) offences.push(String(message))
  }
  t.strictSame(offences, [])
})

t.test('a fallback and a default may be any value that the types allow', t => {
  queryValue('page', asInteger, wrong(null))
  queryValue<number | 'all'>('page', asInteger, 'all')
  queryValue('page', { expected: 'a number', convert: Number }, wrong('all'))
  queryValue('from', asDate, new Date())
  queryValue('ids', asListOf(asInteger), [1])
  queryValue('size', asOneOf('small', 'large'), 'small')
  t.doesNotThrow(() =>
    defineSettings({
      SHOP_URL: { help: 'url', schema: asUrl, default: '' },
      SHOP_SIZE: { help: 'size', schema: asInteger, default: undefined },
      SHOP_SIZES: { help: 'sizes', schema: asListOf(asInteger), default: [] },
      SHOP_COUNT: { help: 'count', schema: asInteger, default: 0 },
    }),
  )
  t.end()
})

t.test('members that an application sets, absent keys and keys that tools read are not refused', async t => {
  class Shop {
    name = 'shop'
    handle() {
      return Response.text(
        ['this.name']
          .map(function (this: unknown, text) {
            return text + String(this)
          })
          .join(),
      )
    }
  }
  const shop: Bundle = {
    name: 'shop',
    register({ routes }) {
      routes.get('shop', '/shop', new Shop().handle)
      routes.group({ prefix: '/empty' }, () => undefined)
      // One function answers several routes, and takes a parameter that one of them has.
      const show = (_request: Request, { id }: { readonly id?: string }) => Response.text(`${id}`)
      routes.get('list', '/list', show)
      routes.get('one', '/list/:id', show)
      routes.get('a', '/a', async request => {
        const { body, cookies, headers, query, session } = request
        Object.assign(request, { files: [], log: 1, ip: '127.0.0.1' })
        Object.assign(query, { limit: 5 })
        const absent = [query, cookies, headers].flatMap(each =>
          ['page', 'then', 'toJSON'].map(key => Reflect.get(each, key)),
        )
        await Promise.all([query, cookies, headers, session, body, await request.formData()])
        const texts = [query, cookies, headers, session, body].map(
          each => `${inspect(each)} ${String(each)} ${JSON.stringify(each)}`,
        )
        return Response.json([
          absent.every(each => each === undefined),
          texts.length,
          [...new URLSearchParams(query)],
          query instanceof URLSearchParams,
          cookies instanceof Map,
          Reflect.get(request, 'ip'),
          Reflect.get(query, 'limit'),
        ])
      })
    },
  }
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
  t.teardown(close)
  const { text } = await client.get('/a?b=1&then=2&toJSON=3', { headers: { cookie: 'then=1' } })
  t.strictSame(JSON.parse(text), [
    true,
    5,
    [
      ['b', '1'],
      ['then', '2'],
      ['toJSON', '3'],
    ],
    true,
    true,
    '127.0.0.1',
    5,
  ])
  t.equal((await client.get('/list/5')).text, '5')
  t.equal((await client.get('/list')).text, 'undefined')
  t.equal((await client.get('/shop')).status, 200)
})

t.test('an object of a class may have keys of its own', async t => {
  class Shop implements Bundle {
    readonly name = 'shop'
    readonly store = new Map()
    register({ routes }: Application): void {
      // The headers and the status of another response.
      routes.get('a', '/a', () => new Response('copy', Response.text('made', { status: 201 })))
    }
  }
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), new Shop()] })
  t.teardown(close)
  t.match(await client.get('/a'), { status: 201, text: 'copy' })
})

t.test('a promise, and a value that the model has not, is named with its key', async t => {
  class Book {
    get title(): string {
      return 'Ink'
    }
  }
  const templates: readonly (readonly [template: string, model: object, reason: string])[] = [
    [
      '{{#each books}}{{title}}{{/each}}',
      { books: Promise.resolve([]) },
      '"books" in its model is a promise: await it',
    ],
    ['', { books: [Promise.resolve()] }, '"books" in its model is a list of promises: use await Promise.all'],
    [
      '{{#each shop.books}}{{title}}{{/each}}',
      { shop: { books: Promise.resolve([]) } },
      'line 1: the value of {{#each}} is a promise',
    ],
    ['{{shop.count}}', { shop: { count: Promise.resolve(1) } }, 'line 1: "count" is a promise: await it'],
    [
      '{{user.name}}',
      { users: [] },
      '"name" of {{user.name}} is not defined, because "user" is undefined; the nearest is "users"',
    ],
    ['{{user.name}}', { user: null }, '"name" of {{user.name}} is not defined, because "user" is null'],
    ['{{user.nmae}}', { user: { name: 'Ada' } }, '"nmae" is not defined; the nearest is "name"'],
    [
      '{{#each users}}{{name}} {{currency}}{{/each}}',
      { currency: 'EUR', users: [{ name: 'Ada' }] },
      '"currency" is not defined here: write {{@root.currency}}',
    ],
    ['{{site.name}}', {}, '"name" of {{site.name}} is not defined, because "site" is undefined: write {{@site.name}}'],
    ['{{#each users}}{{site}}{{/each}}', { users: [{}] }, '"site" is not defined here: write {{@site}}'],
    ['{{titel}}', { title: 'Ink' }, '"titel" is not defined; the nearest is "title"'],
    [
      '{{book.title}}',
      { book: new Book() },
      'templates do not read methods and getters of an object of the class Book',
    ],
    ['{{price 3}}', {}, 'its function takes one object'],
    ['{{later 3}}', {}, 'its function returns a promise'],
    ['{{title}}', wrong('Ink'), 'its model must be an object, not a string'],
    ['', createRequest('/'), 'its model is the request: write view.render(name, model, request)'],
  ]
  const files = Object.fromEntries(templates.map(([template], index) => [`${index}.hbs`, template]))
  const shop: Bundle = {
    name: 'shop',
    register({ view }) {
      view.addHelper('price', cents => `EUR ${(cents as unknown as number) / 100}`)
      view.addHelper('later', async () => 'later')
      view.addGlobal('site', { name: 'Shop' })
    },
  }
  const directory = t.testdir({ templates: { shop: files } })
  const { app, close } = await createTestKernel({ bundles: [shop], directory })
  t.teardown(close)
  const offences = templates.flatMap(([template, model, reason], index) => {
    try {
      return `${template}: ${app.view.render(`shop/${index}`, model)}`
    } catch (error) {
      return compare(error, [template, answer, 'VIEW_RENDER_FAILED', reason])
    }
  })
  t.strictSame(offences, [])
})

t.test('a list that a page shows, and that its data does not have, is logged in development only', async t => {
  const templates = { shop: { 'list.hbs': '\n{{#each books}}{{/each}}{{#each tags}}{{/each}}' } }
  const directory = t.testdir({ templates })
  const shop: Bundle = {
    name: 'shop',
    register: ({ routes, view }) =>
      void routes.get('list', '/list', request => Response.html(view.render('shop/list', { bookz: [] }, request))),
  }
  const recordsOf = async (variables: Record<string, string>) => {
    const { client, close, records } = await createTestKernel({
      bundles: [createFrameworkBundle(), shop],
      directory,
      variables,
    })
    t.teardown(close)
    await client.get('/list')
    return records.filter(({ message }) => message.startsWith('{{')).map(({ level, message }) => [level, message])
  }
  t.strictSame(await recordsOf({}), [
    [
      'warning',
      '{{#each books}} in templates/shop/list.hbs:2 has no value: "books" is not defined; the nearest is "bookz".',
    ],
  ])
  t.strictSame(await recordsOf({ APP_ENV: 'prod' }), [])
})

t.test('a mistyped helper or partial has the nearest name', async t => {
  const templates = { shop: { 'list.hbs': "{{pathh 'home'}}{{> shop/hedaer}}", 'header.hbs': '' } }
  const shop: Bundle = { name: 'shop', register() {} }
  const directory = t.testdir({ templates })
  await t.rejects(createTestKernel({ bundles: [createFrameworkBundle(), shop], directory }), {
    code: 'VIEW_TEMPLATE_INVALID',
    message: /helper "pathh"; the nearest is "path"\n.*partial "shop\/hedaer"; the nearest is "shop\/header"/,
  })
})

t.test('the data of a template may have the type of an interface', async t => {
  interface Book {
    readonly title: string
  }
  const book: Book = { title: 'Ink' }
  const directory = t.testdir({ templates: { shop: { 'book.hbs': '{{title}}' } } })
  const { app, close } = await createTestKernel({ bundles: [{ name: 'shop', register() {} }], directory })
  t.teardown(close)
  t.equal(app.view.render('shop/book', book), 'Ink')
})

t.test('a bundle that waits forever is named when the process would end', async t => {
  const program = `
    import { createTestKernel } from 'sinfonietta/testing'
    const shop = { name: 'shop', register: () => new Promise(() => {}) }
    await createTestKernel({ bundles: [shop] }).catch(error => console.log(error.message))`
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  })
  t.match(stdout, 'The bundle "shop" failed in register(): It waits for a promise')
  t.equal(status, 0)
})

t.test('a condition that returns a promise is named, and matches no request', async t => {
  const { client, close } = await createTestKernel({
    bundles: [
      createFrameworkBundle(),
      { name: 'shop', register: app => void addRoute({ condition: () => Promise.resolve(false) })(app) },
    ],
  })
  t.teardown(close)
  const { status, text } = await client.get('/a')
  t.equal(status, 500)
  t.match(text, 'its condition returns a promise, and nothing awaits it: use a guard')
})

t.test('a guard with another result is named with the place where it was added', async t => {
  const { client, close } = await createTestKernel({
    bundles: [
      createFrameworkBundle(),
      {
        name: 'shop',
        register({ guards, healthChecks, routes }) {
          t.throws(() => healthChecks.push({ name: 'db', check: answer, timeout: 0 }), {
            message: '"timeout" must be a number above 0, not 0',
          })
          guards.push(wrong({ name: 'admin', check: () => false }))
          routes.add({ name: 'a', path: '/a', guard: 'admin', controller: answer })
        },
      },
    ],
  })
  t.teardown(close)
  const { headers, status } = await client.get('/a')
  t.equal(status, 500)
  t.match(headers.get('x-debug-exception-file'), 'mistakes.test.ts')
})
