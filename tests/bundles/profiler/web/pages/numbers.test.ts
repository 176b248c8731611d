import { t } from 'tap'
import { formatDuration } from '#bundles/profiler/profile/format.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { textOf } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { richBundle } from '#tests/support/rich-bundle.ts'
import { serveKernel } from '#tests/support/test-server.ts'

t.test('all panels of a profile, and the list, agree about its numbers', async t => {
  const kernel = await createProfiledKernel(t, { bundles: [richBundle] })
  const { url } = await serveKernel(t, kernel)
  const response = await fetch(`${url}/rich`, { method: 'POST', body: new URLSearchParams({ name: 'Ada' }) })
  await response.text()
  const { summary }: Profile = await kernel.profileOf(response)
  const show = async (panel: string) =>
    textOf((await kernel.client.get(`/_profiler/${summary.token}?panel=${panel}`)).text)
  /** The first value that a pattern captures, in each of the panels. */
  const valuesOf = async (places: Readonly<Record<string, RegExp>>) => {
    const found: Record<string, string | undefined> = {}
    for (const [panel, pattern] of Object.entries(places)) found[panel] = pattern.exec(await show(panel))?.[1]
    return found
  }
  const all = (names: readonly string[], value: string | undefined) =>
    Object.fromEntries(names.map(name => [name, value]))

  const duration = await valuesOf({
    request: /POST \/rich ([\d.]+ m?s)/,
    overview: /POST \/rich took ([\d.]+ m?s)/,
    time: /Total execution time ?([\d.]+ m?s)/,
  })
  t.match(duration.request, /^[\d.]+ m?s$/)
  t.strictSame(duration, all(['request', 'overview', 'time'], duration.request))
  const list = textOf((await kernel.client.get('/_profiler/empty/search/results?limit=10&url=rich')).text)
  t.match(list, formatDuration(summary.duration))

  const queries = await valuesOf({ database: /Queries ?([\d,]+)/, time: /Database queries ?([\d,]+) in/ })
  t.strictSame(queries, all(['database', 'time'], String(summary.queries)))

  const heap = await valuesOf({ request: /Heap ([\d.]+ MiB)/, time: /Heap at the end ?([\d.]+ MiB)/ })
  t.strictSame(heap.time, heap.request)

  const subRequests = await valuesOf({ time: /Sub-requests ?(\d+) in/ })
  t.strictSame(subRequests, all(['time'], String(summary.subRequests)))

  const own = await valuesOf({
    events: /the controller .*?m?s ([\d.]+ m?s)/,
    time: /controller \S+ [\d.]+ m?s ([\d.]+ m?s)/,
  })
  t.strictSame(own, all(['events', 'time'], own.time))

  const templates = await valuesOf({ templates: /Render time ?([\d.]+ m?s)/, time: /Templates[a-z, -]* ?([\d.]+ m?s)/ })
  t.match(templates.templates, /^[\d.]+ m?s$/)
})
