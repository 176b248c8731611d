import { t } from 'tap'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { askRichly, richBundle } from '#tests/support/rich-bundle.ts'
import { serveKernel } from '#tests/support/test-server.ts'

interface Entry {
  readonly group: string
  readonly label: string
  readonly hint?: string
  readonly link: string
  readonly act?: string
}

t.test('the palette of a profile has its panels, values, messages and actions', async t => {
  const kernel = await createProfiledKernel(t, { bundles: [richBundle] })
  const { url } = await serveKernel(t, kernel)
  const records = await askRichly(url)
  const token = String(records.find(({ name }) => name === 'form')?.token)
  const load = async (query: string) => (await (await fetch(`${url}/_profiler/palette${query}`)).json()) as Entry[]
  const entries = await load(`?profile=${token}`)
  const groupOf = (group: string) => entries.filter(entry => entry.group === group)
  const panel = (name: string) => `/_profiler/${token}?panel=${name}`
  t.strictSame(
    groupOf('Panel').find(({ label }) => label === 'Logs'),
    { group: 'Panel', label: 'Logs', link: `${panel('logger')}#panel` },
  )
  t.notOk(
    groupOf('Panel').some(({ label }) => label === 'Exception'),
    'empty panels are left out',
  )
  t.strictSame(
    groupOf('Response header').find(({ label }) => label === 'content-type'),
    {
      group: 'Response header',
      label: 'content-type',
      hint: 'text/html; charset=UTF-8',
      link: `${panel('request')}#header-content-type`,
    },
  )
  t.ok(groupOf('Request header').some(({ label, link }) => label === 'host' && link === `${panel('request')}#request`))
  t.ok(groupOf('Attribute').some(({ label, link }) => label === '_route' && link.endsWith('#attribute-_route')))
  t.match(groupOf('Log message')[0], { link: `${panel('logger')}#log-0` })
  t.match(
    groupOf('Action').map(({ act, label }) => [label, act]),
    [
      ['Copy as curl', 'copy'],
      ['Copy as Markdown', 'copy'],
      ['Replay', undefined],
      ['Compare with previous', undefined],
      ['Pin', 'post'],
    ],
  )
  t.ok(groupOf('Route').every(({ hint }) => !/\/_(?:profiler|wdt)\//.test(String(hint))))
  t.ok(groupOf('Profile').some(({ hint }) => hint?.endsWith(token)))
  t.ok(
    entries.every(({ hint = '', label }) => label.length <= 161 && hint.length <= 161),
    'long texts are cut',
  )
  t.notMatch(JSON.stringify(entries), 'hunter2', 'values are masked')

  for (const { act, link } of entries) {
    // The first request of a route has no previous one.
    if (act === 'post' || link.includes('/compare?')) continue
    const { status } = await fetch(url + link)
    t.equal(status, 200, link)
  }

  const plain = (await fetch(`${url}/star-photo-booth`)).headers.get('x-debug-token')
  const replay = (await load(`?profile=${plain}`)).find(({ label }) => label === 'Replay')
  t.equal(replay?.act, 'post', 'a request without missing values is replayed at once')
  await kernel.storage.pin(token, true)
  t.ok((await load(`?profile=${token}`)).some(({ label }) => label === 'Unpin'))
})

t.test('without a profile, the palette has what every page has', async t => {
  const { client } = await createProfiledKernel(t)
  const load = async (query = '') => {
    const { headers, text } = await client.get(`/_profiler/palette${query}`)
    t.equal(headers.get('content-type'), 'application/json')
    t.match(headers.get('content-security-policy'), "default-src 'none'")
    return JSON.parse(text) as Entry[]
  }
  const groups = (entries: readonly Entry[]) => [...new Set(entries.map(({ group }) => group))]
  const entries = await load()
  t.strictSame(groups(entries), ['Page', 'Action', 'Route'], 'the first entry changes nothing')
  const names = entries.flatMap(({ group, label }) => (group === 'Route' ? label : []))
  t.equal(names.at(-1), '_preview_error', 'routes of the framework come last')
  t.strictSame(groups(await load('?profile=ffffff')), ['Page', 'Action', 'Route'])
  const action = async () => (await load()).find(({ group }) => group === 'Action')
  t.strictSame(await action(), { group: 'Action', label: 'Pause recording', link: '/_profiler/pause', act: 'post' })
  await client.post('/_profiler/pause', { headers: { origin: 'http://localhost' } })
  t.strictSame(await action(), { group: 'Action', label: 'Resume recording', link: '/_profiler/resume', act: 'post' })
})
