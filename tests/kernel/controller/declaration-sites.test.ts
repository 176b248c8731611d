import { asInteger } from 'sinfonietta'
import { t } from 'tap'
import { routeParameter } from '#kernel/argument-sources.ts'
import { defineController, defineSourced, isController, nameOfController, toController } from '#kernel/controller.ts'
import { RouteCollection } from '#lib/routing/route-collection.ts'
import { Declarations, noteDeclaration } from '#lib/stack/declaration-sites.ts'
import { parseStack } from '#lib/stack/stack-frames.ts'

const directory = process.cwd()
const declarations = new Declarations(() => [], directory)
const here = 'tests/kernel/controller/declaration-sites.test.ts'

t.test('a route, its function and a controller are declared where the application calls', async t => {
  const routes = new RouteCollection()
  const handler = () => undefined
  const controller = defineController('shown', () => undefined)
  routes.group({ prefix: '/shop' }, group => {
    group.get('grouped', '/x', handler)
  })
  const route = routes.add({ name: 'plain', path: '/', controller })
  const lines = [controller, routes.find('grouped'), handler, route].map(each => declarations.find(each))
  t.strictSame(
    lines.map(site => site?.file),
    [here, here, here, here],
  )
  const [defined = 0, grouped, used, plain = 0] = lines.map(site => site?.line)
  t.strictSame([grouped, used, plain], [defined + 2, defined + 2, defined + 4])
})

t.test('the controller of a route with sources has the name and the place of the route', async t => {
  const routes = new RouteCollection(defineSourced)
  let line = 0
  routes.group({ prefix: '/shop', name: 'shop_' }, group => {
    line = Number(parseStack(new Error('here'))[0]?.line)
    group.get('item', '/:id', { id: routeParameter(asInteger) }, ({ id }, request) => [id + 1, request.path])
  })
  const route = routes.find('shop_item')
  t.ok(isController(route?.controller))
  t.equal(nameOfController(route?.controller), 'shop_item')
  t.match(
    [route, route?.controller].map(each => declarations.find(each)),
    [
      { file: here, line: line + 1 },
      { file: here, line: line + 1 },
    ],
  )
  const unnamed = new RouteCollection().get('plain', '/', { one: () => 1 }, () => 'plain')
  t.match(
    unnamed.controller,
    { name: 'plain', sources: { one: Function }, call: Function },
    'routing alone makes no controller',
  )
})

t.test('a helper that declares several routes is the place of none of them', async t => {
  const routes = new RouteCollection()
  const add = (name: string) => routes.get(name, `/${name}`, () => undefined)
  const first = add('first')
  const second = add('second')
  const helped = new Declarations(() => [first, first.controller, second, second.controller], directory)
  const lines = [first, second, second.controller].map(each => helped.find(each)?.line)
  const [line = 0] = lines
  t.strictSame(lines, [line, line + 1, line + 1])
  t.equal(declarations.find(first)?.line, line - 1, 'alone, it is the place')
})

t.test('a function that declares the routes of several groups is their place', async t => {
  type Group = { get(name: string, path: string, controller: () => undefined): unknown }
  const routes = new RouteCollection()
  const declare = (name: string) => (group: Group) => {
    group.get(name, '/', () => undefined)
  }
  routes.group({ prefix: '/first' }, declare('first'))
  routes.group({ prefix: '/second' }, declare('second'))
  const listed = ['first', 'second'].map(name => routes.find(name))
  const grouped = new Declarations(() => listed, directory)
  const [line, ...others] = listed.map(each => grouped.find(each)?.line)
  t.strictSame(others, [line])
})

t.test('what is declared is listed once, also for later declarations and those without a place', async t => {
  const define = () => defineController('shown', () => undefined)
  const lost = {}
  noteDeclaration([lost], () => 'is not running')
  const one = define()
  const two = define()
  const listed = [lost, one, two]
  let lists = 0
  const listAll = () => {
    lists++
    return listed
  }
  const declarations = new Declarations(listAll, directory)
  t.strictSame([declarations.find(lost), declarations.find(lost)], [undefined, undefined])
  const [, first] = listed.map(each => declarations.find(each)?.line)
  const later = [define(), define()].map(each => declarations.find(each)?.line)
  t.equal(lists, 1)
  t.strictSame(later, [Number(first) + 11, Number(first) + 11], 'its helper is no place of a later one')
})

t.test('the place of something else is not known', async t => {
  for (const other of [{}, undefined, 'home', 7]) t.equal(declarations.find(other), undefined)
})

t.test('outside of the application, it is the caller of the collection', async t => {
  const route = new RouteCollection().get('a', '/', () => undefined)
  t.match(new Declarations(() => [], '/elsewhere').find(route)?.file, /declaration-sites\.test/)
})

t.test('a function without a name has that of its controller in stacks', async t => {
  const stackOf = (call: () => unknown) => parseStack(defineController('order', call).call())[0]?.function
  t.equal(
    stackOf(() => new Error()),
    'controller order',
  )
  const ofRoute = toController(() => new Error(), 'home')
  t.equal(parseStack(ofRoute.call())[0]?.function, 'controller home')
  t.equal(nameOfController(ofRoute.call, 'home'), 'home', 'it stays that of the route')
  function showOrder() {
    return new Error()
  }
  t.equal(stackOf(showOrder), 'showOrder')
  t.equal(stackOf(Object.freeze(() => new Error())), 'Object.call', 'a frozen function stays as it is')
})
