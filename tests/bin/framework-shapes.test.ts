import { t } from 'tap'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'

/**
 * The classes of packages with too many packages or an install script, in their smallest form; the real ones are those of
 * `profile-frameworks.proof.test.ts`.
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
  '@adonisjs': {
    'http-server': {
      'package.json':
        '{ "name": "@adonisjs/http-server", "version": "7.0.0", "type": "module", "exports": "./build/index.js" }',
      build: {
        'index.js': `
export class ExceptionHandler {
  report(error, context) { context.response.writeHead(500).end(error.message) }
}
export class Server {
  handlers = new ExceptionHandler()
  createHttpContext(request, response) {
    return { request: { request }, response, params: { id: 7 }, route: { pattern: '/users/:id', handler: { name: 'showUser' } } }
  }
  async handle(message, reply) {
    const context = this.createHttpContext(message, reply)
    await undefined
    if (message.url.endsWith('fail')) this.handlers.report(new RangeError('broken'), context)
    else reply.end('a user')
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

for (const [name, source] of Object.entries(applications)) {
  t.test(`${name}: the route, and an error that the framework answers`, async t => {
    const dependencies = { restify: '11', '@adonisjs/http-server': '7' }
    const cwd = t.testdir({ node_modules: packages, 'package.json': JSON.stringify({ dependencies }) })
    const { stop, url, viewer } = await startProfiled(t, source, {}, cwd)
    t.equal(await (await fetch(`${url}/users/7`)).text(), 'a user')
    t.equal(await (await fetch(`${url}/users/fail`)).text(), 'broken')
    const [found, failed] = [await findProfile(viewer, '/users/7'), await findProfile(viewer, '/users/fail')]
    t.match(found.summary, { route: 'GET /users/:id', exception: null })
    t.match(failed.summary, { route: 'GET /users/:id', exception: 'RangeError', status: 500 })
    await stop()
  })
}
