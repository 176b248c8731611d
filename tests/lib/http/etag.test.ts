import { Readable } from 'node:stream'
import { Headers } from 'sinfonietta'
import { t } from 'tap'
import { createEtag, Response, weakenEtag } from '#lib/http/response.ts'

t.test('different bodies have different etags, and a text has the etag of its bytes', async t => {
  t.match(createEtag('a'), /^"[0-9a-f]{32}"$/)
  t.equal(createEtag('é'), createEtag(Buffer.from('é')))
  t.not(createEtag('a'), createEtag('b'))
})

t.test('a strong etag becomes weak, once', async t => {
  const weakened = (etag: string) => {
    const headers = new Headers({ etag })
    weakenEtag(headers)
    return headers.get('etag')
  }
  t.equal(weakened('"a"'), 'W/"a"')
  t.equal(weakened('W/"a"'), 'W/"a"')
  const none = new Headers()
  weakenEtag(none)
  t.equal(none.size, 0)
})

t.test('withEtag sets an etag of the body, unless there is one or the body is a stream', async t => {
  const tagOf = (response: Response) => response.withEtag().headers.get('etag')
  t.equal(tagOf(Response.html('a')), createEtag('a'))
  t.equal(tagOf(new Response(Buffer.from('a'))), createEtag('a'))
  t.equal(tagOf(Response.html('a', { headers: { etag: '"own"' } })), '"own"')
  t.equal(tagOf(Response.stream(Readable.from(['a']))), null)
  t.equal(tagOf(Response.empty()), null)
})
