import { Headers } from 'sinfonietta'
import { t } from 'tap'
import { preferredCoding, preferredLanguage, preferredMediaType } from '#lib/http/negotiation.ts'

t.test('the coding that a client prefers', async t => {
  const cases: readonly [accept: string, files: string | undefined, pages: string | undefined][] = [
    ['gzip, deflate, br, zstd', 'br', 'gzip'],
    ['gzip, deflate', 'gzip', 'gzip'],
    ['br', 'br', 'br'],
    ['GZIP', 'gzip', 'gzip'],
    ['*', 'br', 'gzip'],
    ['gzip;q=0.5, br;q=0.8', 'br', 'br'],
    ['gzip;q=0.8, br;q=0.5', 'gzip', 'gzip'],
    ['br;q=0, gzip', 'gzip', 'gzip'],
    ['br;q=0, *', 'gzip', 'gzip'],
    ['gzip;q=0.5, identity', undefined, undefined],
    ['gzip, identity;q=0.5, *;q=0', 'gzip', 'gzip'],
    ['gzip;q=0', undefined, undefined],
    ['*;q=0', undefined, undefined],
    ['identity;q=0', undefined, undefined],
    ['identity', undefined, undefined],
    ['deflate, zstd', undefined, undefined],
    ['gzip;q=nonsense', undefined, undefined],
    [';;,,==', undefined, undefined],
    ['', undefined, undefined],
  ]
  for (const [accept, files, pages] of cases) {
    const headers = new Headers({ 'accept-encoding': accept })
    t.equal(preferredCoding(headers, ['br', 'gzip']), files, `${accept}: files`)
    t.equal(preferredCoding(headers, ['gzip', 'br']), pages, `${accept}: pages`)
  }
  t.equal(preferredCoding(new Headers(), ['br', 'gzip']), undefined)
  const repeated = new Headers([
    ['accept-encoding', 'deflate'],
    ['Accept-Encoding', 'gzip'],
  ])
  t.equal(preferredCoding(repeated, ['br', 'gzip']), 'gzip')
})

/** The types of an error: a page first, then data. */
const types = ['text/html', 'application/problem+json', 'text/markdown', 'text/plain'] as const
const [html, problem, markdown, plain] = types

t.test('the media type that a client prefers', async t => {
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'
  const rows: readonly [accept: string, type: string | undefined, source: string][] = [
    // No preference
    ['*/*', html, 'RFC 9110, section 12.5.1'],
    ['', html, 'go-openapi/runtime #55, Pylons/webob #366: as without a header'],
    [' ', html, 'Pylons/webob #366'],
    [',', html, 'RFC 9110, section 5.6.1: empty elements'],
    [';;;', html, 'Symfony, AcceptHeaderTest: no element'],
    ['*', html, 'jshttp/negotiator #45: means */*'],
    ['*/*; charset=utf-8', html, 'api-platform/core PR 8192: sent by PhpStorm'],
    ['*/*; charset=utf-8; q=0.1, application/json; q=0.9', problem, 'api-platform/core PR 8192'],
    [',,;;q=;q=2, */*;q=-1, "', html, 'RFC 9110, section 12.4.2: no media range with a weight'],
    ['text', html, 'RFC 9110, section 8.3.1: no media type'],
    ['text/', html, 'Symfony, AcceptHeaderTest: no media type'],
    ['*/json', undefined, 'RFC 9110, section 12.5.1: no media range, and */json is no wildcard'],
    // Names
    ['text/html', html, 'RFC 9110, section 12.5.1'],
    ['text/plain', plain, 'RFC 9110, section 12.5.1'],
    ['text/markdown', markdown, 'RFC 7763, section 2'],
    ['application/problem+json', problem, 'RFC 9457, section 6.1'],
    ['TEXT/Plain', plain, 'RFC 9110, section 8.3.1: case-insensitive'],
    ['image/png', undefined, 'RFC 9110, section 12.5.1: none is acceptable'],
    ['text/html, application/json', html, 'Symfony, getPreferredFormat: the order of the client'],
    ['application/json, text/html', problem, 'Symfony, getPreferredFormat: the order of the client'],
    ['text/plain, text/markdown', plain, 'Symfony, AcceptHeaderTest: the order of the client'],
    // Qualities
    ['text/html;q=0.5, text/plain', plain, 'RFC 9110, section 12.4.2'],
    ['text/plain;q=0.2, text/markdown;q=0.3', markdown, 'RFC 9110, section 12.4.2'],
    ['text/plain;q=0', undefined, 'RFC 9110, section 12.4.2: not acceptable'],
    ['text/html;q=0, */*', problem, 'RFC 9110, section 12.5.1: the closest range decides'],
    ['text/*;q=0, */*;q=0.1', problem, 'RFC 9110, section 12.5.1'],
    ['text/plain; q=.5, text/html; q=.2', plain, 'openjdk JDK-8163921: a number without a zero'],
    ['text/plain ; q = 0.5 , text/html ; q = 0.4', plain, 'RFC 9110, section 5.6.6: optional blanks'],
    ['text/plain;Q=0.5, text/html;q=0.4', plain, 'RFC 9110, section 5.6.6: case-insensitive names'],
    ['text/html;q=nonsense, text/plain;q=0.1', plain, 'RFC 9110, section 12.4.2: no weight'],
    ['text/html;q=1;level=1, text/plain;q=0.9', html, 'RFC 7231, section 5.3.2: an extension after the weight'],
    // Wildcards
    ['text/*', html, 'RFC 9110, section 12.5.1'],
    ['text/*, text/plain', plain, 'RFC 9110, section 12.5.1: a name is more specific'],
    ['application/*', problem, 'RFC 9110, section 12.5.1'],
    ['*/*, application/*', problem, 'RFC 9110, section 12.5.1: a family is more specific'],
    ['text/*, application/*', html, 'Symfony, AcceptHeaderTest: the order of the client'],
    ['image/*, */*;q=0.1', html, 'couchbase-lite-java-listener #73'],
    ['image/webp,image/*,*/*;q=0.8', html, 'couchbase-lite-java-listener #73'],
    ['application/json, */*', problem, 'axios: application/json, text/plain, */*'],
    ['application/json, text/plain, */*', problem, 'axios, the default header'],
    ['text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2', html, 'sttp-model #81: HttpURLConnection of Java'],
    ['application/json, */*;q=0', problem, 'RFC 9110, section 12.5.1'],
    [browser, html, 'Chromium, a navigation'],
    [`${browser},application/signed-exchange;v=b3;q=0.7`, html, 'Chromium, a navigation'],
    ['*/*;q=0.1, text/markdown', markdown, 'RFC 9110, section 12.5.1'],
    // Parameters
    ['application/json; charset=utf-8', problem, 'jshttp/accepts #17, jshttp/negotiator #41, akka-http #1139'],
    ['application/json;charset=iso-8859-1', problem, 'RFC 8259, section 11: JSON has no charset'],
    ['application/problem+json; charset=utf-8', problem, 'jshttp/negotiator PR 112'],
    ['application/json; q=1; charset=utf-8', problem, 'dotnet/aspnetcore #58282'],
    ['application/json; charset=utf-8; q=1', problem, 'dotnet/aspnetcore #58282'],
    ['application/json; charset=utf-8;', problem, 'dotnet/aspnetcore #58282'],
    ['application/json; version=1', problem, 'Symfony, getFormat: parameters are removed'],
    ['application/json;odata=verbose, */*;q=0.1', problem, 'oasis-tcs/odata-specs #1821'],
    ['text/plain; charset=utf-8', plain, 'dotnet/aspnetcore #56357'],
    ['text/html;level=1, application/json;q=0.1', html, 'Symfony, getFormat: parameters are removed'],
    ['text/plain;title="a, text/html;q=1";q=0.5, text/markdown;q=0.4', plain, 'RFC 9110, section 5.6.4: quoted text'],
    ['text/plain;a="\\", text/html", text/html;q=0.9', plain, 'RFC 9110, section 5.6.4: an escaped quote'],
    ['text/plain;format=flowed;q=0.4, */*;q=0.5', html, 'RFC 9110, section 12.5.1: a wildcard is not worse'],
    ['text/plain;flowed', plain, 'Symfony, AcceptHeaderTest: a parameter without a value'],
    // Structured suffixes
    ['application/json', problem, 'ietf-wg-httpapi/rfc7807bis #75; RFC 6839, section 3.1'],
    ['application/vnd.api+json', problem, 'Symfony PR 61267; json-api #6'],
    ['application/vnd.shop.v2+json, text/html;q=0.5', problem, 'jshttp/accepts #10'],
    ['application/*+json', problem, 'jshttp/accepts #10: as in type-is'],
    ['application/json, application/*+json', problem, 'Spring, MediaType: the default of RestTemplate'],
    ['application/ld+json;profile="http://www.w3.org/ns/json-ld#expanded"', problem, 'jshttp/negotiator #62'],
    ['text/json', problem, 'MIME Sniffing Standard, section 4.6'],
    ['application/*+xml', undefined, 'Spring, MediaType: another suffix'],
    ['application/soap+xml, text/html;q=0.1', html, 'Symfony PR 61267: another suffix'],
    ['application/json-seq', undefined, 'RFC 7464: no JSON text'],
    ['application/ld+json;q=0, */*', html, 'RFC 9110, section 12.5.1: it refuses only that type'],
    ['application/json;q=0, application/problem+json', problem, 'RFC 9110, section 12.5.1'],
    ['application/problem+json;q=0, application/json, text/html;q=0.1', html, 'RFC 9110, section 12.5.1'],
    ['application/ld+json;q=0.1, */*;q=0.8', html, 'RFC 9110, section 12.5.1: a wildcard is not worse'],
  ]
  const found = rows.map(([accept, , source]) => [accept, preferredMediaType(new Headers({ accept }), types), source])
  t.strictSame(found, rows)
  t.equal(preferredMediaType(new Headers(), types), html, 'without a header')
})

t.test('the closest of several similar media types', async t => {
  const rfc = 'text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, text/plain;format=fixed;q=0.4, */*;q=0.5'
  const rows: readonly [accept: string, available: readonly string[], type: string | undefined][] = [
    // The qualities of RFC 9110, section 12.5.1
    [rfc, ['image/jpeg', 'text/plain', 'text/plain;format=flowed'], 'text/plain;format=flowed'],
    [rfc, ['image/jpeg', 'text/plain'], 'text/plain'],
    [rfc, ['image/jpeg', 'text/html'], 'image/jpeg'],
    [rfc, ['text/plain;format=fixed', 'image/jpeg'], 'image/jpeg'],
    [rfc, ['text/html', 'text/plain;format=fixed'], 'text/plain;format=fixed'],
    // A parameter that both have is the same
    ['text/plain;charset=utf-8', ['text/plain;charset=iso-8859-1'], undefined],
    ['text/plain;charset=UTF-8', ['text/plain; Charset="utf-8"'], 'text/plain; Charset="utf-8"'],
    [
      'application/json;version=2',
      ['application/json;version=1', 'application/json;version=2'],
      'application/json;version=2',
    ],
    ['*/*;charset=utf-8', ['text/html;charset=iso-8859-1', 'application/json'], 'application/json'],
    // JSON
    ['application/json', ['application/ld+json', 'application/json'], 'application/json'],
    ['application/vnd.api+json', ['application/ld+json', 'application/json'], 'application/json'],
    ['application/ld+json', ['application/json', 'application/ld+json'], 'application/ld+json'],
    ['application/json', ['text/html', 'application/vnd.api+json'], 'application/vnd.api+json'],
    ['application/json;q=0.5, application/ld+json', ['application/json', 'application/ld+json'], 'application/ld+json'],
    ['application/*+xml', ['application/json', 'application/rss+xml'], 'application/rss+xml'],
    ['application/*+xml', ['application/json', 'application/xml'], 'application/xml'],
    // XML types are no data that any XML client reads: XHTML is not RSS.
    ['application/xhtml+xml', ['application/rss+xml'], undefined],
    ['text/html, application/xhtml+xml, */*;q=0.8', ['application/json', 'application/rss+xml'], 'application/json'],
    ['application/json', [], undefined],
  ]
  const found = rows.map(([accept, available]) => [
    accept,
    available,
    preferredMediaType(new Headers({ accept }), available),
  ])
  t.strictSame(found, rows)
})

t.test('only the first hundred elements of a header are read, and a long one takes no time', async t => {
  const prefer = (accept: string) => preferredMediaType(new Headers({ accept }), types)
  t.equal(prefer(`${'a/b,'.repeat(99)}text/plain`), plain)
  t.equal(prefer(`${'a/b,'.repeat(100)}text/plain`), undefined)
  const nasty = ['"', '\\', '"\\', ';', ',', ';q=', '*/', '*+', '";"', ' ', ';a="', '+json']
  for (const part of nasty) prefer(`text/plain${part.repeat(100_000)}`)
})

t.test('results are cached per list, for a limited number of headers', async t => {
  const pages = ['text/html', 'application/json'] as const
  const programs = ['application/json', 'text/html'] as const
  const prefer = (accept: string, available: readonly string[]) =>
    preferredMediaType(new Headers({ accept }), available)
  for (let turn = 0; turn < 2; turn++) {
    t.equal(prefer('*/*', pages), 'text/html')
    t.equal(prefer('*/*', programs), 'application/json')
    t.equal(prefer('image/png', pages), undefined)
    t.equal(prefer(`application/json, ${'text/x-unknown, '.repeat(50)}text/html;q=0.1`, pages), 'application/json')
    for (let number = 0; number < 150; number++) {
      t.equal(prefer(`text/html;q=0.${number + 1}, application/json;q=0`, pages), 'text/html')
    }
  }
})

t.test('the language is found by lookup, in the order of the client', async t => {
  const available = ['en', 'de', 'zh-Hant', 'pt-BR'] as const
  const prefer = (accept?: string) =>
    preferredLanguage(new Headers(accept === undefined ? {} : { 'accept-language': accept }), available)
  const cases: readonly [accept: string, language: string][] = [
    ['de', 'de'],
    ['DE-at', 'de'],
    ['fr, de;q=0.5, en;q=0.7', 'en'],
    ['de;q=0.9, de-AT', 'de'],
    ['zh-Hant-TW', 'zh-Hant'],
    ['zh-hant-cn-x-private1-private2, de', 'zh-Hant'],
    ['zh-x-hant, de', 'zh-Hant'],
    ['zh, de', 'zh-Hant'],
    ['pt-br', 'pt-BR'],
    ['fr', 'en'],
    ['fr, *', 'en'],
    ['fr, *, en;q=0', 'de'],
    ['*;q=0', 'en'],
    ['', 'en'],
    [';,;=,-', 'en'],
    [`${'a-'.repeat(5000)}b, de`, 'de'],
    [`${'fr,'.repeat(100)}de`, 'en'],
  ]
  for (const [accept, language] of cases) t.equal(prefer(accept), language, accept.slice(0, 60))
  t.equal(prefer(), 'en')
})

t.test('a language of the client finds a language with more subtags, if there is no closer one', async t => {
  const rows: readonly [accept: string, available: readonly [string, ...string[]], language: string, source: string][] =
    [
      ['en-GB,en;q=0.9', ['de-DE', 'en-US'], 'en-US', 'Symfony PR 52986'],
      ['en-ES', ['de', 'en-GB', 'en-US', 'it'], 'en-GB', 'Symfony #25143'],
      ['ja-JP,fr-CA;q=0.7,fr;q=0.5', ['en-US', 'fr-FR'], 'fr-FR', 'Symfony PR 52986'],
      ['ja-JP,fr;q=0.5', ['en-US', 'fr-FR'], 'fr-FR', 'Symfony PR 52986'],
      ['ja-JP,fr-CA;q=0.7', ['en-US', 'fr-FR'], 'fr-FR', 'Symfony PR 52986'],
      ['de-de, en', ['de', 'en'], 'de', 'Symfony #57386'],
      ['da, en-gb;q=0.8, en;q=0.7', ['en-GB', 'da-DK'], 'da-DK', 'Symfony PR 60136'],
      ['en', ['de', 'en-US'], 'en-US', 'RFC 4647, section 3.3.1'],
      ['en', ['en-US', 'en'], 'en', 'RFC 4647, section 3.4: as it is'],
      ['en-GB', ['en-US', 'en-GB'], 'en-GB', 'RFC 4647, section 3.4: as it is'],
      ['en-GB', ['en-US', 'en'], 'en', 'RFC 4647, section 3.4'],
      ['zh-TW', ['en', 'zh-Hant-TW'], 'zh-Hant-TW', 'RFC 4647, section 3.3.1: zh'],
      ['en', ['de', 'eno'], 'de', 'RFC 4647, section 3.3.1: a whole subtag'],
      ['en, en-US;q=0', ['en-US', 'en-GB'], 'en-GB', 'RFC 9110, section 12.4.2: not acceptable'],
      ['en;q=0, en-US', ['de', 'en-US'], 'en-US', 'RFC 9110, section 12.5.4'],
      ['de;q=0.1, *', ['de', 'en'], 'en', 'RFC 4647, section 3.3.1: * is for the others'],
      ['*;q=0.5, de;q=0.1', ['de', 'de-AT'], 'de', 'RFC 4647, section 3.3.1'],
      ['sv-SE, *;q=0.1', ['en', 'de'], 'en', 'RFC 9110, section 12.5.4'],
    ]
  const found = rows.map(([accept, available, , source]) => {
    return [accept, available, preferredLanguage(new Headers({ 'accept-language': accept }), available), source]
  })
  t.strictSame(found, rows)
})
