import { t } from 'tap'
import { findAnswerPlace } from '#bundles/profiler/panels/answer-place.ts'
import { EditorLinks } from '#bundles/profiler/panels/editor-links.ts'
import { defineController } from '#kernel/controller.ts'
import { RouteCollection } from '#lib/routing/route-collection.ts'
import { createProfile, type ProfileInit } from '#tests/support/create-profile.ts'

const directory = process.cwd()
const routes = new RouteCollection()
routes.add({ name: 'cart', path: '/cart', controller: defineController('show_cart', () => undefined) })
routes.add({ name: 'named', path: '/named', controller: 'a_name' })
const editor = new EditorLinks({ directory, routes })
const [cart, named] = [editor.findRoute('cart'), editor.findRoute('named')]

const frame = { call: 'load', file: 'src/load.ts', line: 3, origin: 'application' }
const thrown = { exceptions: [{ name: 'Error', message: '', frames: [{ ...frame, origin: 'kernel' }, frame] }] }
const answered = {
  spans: [
    [null, 'kernel.request', 0, 9],
    [8, 'Closed.onRequest', 1, 1, 0, 1, ['set the response']],
  ],
}
const listeners = [{ event: 'kernel.request', name: 'Closed.onRequest', priority: 8, site: 'src/closed.ts:7' }]
const near = { name: 'named', position: 1, path: '/named', text: 'Method' }
const missed = (reason: string) => ({ outcome: 'method-not-allowed', nearest: [{ ...near, reason }], total: 2 })
const none = { controller: null, route: null }

t.test('the place of an answer is what was responsible for it', async t => {
  const cases: readonly [name: string, data: object, init: ProfileInit, place: string][] = [
    ['the line that threw', { exception: thrown, events: answered }, { controller: 'show_cart' }, 'src/load.ts:3'],
    ['a listener', { events: answered }, { ...none, processData: { events: { listeners } } }, 'src/closed.ts:7'],
    ['a listener of an unknown place', { events: answered }, none, ''],
    ['the controller', {}, { controller: 'show_cart', route: 'cart' }, editor.findController('show_cart')],
    ['the route', {}, { controller: 'gone', route: 'cart' }, cart],
    ['the route with the path', { router: missed('method') }, none, named],
    ['no route is near', { router: missed('path') }, none, ''],
    ['nothing', {}, none, ''],
  ]
  for (const [name, data, init, place] of cases) {
    t.equal(findAnswerPlace(createProfile({ ...data }, init), editor), place, name)
  }
})
