import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle, Response } from 'sinfonietta'
import { createRequest, createTestKernel } from 'sinfonietta/testing'
import { magazineBundle } from '../bundles/magazine/magazine-bundle.ts'

test('URLs of the magazine', async t => {
  const bundles = [createFrameworkBundle(), magazineBundle]
  const variables = { APP_URL: 'https://magazine.test' }
  const { app, close } = await createTestKernel({ bundles, variables })
  t.after(close)
  const { routes, urls } = app
  assert.equal(urls.generate('article', { slug: 'first snow' }), '/magazine/first%20snow')
  assert.equal(urls.generate('magazine', { page: 2, order: 'new' }), '/magazine/page/2?order=new')
  assert.equal(urls.generate('magazine', { page: 1 }), '/magazine')
  assert.equal(urls.generate('article', { slug: 'a', _fragment: 'notes' }), '/magazine/a#notes')
  assert.throws(() => urls.generate('magazine', { page: 0 }), { code: 'ROUTE_PARAMETER_INVALID' })
  assert.throws(() => urls.generate('artcle'), { message: 'There is no route "artcle"; the nearest is "article".' })

  const request = createRequest('http://localhost:8000/')
  assert.equal(urls.generate('welcome', {}, { absolute: true, request }), 'http://localhost:8000/welcome')
  assert.equal(urls.generate('welcome', {}, { absolute: true }), 'https://magazine.test/welcome')
  assert.equal(urls.generate('reader_home', { reader: 'ada' }, { request }), 'http://ada.magazine.test:8000/welcome')

  routes.add({ name: 'about', path: '/about', aliases: ['imprint'], controller: () => Response.text('About us') })
  assert.equal(urls.generate('imprint'), '/about')
})
