import { t } from 'tap'
import { toController } from '../../kernel/controller/controller.ts'
import type { ControllerEvent } from '../../kernel/events/controller-event.ts'
import { createControllerEvent, createRequest } from '../../kernel/testing/event-factories.ts'
import { Response } from '../../lib/http/response.ts'

const betaCart = toController(() => Response.text('the new cart'))

class BetaListener {
  onController(event: ControllerEvent): void {
    const { controller, request } = event
    if (controller.name === 'cart' && request.cookies.get('beta') === 'yes') event.controller = betaCart
  }
}

t.test('kernel.controller: who takes part in the beta gets the new cart', async t => {
  const cart = () => Response.text('the old cart')
  const request = createRequest('/cart', { headers: { cookie: 'beta=yes' } })

  const beta = createControllerEvent(cart, { request })
  new BetaListener().onController(beta)
  t.equal(beta.controller, betaCart)

  const usual = createControllerEvent(cart)
  new BetaListener().onController(usual)
  t.equal(usual.controller.name, 'cart')
})
