import Fastify from 'fastify'

const lines = [{ amount: 2, article: { price: 12.5 } }, { amount: 1 }]

function priceOf(line) {
  return line.amount * line.article.price
}

function totalOf(order) {
  return order.lines.reduce((sum, line) => sum + priceOf(line), 0)
}

const app = Fastify()

app.get('/orders/:id/invoice', async function showInvoice(request) {
  return { order: request.params.id, total: totalOf({ lines }) }
})

app.listen({ port: Number(process.env.PORT) })
