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
    ['zh-x-hant, de', 'de'],
    ['zh, de', 'de'],
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
