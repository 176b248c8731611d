import { t } from 'tap'
import { hostileTexts } from '#tests/support/hostile-texts.ts'
import { parseTags, unescapeHtml } from '#tests/support/html.ts'
import { sampleOf } from '#tests/support/sample.ts'
import { checkClientTexts, checkPlaces } from '#tests/support/stored-xss.ts'

t.test('tags are parsed as by a browser, also malformed ones', async t => {
  const shapes = (html: string) => parseTags(html).map(({ attributes, name }) => [name, ...attributes.flat()].join(' '))
  t.strictSame(shapes('<p title="a>b"><svg/onload=x>'), ['p title a>b', 'svg onload x'])
  t.strictSame(shapes('1 < 2 <!-- <b> --><!--> <B X=1 y z="</p>'), ['<', '!--', '!--', 'b x 1 y  z </p>'])
  t.strictSame(shapes("<a =b 'c' d='e' /></a "), ["a =b  'c'  d e", '/a'])
  t.equal(unescapeHtml('&lt;b&gt; &amp;&nope;'), '<b> &&nope;')
})

// All places and all texts are part of `npm run proof`.
t.test('texts in a profile do not change the tags of any page: a sample', async t => {
  await checkPlaces(t, {
    choose: sections => sampleOf(sections, 6).map(({ name, places }) => ({ name, places: sampleOf(places, 3) })),
    choosePaths: paths => sampleOf(paths, 16),
    pagesEnough: 4,
    texts: sampleOf(hostileTexts, 2),
    mixtures: 1,
  })
})

t.test('texts from a client do not change the tags of any page: a sample', t =>
  checkClientTexts(t, sampleOf(hostileTexts, 2)),
)
