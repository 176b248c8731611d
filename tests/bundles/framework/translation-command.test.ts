import { type Bundle, createFrameworkBundle, createTranslationCommand, type TranslationOptions } from 'sinfonietta'
import { type Test, t } from 'tap'
import { runInTerminal } from '#tests/support/fake-terminal.ts'

const templates = {
  'list.hbs': `<h1>{{t 'title'}}</h1>
{{#if (t 'intro')}}<p>{{t 'nav.home' lng='de'}}{{/if}}
{{t 'visits' count=3}} {{t 'rank' count=2 ordinal=true}}
{{t (concat 'state_' state)}} {{t state}}
{{t 'friend' context='female'}} {{other 'no_key'}}`,
}

const source = `<p>It's a source with 'in_comment' in it.
export const names = { 'as_property': 1, 'second': 2 }
export const chosen = (isOpen: boolean) => isOpen ? 'one_of' : 'other_of'
export const long = (isOpen: boolean) =>
  isOpen
    ? 'open_state'
    : 'closed_state'
switch (names.second) { case 'in_case': break }
call("in_double", \`in_backticks\`)
`

async function run(t: Test, options: TranslationOptions, line = 'debug:translation') {
  const directory = t.testdir({
    templates: { shop: templates },
    bundles: { shop: { 'shop.ts': source } },
    tests: { 'shop.test.ts': `'only_in_test'` },
    node_modules: { other: { 'index.js': `'only_in_package'` } },
  })
  const shop: Bundle = {
    name: 'shop',
    register(app) {
      app.view.addHelper('t', ({ positional: [key] }) => String(key))
      app.view.addHelper('other', ({ positional: [key] }) => String(key))
      app.commands.push(createTranslationCommand(app, options))
    },
  }
  const load = async () => [createFrameworkBundle(), shop]
  const { code, stderr, stdout } = await runInTerminal(line, { load, directory })
  return {
    code,
    stderr,
    lines: stdout
      .split('\n')
      .map(text => text.trim().replace(/ {2,}/g, ' | '))
      .filter(Boolean),
  }
}

const en = {
  title: 'Title',
  intro: 'Hello',
  nav: { home: 'Home' },
  visits_one: '1',
  visits_other: 'n',
  rank_ordinal_one: 'st',
  rank_ordinal_two: 'nd',
  rank_ordinal_few: 'rd',
  rank_ordinal_other: 'th',
  friend_male: 'he',
  friend_female: 'she',
}

t.test('keys that a language lacks are listed with their places, and so are those that nothing uses', async t => {
  const { intro, nav, visits_one, ...some } = en
  const used = [
    'one_of',
    'other_of',
    'open_state',
    'closed_state',
    'in_case',
    'in_double',
    'in_backticks',
    'in_comment',
  ]
  const unused = ['as_property', 'second', 'only_in_test', 'only_in_package', 'no_key', 'state_open', 'old.title']
  const texts = {
    en: { ...en, ...Object.fromEntries([...used, ...unused].map(key => [key, key])), friend_old: 'they' },
    de: { ...some, one_of: 'a' },
    pl: { ...en, rank_ordinal_other: '.', ...Object.fromEntries(used.map(key => [key, key])), 'old.title': 'b' },
  }
  const place = (line: number) => `templates/shop/list.hbs:${line}`
  const missing = [
    ...used.slice(1).map(key => ['missing', key, 'de', 'a source']),
    ['missing', 'intro', 'de', place(2)],
    ['missing', 'nav.home', 'de', place(2)],
    ['missing', 'visits_few', 'pl', place(3)],
    ['missing', 'visits_many', 'pl', place(3)],
    ['missing', 'visits_one', 'de', place(3)],
  ].toSorted(([, one = ''], [, other = '']) => (one < other ? -1 : 1))
  const unusedRows = unused.toSorted().map(key => ['unused', key, key === 'old.title' ? 'en, pl' : 'en', 'nothing'])
  const { code, lines, stderr } = await run(t, { texts })
  t.equal(code, 1)
  const [head, ...rows] = lines
  t.equal(head, 'State | Key | Languages | Used in')
  t.strictSame(
    rows.filter(row => row.includes(' | ')),
    [...missing, ...unusedRows].map(row => row.join(' | ')),
  )
  const note = `The keys of these calls are computed, so keys that only they use are listed as unused: ${place(4)}, ${place(4)}.`
  t.match(stderr + lines.join('\n'), note)

  const polish = await run(t, { texts }, 'debug:translation pl --json')
  const { computed, keys } = JSON.parse(polish.lines.join('\n'))
  t.strictSame(computed, [place(4), place(4)])
  t.strictSame(keys, [
    { state: 'missing', key: 'visits_few', languages: ['pl'], places: [place(3)] },
    { state: 'missing', key: 'visits_many', languages: ['pl'], places: [place(3)] },
    { state: 'unused', key: 'old.title', languages: ['pl'], places: [] },
  ])
})

t.test('languages that lack nothing succeed', async t => {
  // Japanese has one form of plurals.
  const { visits_one, rank_ordinal_one, rank_ordinal_two, rank_ordinal_few, ...japanese } = en
  const { code, lines, stderr } = await run(t, { texts: { en, ja: japanese } })
  t.equal(code, 0, lines.join('\n'))
  t.match(stderr + lines.join('\n'), 'No language of en, ja lacks a key.')
  t.equal((await run(t, { texts: { ja: japanese } })).code, 0, 'a language alone')
})

t.test('another helper than that of the templates is named', async t => {
  const advice = /No template calls the helper "trans": if yours has another name, it is the option "helper"\./
  t.match((await run(t, { texts: { en }, helper: 'trans' })).stderr, advice)
  t.notMatch((await run(t, { texts: { en } })).stderr, advice)
  t.notMatch((await run(t, { texts: { en: { in_case: 'a' } }, helper: 'trans' })).stderr, advice, 'texts of sources')
})

t.test('wrong options and languages are refused', async t => {
  const { code, stderr } = await run(t, { texts: { en, de: en } }, 'debug:translation ed')
  t.equal(code, 1)
  t.match(stderr, 'There are no texts in the language "ed"; the nearest are "en", "de".')
  const app = { directory: '', view: {} } as Parameters<typeof createTranslationCommand>[0]
  const load = createTranslationCommand(app, { texts: { en, de: en } })
  const [command] = typeof load === 'function' ? await load() : [load]
  t.strictSame(
    await command?.arguments?.[0]?.suggest?.(),
    [
      ['en', ''],
      ['de', ''],
    ],
    'a shell completes them',
  )
  const cases: [unknown, RegExp][] = [
    [{}, /it needs the texts of a language/],
    [{ texts: { en: 'hello' } }, /the texts of "en" are an object with keys/],
    [{ texts: { en: { translation: en } } }, /the texts of "en" are in its "translation"/],
    [{ texts: { 'not a language': {} } }, /"not a language" is not a language, such as "de" or "pt-BR"/],
    [{ texts: { en }, helpers: 't' }, /there is no option "helpers"; the nearest is "helper"/],
  ]
  for (const [options, message] of cases) {
    t.throws(() => createTranslationCommand(app, options as TranslationOptions), { code: 'ARGUMENT_INVALID', message })
  }
})
