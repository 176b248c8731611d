import { setTimeout } from 'node:timers/promises'
import Router from '@koa/router'
import Koa from 'koa'

const port = Number(process.env.PORT)
const router = new Router()

router.get('/prices/:article', async function showPrice(context) {
  await setTimeout(8)
  context.body = { article: context.params.article, price: 12.5 }
})

router.get('/basket', async function showBasket(context) {
  const prices = []
  for (const article of ['star', 'frame', 'poster']) {
    const response = await fetch(`http://127.0.0.1:${port}/prices/${article}`)
    prices.push(await response.json())
  }
  context.body = prices
})

const app = new Koa()
app.use(async function loadUser(context, next) {
  await setTimeout(4)
  context.state.user = 'ada'
  await next()
})
app.use(router.routes())
app.listen(port, '127.0.0.1')
