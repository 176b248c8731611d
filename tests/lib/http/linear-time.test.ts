import { Headers } from 'sinfonietta'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { listCookieValues, parseCookies } from '#lib/http/cookies.ts'
import { parseDirectives } from '#lib/http/freshness.ts'
import { parseHttpDate } from '#lib/http/http-date.ts'
import { charsetOf, mediaTypeOf } from '#lib/http/media-type.ts'
import { preferredCoding, preferredLanguage, preferredMediaType } from '#lib/http/negotiation.ts'
import { parseHost } from '#lib/http/request-target.ts'
import { fill, findGrowth, growthLimit } from '#tests/support/growth.ts'

/** What reads a text that a client can choose, whole. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  accept: accept => preferredMediaType(new Headers({ accept }), ['text/html', 'application/json']),
  'accept-language': text => preferredLanguage(new Headers({ 'accept-language': text }), ['en', 'de']),
  'accept-encoding': text => preferredCoding(new Headers({ 'accept-encoding': text }), ['br', 'gzip']),
  'cache-control': parseDirectives,
  'content-type': text => [mediaTypeOf(text), charsetOf(text)],
  cookie: text => [parseCookies(text), listCookieValues(text, 'a')],
  date: text => parseHttpDate(text),
  host: parseHost,
  referer: referer => createRequest('/', { headers: { referer, origin: referer } }).url,
}

const beginnings = ['', 'a=', 'a/b;q=', 'a;q=1.', 'a="', 'en-', '[', 'http://a', 'Mon, ']
const pieces = '0¦a¦ ¦.¦;¦,¦=¦"¦-¦/¦*¦:¦%¦\\"¦a=¦a;¦a-¦a,¦"a"¦1.¦; ¦[]'.split('¦')
const ends = ['', '!', '"']

t.test('no text of a client takes more than linear time to read', t => {
  const slow = Object.entries(readers).flatMap(([name, read]) =>
    pieces.flatMap(piece =>
      beginnings.flatMap(before =>
        ends.flatMap(end => {
          const growth = findGrowth(read, length => `${before}${fill(piece, length)}${end}`)
          return growth < growthLimit ? [] : [`${name}: ${JSON.stringify([before, piece, end])}: ${growth}`]
        }),
      ),
    ),
  )
  t.strictSame(slow, [])
  t.end()
})
