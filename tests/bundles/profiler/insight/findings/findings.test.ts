import { type Test, t } from 'tap'
import { createFrameworkBundle } from '#bundles/framework/framework-bundle.ts'
import { writeProblem } from '#bundles/profiler/insight/findings/finding.ts'
import { findFindings, profilerRules } from '#bundles/profiler/insight/findings/inspector.ts'
import { ownListeners } from '#bundles/profiler/insight/findings/time-rules.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { createProfilerBundle } from '#bundles/profiler/profiler-bundle.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { RequestEvent } from '#kernel/events.ts'
import { createTestKernel } from '#kernel/testing/create-test-kernel.ts'
import { Response } from '#lib/http/response.ts'
import {
  createFlawedBundle,
  flawedPairs,
  flawedTemplates,
  startUpstream,
} from '#tests/bundles/profiler/insight/findings/flawed-bundle.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { createProject } from '#tests/support/project.ts'
import { serveKernel } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

/** Serves flawed routes and their twins without a flaw. */
async function serveFlaws(t: Test) {
  const kernel = await createProfiledKernel(t, {
    bundles: [createFlawedBundle(await startUpstream(t))],
    directory: createProject(t.testdir(), flawedTemplates),
  })
  const { url } = await serveKernel(t, kernel)
  const ask = async (path: string) => {
    const response = await fetch(url + path)
    await response.text()
    return String(response.headers.get('x-debug-token'))
  }
  const find = async (path: string, isWanted?: (profile: Profile) => boolean) =>
    waitForProfile(kernel.storage, await ask(path), isWanted)
  return { ...kernel, url, ask, find }
}

/** Rules that may find something only because the machine is busy: the request is then repeated. */
const ofMachine: readonly string[] = ['blocked-loop', 'slow-listener', 'slow-query']
const attempts = 20

const ruleOf = (text: string) => String(text.split(':')[0])

const isOfMachine = (texts: readonly string[]) =>
  texts.length > 0 && texts.every(text => ofMachine.includes(ruleOf(text)))

const describe = (profile: Profile) => findFindings(profile).map(finding => `${finding.rule}: ${writeProblem(finding)}`)

t.test('each flawed route has the finding of its flaw only, and its twin has none', async t => {
  const { find } = await serveFlaws(t)
  // The first calls open connections, so they take longer.
  await find('/flawed/sequence')
  const findAll = async (path: string, rules: readonly string[], isWanted?: (profile: Profile) => boolean) => {
    for (let attempt = 1; ; attempt++) {
      const texts = describe(await find(path, isWanted))
      if (attempt === attempts || !isOfMachine(texts.filter(text => !rules.includes(ruleOf(text))))) return texts
    }
  }
  for (const { flawed, rule, twin } of flawedPairs) {
    const isLate = rule === 'late-work'
    await find(twin)
    if (isLate) await new Promise(resolve => setTimeout(resolve, 150))
    const isOver = ({ data }: Profile) => !isLate || data.late !== undefined
    const texts = await findAll(flawed, [rule], isOver)
    t.strictSame(texts.map(ruleOf), [rule], `${flawed} ${texts.join(' ')}`)
    t.strictSame(await findAll(twin, []), [], twin)
    t.comment(texts.join('\n'))
  }
  const shown = new Set(flawedPairs.map(({ rule }) => rule))
  t.strictSame([...shown].sort(), profilerRules.map(({ name }) => name).sort(), 'every rule has a flawed route')
})

t.test('a delayed request has a finding with the token of the blocking request', async t => {
  const { app, ask, find, storage } = await serveFlaws(t)
  const arrived = new Promise<void>(resolve => {
    app.dispatcher.on(RequestEvent, ({ request }) => void (request.path === '/twin/block' && resolve()))
  })
  const waiting = find('/twin/block')
  await arrived
  const culprit = await ask('/flawed/block')
  const profile = await waiting
  const finding = findFindings(profile).find(({ rule }) => rule === 'blocked-loop')
  t.hasStrict(finding, { rule: 'blocked-loop', values: { token: culprit }, place: { panel: 'time', token: culprit } })
  const own = findFindings(await waitForProfile(storage, culprit))
  t.match(own, [{ rule: 'blocked-loop', problem: /^This request blocked the event loop/ }])
})

t.test('a sub-request after the response has its own late work', async t => {
  const { app, find, storage } = await serveFlaws(t)
  app.routes.add({
    name: 'slow_sub',
    path: '/slow-sub',
    controller: async () => {
      app.logger.info('Begun.')
      // The late work is reported before this sub-request has a profile.
      await new Promise(resolve => setTimeout(resolve, 150))
      return Response.text('sub')
    },
  })
  app.routes.add({
    name: 'late_sub',
    path: '/late-sub',
    controller: request => {
      setTimeout(() => void app.kernel.handle(request.duplicate({ target: '/slow-sub' })), 400)
      return Response.text('main')
    },
  })
  const { children } = await find('/late-sub', profile => profile.children.length > 0)
  const sub = await waitForProfile(storage, String(children[0]))
  t.match(describe(sub), ['late-work: Work continued after the response was sent'])
})

t.test('endless late work is saved a few times only; an aborted request has no late work', async t => {
  const { app, find, storage, url } = await serveFlaws(t)
  const leaving = new AbortController()
  let hasLogged = false
  let timer: NodeJS.Timeout | undefined
  t.teardown(() => clearInterval(timer))
  app.routes.add({
    name: 'forever',
    path: '/forever',
    controller: () => {
      timer = setInterval(() => app.logger.info('Still there.'), 5)
      return Response.text('for ever')
    },
  })
  app.routes.add({
    name: 'left',
    path: '/left',
    controller: async () => {
      leaving.abort()
      for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setTimeout(resolve, 10))
      app.logger.info('The client has left.')
      hasLogged = true
      return Response.text('left')
    },
  })
  let saved = 0
  app.signals.on('profile.saved', () => saved++)
  const { summary } = await find('/forever', ({ data }) => data.late !== undefined)
  await new Promise(resolve => setTimeout(resolve, 500))
  t.ok(saved >= 2 && saved <= 4, `written ${saved} times`)
  t.match(describe(await waitForProfile(storage, summary.token)), [/^late-work: .*\d+ log messages/])

  const left = fetch(`${url}/left`, { signal: leaving.signal }).catch(() => undefined)
  await left
  const findLatest = async () => (await storage.search({ limit: 1 })).summaries[0]
  await until(async () => hasLogged && (await findLatest())?.url === `${url}/left`)
  // Late work would be saved in this time.
  await new Promise(resolve => setTimeout(resolve, 400))
  const profile = await waitForProfile(storage, String((await findLatest())?.token))
  t.equal(profile.summary.outcome, 'aborted')
  t.equal(profile.data.late, undefined)
})

t.test('the listeners of the framework and the profiler are known by name', async t => {
  const { app } = await createTestKernel({
    bundles: [createFrameworkBundle(), createProfilerBundle({ storage: new MemoryProfileStorage() })],
    variables: { APP_HOSTS: 'booths.test' },
  })
  const names = [...app.dispatcher.types()].flatMap(type => app.dispatcher.listeners(type).map(({ name }) => name))
  const owners = new Set(names.map(name => name.split('.')[0]))
  // Registered in production, or with an option or a setting only.
  for (const name of ['HostListener', 'CorsListener', 'AccelRedirectListener']) owners.add(name)
  t.strictSame([...owners].sort(), [...ownListeners].sort())
})

t.test('a thousand requests to pages without flaws have no finding', async t => {
  const kernel = await createProfiledKernel(t)
  const { url } = await serveKernel(t, kernel)
  const asset = /(?:href|src)="(\/assets\/[^"]+)"/.exec(await (await fetch(`${url}/star-photo-booth`)).text())?.[1]
  const paths = [
    ...['/star-photo-booth', '/partnership', '/star-photo-booth?page=2', '/', '/missing', '/robots.txt', '/post-only'],
    ...['/json', '/text', '/empty', '/redir', '/redir301', '/slash', '/stream', '/download', '/item/5', '/count'],
    ...['/embed', '/forward', '/events', '/gone', '/teapot', '/boom', '/status/503', '/slow/5', String(asset)],
  ]
  const count = 1000
  let next = 0
  const visit = async () => {
    while (next < count) {
      const path = paths[next++ % paths.length]
      const method = next % 50 === 0 ? 'HEAD' : 'GET'
      await (await fetch(url + path, { method, redirect: 'manual' })).arrayBuffer()
    }
  }
  await Promise.all([visit(), visit(), visit(), visit()])
  await new Promise(resolve => setTimeout(resolve, 200))
  const { summaries } = await kernel.storage.search({ limit: 10_000 })
  t.ok(summaries.length >= count * 0.9, `${summaries.length} profiles`)
  for (const { token } of summaries) {
    let profile = (await kernel.storage.find(token))?.profile
    const { pathname, search } = new URL(String(profile?.summary.url))
    for (let attempt = 1; attempt < attempts && profile !== undefined && isOfMachine(describe(profile)); attempt++) {
      const { headers } = await fetch(url + pathname + search, { redirect: 'manual' })
      profile = await waitForProfile(kernel.storage, headers.get('x-debug-token'))
    }
    if (profile !== undefined) t.strictSame(describe(profile), [], pathname + search)
  }
})
