import { t } from 'tap'
import { askFor, heavyBundle } from '#tests/support/heavy-bundle.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { panelLinksOf } from '#tests/support/screens.ts'
import { serveKernel } from '#tests/support/test-server.ts'

/** Of a page with as much as the profiler records: quotes take six bytes each. */
const pageLimit = 800_000

t.test('every page is bounded, whatever was recorded', async t => {
  const kernel = await createProfiledKernel(t, { bundles: [heavyBundle] })
  const { url } = await serveKernel(t, kernel)
  const records = [await askFor(url, 'many'), await askFor(url, 'long')]
  const ask = async (path: string) => (await fetch(url + path)).text()
  const results = '/_profiler/empty/search/results'
  const paths = [results, `${results}?limit=100`, '/_profiler/routes', '/_profiler/route?name=heavy', '/_profiler/cpu']
  const tokens = records.map(({ token }) => token)
  for (const token of tokens) {
    await waitForProfile(kernel.storage, token)
    paths.push(...panelLinksOf(await ask(`/_profiler/${token}`), token), `/_profiler/${token}/replay`)
  }
  for (const other of tokens.slice(1)) paths.push(`/_profiler/compare?a=${tokens[0]}&b=${other}`)
  const pages = new Map([['the error page', String(records.find(({ name }) => name === 'long')?.text)]])
  for (const path of paths) pages.set(path, await ask(path))
  const large = [...pages].map(([name, html]) => `${name}: ${Buffer.byteLength(html)} bytes`)
  t.strictSame(
    large.filter(line => Number(/(\d+) bytes$/.exec(line)?.[1]) > pageLimit),
    [],
  )
  t.ok([...pages.values()].some(html => html.includes('Next rows')))
})
