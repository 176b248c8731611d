import path from 'node:path'
import { t } from 'tap'
import { SiteProcess } from '#tests/bin/site-process.ts'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { findPort } from '#tests/support/find-port.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { until } from '#tests/support/until.ts'
import { followRecipes, proven } from './recipes.ts'

/** Routes with schemas of each kind. */
const orders = `import { type Bundle, formBody, jsonBody, queryValues, Response, routeParameters } from 'sinfonietta'
import * as v from 'valibot'

const order = v.object({ items: v.pipe(v.array(v.string()), v.minLength(1)), gift: v.optional(v.boolean(), false) })
const least = v.pipe(v.string(), v.transform(Number), v.number())

export const ordersBundle: Bundle = {
  name: 'orders',
  register({ routes }) {
    routes.get('orders', '/orders', { query: queryValues(v.object({ least: v.optional(least, '0'), tag: v.string() })) }, ({ query }) =>
      Response.json(query),
    )
    routes.post('order_add', '/orders', { body: jsonBody(order) }, ({ body }) => Response.json(body))
    routes.get('order', '/orders/:id', { values: routeParameters(v.object({ id: v.pipe(v.string(), v.regex(/^\\d+$/)) })) }, ({ values }) =>
      Response.json(values),
    )
    routes.post('note', '/notes', { form: formBody(v.object({ text: v.string() })) }, ({ form }) => Response.json(form))
    routes.get('plain', '/plain', () => Response.text('It has no schema.'))
  },
}
`

const validate = `
import { Validator } from '@seriousme/openapi-schema-validator'

const document = await (await fetch(process.argv[2])).json()
console.log(JSON.stringify({ ...(await new Validator().validate(document)), document }))
`

t.test('the recipes of pages', { skip: noRegistry || needsBrowser.skip }, async t => {
  const recipes = await followRecipes(t, proven.pages, ['@seriousme/openapi-schema-validator'])
  recipes.write('bundles/orders/orders-bundle.ts', orders)
  const others = {
    'cards/cards-bundle.ts': 'cardsBundle',
    'orders/orders-bundle.ts': 'ordersBundle',
    'openapi/openapi-bundle.ts': 'openapiBundle',
  }
  const page = await openPage(t)
  const problems: string[] = []
  page.on('pageerror', error => problems.push(String(error)))
  const heading = () => page.textContent('h1')
  // Vite loads a page again when it has bundled its packages: meanwhile there is none.
  const colour = () => page.evaluate("getComputedStyle(document.querySelector('h1')).color").catch(() => undefined)

  await t.test('Vite in development', async t => {
    const vitePort = await findPort()
    const vite = `http://localhost:${vitePort}`
    recipes.list({ ...others, 'web/web-bundle.ts': `createWebBundle('${vite}')` })
    const bin = path.join(recipes.directory, 'node_modules/vite/bin/vite.js')
    const words = [process.execPath, bin, '--port', String(vitePort), '--strictPort']
    await new SiteProcess(t, words, { cwd: recipes.directory }).until(/ready in/)
    const { site, url } = await recipes.serve(t)
    // Vite sends a change only once, to the pages that are connected then.
    const connected = page.waitForEvent('console', message => message.text() === '[vite] connected.')
    await page.goto(`${url}/web`)
    await until(async () => (await heading()) === 'Hello from TypeScript')
    await until(async () => (await colour()) === 'rgb(102, 51, 153)')
    await connected
    recipes.write('web/main.css', recipes.read('web/main.css').replace('rebeccapurple', 'rgb(1, 2, 3)'))
    await until(async () => (await colour()) === 'rgb(1, 2, 3)')
    t.strictSame(problems, [])
    site.child.kill('SIGTERM')
    t.equal(await site.end(), 0)
  })

  await t.test('Vite in production', async t => {
    await recipes.run('npx vite build')
    recipes.list({ ...others, 'web/web-bundle.ts': 'createWebBundle()' })
    const { site, url } = await recipes.serve(t)
    await page.goto(`${url}/web`)
    await until(async () => (await heading()) === 'Hello from TypeScript')
    t.equal(await colour(), 'rgb(1, 2, 3)')
    const script = String(await page.getAttribute('script[type=module]', 'src'))
    t.match(script, /^\/assets\/[0-9a-f]{8}\/web\/assets\/main-[\w-]+\.js$/)
    const { headers, status } = await fetch(url + script)
    t.equal(status, 200)
    t.match(headers.get('cache-control'), /immutable/)
    t.equal((await fetch(`${url}/assets/web/.vite/manifest.json`)).status, 404, 'the manifest is not served')
    t.strictSame(problems, [])
    await t.test('Preact', async t => {
      const card = await fetch(`${url}/cards/Ada%20%3Cscript%3E`)
      t.equal(card.headers.get('content-type'), 'text/html; charset=UTF-8')
      t.match(await card.text(), /^<!doctype html><h1>Good day, Ada &lt;script(?:>|&gt;)<\/h1>/)
    })
    await t.test('OpenAPI', async t => {
      recipes.write('validate.mjs', validate)
      const { document, errors, valid } = JSON.parse(await recipes.run(`node validate.mjs ${url}/openapi.json`))
      t.equal(valid, true, 'it is valid', { errors })
      t.strictSame(Object.keys(document.paths).toSorted(), ['/notes', '/orders', '/orders/{id}'])
      const { get, post } = document.paths['/orders']
      t.strictSame(
        get.parameters.map(({ name, required }: { name: string; required: boolean }) => [name, required]),
        [
          ['least', false],
          ['tag', true],
        ],
      )
      t.match(post.requestBody.content['application/json'].schema, {
        required: ['items'],
        properties: { items: { type: 'array', minItems: 1 }, gift: { type: 'boolean', default: false } },
      })
      t.match(document.paths['/orders/{id}'].get.parameters, [{ name: 'id', in: 'path', required: true }])
    })
    site.child.kill('SIGTERM')
    t.equal(await site.end(), 0)
  })
})
