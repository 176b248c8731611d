import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Bundle, ControllerEvent, ResponseEvent, setCookie, TerminateEvent } from 'sinfonietta'
import type { Test } from 'tap'
import { muteWarnings } from '#tests/support/mute-warnings.ts'
import { createProject } from '#tests/support/project.ts'
import { createCallPages } from './call-pages.ts'
import { createClientPages } from './client-pages.ts'
import { createMailPages } from './mail-pages.ts'
import { type Pages, pathOf } from './page.ts'
import { createQueryPages } from './query-pages.ts'
import { loadSmallPool } from './small-pool.ts'
import { createWorkPages, toil } from './work-pages.ts'

/** A bundle whose pages have hidden answers. */
export interface Planted {
  readonly bundle: Bundle
  /** By their names; empty before the kernel has booted. */
  readonly pages: Pages
}

/** Starts the server for the HTTP client calls of the pages. */
export async function startUpstream(t: Test): Promise<string> {
  let isFailing = false
  const server = createServer(async ({ socket, url = '' }, response) => {
    await sleep(Number(/^\/wait\/(\d+)/.exec(url)?.[1] ?? 0))
    if (url === '/every-second') isFailing = !isFailing
    if (url === '/every-second' && isFailing) socket.destroy()
    response.statusCode = Number(/^\/status\/(\d+)/.exec(url)?.[1] ?? 200)
    if (url === '/hang-up') return void socket.destroy()
    if (url !== '/cut' && url !== '/endless') return void response.end(url)
    response.writeHead(200, { 'content-length': '100' })
    response.write('a part', () => url === '/cut' && socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const templates = {
  'list.hbs': '<body><ul>{{#each items}}{{> planted/item}}{{/each}}</ul></body>',
  'item.hbs': '<li>{{toil this}}</li>',
  'stock.hbs': '<body>{{stock}}</body>',
  'count.hbs': '<body>{{count}}</body>',
}

/** Creates the bundle, its templates, and the server that its pages call. */
export async function createPlantedBundle(t: Test): Promise<Planted> {
  muteWarnings(t, 'MaxListenersExceededWarning')
  const upstream = await startUpstream(t)
  const pages: Record<string, Pages[string]> = {}
  const folder = createProject(t.testdir(), templates)
  const createPool = await loadSmallPool(folder)
  const bundle: Bundle = {
    name: 'planted',
    templates: folder,
    assets: folder,
    register(app) {
      const { dispatcher, logger, queries, routes, view } = app
      view.addHelper('toil', ({ positional: [time] }) => {
        toil(Number(time))
        return 'an item'
      })
      view.addHelper('stock', () => {
        const count = queries.measure('sqlite', 'SELECT count(*) FROM stock', [], () => [7])
        return String(count)
      })
      Object.assign(
        pages,
        createQueryPages(app, createPool),
        createCallPages(app, upstream),
        createWorkPages(app, folder),
        createClientPages(),
        createMailPages(app),
      )
      for (const [name, { handle }] of Object.entries(pages)) {
        routes.add({ name, path: pathOf(name), controller: handle })
      }
      const slowDown = ({ request }: ControllerEvent) =>
        request.path === pathOf('slow-listener') ? sleep(500) : undefined
      dispatcher.on(ControllerEvent, slowDown, 0, 'SlowListener')
      const setBasket = ({ request, response }: ResponseEvent) => {
        if (request.path === pathOf('listener-cookie')) setCookie(response.headers, 'basket', 'x'.repeat(3200))
      }
      dispatcher.on(ResponseEvent, setBasket, 0, 'BasketListener') // here: listener-cookie
      dispatcher.on(TerminateEvent, async ({ request }) => {
        if (request.path !== pathOf('work-after')) return
        await sleep(150)
        await queries.measure('sqlite', 'DELETE FROM stock', [], () => sleep(5))
        logger.info('Logged in time.')
        await view.render('planted/list', { items: [0] }, request)
        await (await fetch(`${upstream}/after`)).text()
      })
    },
  }
  return { bundle, pages }
}
