import { type Application, ExceptionEvent, HttpError, type Request, RequestEvent, ResponseEvent } from 'sinfonietta'
import { type Test, t } from 'tap'
import { Event } from '#lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '#lib/http/response.ts'
import { createShown } from '#tests/support/create-profile.ts'
import { plainEquals, toText } from '#tests/support/html.ts'
import { createProfiledKernel, type ProfiledInit, profilePage, shareKernel } from '#tests/support/profiled-kernel.ts'

const { panel, show } = await shareKernel()
const requestPanel = panel('request')

class Noted extends Event {
  static readonly eventName = 'noted'
}

interface Origin {
  readonly how: string
  readonly who: string
  readonly link: string
  readonly subLink: string
  readonly earlier: readonly Origin[]
}

type Rows = readonly { readonly name: string; readonly origin: Origin | false }[]

/** Requests `/page`, and returns the origin of headers and attributes. */
async function ask(t: Test, register: (app: Application) => void, handlers: ProfiledInit['handlers'] = {}) {
  const kernel = await createProfiledKernel(t, {
    register,
    handlers: {
      '/page': () => Response.html('page', { headers: { 'x-own': '1', 'x-gone': '1', 'x-both': '1' } }),
      ...handlers,
    },
  })
  const { profile } = await kernel.storedOf(await kernel.client.get('/page'))
  const view = await requestPanel.toView({ ...createShown({}), profile })
  const find = (rows: unknown, wanted: string) =>
    (rows as Rows).find(({ name }) => name.toLowerCase() === wanted)?.origin
  const { request } = view as { request: { attributes: Rows } }
  const html = plainEquals(await kernel.show('request', profile))
  const events = plainEquals(await kernel.show('events', profile))
  return {
    view,
    html,
    headerOf: (name: string) => find(view.headers, name),
    attributeOf: (name: string) => find(request.attributes, name),
    /** The target row of a link. */
    rowOf: (link: string) => {
      const [, anchor] = link.split('#')
      return new RegExp(`<li [^>]*id="${anchor}"[^]*?class="name[^"]*">([^<]*)`).exec(events)?.[1]?.trim()
    },
  }
}

t.test('each header has its origin', async t => {
  const { headerOf, html, rowOf, view } = await ask(t, ({ dispatcher }) => {
    dispatcher.on(ResponseEvent, ({ response }) => response.headers.set('x-first', '1'), 5, 'First.onResponse')
    dispatcher.on(
      ResponseEvent,
      function second({ response: { headers } }) {
        headers.set('x-first', '2')
        headers.set('x-both', '2')
        headers.delete('x-gone')
      },
      4,
    )
  })
  const link = (origin: Origin | false | undefined) => (origin ? rowOf(origin.link) : undefined)

  t.match(
    headerOf('x-own'),
    { how: 'the response of', link: /^\/_profiler\/\w{6}\?panel=events#controller$/, subLink: '' },
    'the controller',
  )
  t.match(link(headerOf('x-own')), /./)
  t.hasStrict(headerOf('x-robots-tag'), { how: '', who: 'RobotsListener.onResponse', earlier: [] }, 'a listener')
  t.equal(link(headerOf('x-robots-tag')), 'RobotsListener.onResponse')
  t.hasStrict(
    headerOf('x-first'),
    { how: 'changed by', who: 'second', value: '', earlier: [{ who: 'First.onResponse', value: '1' }] },
    'a second one',
  )
  t.hasStrict(headerOf('x-both'), {
    how: 'changed by',
    who: 'second',
    earlier: [{ how: 'the response of', value: '1' }],
  })
  t.hasStrict(
    view.removedHeaders,
    [{ name: 'x-gone', value: '1', by: { how: 'removed by', who: 'second' } }],
    'it was removed',
  )
  t.match(
    html,
    /Removed:\s+<code>x-gone<\/code>: <code>1<\/code>, <span class="soft">removed by<\/span> <a href="\/_profiler\/\w{6}\?panel=events#span-\d+">second</,
  )
  t.match(
    html,
    /<tr id="header-x-robots-tag">[\s\S]*?<a href="\/_profiler\/\w{6}\?panel=events#span-\d+">RobotsListener.onResponse<\/a>/,
  )
  t.match(html, 'before: <code>1</code> <span class="soft set">set by</span> <a href')
  const site = /^tests\/bundles\/profiler\/subjects\/exchange\/show-origins\.test\.ts:\d+:1$/
  t.match(headerOf('x-first'), { site: { place: /^show-origins\.test\.ts:\d+$/, at: site } }, 'where it was registered')
  t.match(
    html,
    /#controller">controller [^<]+<\/a> <code><span class="place" data-at="[^"]+:\d+:1">[\w-]+\.ts:\d+</,
    'where the controller is defined',
  )
  t.match(html, /<code><span class="place" data-at="tests\/[^"]+:\d+:1">show-origins\.test\.ts:\d+<\/span><\/code>/)
})

t.test('a header that was changed twice has both values; old values are masked as others, and shortened', async t => {
  const secrets = ['open-sesame-1', 'open-sesame-2', 'cookie-of-ada-1', 'cookie-of-ada-2']
  const headers = { 'x-api-key': 'open-sesame-1', 'x-long': 'long '.repeat(100), 'x-step': 'one' }
  const kernel = await profilePage(
    t,
    () => {
      const response = Response.html('page', { headers })
      for (const secret of secrets.slice(2)) response.headers.append('set-cookie', `id=${secret}; Path=/`)
      return response
    },
    {
      register({ dispatcher }) {
        const change = ({ response }: ResponseEvent) => {
          response.headers.append('x-step', 'two')
          response.headers.set('x-api-key', 'open-sesame-2')
          response.headers.set('x-long', 'short')
        }
        dispatcher.on(ResponseEvent, change, 5, 'First.onResponse')
        const again = ({ response }: ResponseEvent) => {
          response.headers.set('x-step', 'three')
          response.headers.delete('x-api-key')
          response.headers.set('set-cookie', 'theme=dark')
        }
        dispatcher.on(ResponseEvent, again, 4, 'Second.onResponse')
      },
    },
  )
  const { profile } = await kernel.storedOf(kernel.response)
  const html = toText(await kernel.show('request', profile))
  t.match(html, /x-step three .*?before: one, two changed by First\.onResponse.*?before: one the response of/)
  t.match(html, /before: (?:long ){40}…/)
  t.match(html, /before: id=\S+; Path=\/, id=\S+; Path=\/ the response of/)
  t.strictSame(
    secrets.filter(secret => JSON.stringify(profile).includes(secret)),
    [],
  )
})

t.test('the headers and attributes that only the framework has set are folded', async t => {
  const { html } = await ask(t, ({ dispatcher }) => {
    dispatcher.on(ResponseEvent, ({ response }) => response.headers.set('x-robots-tag', 'all'), -200, 'Own.onResponse')
    dispatcher.on(RequestEvent, ({ request }) => request.attributes.set('team', { name: 'Ada', roles: ['one', 'two'] }))
  })
  const [headers = ''] = /Response Headers.*?<\/section>/s.exec(html) ?? []
  const [own = '', folded = ''] = headers.split(/<summary>\d+ set by the framework<\/summary>/)
  t.match(own, /x-own.*x-robots-tag/s, 'also one that the application has changed')
  t.notMatch(own, 'x-debug-token')
  t.match(folded, 'x-debug-token')
  const [attributes = ''] = /Request Attributes.*?<\/section>/s.exec(html) ?? []
  const [shown = '', others = ''] = attributes.split(/<summary>\d+ set by the framework<\/summary>/)
  t.match(toText(shown), /team .*Object .*roles/, 'values are trees')
  t.match(others, '_controller')
})

t.test('a header can come with the response of a listener, or replace another one', async t => {
  const early = await ask(t, ({ dispatcher }) => {
    const answer = (event: RequestEvent) => {
      if (event.isMainRequest && event.request.path === '/page')
        event.respond(Response.html('', { headers: { 'x-a': '1' } }))
    }
    dispatcher.on(RequestEvent, answer, 500, 'Early.onRequest')
  })
  t.hasStrict(early.headerOf('x-a'), { how: 'the response of', who: 'Early.onRequest' })

  const replaced = await ask(t, ({ dispatcher }) => {
    dispatcher.on(ResponseEvent, ({ response }) => response.headers.set('x-lost', '1'), 10, 'First.onResponse')
    const replace = (event: ResponseEvent) => {
      event.response = Response.html('', { headers: { 'x-a': '1' } })
    }
    dispatcher.on(ResponseEvent, replace, 9, 'Replacer.onResponse')
  })
  t.hasStrict(replaced.headerOf('x-a'), { how: 'the response of', who: 'Replacer.onResponse' })
  t.strictSame(replaced.view.removedHeaders, [])
})

t.test('on an error page, the headers of the error are from the kernel, and the others from a sub-request', async t => {
  const fail = () => {
    throw new HttpError(418, 'short and stout', { headers: { 'x-tea': 'green' } })
  }
  const own = await ask(
    t,
    ({ dispatcher }) => {
      const answer = (event: ExceptionEvent) => event.respond(Response.html('sorry', { headers: { 'x-sorry': '1' } }))
      dispatcher.on(ExceptionEvent, answer, 10, 'Sorry.onException')
    },
    { '/page': fail },
  )
  t.hasStrict(own.headerOf('x-tea'), { how: '', who: 'the kernel' })
  const { link } = own.headerOf('x-tea') as Origin
  t.equal(own.rowOf(link), 'kernel.response')
  t.hasStrict(own.headerOf('x-sorry'), { who: 'Sorry.onException', subLink: '' })

  const { headerOf } = await ask(t, () => {}, { '/page': fail })
  t.match(headerOf('content-type'), {
    who: 'ErrorListener.onException',
    subLink: /^\/_profiler\/[0-9a-f]{6}\?panel=request#header-content-type$/,
  })
})

t.test('each attribute has its origin', async t => {
  const { attributeOf } = await ask(
    t,
    ({ dispatcher }) => {
      dispatcher.on(ResponseEvent, ({ request }) => request.attributes.set('shared', 2), 0, 'Late.onResponse')
    },
    {
      '/page': async (request: Request) => {
        request.attributes.set('shared', 1)
        request.attributes.set('mine', 1)
        return Response.html('page')
      },
    },
  )
  t.hasStrict(attributeOf('_route'), { how: '', who: 'RouterListener.onRequest' })
  t.hasStrict(attributeOf('_stopwatch_token'), { who: 'the profiler', link: '' })
  t.match(attributeOf('mine'), { who: /^controller /, link: /^\/_profiler\/\w{6}\?panel=events#controller$/ })
  t.match(attributeOf('shared'), { how: 'changed by', who: 'Late.onResponse', earlier: [{ who: /^controller / }] })
})

t.test('attributes of a sub-request come from its caller; dispatches of a controller are within it', async t => {
  const kernel = await createProfiledKernel(t, {
    register: ({ dispatcher, kernel, routes }) => {
      dispatcher.on(Noted, () => undefined, 0, 'hear')
      const controller = async (request: Request) => {
        await dispatcher.dispatch(new Noted())
        return kernel.handle(request.duplicate({ method: 'GET', target: '/item/5' }))
      }
      routes.add({ name: 'outer', path: '/outer', controller })
    },
  })
  const response = await kernel.client.get('/outer')
  const html = plainEquals(await kernel.show('request', await kernel.storedOf(response, 'x-previous-debug-token')))
  t.match(html, 'Parent Request</td>')
  const outer = plainEquals(await kernel.show('request', await kernel.storedOf(response)))
  t.match(toText(outer), /the response of\s+controller outer\s+\S+\s+from\s+its sub-request/)
  t.match(outer, 'Sub Request</td>')
  const main = await kernel.storedOf(await kernel.client.get('/missing-x'), 'x-previous-debug-token')
  t.match(
    plainEquals(await kernel.show('request', main)),
    /id="attribute-exception">[\s\S]*?the caller of the sub-request/,
  )
  const events = await kernel.show('events', await kernel.storedOf(response))
  t.match(plainEquals(events), /id="controller".*<ol>.*noted.*hear.*Sub-Request item/s)
  t.match(events, /<span class="item-place">show-origins.test.[jt]s:\d+<\/span>/, 'where it was registered')
})

t.test('the section of related profiles is named after its content', async t => {
  const { profile } = createShown({})
  const sub = { ...profile, summary: { ...profile.summary, parent: 'fedcba' } }
  const labelOf = async (shown: typeof profile, children: (typeof profile.summary)[]) =>
    (await requestPanel.toView(createShown({}, { profile: shown, children }))).relativesLabel
  t.equal(await labelOf(profile, []), 'Sub Requests')
  t.equal(await labelOf(sub, []), 'Parent Request')
  t.equal(await labelOf(sub, [profile.summary]), 'Parent and Sub Requests')
})

t.test('the server computes the length of a body, except of a stream', async t => {
  const headers = [['content-length', '5']]
  const originOf = async (response: object) => {
    const view = await requestPanel.toView(createShown({ response: { headers, ...response } }))
    return (view.headers as Rows)[0]?.origin
  }
  t.hasStrict(await originOf({ isStreamed: false }), { who: 'the server', link: '' })
  t.equal(await originOf({ isStreamed: true }), false)
})

t.test('an unknown origin is not named', async t => {
  const spans = [
    [null, 'kernel.request', 0, 10],
    [0, 'A.onRequest', 0, 5, 0, 0, ['set header a', 'and 10 more']],
  ]
  const pairs = [
    ['a', '1'],
    ['set-cookie', 'b=c'],
    ['set-cookie', 'd=e'],
    ['not an id', 'f'],
  ]
  const data = { events: { spans }, response: { headers: pairs }, request: { attributes: pairs } }
  const view = await requestPanel.toView(createShown(data))
  t.hasStrict(view.headers, [
    { id: 'header-a', origin: { who: 'A.onRequest' } },
    { id: '', origin: false },
    { id: 'header-set-cookie', origin: false },
    { id: '', origin: false },
  ])
  t.hasStrict(view.request, {
    attributes: [{ origin: false }, { origin: false }, { origin: false }, { origin: false }],
  })
  t.match(await show('request', createShown(data)), '<td class="set-by"></td>')
  t.match((await requestPanel.toView(createShown({ response: { headers: pairs } }))).headers, [{ origin: false }])
  const hostile = [[1, '', 0, 5, 0, 0, ['removed header x']]]
  t.hasStrict(
    (await requestPanel.toView(createShown({ events: { spans: [[null, 'kernel.response', 0, 10], ...hostile] } })))
      .removedHeaders,
    [{ by: { who: 'the controller' } }],
  )
})

t.test('long values are folded, JSON is a tree, and the request can be made again', async t => {
  const headers = [
    ['x-json', JSON.stringify({ a: 'b'.repeat(60) })],
    ['x-short', '{"a":1}'],
    ['x-like', `{no json ${'-'.repeat(60)}`],
    ['x-long', 'word '.repeat(300)],
    ['x-lines', JSON.stringify(Array.from({ length: 40 }, (_, at) => at))],
  ]
  const html = await show('request', createShown({ request: { headers } }))
  t.match(html, /<li><span class="value-name">a<\/span>: <span class="value-text">&quot;b+&quot;<\/span><\/li>/)
  t.match(html, '<pre>{&quot;a&quot;:1}</pre>')
  t.match(html, /<td><pre>\{no json -+<\/pre><\/td>/)
  t.match(html, /<details class="long"><summary><code>word word [^<]+ …<\/code> <small>1,500 characters<\/small>/)
  t.match(html, '<summary><span class="value-object">Array(40)</span></summary>')
  t.match(html, '<pre id="curl">curl &#x27;http://localhost:8000/somewhere?q&#x3D;1&#x27;')
  t.match(html, /data-copy="curl"/)
})
