import type { Bundle } from '../../kernel/bundle.ts'
import { queryValue, routeParameter } from '../../kernel/controller/arguments.ts'
import { defineController } from '../../kernel/controller/controller.ts'
import { type CodedErrorClass, defineError } from '../../lib/errors/coded-error.ts'
import { HttpError } from '../../lib/errors/http-error.ts'

const order = defineController('order', [queryValue('item')], item => {
  if (item === 'moon') throw new HttpError(404, 'We do not sell moons.')
  throw new HttpError(429, 'One order a minute, please.', { headers: { 'retry-after': '60' } })
})

/** There is less of something than was asked for. */
export const SHOP_SOLD_OUT: CodedErrorClass<[item: string, left: number]> = defineError(
  'SHOP_SOLD_OUT',
  409,
  'Of "%s" there are only %s left.',
)

const reserve = defineController('reserve', [routeParameter('item')], item => {
  throw new SHOP_SOLD_OUT([item, 2], { cause: new Error('The shelf is empty.') })
})

const pay = defineController('pay', [], () => {
  throw new Error('The bank said: account 4711 unknown.')
})

/** A shop where everything goes wrong. */
export const failingShop: Bundle = {
  name: 'failing-shop',
  register({ routes }) {
    routes.add({ name: 'order', path: '/order', controller: order })
    routes.add({ name: 'reserve', path: '/reserve/:item', controller: reserve })
    routes.add({ name: 'pay', path: '/pay', controller: pay })
  },
}
