import path from 'node:path'
import { createFrameworkBundle } from '../../dist/bundles/framework/framework-bundle.js'
import { createProfilerBundle } from '../../dist/bundles/profiler/profiler-bundle.js'
import { MemoryProfileStorage } from '../../dist/bundles/profiler/store/memory-profile-storage.js'
import { siteBundle } from '../../dist/bundles/site/site-bundle.js'
import { NodeServer } from '../../dist/kernel/server/node-server.js'
import { createTestKernel } from '../../dist/kernel/testing/create-test-kernel.js'
import { Response } from '../../dist/lib/http/response.js'
import { TrustedProxies } from '../../dist/lib/http/trusted-proxies.js'

const directory = path.join(import.meta.dirname, '../..')

/** @param {number} milliseconds */
const wait = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))

/** A shop with data for each panel. @type {import('../../dist/kernel/bundle.js').Bundle} */
const shop = {
  name: 'shop',
  register({ kernel, logger, queries, routes, view }) {
    const log = logger.channel('shop')
    routes.add({
      name: 'stock',
      path: '/stock/:article',
      controller: function showStock() {
        return wait(6).then(() => Response.json({ left: 3 }))
      },
    })
    routes.add({
      name: 'basket',
      path: '/basket',
      methods: ['GET'],
      controller: async function showBasket(/** @type {import('../../dist/lib/http/request.js').Request} */ request) {
        log.info('A basket with {count} articles.', { count: 3 })
        await queries.measure('postgresql', 'SELECT article, amount FROM baskets WHERE id = $1', [7], () => wait(4))
        for (const article of ['star', 'photo', 'frame', 'poster', 'print']) {
          await queries.measure('postgresql', 'SELECT price FROM articles WHERE name = $1', [article], () => wait(1))
        }
        await fetch(`http://${request.headers.get('host')}/stock/star?size=l`, { headers: { 'x-profiler': 'off' } })
        await kernel.handle(request.duplicate({ target: '/stock/photo' }), { catchErrors: false })
        log.warning('Only {left} of {article} are left.', { left: 3, article: 'photo' })
        return Response.html(view.render('site/star-photo-booth', {}, request))
      },
    })
    routes.add({
      name: 'order',
      path: '/orders/:id',
      methods: ['GET'],
      controller: function showOrder(/** @type {import('../../dist/lib/http/request.js').Request} */ request) {
        log.debug('Order {id} is looked for.', { id: request.attributes.get('id') })
        throw new Error('The order cannot be shown.', { cause: new TypeError('It has no address.') })
      },
    })
  },
}

/** Takes the pictures of the README, of a site that is made for it. @param {import('./camera.js').Camera} camera */
export async function takeSite(camera) {
  const profiler = createProfilerBundle({ storage: new MemoryProfileStorage() })
  const { app, close } = await createTestKernel({
    bundles: [createFrameworkBundle(), siteBundle, profiler, shop],
    directory,
  })
  const server = new NodeServer(app, { trustedProxies: new TrustedProxies(app.config.trustedProxies) })
  const url = await server.listen('127.0.0.1', 8207)

  /** @param {string} target */
  const visit = async target => {
    const response = await fetch(url + target)
    await response.text()
    return response.headers.get('x-debug-token')
  }
  // The second time everything is compiled, and takes as long as it does.
  for (const target of ['/basket', '/orders/7', '/star-photo-boot']) await visit(target)
  await visit('/partnership')
  const basket = await visit('/basket?voucher=summer')
  const order = await visit('/orders/12')
  await visit('/star-photo-booth')

  await camera.take('list', `${url}/_profiler/empty/search/results?limit=10`)
  await camera.take('timeline', `${url}/_profiler/${basket}?panel=time`, { height: 1080 })
  await camera.take('events', `${url}/_profiler/${order}?panel=events`, { height: 1080, colorScheme: 'dark' })
  await camera.take('error-page', `${url}/orders/12`)
  await camera.take('toolbar', `${url}/basket?voucher=summer`, { height: 560 })

  await server.close(100)
  await close()
}
