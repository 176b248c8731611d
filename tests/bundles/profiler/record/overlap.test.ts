import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Application, Bundle, Request } from 'sinfonietta'
import { type Test, t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { createProject } from '#tests/support/project.ts'
import { provenRuns } from '#tests/support/sample.ts'
import { serveKernel } from '#tests/support/test-server.ts'

const count = provenRuns(400)
const markers = Array.from({ length: count }, (_, index) => `marker-${index}-${(index * 7919).toString(36)}`)

/** A server for HTTP client calls; it answers after a varying delay. */
async function startUpstream(t: Test): Promise<string> {
  const server = createServer(async (request, response) => {
    await sleep(Number(request.url?.length) % 5)
    response.end(request.url)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Uses each traced feature with the marker in the path, with pauses between; every fourth request fails. */
function createTaskBundle(upstream: string): Bundle {
  return {
    name: 'task',
    register({ logger, routes, view }: Application) {
      const handle = async (request: Request): Promise<Response> => {
        const marker = String(request.attributes.get('_route_params')?.marker)
        const index = Number(marker.split('-')[1])
        const pause = () => sleep((index * 31) % 7)
        logger.info('Begun {marker}.', { marker })
        await pause()
        request.attributes.set('done', marker)
        await request.session.set('task', marker)
        await fetch(`${upstream}/${marker}`).then(response => response.text())
        await pause()
        request.stopwatch.measure(marker, 'task', () => undefined)
        logger.warning('Nearly done: {marker}.', { marker })
        if (index % 4 === 0) throw new Error(`Failed: ${marker}`)
        return Response.html(await view.render('task/page', { marker, [marker]: true }, request))
      }
      routes.add({ name: 'task', path: '/task/:marker', controller: handle })
    },
  }
}

t.test('with many overlapping requests, no profile contains data of another request', async t => {
  const kernel = await createProfiledKernel(t, {
    bundles: [createTaskBundle(await startUpstream(t))],
    directory: createProject(t.testdir(), { 'templates/task/page.hbs': '<p>{{marker}}</p>' }),
  })
  const { url } = await serveKernel(t, kernel)
  const { storage } = kernel

  const offenders: string[] = []
  const tokens = await Promise.all(
    markers.map(async marker => {
      const response = await fetch(`${url}/task/${marker}?${marker}`, { headers: { 'x-marker': marker } })
      const text = await response.text()
      if (!text.includes(marker)) offenders.push(`${marker} is answered with ${text}`)
      return {
        marker,
        main: response.headers.get('x-debug-token'),
        sub: response.headers.get('x-previous-debug-token'),
      }
    }),
  )

  for (const { marker, main, sub } of tokens) {
    const kept = [main, sub].filter(token => token !== null).map(token => waitForProfile(storage, token))
    const texts = (await Promise.all(kept)).map(profile => JSON.stringify(profile))
    if (texts.length !== (Number(marker.split('-')[1]) % 4 === 0 ? 2 : 1)) offenders.push(`${marker}: ${texts.length}`)
    const found = texts.flatMap(text => text.match(/marker-\d+-\w+/g) ?? [])
    if (found.length <= 8) offenders.push(`${marker} is found in ${found.length} places only`)
    const others = new Set(found.filter(name => name !== marker))
    if (others.size > 0) offenders.push(`${marker}: ${[...others]}`)
  }
  t.strictSame(offenders, [])
  t.equal((await storage.search({ limit: 1000 })).total, count + count / 4)
})
