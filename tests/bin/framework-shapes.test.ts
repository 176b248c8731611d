import { t } from 'tap'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'

/**
 * The classes of packages with too many packages, with an install script, or of other versions
 * than those of other tests, in their smallest form; the real ones are those of proofs.
 */
const packages = {
  restify: {
    'package.json': '{ "name": "restify", "version": "11.0.0" }',
    'index.js': `
const Chain = require('./lib/chain.js')
const Server = require('./lib/server.js')
exports.createServer = () => new Server(new Chain())`,
    lib: {
      'chain.js': `
module.exports = class Chain {
  handlers = []
  add(handler) { this.handlers.push(handler) }
  getHandlers() { return this.handlers }
}`,
      'server.js': `
module.exports = class Server {
  constructor(chain) { this.chain = chain }
  get(path, ...handlers) { this.route = { path, chain: this.chain }; for (const each of handlers) this.chain.add(each) }
  handle(request, response) {
    Object.assign(request, { route: this.route, params: { id: request.url.split('/')[2] } })
    try { for (const each of this.chain.handlers) each(request, response, () => {}) }
    catch (error) { this._onHandlerError(error, request, response) }
  }
  _onHandlerError(error, request, response) { response.writeHead(500).end(error.message) }
}`,
    },
  },
  h3: {
    'package.json': '{ "name": "h3", "version": "1.15.0" }',
    dist: {
      'index.cjs': `
exports.H3Event = class H3Event {
  constructor(req, res) { Object.assign(this, { node: { req, res }, context: { matchedRoute: { path: '/users/:id' }, params: { id: 7 } } }) }
  get handled() { return this.node.res.writableEnded }
}`,
    },
  },
  graphql: {
    'package.json': '{ "name": "graphql", "version": "17.0.0", "type": "module", "exports": "./index.mjs" }',
    'diagnostics.mjs': '',
    'diagnostics.js': '',
    'index.mjs': "export * from './error/GraphQLError.mjs'",
    error: {
      'GraphQLError.mjs': `
export class GraphQLError extends Error {
  constructor(message, { originalError, path }) { super(message); this.path = path; this.originalError = originalError }
}`,
    },
    type: { 'schema.mjs': 'export class GraphQLSchema {}' },
  },
  '@loopback': {
    rest: {
      'package.json': '{ "name": "@loopback/rest", "version": "15.0.0", "main": "dist/router/routing-table.js" }',
      dist: {
        router: {
          'routing-table.js': `
class Users {}
exports.RoutingTable = class RoutingTable {
  find({ url }) {
    if (!url.startsWith('/users/')) throw new RangeError('no such page')
    return { path: '/users/{id}', pathParams: { id: url.slice(7) }, controllerCtor: Users, methodName: 'show' }
  }
}`,
        },
      },
    },
  },
  'strong-error-handler': {
    'package.json': '{ "name": "strong-error-handler", "version": "5.0.0", "main": "lib/handler.js" }',
    lib: {
      'handler.js': 'exports.writeErrorToResponse = (error, request, reply) => reply.writeHead(500).end(error.message)',
    },
  },
  micro: {
    'package.json': '{ "name": "micro", "version": "10.0.1", "main": "dist/src/lib/index.js" }',
    dist: {
      src: {
        lib: {
          'index.js': `
exports.sendError = (request, response, error) => response.writeHead(500).end(error.message)
exports.run = (request, response, work) => {
  try { response.end(work(request)) } catch (error) { exports.sendError(request, response, error) }
}
exports.serve = work => (request, response) => exports.run(request, response, work)`,
        },
      },
    },
  },
  'moleculer-web': {
    'package.json': '{ "name": "moleculer-web", "version": "0.10.7", "main": "src/index.js" }',
    src: {
      'index.js': `
exports.methods = {
  aliasHandler(request, response, alias) {
    if (request.url.endsWith('fail')) return this.sendError(request, response, new RangeError('broken'))
    response.end('a user')
  },
  sendError(request, response, error) { response.writeHead(500).end(error.message) },
}`,
    },
  },
  '@orpc': {
    server: {
      'package.json':
        '{ "name": "@orpc/server", "version": "1.9.0", "exports": { "./node": "./dist/adapters/standard/index.mjs" } }',
      dist: {
        adapters: {
          standard: {
            'index.mjs': `
const codec = {
  decode(request, parameters, procedure) {},
  encodeError(error) { return error.cause.message },
}
export class StandardHandler {
  codec = codec
  handle(request, options) {
    function showUser() { throw new RangeError('broken') }
    this.codec.decode(request, { id: 7 }, { '~orpc': { handler: showUser, route: { path: '/users/{id}' } } })
    if (!request.url.pathname.endsWith('fail')) return [200, 'a user']
    try { showUser() } catch (cause) { return [500, this.codec.encodeError({ status: 500, cause })] }
  }
}`,
          },
        },
      },
    },
  },
  connect: {
    'package.json': '{ "name": "connect", "version": "3.7.0" }',
    'index.js': `
const final = require('finalhandler')
module.exports = work => (request, response) => {
  const answer = final(request, response)
  try { work(request, response) } catch (error) { answer(error) }
}`,
  },
  finalhandler: {
    'package.json': '{ "name": "finalhandler", "version": "1.1.2" }',
    'index.js': 'module.exports = (request, response) => error => response.writeHead(500).end(error.message)',
  },
  restana: {
    'package.json': '{ "name": "restana", "version": "5.2.0" }',
    'index.js': `
const createRouter = require('./libs/request-router')
module.exports = work => createRouter(Object.freeze({ errorHandler: (error, request, response) => response.writeHead(500).end(error.message), work }))`,
    libs: {
      'request-router.js': `
module.exports = ({ errorHandler, work }) => (request, response) => {
  try { work(request, response) } catch (error) { errorHandler(error, request, response) }
}`,
    },
  },
  '@adonisjs': {
    'http-server': {
      'package.json':
        '{ "name": "@adonisjs/http-server", "version": "7.0.0", "type": "module", "exports": "./build/index.js" }',
      build: {
        'index.js': `
export class ExceptionHandler {
  report(error, context) { context.response.writeHead(500).end(error.message) }
}
const route = {
  pattern: '/users/:id',
  handler: {
    name: 'Users',
    reference: [() => {}, 'show'],
    async handle({ request, response }) {
      if (request.request.url.endsWith('fail')) throw new RangeError('broken')
      response.end('a user')
    },
  },
}
export class Router {
  match() { return { params: { id: 7 }, route } }
}
export class Server {
  handlers = new ExceptionHandler()
  router = new Router()
  async handle(request, response) {
    const { route } = this.router.match()
    const context = { request: { request }, response, route }
    await route.handler.handle(context).catch(error => this.handlers.report(error, context))
  }
}`,
      },
    },
  },
}

const report = `
process.stdin.on('end', () => process.exit()).resume()
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify([server.address().port])))`

const applications = {
  restify: `
import { createServer } from 'node:http'
import restify from 'restify'
const app = restify.createServer()
app.get('/users/:id', function check() {}, function showUser(request, response) {
  if (request.url.endsWith('fail')) throw new RangeError('broken')
  response.end('a user')
})
const server = createServer((request, response) => app.handle(request, response))
${report}`,
  adonis: `
import { createServer } from 'node:http'
import { Server } from '@adonisjs/http-server'
const app = new Server()
const server = createServer((request, response) => app.handle(request, response))
${report}`,
}

const routed = {
  micro: [
    /^GET \/users\/(?:\*|fail)$/,
    'showUser',
    `
import { createServer } from 'node:http'
import micro from 'micro'
const server = createServer(micro.serve(function showUser({ url }) {
  if (url.endsWith('fail')) throw new RangeError('broken')
  return 'a user'
}))
${report}`,
  ],
  'moleculer-web': [
    'GET /api/users/:id',
    'users.show',
    `
import { createServer } from 'node:http'
import web from 'moleculer-web'
const service = { ...web.methods }
const alias = { fullPath: '/api/users/:id', action: 'users.show' }
const server = createServer((request, response) => service.aliasHandler(request, response, alias))
${report}`,
  ],
  '@orpc/server': [
    'GET /rpc/users/{id}',
    'showUser',
    `
import { createServer } from 'node:http'
import { StandardHandler } from '@orpc/server/node'
const handler = new StandardHandler()
const server = createServer((request, response) => {
  const [status, text] = handler.handle({ url: new URL(request.url, 'http://localhost') }, { prefix: '/rpc/' })
  response.writeHead(status).end(text)
})
${report}`,
  ],
} as const

for (const [name, [route, controller, source]] of Object.entries(routed)) {
  t.test(`${name}: the route, its function, and an error`, async t => {
    const cwd = t.testdir({ node_modules: packages, 'package.json': JSON.stringify({ dependencies: { [name]: '*' } }) })
    const { stop, url, viewer } = await startProfiled(t, source, {}, cwd)
    for (const [target, exception] of [
      ['/users/7', null],
      ['/users/fail', 'RangeError'],
    ] as const) {
      await (await fetch(url + target)).text()
      t.match((await findProfile(viewer, target)).summary, { route, controller, exception })
    }
    await stop()
  })
}

for (const name of ['connect', 'restana']) {
  t.test(`${name}: an error that the framework answers`, async t => {
    const source = `
import { createServer } from 'node:http'
import create from '${name}'
const server = createServer(create((request, response) => {
  if (request.url.endsWith('fail')) throw new RangeError('broken')
  response.end('a user')
}))
${report}`
    const cwd = t.testdir({ node_modules: packages, 'package.json': JSON.stringify({ dependencies: { [name]: '*' } }) })
    const { stop, url, viewer } = await startProfiled(t, source, {}, cwd)
    t.equal(await (await fetch(`${url}/users/7`)).text(), 'a user')
    t.equal(await (await fetch(`${url}/users/fail`)).text(), 'broken')
    t.match((await findProfile(viewer, '/users/7')).summary, { exception: null })
    t.match((await findProfile(viewer, '/users/fail')).summary, { exception: 'RangeError', status: 500 })
    await stop()
  })
}

t.test('LoopBack: the route, and the error of a route', async t => {
  const source = `
import { createServer } from 'node:http'
import rest from '@loopback/rest'
import errors from 'strong-error-handler'
const table = new rest.RoutingTable()
const server = createServer((request, response) => {
  try {
    table.find(request)
    if (request.url.endsWith('fail')) throw new RangeError('broken')
    response.end('a user')
  } catch (error) { errors.writeErrorToResponse(error, request, response) }
})
${report}`
  const cwd = t.testdir({ node_modules: packages, 'package.json': '{ "dependencies": { "@loopback/rest": "15" } }' })
  const { stop, url, viewer } = await startProfiled(t, source, {}, cwd)
  const read = async (target: string) => {
    await (await fetch(url + target)).text()
    return (await findProfile(viewer, target)).summary
  }
  t.match(await read('/users/7'), { route: 'GET /users/{id}', controller: 'Users.show', exception: null })
  t.match(await read('/users/fail'), { route: 'GET /users/{id}', exception: 'RangeError', status: 500 })
  t.match(await read('/none'), { exception: null }, 'a path without a route')
  await stop()
})

for (const [name, source] of Object.entries(applications)) {
  t.test(`${name}: the route, and an error that the framework answers`, async t => {
    const dependencies = { restify: '11', '@adonisjs/http-server': '7' }
    const cwd = t.testdir({ node_modules: packages, 'package.json': JSON.stringify({ dependencies }) })
    const { stop, url, viewer } = await startProfiled(t, source, {}, cwd)
    t.equal(await (await fetch(`${url}/users/7`)).text(), 'a user')
    t.equal(await (await fetch(`${url}/users/fail`)).text(), 'broken')
    const [found, failed] = [await findProfile(viewer, '/users/7'), await findProfile(viewer, '/users/fail')]
    const controller = name === 'adonis' ? 'Users.show' : 'showUser'
    t.match(found.summary, { route: 'GET /users/:id', exception: null, controller })
    t.match(JSON.stringify(found.data.events?.spans), `["function","${controller}"`)
    t.match(failed.summary, { route: 'GET /users/:id', exception: 'RangeError', status: 500 })
    await stop()
  })
}

t.test('h3 1: the route of an event whose response was sent', async t => {
  const source = `
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
const { H3Event } = createRequire(import.meta.url)('h3/dist/index.cjs')
const server = createServer((request, response) => {
  const event = new H3Event(request, response)
  response.end(String(event.handled))
})
${report}`
  const cwd = t.testdir({ node_modules: packages, 'package.json': '{ "dependencies": { "h3": "1" } }' })
  const { stop, url, viewer } = await startProfiled(t, source, {}, cwd)
  t.equal(await (await fetch(`${url}/users/7`)).text(), 'false')
  t.match((await findProfile(viewer, '/users/7')).summary, { route: 'GET /users/:id' })
  await stop()
})

t.test('graphql 17: an error of a result has the error that was thrown', async t => {
  const source = `
import { createServer } from 'node:http'
import { GraphQLError } from 'graphql'
const server = createServer((request, response) => {
  const originalError = new RangeError('no such shelf')
  const error = new GraphQLError('located', { originalError, path: ['books', 3] })
  response.end(JSON.stringify([GraphQLError.prototype.originalError === undefined, error.originalError === originalError, Object.keys(error)]))
})
${report}`
  const cwd = t.testdir({ node_modules: packages, 'package.json': '{ "dependencies": { "graphql": "17" } }' })
  const { stop, url, viewer } = await startProfiled(t, source, {}, cwd)
  t.equal(await (await fetch(`${url}/graphql`)).text(), '[true,true,["path","originalError"]]')
  t.match((await findProfile(viewer, '/graphql')).summary, { exception: 'RangeError' })
  await stop()
})
