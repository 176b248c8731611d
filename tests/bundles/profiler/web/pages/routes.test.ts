import { readdirSync, readFileSync } from 'node:fs'
import { t } from 'tap'
import { textOf } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { serveKernel } from '#tests/support/test-server.ts'
import { turns } from '#tests/support/turns.ts'

const ours = { headers: { origin: 'http://localhost' } }

t.test('the profiler begins with the latest 25 profiles', async t => {
  const { client } = await createProfiledKernel(t)
  const withoutSlash = await client.get('/_profiler?a=1')
  t.equal(withoutSlash.status, 301)
  t.equal(withoutSlash.headers.get('location'), 'http://localhost/_profiler/?a=1')
  t.match(withoutSlash.headers.get('x-debug-token'), /^[0-9a-f]{6}$/)
  const home = await client.get('/_profiler/')
  t.equal(home.status, 302)
  t.equal(home.headers.get('location'), '/_profiler/empty/search/results?limit=25')
  t.notOk(home.headers.has('x-debug-token'))
  const list = await client.follow(home)
  t.match(list.text, '>1 results found</h1>')
  t.match(textOf(list.text), '/_profiler?a=1', 'the redirect of the router is the only record')
})

t.test('a search redirects to its results, with the latest token and parameters in a fixed order', async t => {
  const { client } = await createProfiledKernel(t)
  const locationOf = async (query: string) => {
    const { headers, status } = await client.get(`/_profiler/search${query}`)
    t.equal(status, 302)
    return headers.get('location')
  }
  t.equal(await locationOf('?limit=10'), '/_profiler/empty/search/results?limit=10&type=request')
  const token = (await client.get('/star-photo-booth')).headers.get('x-debug-token')
  t.equal(await locationOf(''), `/_profiler/${token}/search/results?type=request`)
  t.equal(
    await locationOf(
      '?page=2&order=asc&sort=url&type=&limit=5&end=3&start=2&url=%25+%26%C3%A9&status_code=200&method=get&ip=',
    ),
    '/_profiler/empty/search/results?method=get&status_code=200&url=%25+%26%C3%A9&start=2&end=3&limit=5&type=request&sort=url&order=asc&page=2',
  )
  t.equal(await locationOf(`?token=+${token}+&limit=10`), `/_profiler/${token}`)
  t.equal((await client.get('/_profiler/search?token=..%2Fx')).status, 404)
  t.match((await client.get('/_profiler/search?token=..%2Fx')).text, 'Token "../x" not found.')
})

t.test('paths of files open no file', async t => {
  const { client } = await createProfiledKernel(t)
  for (const [query, file] of [
    ['?file=/etc/passwd', '/etc/passwd'],
    ['?file=package.json&line=3', 'package.json'],
    ['', ''],
  ] as const) {
    const { headers, status } = await client.get(`/_profiler/open${query}`)
    t.equal(status, 404)
    t.equal(decodeURIComponent(headers.get('x-debug-exception') ?? ''), `The file "${file}" cannot be opened.`)
    t.notOk(headers.has('x-debug-token'))
  }
})

t.test('pages are isolated: nothing external, nothing inline, no cookie, not recorded', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const token = (await client.get('/missing-x')).headers.get('x-debug-token')
  await turns()
  const { profiles } = await storage.usage()
  for (const path of ['/', '/latest', `/${token}`, '/ffffff', '/empty/search/results', '/search']) {
    for (const method of ['GET', 'HEAD']) {
      const { headers, status, text } = await client.request(method, `/_profiler${path}`)
      t.equal(headers.get('content-type'), 'text/html; charset=UTF-8')
      t.equal(headers.get('cache-control'), 'no-cache, private')
      t.equal(headers.get('x-content-type-options'), 'nosniff')
      t.equal(headers.get('cross-origin-opener-policy'), 'same-origin')
      t.equal(headers.get('referrer-policy'), 'same-origin')
      t.equal(
        headers.get('content-security-policy'),
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      )
      t.equal(headers.get('x-robots-tag'), 'noindex')
      t.notOk(headers.has('set-cookie') || headers.has('x-debug-token') || headers.has('x-debug-token-link'))
      if (method === 'HEAD') t.equal(text, '')
      else if (status !== 302) {
        t.match(text, /^<!doctype html>/)
        t.notMatch(text, /<style|<script(?! type="module" src=")|\sstyle=|\son[a-z]+=/i)
      }
    }
  }
  await turns()
  t.equal((await storage.usage()).profiles, profiles)
})

t.test('assets have a path that changes with their content, and are cached for ever', async t => {
  const { app, client } = await createProfiledKernel(t)
  const { text } = await client.get('/_profiler/empty/search/results')
  const [folder = ''] = /\/_profiler\/assets\/[0-9a-f]{8}\//.exec(text) ?? []
  for (const [name, type] of [
    ['profiler.css', /^text\/css; charset=utf-8$/i],
    ['profiler.js', /^text\/javascript; charset=utf-8$/i],
    ['icon.svg', /^image\/svg\+xml/],
  ] as const) {
    t.match(text, `${folder}${name}"`)
    const { headers, status } = await client.get(folder + name)
    t.equal(status, 200)
    t.match(headers.get('content-type'), type)
    t.equal(headers.get('cache-control'), 'private, max-age=31536000, immutable')
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    t.notOk(headers.has('x-debug-token'))
  }
  t.match((await client.get(`${folder}icon-error.svg`)).text, /^<svg .*<circle [^>]*fill="#e5484d"[^>]*\/><\/svg>\n$/s)
  const iconOf = async (path: string) => /<link rel="icon"[^>]*\/(icon[^"/]*)"/.exec((await client.get(path)).text)?.[1]
  const profileOf = async (path: string) => `/_profiler/${(await client.get(path)).headers.get('x-debug-token')}`
  t.equal(await iconOf(await profileOf('/star-photo-booth')), 'icon.svg')
  t.equal(await iconOf(await profileOf('/boom')), 'icon-error.svg')
  t.equal(await iconOf('/boom'), 'icon-error.svg', 'an error page has the mark, too')
  const { text: styles } = await client.get(`${folder}profiler.css`)
  const rules = readdirSync('bundles/profiler/assets/styles').map(file =>
    readFileSync(`bundles/profiler/assets/styles/${file}`, 'utf8').replaceAll(/\/\*.*?\*\/|^ +/gms, ''),
  )
  const lines = rules.flatMap(text => text.split('\n').filter(line => line !== ''))
  t.strictSame(
    styles.trim().split('\n').sort(),
    lines.sort(),
    'all lines without comments, blank lines and indentation',
  )
  t.match(styles.trim(), /^:root,\n:host \{\ncolor-scheme: /, 'the tokens come first')
  for (const name of [`${folder}nope.css`, '/_profiler/assets/00000000/profiler.css', `${folder}..%2Fstyles`]) {
    t.equal((await client.get(name)).status, 404, name)
  }
  app.signals.emit('files.changed', { files: [] })
  t.equal((await client.get(`${folder}profiler.css`)).status, 200, 'files that are read again have not changed')
})

t.test('recording is paused and resumed', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const paused = await client.post('/_profiler/pause', ours)
  t.equal(paused.status, 303)
  t.equal(paused.headers.get('location'), '/_profiler/')
  t.notOk((await client.get('/star-photo-booth')).headers.has('x-debug-token'))
  const { text } = await client.get('/_profiler/empty/search/results')
  t.match(text, 'Recording is paused.')
  t.match(text, '<form action="/_profiler/resume" method="post">')
  t.notMatch(text, '/_profiler/pause')
  t.equal((await client.post('/_profiler/resume', { headers: { 'sec-fetch-site': 'same-origin' } })).status, 303)
  t.ok((await client.get('/star-photo-booth')).headers.has('x-debug-token'))
  await turns()
  t.equal((await storage.usage()).profiles, 1)
})

t.test('profiles are deleted, except pinned ones', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const pinned = (await client.get('/star-photo-booth')).headers.get('x-debug-token') ?? ''
  const other = (await client.get('/partnership')).headers.get('x-debug-token') ?? ''
  t.match((await client.get(`/_profiler/${pinned}`)).text, /Pin<\/button>/)

  const answer = await client.post(`/_profiler/${pinned}/pin?panel=request`, ours)
  t.equal(answer.status, 303)
  t.equal(answer.headers.get('location'), `/_profiler/${pinned}?panel=request`)
  t.match((await client.get(`/_profiler/${pinned}`)).text, />pinned<[\s\S]*Unpin<\/button>/)

  const purged = await client.post('/_profiler/purge', ours)
  t.equal(purged.status, 303)
  await turns()
  t.equal((await storage.usage()).profiles, 1)
  t.equal(await storage.find(other), undefined)

  t.equal(
    (await client.post(`/_profiler/${pinned}/unpin?panel=`, ours)).headers.get('location'),
    `/_profiler/${pinned}`,
  )
  t.equal((await storage.find(pinned))?.isPinned, false)
  const gone = await client.post(`/_profiler/${other}/pin`, ours)
  t.equal(gone.status, 404)
  t.match(gone.text, 'Token not found')
})

t.test('pages that change data need POST, and other pages need GET', async t => {
  const { client } = await createProfiledKernel(t)
  const token = (await client.get('/star-photo-booth')).headers.get('x-debug-token')
  t.equal((await client.get('/_profiler/purge')).status, 404)
  t.match((await client.get('/_profiler/purge')).text, 'Token not found', 'it is treated as a token')
  const answer = await client.post(`/_profiler/${token}`, ours)
  t.equal(answer.status, 405)
  t.equal(answer.headers.get('allow'), 'GET')
})

t.test('the recorded cases of redirects, search and files hold', async t => {
  const { url } = await serveKernel(t, await createProfiledKernel(t))
  for (const [group, outcome] of [
    ['seed.profiler', '5 passed, 0 failed\n'],
    ['search', '11 passed, 0 failed\n'],
    ['open', '2 passed, 0 failed\n'],
  ] as const) {
    const command = [process.execPath, 'tests/conformance/run-cases.mjs', url, '--probe', '--only', group]
    t.equal((await runProcess(t, command)).stdout, outcome)
  }
})

t.test('requests that the debug gate refuses are not recorded, and do not hide those of the application', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const host = { headers: { host: 'other.example' } }
  const { headers } = await client.get('/partnership')
  const token = String(headers.get('x-debug-token'))
  for (const path of ['/_profiler', '/_profiler/', `/_profiler/${token}`, `/_wdt/${token}`]) {
    t.equal((await client.get(path, host)).status, 404, path)
  }
  await client.get('/_profiler-of-the-application', host)
  await turns()
  const { summaries } = await storage.search({ limit: 100 })
  t.strictSame(
    summaries.filter(({ parent }) => parent === null).map(({ url }) => new URL(url).pathname),
    ['/_profiler-of-the-application', '/partnership'],
  )
})

t.test('the token of a profile stays readable where its path is shown', async t => {
  const { app } = await createProfiledKernel(t)
  const links = '/_profiler/a1b2c3?panel=time /_profiler/a1b2c3/export/har /_wdt/a1b2c3'
  t.equal(app.redactor.text(links), links)
})
