import { createRequest, createResponseEvent } from 'sinfonietta/testing'
import { t } from 'tap'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { clientOf } from '#bundles/profiler/record/collect.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { MissingAssetsListener } from '#bundles/profiler/subjects/assets/record.ts'
import { Response } from '#lib/http/response.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { createRecord } from '#tests/support/create-profile.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'

t.test('many files of a page that are missing at once are few changes of its profile', async t => {
  const page = 'http://localhost/page'
  const { client, profileOf, storage } = await createProfiledKernel(t, {
    handlers: { '/page': () => Response.html('<body>page</body>') },
  })
  const { summary } = await profileOf(await client.get('/page'))
  const search = t.capture(storage, 'search', storage.search)
  const amend = t.capture(storage, 'amend', storage.amend)
  const files = Array.from({ length: 60 }, (_, index) => `/assets/gone-${index % 30}.css`)
  await Promise.all(files.map(file => client.get(file, { headers: { referer: page } })))
  const read = ({ collectors }: Profile) => collectors.missing?.paths ?? []
  const paths = read(await waitForProfile(storage, summary.token, profile => read(profile).length === 20))
  t.equal(new Set(paths).size, 20, 'different ones, and not more')
  const changes = amend().length
  t.ok(changes <= 2, `${changes} changes`)
  t.equal(search().length, changes)
})

t.test('the files of at most 50 pages wait at a time', async t => {
  const storage = new MemoryProfileStorage()
  const profiler = { whenIdle: async () => {} }
  const listener = new MissingAssetsListener({ storage, redactor: new Redactor(), profiler })
  const load = (page: string) => {
    const request = createRequest('/gone.css', { headers: { referer: page } })
    listener.onResponse(createResponseEvent({ request, response: new Response('', { status: 404 }) }))
    return clientOf(request)
  }
  const pages = Array.from({ length: 80 }, (_, index) => ({
    token: `aaaa${index + 10}`,
    url: `http://localhost/${index}`,
  }))
  for (const page of pages) {
    storage.append(createRecord({ ...page, client: load(page.url), time: Date.now() }), '{}')
  }
  const isAdded = ({ data }: Profile) => data.missing !== undefined
  // Pages are handled in the order of their requests.
  await waitForProfile(storage, 'aaaa10', isAdded)
  const [last = pages[0]] = pages.slice(-1)
  load(String(last?.url))
  await waitForProfile(storage, String(last?.token), isAdded)
  const stored = await Promise.all(pages.map(async ({ token }) => (await storage.find(token))?.profile))
  t.equal(stored.filter(profile => profile && isAdded(profile)).length, 51)
})
