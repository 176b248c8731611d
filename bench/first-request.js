// Boots an application with 15,000 routes, and reports the CPU time of its boot and of its first
// request, in milliseconds.
import { Request } from '../dist/lib/http/request.js'
import { Response } from '../dist/lib/http/response.js'
import { bootKernel } from './boot-kernel.js'
import { measureCpu } from './http/measure-cpu.js'

const count = 10_000

/** @type {import('../dist/kernel/bundle.js').Bundle} */
const many = {
  name: 'many',
  register({ routes }) {
    for (let number = 0; number < count; number++) {
      routes.get(`item_${number}`, `/area${number % 50}/item${number}/:id/:slug`, () => Response.json({}))
      if (number % 2 === 0) routes.get(`page_${number}`, `/page/${number}/about`, () => Response.json({}))
    }
  },
}

const begin = measureCpu()
const { app } = await bootKernel([many])
const booted = measureCpu()
const response = app.kernel.answer(new Request({ target: '/area49/item9999/1/tea', headers: { host: 'localhost' } }))
const answered = measureCpu()
if (!(response instanceof Response) || response.status !== 200) throw new Error('The first request has failed.')
process.on('disconnect', () => process.exit())
process.send?.({ boot: (booted - begin) / 1000, 'first request': (answered - booted) / 1000 })
