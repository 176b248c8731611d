import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ControllerEvent, Response, toController } from 'sinfonietta'
import { createControllerEvent, createRequest } from 'sinfonietta/testing'

const betaCart = toController(() => Response.text('the new cart'))

class BetaListener {
  onController(event: ControllerEvent): void {
    const { controller, request } = event
    if (controller.name === 'cart' && request.cookies.get('beta') === 'yes') event.controller = betaCart
  }
}

test('kernel.controller: participants of the beta get the new cart', () => {
  const cart = () => Response.text('the old cart')
  const request = createRequest('/cart', { headers: { cookie: 'beta=yes' } })

  const beta = createControllerEvent(cart, { request })
  new BetaListener().onController(beta)
  assert.equal(beta.controller, betaCart)

  const usual = createControllerEvent(cart)
  new BetaListener().onController(usual)
  assert.equal(usual.controller.name, 'cart')
})
