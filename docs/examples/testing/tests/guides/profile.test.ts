import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Bundle, createFrameworkBundle, Response, ResponseEvent } from 'sinfonietta'
import { createProfiledTestKernel } from 'sinfonietta/profiler/testing'

class PriceListener {
  onResponse({ response }: ResponseEvent): void {
    response.headers.set('x-currency', 'EUR')
  }
}

const shopBundle: Bundle = {
  name: 'shop',
  register({ dispatcher, logger, routes }) {
    dispatcher.subscribe(ResponseEvent, new PriceListener(), 'onResponse')
    routes.get('offer', '/offer', request => {
      const price = request.stopwatch.measure('price', 'shop', () => 100)
      logger.info('The price is {price}.', { price })
      return Response.text(`${price} EUR`)
    })
  },
}

test('an offer needs neither a session nor HTTP client calls', async t => {
  const kernel = await createProfiledTestKernel({ bundles: [createFrameworkBundle(), shopBundle] })
  t.after(kernel.close)

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

test('an unknown URL is answered by the error page', async t => {
  const kernel = await createProfiledTestKernel({ bundles: [createFrameworkBundle(), shopBundle] })
  t.after(kernel.close)

  const profile = await kernel.expectProfile(await kernel.client.get('/offers'))
  profile.answered(404).threw('KERNEL_NO_ROUTE').madeSubRequests(1)
  profile.subRequests[0]?.rendered('framework/error')
})

test('a failed expectation contains the facts', async t => {
  const kernel = await createProfiledTestKernel({ bundles: [createFrameworkBundle(), shopBundle] })
  t.after(kernel.close)

  const profile = await kernel.expectProfile(await kernel.client.get('/offer'))
  const mistyped = () => profile.called('PriceListner.onResponse')
  assert.throws(
    mistyped,
    /Expected GET .*\/offer to call the listener PriceListner.onResponse, but no listener of that name/,
  )
  assert.throws(mistyped, /did you mean PriceListener.onResponse/)
})
