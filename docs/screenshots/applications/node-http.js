import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'

const pages = {
  '': () => ({ pages: ['/users/7', '/prices/star'] }),
  users: async id => {
    await setTimeout(3)
    return { id: Number(id), name: 'Ada' }
  },
  prices: async article => {
    await setTimeout(12)
    return { article, price: 12.5 }
  },
}

createServer(async (request, response) => {
  const [, name, id] = request.url.split('/')
  const page = pages[name]
  response.statusCode = page === undefined ? 404 : 200
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(page === undefined ? { problem: 'Not found' } : await page(id)))
}).listen(Number(process.env.PORT), '127.0.0.1')
