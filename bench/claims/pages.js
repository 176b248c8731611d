import path from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { createFrameworkBundle } from '../../dist/bundles/framework/framework-bundle.js'
import { findPredecessors } from '../../dist/bundles/profiler/insight/relatives.js'
import { createProfilerBundle } from '../../dist/bundles/profiler/profiler-bundle.js'
import { MemoryProfileStorage } from '../../dist/bundles/profiler/store/memory-profile-storage.js'
import { readLimit } from '../../dist/bundles/profiler/store/profile-storage.js'
import { siteBundle } from '../../dist/bundles/site/site-bundle.js'
import { createTestKernel } from '../../dist/kernel/testing/create-test-kernel.js'
import { createRequest } from '../../dist/kernel/testing/event-factories.js'
import { createProfile } from '../../dist/tests/support/create-profile.js'
import { findAssets } from '../../dist/tests/support/find-assets.js'
import { panelLinksOf } from '../../dist/tests/support/screens.js'
import { measureFunctions } from '../measure-functions.js'
import { within } from '../report.js'

const directory = path.join(import.meta.dirname, '../..')

/** @typedef {import('../report.js').Claim} Claim */

/** Bytes, uncompressed. */
const pageBudget = 60_000
/** Bytes, compressed, of all files that pages share. */
const assetBudget = 60_000
/** Bytes that a page is longer for its toolbar. */
const toolbarBudget = 1_000

/** Of each panel, in all rounds together. */
const leastRenders = 200

/** Symfony 7 on the same work: the time of a panel of a 404, over loopback, in milliseconds. */
const symfonyTimes = new Map([
  ['exception', 32],
  ['logger', 28],
])
const symfonyLeastTime = 20

/**
 * Symfony 7 on the same work, in bytes: the lightest panel, the debug page of a 404, what the toolbar adds to a page.
 */
const symfonyBytes = { panel: 230_000, error: 254_000, toolbar: 34_500 }

/**
 * What a browser has to load of the profiler: for a 404 and its record.
 *
 * @type {Claim}
 */
export const pageWeights = {
  title: 'Bytes of pages about a 404 (Symfony: panels 230,000 to 330,000, error page 254,000, toolbar 34,500)',
  unit: 'bytes',
  comparisons: [
    within('heaviest page / 60 kB', 'heaviest page', pageBudget),
    within('shared files, compressed / 60 kB', 'shared files, brotli', assetBudget),
    within('toolbar / 1 kB', 'added by the toolbar', toolbarBudget),
    {
      name: 'heaviest page / lightest panel of Symfony',
      numerator: 'heaviest page',
      denominator: symfonyBytes.panel,
    },
    { name: 'error page / Symfony', numerator: 'error page', denominator: symfonyBytes.error },
    { name: 'toolbar / Symfony', numerator: 'added by the toolbar', denominator: symfonyBytes.toolbar },
  ],
  async measure() {
    const { ask, close, panels, token } = await openRecord()
    const bare = await createTestKernel({ bundles: [createFrameworkBundle(), siteBundle], directory })
    const [booth, plain] = [await ask('/star-photo-booth'), (await bare.client.get('/star-photo-booth')).text]
    const pages = new Map([
      ['error page', await ask('/star-photo-boot')],
      ['list', await ask('/_profiler/empty/search/results?limit=10')],
    ])
    for (const path of panels) pages.set(`panel ${nameOf(path)}`, await ask(path))
    const toolbar = await ask(`/_wdt/${token}`)
    const assets = await findAssets([...pages.values(), booth, toolbar], ask)
    const shared = [...assets].filter(([path]) => !path.startsWith('/assets/site/')).map(([, text]) => text)
    await Promise.all([close(), bare.close()])

    /** @type {Record<string, number>} */
    const bytes = {}
    for (const [name, html] of pages) {
      bytes[name] = Buffer.byteLength(html)
      bytes[`${name}, gzip`] = gzipSync(html).length
      bytes[`${name}, brotli`] = brotliCompressSync(html).length
    }
    const sum = (/** @type {(text: string) => number} */ measure) =>
      shared.reduce((all, text) => all + measure(text), 0)
    Object.assign(bytes, {
      'heaviest page': Math.max(...[...pages.values()].map(html => Buffer.byteLength(html))),
      [`shared files (${shared.length})`]: sum(text => Buffer.byteLength(text)),
      'shared files, gzip': sum(text => gzipSync(text).length),
      'shared files, brotli': sum(text => brotliCompressSync(text).length),
      'added by the toolbar': Buffer.byteLength(booth) - Buffer.byteLength(plain),
    })
    return new Map(Object.entries(bytes).map(([name, value]) => [name, [value]]))
  },
}

/** Of each panel, the CPU time that its page may take, in microseconds. */
const panelBudgets = {
  overview: 1000,
  request: 1000,
  time: 1900,
  exception: 630,
  logger: 800,
  events: 1300,
  router: 470,
  templates: 340,
  memory: 420,
  http: 380,
  config: 430,
}

/** What the search for the usual time of a request may take, in microseconds, among this many profiles. */
const searchBudget = 1000
const searchedProfiles = 10_000

/**
 * How long the kernel works for each page of a 404's profile: CPU time, in process, from the request
 * to the bytes of the response. It includes the work of the JIT compiler and the garbage collector
 * in other threads. Symfony's was measured by a client, and has the way there and back in it.
 *
 * @type {Claim}
 */
export const panelTimes = {
  title: 'Rendering a panel of the record of a 404 (Symfony: 20 to 32 ms a panel)',
  unit: 'CPU µs/page',
  comparisons: [
    ...Object.entries(panelBudgets).flatMap(([name, budget]) => [
      within(`${name} / budget`, name, budget),
      { name: `${name} / Symfony`, numerator: name, denominator: 1000 * (symfonyTimes.get(name) ?? symfonyLeastTime) },
    ]),
    within('usual time among 10,000 profiles / budget', 'usual time', searchBudget),
  ],
  async measure({ requests, rounds }) {
    const { close, panels, render } = await openRecord()
    const calls = Math.max(Math.ceil(leastRenders / rounds), requests / 100)
    const all = new Map(panels.map(path => [nameOf(path), path]))
    const measured = await measureFunctions(
      {
        ...Object.fromEntries([...all].map(([name, path]) => [name, () => render(path)])),
        'usual time': createUsualSearch(),
      },
      { rounds, calls },
    )
    await close()
    const times = new Map()
    for (const [name, values] of measured) {
      times.set(
        name,
        values.map(nanoseconds => nanoseconds / 1000),
      )
    }
    return times
  },
}

/**
 * The search for earlier requests like one of 10,000, of which two thirds have the same route;
 * with the read of the store.
 */
function createUsualSearch() {
  const storage = new MemoryProfileStorage()
  const { summary } = createProfile({})
  for (let index = 0; index < searchedProfiles; index++) {
    const route = index % 3 === 0 ? 'other' : summary.route
    const token = (0x100000 + index).toString(16)
    storage.append({ summary: { ...summary, token, route, time: summary.time + index }, text: '{}' }, '{}')
  }
  return async () => {
    const { summaries } = await storage.search({ limit: readLimit })
    return findPredecessors(summaries, { ...summary, time: summary.time + searchedProfiles })
  }
}

/** A site that has recorded a 404, and the pages about it. */
async function openRecord() {
  const profiler = createProfilerBundle({ storage: new MemoryProfileStorage() })
  const { app, client, close } = await createTestKernel({
    bundles: [createFrameworkBundle(), siteBundle, profiler],
    directory,
  })
  const token = String((await client.get('/star-photo-boot')).headers.get('x-debug-token'))
  const ask = async (/** @type {string} */ path) => (await client.get(path)).text
  const panels = panelLinksOf(await ask(`/_profiler/${token}`), token)
  return { ask, close, panels, render: (/** @type {string} */ path) => render(app.kernel, path), token }
}

/**
 * Answers a request as a server does. Unlike a client, it neither keeps cookies nor decodes the page.
 *
 * @param {import('../../dist/kernel/http-kernel.js').HttpKernel} kernel
 * @param {string} path
 */
async function render(kernel, path) {
  const request = createRequest(path)
  const response = await kernel.handle(request)
  if (response.status !== 200) throw new Error(`${path} has the status ${response.status}.`)
  Buffer.from(String(response.body))
  await kernel.terminate(request, response)
}

/** @param {string} path */
function nameOf(path) {
  return String(path.split('=').at(-1))
}
