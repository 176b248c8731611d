import { ExceptionEvent, RequestEvent, ResponseEvent } from 'sinfonietta'
import { t } from 'tap'
import { defineController } from '#kernel/controller.ts'
import { Response } from '#lib/http/response.ts'
import { lifecycle } from '#tests/support/lifecycle.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

for (const type of lifecycle) {
  t.test(`a listener of ${type.eventName} that throws does not affect the profiler`, async t => {
    const { client, storedOf } = await createProfiledKernel(t, {
      handlers: { '/page': () => 'a text, for kernel.view', '/broken': () => Promise.reject(new Error('broken')) },
      register({ dispatcher }) {
        const fail = () => {
          throw new Error(`${type.eventName} failed`)
        }
        dispatcher.on(type, fail, 300, 'failing')
      },
    })
    const path = type.eventName === 'kernel.exception' ? '/broken' : '/page'
    const failed = await client.get(path)
    t.equal(failed.status, 500)
    t.match(failed.text, 'data-profiler-toolbar', 'the debug error page, with its toolbar')
    const token = String(failed.headers.get('x-debug-token'))
    t.match(failed.text, `/_profiler/${token}`)
    const { profile } = await storedOf(failed)
    t.equal(profile.summary.outcome, 'complete')

    for (const own of [
      '/_profiler/empty/search/results?limit=10',
      '/_profiler/latest',
      `/_profiler/${token}`,
      `/_profiler/${token}?panel=events`,
      `/_wdt/${token}`,
    ]) {
      t.equal((await client.get(own)).status, 200, own)
    }
    t.equal((await client.get('/_profiler')).status, 301)
    t.equal((await client.get('/_profiler/')).status, 302)
    t.equal((await client.get('/_profiler/ffffff')).status, 404, 'an error page of its own')
  })
}

t.test('the last resort has no link to a profile that is not kept', async t => {
  const { client } = await createProfiledKernel(t, {
    variables: { PROFILER_SLOWER_THAN: '60000' },
    handlers: { '/broken': () => Promise.reject(new Error('broken')) },
    register: ({ dispatcher }) => void dispatcher.on(ExceptionEvent, event => event.stopPropagation(), 300),
  })
  const failed = await client.get('/broken')
  t.strictSame([failed.status, failed.headers.get('x-debug-token')], [500, null])
  t.notMatch(failed.text, 'href="/_profiler')
})

t.test('listeners of the application cannot change pages of the profiler, and see all other requests', async t => {
  const seen: string[] = []
  const { client } = await createProfiledKernel(t, {
    register({ dispatcher }) {
      dispatcher.on(RequestEvent, event => void seen.push(event.request.path), 1000)
      dispatcher.on(RequestEvent, event => event.respond(Response.redirect('/login')), 999)
      dispatcher.on(ResponseEvent, ({ response }) => response.headers.set('x-site', 'own'))
    },
  })
  const own = await client.get('/_profiler/empty/search/results?limit=10')
  t.equal(own.status, 200)
  t.equal(own.headers.get('x-site'), null)
  for (const path of ['/login', '/_profiler/a/b/c/d', '/_profilers']) {
    const { headers, status } = await client.get(path)
    t.strictSame([status, headers.get('x-site')], [302, 'own'], path)
  }
  t.strictSame(seen, ['/login', '/_profiler/a/b/c/d', '/_profilers'])
})

t.test('for clients without access, the URLs of the profiler belong to the application', async t => {
  const seen: string[] = []
  const { createClient } = await createProfiledKernel(t, {
    register: ({ dispatcher }) => void dispatcher.on(RequestEvent, event => void seen.push(event.request.path)),
  })
  t.equal((await createClient({ remoteAddress: '203.0.113.5' }).get('/_profiler/')).status, 404)
  t.strictSame(seen.slice(0, 1), ['/_profiler/'])
})

t.test('the last-resort error page links to the profile, if the client has access', async t => {
  const { client, createClient, profileOf } = await createProfiledKernel(t, {
    handlers: { '/broken': () => Promise.reject(new Error('broken')) },
    register({ controllers }) {
      const fail = () => {
        throw new Error('the error page failed')
      }
      controllers.decorate('error_controller', () => defineController('error_controller', fail))
    },
  })
  const failed = await client.get('/broken')
  const token = failed.headers.get('x-debug-token')
  t.match(failed.text, `<a href="/_profiler/${token}">`)
  t.equal(failed.headers.get('x-debug-token-link'), `http://localhost/_profiler/${token}`)
  const { summary } = await profileOf(failed)
  t.strictSame([summary.url, summary.outcome, summary.status], ['http://localhost/broken', 'complete', 500])

  const far = await createClient({ remoteAddress: '203.0.113.5' }).get('/broken')
  t.strictSame([far.text, far.headers.get('x-debug-token')], ['Internal Server Error\n', null])
  const unrecorded = await client.get('/broken', { headers: { 'x-profiler': 'off' } })
  t.match(unrecorded.text, 'Error: broken')
  t.equal(unrecorded.headers.get('x-debug-token'), null)
})

t.test('the error page shows its error; the profile also has the errors of skipped listeners', async t => {
  const { client, profileOf } = await createProfiledKernel(t, {
    handlers: { '/broken': () => Promise.reject(new Error('broken')) },
    register({ dispatcher }) {
      const fail = () => {
        throw new Error('skipped')
      }
      dispatcher.on(ExceptionEvent, fail)
    },
  })
  const failed = await client.get('/broken')
  t.match(failed.text, '<title>broken (500 Internal Server Error)</title>')
  const { data } = await profileOf(failed)
  t.match(data.exception, { exceptions: [{ message: 'broken' }, { message: 'skipped' }] })
})
