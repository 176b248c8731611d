import { setTimeout as sleep } from 'node:timers/promises'
import { addNodeMiddleware, createFrameworkBundle, RequestEvent } from 'sinfonietta'
import { type Test, t } from 'tap'
import { type Finding, linkToFinding, writeProblem } from '#bundles/profiler/insight/findings/finding.ts'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { createUnlimitedCallRule } from '#bundles/profiler/subjects/http/rules.ts'
import { findBlockingCalls } from '#bundles/profiler/subjects/memory/rules.ts'
import { profilerRules } from '#bundles/profiler/subjects/rules.ts'
import { createProfiledTestKernel } from '#bundles/profiler/testing/create-profiled-test-kernel.ts'
import { Response } from '#lib/http/response.ts'
import { findMarkedLines, type Page, pathOf } from '#tests/bundles/profiler/insight/findings/planted/page.ts'
import { createPlantedBundle } from '#tests/bundles/profiler/insight/findings/planted/planted-bundle.ts'
import { toil } from '#tests/bundles/profiler/insight/findings/planted/work-pages.ts'
import { plainEquals } from '#tests/support/html.ts'
import { rulesOfMachine } from '#tests/support/machine-rules.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { provenRuns } from '#tests/support/sample.ts'
import { serveKernel } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

/** Serves pages with planted faults, and healthy pages. */
async function serve(t: Test) {
  const { bundle, pages } = await createPlantedBundle(t)
  const kernel = await createProfiledTestKernel({ bundles: [createFrameworkBundle(), bundle] })
  t.teardown(() => kernel.close())
  const { url } = await serveKernel(t, kernel)
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(url + path, init)
    await response.text()
    return String(response.headers.get('x-debug-token'))
  }
  const find = async (path: string, isWanted?: (profile: Profile) => boolean) =>
    waitForProfile(kernel.storage, await ask(path), isWanted)
  const visit = async (
    name: string,
    { assets = [], isComplete, isFollowed, method = 'GET' }: Page,
  ): Promise<Profile> => {
    const token = await ask(pathOf(name), { method, redirect: isFollowed ? 'follow' : 'manual' })
    for (const asset of assets) await ask(asset, { headers: { referer: url + pathOf(name) } })
    return waitForProfile(kernel.storage, token, isComplete)
  }
  return { ...kernel, url, ask, find, visit, pages: Object.entries(pages) }
}

/** The findings whose links lead to no panel, or to no place in the HTML of it. */
async function findMisplaced(findings: readonly Finding[], { summary }: Profile, url: string): Promise<string[]> {
  const misplaced: string[] = []
  for (const finding of findings) {
    const link = linkToFinding(finding, summary.token)
    const [path, anchor] = link.split('#')
    const page = await fetch(`${url}${path}${anchor === undefined ? '' : `&find=${anchor}`}`)
    const html = plainEquals(await page.text())
    const panel = new URLSearchParams(path?.split('?')[1]).get('panel')
    const isShown = page.status === 200 && html.includes(`?panel=${panel}#panel" aria-current="page"`)
    if (!isShown || (anchor !== undefined && !html.includes(` id="${anchor}"`)))
      misplaced.push(`${finding.rule}: ${link}`)
  }
  return misplaced
}

/**
 * The rules of the machine that find something in more than half of the profiles without such a
 * fault: that is not the machine.
 */
function findOverzealous(found: readonly (readonly string[])[]): string[] {
  return rulesOfMachine.filter(name => found.filter(rules => rules.includes(name)).length > found.length / 2)
}

/** Instead of two seconds, a call of 400 ms is long. */
const rules = profilerRules.map(rule => (rule.name === 'unlimited-call' ? createUnlimitedCallRule(400) : rule))

/** The rule that answers a page. On a busy machine, a short call can take as long as a blocked event loop. */
function expectedRule({ answer }: Page, profile: Profile): Page['answer'] {
  const isLong = findBlockingCalls(profile).some(call => call !== undefined)
  return answer === 'synchronous-call' && isLong ? 'blocked-loop' : answer
}

const isPlanted = ({ answer }: Page) => answer !== 'healthy' && answer !== 'out of sight'

const placeOf = ({ code }: Finding) => code && `${code.file}:${code.line}`

const describe = (finding: Finding) =>
  [`${finding.rule}: ${writeProblem(finding)}`, placeOf(finding) ?? ''].join(' ').trim()

const describeAll = (profile: Profile) => findFindings(profile).map(describe)

t.test('every planted fault is found by its rule, at its line, and no healthy page has a finding', async t => {
  const server = await serve(t)
  const lines = findMarkedLines()
  const offenders = new Map(profilerRules.map(({ name }): [string, string[]] => [name, []]))
  const falseWarnings: string[] = []
  const ofHealthy: string[][] = []
  const misplaced: string[] = []
  const placed = new Set<string>()
  for (const [name, page] of server.pages) {
    const profile = await server.visit(name, page)
    const all = findFindings(profile, rules)
    // Each rule makes all its links in the same way.
    const first = all.filter(({ rule }) => !placed.has(rule))
    for (const { rule } of first) placed.add(rule)
    misplaced.push(...(await findMisplaced(first, profile, server.url)))
    const answer = expectedRule(page, profile)
    const findings = all.filter(({ rule }) => rule === answer || !rulesOfMachine.includes(rule))
    const texts = findings.map(finding => `${name}: ${describe(finding)}`)
    t.comment(texts.join('\n'))
    if (!isPlanted(page)) {
      falseWarnings.push(...texts)
      ofHealthy.push(all.map(({ rule }) => rule))
      if (page.reason !== undefined) t.comment(`${name} is out of sight: ${page.reason}`)
      continue
    }
    const [found, ...others] = findings
    const isFound = found?.rule === answer && others.length === 0
    const isPlaced = !lines.has(name) || (found !== undefined && placeOf(found) === lines.get(name))
    if (!isFound || !isPlaced)
      offenders.get(page.answer)?.push(`${lines.get(name) ?? name} is answered by ${texts.join(' ') || 'nothing'}`)
  }
  for (const [rule, found] of offenders) t.strictSame(found, [], `the faults of ${rule} are found`)
  t.strictSame(falseWarnings, [], 'the healthy pages, and those whose fault is out of sight, have no finding')
  t.strictSame(findOverzealous(ofHealthy), [])
  t.strictSame(misplaced, [], 'the panel and the anchor of the first finding of each rule are in the HTML of its page')
  const faults = server.pages.filter(([, page]) => isPlanted(page)).length
  const healthy = server.pages.filter(([, { answer }]) => answer === 'healthy').length
  t.ok(faults >= 40 && healthy >= 40, `${faults} faults, ${healthy} healthy pages`)
})

/** Pages whose answers do not depend on time. */
const timeless = [
  ...['swallowed-query', 'swallowed-cache', 'query-as-404', 'reported-query', 'unique-name', 'items', 'nine-items'],
  ...['same-queries', 'open-transaction', 'ended-transactions', 'refused-call', 'reported-call', 'expected-404'],
  ...['many-logs', 'sixty-logs', 'listener-leak', 'signal-leak', 'ten-listeners', 'large-cookie', 'long-cookie'],
  ...['counted-page', 'get-logout', 'posted-session', 'plain', 'open-savepoint'],
]

t.test('of many overlapping requests, each has the finding of its own fault only', async t => {
  const { pages, visit } = await serve(t)
  const known = new Map(pages)
  const offenders = await Promise.all(
    Array.from({ length: provenRuns(250) }, async (_, index) => {
      const name = String(timeless[index % timeless.length])
      const page = known.get(name)
      if (page === undefined) return name
      const found = findFindings(await visit(name, page)).map(({ rule }) => rule)
      const own = found.filter(rule => !rulesOfMachine.includes(rule))
      return own.join() === (isPlanted(page) ? page.answer : '') ? '' : `${name}: ${own.join()}`
    }),
  )
  t.strictSame(offenders.filter(Boolean), [])
})

t.test('a delayed request has a finding with the token of the blocking request', async t => {
  const { app, ask, find, storage } = await serve(t)
  const arrived = new Promise<void>(resolve => {
    app.dispatcher.on(RequestEvent, ({ request }) => void (request.path === pathOf('long-timer') && resolve()))
  })
  const waiting = find(pathOf('long-timer'))
  await arrived
  const culprit = await ask(pathOf('block'))
  const profile = await waiting
  const finding = findFindings(profile).find(({ rule }) => rule === 'blocked-loop')
  t.hasStrict(finding, { rule: 'blocked-loop', values: { token: culprit }, place: { panel: 'time', token: culprit } })
  const own = findFindings(await waitForProfile(storage, culprit))
  t.match(own, [{ rule: 'blocked-loop', problem: /^This request blocked the event loop/ }])
})

t.test('a block between two timers is found, and named by the controller', async t => {
  const { app, find } = await serve(t)
  app.routes.add({
    name: 'between',
    path: '/between',
    controller: async () => {
      await sleep(50)
      toil(350)
      await sleep(50)
      return Response.text('late')
    },
  })
  const blocked = findFindings(await find('/between')).filter(({ rule }) => rule === 'blocked-loop')
  t.hasStrict(blocked, [{ values: { name: 'between' }, place: { panel: 'events', anchor: 'controller' } }])
})

t.test('a sub-request after the response has its own late work', async t => {
  const { app, find, storage } = await serve(t)
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
  t.match(describeAll(sub), ['late-work: Work continued after the response was sent'])
})

t.test('endless late work is saved a few times only; an aborted request has no late work', async t => {
  const { app, find, storage, url } = await serve(t)
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
  t.match(describeAll(await waitForProfile(storage, summary.token)), [/^late-work: .*\d+ log messages/])

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

t.test('the listeners of the framework and the profiler are known by the bundle that registers them', async t => {
  const kernel = await createProfiledTestKernel({
    bundles: [createFrameworkBundle()],
    variables: { APP_HOSTS: 'booths.test' },
  })
  t.teardown(() => kernel.close())
  const { app, client, profileOf } = kernel
  app.dispatcher.on(RequestEvent, () => undefined, 0, 'CorsListener.onRequest')
  addNodeMiddleware(app.dispatcher, function limitRate(_req, _res, next) {
    next()
  })
  const { listeners = [] } = (await profileOf(await client.get('http://booths.test/'))).process.events ?? {}
  const namesOf = (wanted?: string) => [
    ...new Set(listeners.flatMap(({ bundle, name }) => (bundle === wanted ? name.split('.', 1) : []))),
  ]
  t.strictSame(namesOf().sort(), ['CorsListener', 'limitRate'], 'the kernel registers middleware for the application')
  t.strictSame(namesOf('profiler').sort(), [
    ...['MissingAssetsListener', 'ProfilerListener', 'ToolbarListener', 'WelcomeListener'],
  ])
  t.ok(namesOf('framework').includes('RouterListener'))
})

t.test('requests to pages without flaws have no finding', async t => {
  const kernel = await createProfiledKernel(t)
  const { url } = await serveKernel(t, kernel)
  const asset = /(?:href|src)="(\/assets\/[^"]+)"/.exec(await (await fetch(`${url}/star-photo-booth`)).text())?.[1]
  const paths = [
    ...['/star-photo-booth', '/partnership', '/star-photo-booth?page=2', '/', '/missing', '/robots.txt', '/post-only'],
    ...['/json', '/text', '/empty', '/redir', '/redir301', '/slash', '/stream', '/download', '/item/5'],
    ...['/embed', '/forward', '/events', '/gone', '/teapot', '/boom', '/status/503', '/slow/5', String(asset)],
  ]
  const count = provenRuns(400)
  let next = 0
  const visit = async () => {
    while (next < count) {
      const path = paths[next++ % paths.length]
      const method = next % 15 === 0 ? 'HEAD' : 'GET'
      await (await fetch(url + path, { method, redirect: 'manual' })).arrayBuffer()
    }
  }
  await Promise.all([visit(), visit(), visit(), visit()])
  const find = async () => (await kernel.storage.search({ limit: 10_000 })).summaries
  await until(async () => (await find()).length >= count * 0.9)
  const summaries = await find()
  const offenders: string[] = []
  const ofAll: string[][] = []
  for (const { token } of summaries) {
    const profile = (await kernel.storage.find(token))?.profile
    const findings = profile === undefined ? [] : findFindings(profile)
    ofAll.push(findings.map(({ rule }) => rule))
    const own = findings.filter(({ rule }) => !rulesOfMachine.includes(rule))
    offenders.push(...own.map(finding => `${profile?.summary.url}: ${describe(finding)}`))
  }
  t.strictSame(offenders, [])
  t.strictSame(findOverzealous(ofAll), [])
})
