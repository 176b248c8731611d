import path from 'node:path'
import type { Test } from 'tap'
import { busyBundle } from '#tests/fixtures/busy-bundle.ts'
import { parseTags, unescapeHtml } from './html.ts'
import { createProfiledKernel, type ProfiledKernel, waitForProfile } from './profiled-kernel.ts'
import { askRichly, type RichRecord, richBundle } from './rich-bundle.ts'
import { type Served, serveKernel } from './test-server.ts'

/** A page that people look at. */
export interface Screen {
  readonly name: string
  readonly path: string
}

/** A site in development with profiles for every panel, and all its pages. */
export interface Screens {
  readonly url: string
  readonly served: Served
  readonly kernel: ProfiledKernel
  readonly screens: readonly Screen[]
  /** By the names of the requests. */
  readonly tokens: Readonly<Record<RichRecord['name'], string>>
}

/** Serves a site, sends requests with data for every panel, and lists its screens. */
export async function openScreens(t: Test): Promise<Screens> {
  const armFile = path.join(t.testdir(), 'armed.json')
  const kernel = await createProfiledKernel(t, { bundles: [richBundle, busyBundle], armFile })
  const served = await serveKernel(t, kernel)
  const { url } = served
  const records = await askRichly(url)
  const tokens = Object.fromEntries(records.map(({ name, token }) => [name, token])) as Screens['tokens']
  const sampled = await sampleCpu(url)
  const [child] = (await waitForProfile(kernel.storage, tokens.form)).children
  const menu = await (await fetch(`${url}/_profiler/${tokens.form}`)).text()
  const record = (token: string, panel: string) => `/_profiler/${token}?panel=${panel}`
  const screens: Screen[] = [
    { name: 'list', path: '/_profiler/empty/search/results?limit=10' },
    { name: 'empty list', path: '/_profiler/empty/search/results?ip=9.9.9.9&start=nope&limit=x' },
    { name: 'unknown token', path: '/_profiler/ffffff' },
    { name: 'mails', path: '/_profiler/mails' },
    { name: 'routes', path: '/_profiler/routes' },
    { name: 'route', path: '/_profiler/route?name=rich' },
    { name: 'CPU', path: '/_profiler/cpu' },
    { name: 'CPU profile', path: record(sampled, 'cpu') },
    { name: 'all calls of a CPU profile', path: `${record(sampled, 'cpu')}&calls=all` },
    { name: 'replay', path: `/_profiler/${tokens.upload}/replay` },
    { name: 'replay of a sub-request', path: `/_profiler/${child}/replay` },
    { name: 'compared', path: `/_profiler/compare?a=${tokens.form}&b=${tokens.json}` },
    ...panelLinksOf(menu, tokens.form).map(path => ({ name: `panel ${path.split('=').at(-1)}`, path })),
    { name: 'exception of a failure', path: record(tokens.failed, 'exception') },
    { name: 'events of a failure', path: record(tokens.failed, 'events') },
    { name: 'exception of a 404', path: record(tokens.missing, 'exception') },
    { name: 'routing of a 404', path: record(tokens.missing, 'router') },
    { name: 'upload', path: record(tokens.upload, 'request') },
    { name: 'JSON', path: record(tokens.json, 'request') },
    { name: 'sub-request', path: record(String(child), 'request') },
    { name: 'error page of a 404', path: '/star-photo-boot' },
    { name: 'error page of a 405', path: '/rich' },
    { name: 'error page of a failure', path: `/rich/failed/7?subject=${'long'.repeat(40)}` },
    { name: 'error page of production', path: '/_error/404' },
    { name: 'welcome', path: '/' },
    { name: 'star photo booth', path: '/star-photo-booth' },
    { name: 'partnership', path: '/partnership' },
  ]
  return { url, served, kernel, screens, tokens }
}

/** Profiles a busy request. Returns its token. */
async function sampleCpu(url: string): Promise<string> {
  const body = new URLSearchParams({ route: 'primes' })
  await fetch(`${url}/_profiler/cpu/arm`, { method: 'POST', headers: { origin: url }, body, redirect: 'manual' })
  return String((await fetch(`${url}/primes`)).headers.get('x-debug-token'))
}

/** The links of a record's page to the files that it is exported as. */
export function exportLinksOf(html: string): string[] {
  return [...new Set(html.match(/\/_profiler\/[^/"]+\/export\/\w+/g))]
}

/** The links of a record's page to its panels. */
export function panelLinksOf(html: string, token: string): string[] {
  const links = parseTags(html).flatMap(({ attributes }) => attributes.filter(([name]) => name === 'href'))
  const panels = links.map(([, link]) => unescapeHtml(link).replace(/#.*/, ''))
  return [...new Set(panels.filter(link => link.startsWith(`/_profiler/${token}?panel=`)))]
}
