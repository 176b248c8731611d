import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel, type TestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { createProfiledTestKernel } from '#bundles/profiler/testing/create-profiled-test-kernel.ts'
import { siteBundle } from '#bundles/site/site-bundle.ts'

const pages = [
  { path: '/star-photo-booth', title: /^Star Photo Booth\b/ },
  { path: '/partnership', title: /\bpartner/i },
]

/** As a visitor sees it: in production, over the name of the site. */
async function boot(t: Test): Promise<TestKernel> {
  const kernel = await createTestKernel({
    bundles: [createFrameworkBundle(), siteBundle],
    variables: { APP_ENV: 'prod' },
  })
  t.teardown(() => kernel.close())
  return kernel
}

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length
}

for (const { path, title } of pages) {
  t.test(`${path} is a whole page`, async t => {
    const { client } = await boot(t)
    const { headers, status, text } = await client.get(path)
    t.equal(status, 200)
    t.equal(headers.get('content-type'), 'text/html; charset=UTF-8')
    t.notOk(headers.has('set-cookie'))
    t.match(text, /^<!doctype html>\n<html lang="en">/)
    t.match(text, '<meta charset="utf-8">')
    t.match(text, '<meta name="viewport" content="width=device-width, initial-scale=1">')
    t.match(text.match(/<title>([^<]+)<\/title>/)?.[1], title)
    t.match(text, /<meta name="description" content="[^"]{50,160}">/)
    t.ok(text.endsWith('</body></html>\n') || text.endsWith('</body></html>'))
  })

  t.test(`${path} can be found one's way in`, async t => {
    const { client } = await boot(t)
    const { text } = await client.get(path)
    for (const landmark of ['header', 'main', 'footer', 'h1']) {
      t.equal(count(text, new RegExp(`<${landmark}\\b`, 'g')), 1, `one <${landmark}>`)
    }
    t.match(text, /<nav\b/)
    t.match(
      text,
      new RegExp(`<a\\b[^>]* href="${path}"[^>]* aria-current="page"|aria-current="page"[^>]* href="${path}"`),
    )
    for (const { path: other } of pages.filter(page => page.path !== path)) {
      t.notMatch(text, new RegExp(`<a\\b[^>]* href="${other}"[^>]* aria-current`))
    }
    const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    t.equal(new Set(ids).size, ids.length, 'no id stands twice')
    for (const [, id] of text.matchAll(/ href="#([^"]+)"/g)) t.ok(ids.includes(id), `#${id} exists`)
  })

  t.test(`${path} needs nothing but what this site serves, and nothing inline`, async t => {
    const { client } = await boot(t)
    const { text } = await client.get(path)
    t.strictSame(text.replaceAll(/ xmlns(:\w+)?="[^"]*"/g, '').match(/https?:\/\/[^"\s]*/g), null)
    t.notMatch(text, /<script\b|<style\b/i)
    t.strictSame(text.match(/<[^>]* (?:style|on\w+)=/gi), null)
    const local = [...text.matchAll(/ (?:href|src)="(\/[^"]*)"/g)].map(([, url]) => String(url))
    t.ok(
      local.some(url => url.endsWith('.css')),
      'a stylesheet',
    )
    t.ok(
      local.some(url => url.includes('icon.svg')),
      'a declared icon',
    )
    for (const url of new Set(local)) t.equal((await client.get(url)).status, 200, url)
  })

  t.test(`${path} answers HEAD like GET, and nothing else`, async t => {
    const { client } = await boot(t)
    const get = await client.get(path)
    const head = await client.request('HEAD', path)
    t.equal(head.status, 200)
    t.equal(head.text, '')
    t.equal(head.headers.get('content-type'), get.headers.get('content-type'))
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const { headers, status } = await client.request(method, path)
      t.equal(status, 405, method)
      t.match(headers.get('allow'), /^GET\b/)
    }
  })
}

t.test('the stylesheet has an etag, is not sent twice, and may be kept for ever', async t => {
  const { client } = await boot(t)
  const { text } = await client.get('/partnership')
  const url = String(text.match(/<link rel="stylesheet" href="([^"]+)">/)?.[1])
  t.match(url, /^\/assets\/[0-9a-f]{8}\/site\/site\.css$/)
  const first = await client.get(url)
  t.equal(first.status, 200)
  t.equal(first.headers.get('content-type'), 'text/css; charset=UTF-8')
  t.equal(first.headers.get('cache-control'), 'public, max-age=31536000, immutable')
  t.notMatch(first.text, /https?:|@import/)
  const etag = first.headers.get('etag') ?? ''
  t.match(etag, /^"[0-9a-f]{32}"$/)
  const second = await client.get(url, { headers: { 'if-none-match': etag } })
  t.equal(second.status, 304)
  t.equal(second.text, '')
})

t.test('the pages are made of templates alone: no session, no requests to others, nothing to complain of', async t => {
  const kernel = await createProfiledTestKernel({ bundles: [createFrameworkBundle(), siteBundle] })
  t.teardown(kernel.close)
  for (const { path } of pages) {
    const profile = await kernel.expectProfile(await kernel.client.get(path))
    profile.answered(200).rendered(`site${path}`, 1).rendered('site/layout', 1)
    profile.not.startedSession().not.sentRequests().not.madeSubRequests().not.threw().not.logged('warning')
    t.pass(path)
  }
})

t.test('what a browser or a robot asks for by itself is not there', async t => {
  const { client } = await boot(t)
  for (const path of ['/favicon.ico', '/robots.txt']) t.equal((await client.get(path)).status, 404, path)
})
