import { Readable } from 'node:stream'
import { runInNewContext } from 'node:vm'
import { t } from 'tap'
import { contentTypeOf, isBodiless, Response, statusText } from '#lib/http/response.ts'

t.test('a response is an empty 200 by default', async t => {
  const response = new Response()
  t.equal(response.status, 200)
  t.equal(response.body, null)
  t.strictSame([...response.headers], [])
})

t.test('each kind has its content type, which the caller may replace', async t => {
  const types = [
    [Response.html('<p>'), 'text/html; charset=UTF-8'],
    [Response.text('a'), 'text/plain; charset=UTF-8'],
    [Response.json({ a: 1 }), 'application/json'],
    [Response.stream(Readable.from([])), 'application/octet-stream'],
    [Response.html('', { headers: { 'content-type': 'application/xhtml+xml' } }), 'application/xhtml+xml'],
  ] as const
  for (const [response, type] of types) t.equal(response.headers.get('content-type'), type)
  t.equal(Response.json({ a: [1] }).body, '{"a":[1]}')
})

t.test('HTML may be a promise; JavaScript may pass the bytes of a file', async t => {
  const promised = Response.html(Promise.resolve('<p>'), { status: 201 })
  t.type(promised, Promise)
  t.match(await promised, { body: '<p>', status: 201 })
  const bytes: unknown = Buffer.from('<p>')
  t.equal(Response.html(bytes as string).body, bytes)
})

t.test('a redirect names its target in the header and, escaped, in a page', async t => {
  const response = Response.redirect('/a b?c="<d>&e=%20', 301)
  t.equal(response.status, 301)
  t.equal(response.headers.get('location'), '/a%20b?c=%22%3Cd%3E&e=%20')
  t.match(String(response.body), 'Redirecting to <a href="/a%20b?c=%22%3Cd%3E&#38;e=%20">')
  t.equal(Response.redirect('/x').status, 302)
  t.equal(Response.redirect('/\ud800').headers.get('location'), '/%EF%BF%BD', 'half a character is no error')
})

t.test('a redirect keeps the host and the query as they are given', async t => {
  const kept = [
    'http://[::1]:8000/_profiler/?a=1',
    'https://user@[2001:db8::1]/',
    '/list?a[]=1&b[x][y]=2',
    '/list?a%5B%5D=1&b=%255B&c=100%',
    "/a?q={1}|^`'()*~!$;@:,#part",
    '//[::1]/x',
  ]
  t.strictSame(
    kept.map(location => Response.redirect(location).headers.get('location')),
    kept,
  )
})

t.test('a location is one safe line of ASCII characters, whatever it was made of', async t => {
  const characters = Array.from({ length: 0x180 }, (_, code) => String.fromCodePoint(code))
  const wrong = [...characters, '\u2028', '\ud800', '\udc00', '😀'].flatMap(character => {
    const location = String(Response.redirect(`/a${character}b?c=${character}`).headers.get('location'))
    return /^[\x21-\x7e]+$/.test(location) && !/["<>\\]/.test(location) ? [] : [[character, location]]
  })
  t.strictSame(wrong, [])
  t.equal(Response.redirect('/a\r\nset-cookie: b=1').headers.get('location'), '/a%0D%0Aset-cookie:%20b=1')
  t.equal(Response.redirect('/\\evil.test').headers.get('location'), '/%5Cevil.test')
})

t.test('a redirect has a status of its kind and a location', async t => {
  for (const status of [201, 301, 302, 303, 307, 308]) t.equal(Response.redirect('/x', status).status, status)
  for (const status of [200, 204, 300, 304, 305, 306, 404, Number.NaN]) {
    t.throws(() => Response.redirect('/x', status), {
      code: 'HTTP_REDIRECT_INVALID',
      message: `The redirect to "/x" cannot be sent: its status must be 201, 301, 302, 303, 307 or 308, not "${status}".`,
    })
  }
  t.throws(() => Response.redirect(''), {
    code: 'HTTP_REDIRECT_INVALID',
    message: 'The redirect to "" cannot be sent: it needs a URL or a path, such as "/".',
  })
})

t.test('a value that JSON cannot represent is refused', async t => {
  const refused = [
    [undefined, 'undefined'],
    [() => 1, 'function'],
    [Symbol('a'), 'symbol'],
    [{ toJSON: () => undefined }, 'object'],
  ] as const
  for (const [data, type] of refused) {
    t.throws(() => Response.json(data), {
      code: 'HTTP_JSON_INVALID',
      message: `Response.json() got a value that JSON cannot represent: ${type}; pass null, or use Response.empty() for no body.`,
    })
  }
  t.equal(Response.json(null).body, 'null')
  class Empty {}
  class Own {
    readonly name = 'a'
    get title() {
      return this.name
    }
  }
  class Shown {
    get title() {
      return 'a'
    }
    toJSON() {
      return {}
    }
  }
  const right = [{}, Object.create(null), new Empty(), { a: undefined }, new Own(), new Shown(), [], new Date(0)]
  const more = [Buffer.of(1), new URL('http://a.test'), runInNewContext('({})')]
  t.equal(JSON.parse(String(Response.json([...right, ...more]).body)).length, 11, 'what is empty on purpose stays')
  const bug = new TypeError('on purpose')
  const broken = {
    toJSON() {
      throw bug
    },
  }
  t.throws(() => Response.json(broken), bug)
})

t.test('an empty response has a status and nothing else', async t => {
  t.equal(Response.empty().status, 204)
  t.equal(Response.empty(304).status, 304)
  t.equal(Response.empty().body, null)
})

t.test('a status that cannot be sent is refused when it is set', async t => {
  for (const status of [0, 199, 600, 200.5, Number.NaN]) {
    t.throws(() => new Response(null, { status }), { code: 'HTTP_STATUS_INVALID', message: new RegExp(`"${status}"`) })
  }
  const response = new Response()
  response.status = 503
  t.throws(() => {
    response.status = 1000
  })
  t.equal(response.status, 503)
})

t.test('a redirect is a 3xx, but not a 304', async t => {
  const isRedirect = (status: number) => new Response(null, { status }).isRedirect
  t.ok([300, 301, 303, 308].every(isRedirect))
  t.notOk([200, 304, 404].some(isRedirect))
})

t.test('statuses have names, and some have no body', async t => {
  t.equal(statusText(404), 'Not Found')
  t.equal(statusText(599), 'unknown status')
  t.ok([101, 204, 205, 304].every(isBodiless))
  t.notOk(isBodiless(200))
})

t.test('an unknown format is HTML', async t => {
  t.equal(contentTypeOf('json'), 'application/json')
  t.equal(contentTypeOf('jsonld'), 'application/ld+json')
  t.equal(contentTypeOf('rss'), 'application/rss+xml')
  t.equal(contentTypeOf('atom'), 'application/atom+xml')
  t.equal(contentTypeOf('rdf'), 'application/rdf+xml')
  t.equal(contentTypeOf('svg'), 'image/svg+xml')
  t.equal(contentTypeOf('ics'), 'text/calendar; charset=UTF-8')
  t.equal(contentTypeOf('nonsense'), 'text/html; charset=UTF-8')
})
