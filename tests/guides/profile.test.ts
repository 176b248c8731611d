import { t } from 'tap'
import { frameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import { createProfiledTestKernel } from '../../bundles/profiler/testing/create-profiled-test-kernel.ts'
import type { Bundle } from '../../kernel/bundle.ts'
import { ResponseEvent } from '../../kernel/events/response-event.ts'
import { Response } from '../../lib/http/response.ts'

class PriceListener {
  onResponse({ response }: ResponseEvent): void {
    response.headers.set('x-currency', 'EUR')
  }
}

const shopBundle: Bundle = {
  name: 'shop',
  register({ dispatcher, logger, routes }) {
    dispatcher.subscribe(ResponseEvent, new PriceListener(), 'onResponse')
    routes.add({
      name: 'offer',
      path: '/offer',
      controller: request => {
        const price = request.stopwatch.measure('price', 'shop', () => 100)
        logger.info('The price is {price}.', { price })
        return Response.text(`${price} EUR`)
      },
    })
  },
}

t.test('an offer is made without a session, and without asking anybody', async t => {
  const kernel = await createProfiledTestKernel({ bundles: [frameworkBundle, shopBundle] })
  t.teardown(kernel.close)

  const response = await kernel.client.get('/offer')
  const profile = await kernel.expectProfile(response)
  profile
    .answered(200)
    .matched('offer')
    .called('PriceListener.onResponse', 1)
    .calledInOrder('RouterListener.onRequest', 'PriceListener.onResponse')
    .logged('info', 'The price is 100.')
    .not.logged('warning')
    .not.startedSession()
    .not.sentRequests()
    .not.madeSubRequests()
    .not.threw()
    .tookAtMost(5_000, 'price')
})

t.test('an address that is not there is answered by the error page', async t => {
  const kernel = await createProfiledTestKernel({ bundles: [frameworkBundle, shopBundle] })
  t.teardown(kernel.close)

  const profile = await kernel.expectProfile(await kernel.client.get('/offers'))
  profile.answered(404).threw('KERNEL_NO_ROUTE').madeSubRequests(1)
  profile.subRequests[0]?.rendered('framework/error')
})

t.test('a claim that is not true says what was found', async t => {
  const kernel = await createProfiledTestKernel({ bundles: [frameworkBundle, shopBundle] })
  t.teardown(kernel.close)

  const profile = await kernel.expectProfile(await kernel.client.get('/offer'))
  const mistyped = () => profile.called('PriceListner.onResponse')
  t.throws(
    mistyped,
    /^Expected GET .*\/offer to call the listener PriceListner.onResponse, but no listener of that name/,
  )
  t.throws(mistyped, /did you mean PriceListener.onResponse/)
})
