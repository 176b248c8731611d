import { t } from 'tap'
import type { PanelProfile } from '#bundles/profiler/panels/subject-view.ts'
import { createProfile, createQuery, createShown, type QueryData } from '#tests/support/create-profile.ts'
import { unescapeHtml } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

const list = { function: 'listPosts', file: 'bundles/blog/list.ts', line: 24, column: 3 }
const posts = createQuery({ text: 'SELECT * FROM posts', parameters: [], start: 1, end: 3, rows: 4, caller: list })
const author = (index: number, changes: Partial<QueryData> = {}) =>
  createQuery({
    text: 'SELECT name FROM authors WHERE id = $1',
    start: 4 + index,
    end: 4.5 + index,
    parameters: [['id', index]],
    ...changes,
  })

/** A page that asks for its four authors one by one, two of them twice. */
const blog: readonly QueryData[] = [
  posts,
  author(0),
  author(1),
  author(2, { twin: 1 }),
  author(3, { twin: 1, caller: list }),
  createQuery({ text: 'UPDATE posts SET views = views + ?', start: 9, end: 130, rows: undefined }),
]

const redis = (text: string, changes: Partial<QueryData> = {}) =>
  createQuery({ system: 'redis', namespace: '0', server: '127.0.0.1:6379', text, parameters: [], ...changes })

const withQueries = (queries: readonly QueryData[], more: Partial<PanelProfile> = {}) =>
  createShown({ queries: { queries, omitted: 0 } }, more)

/** The texts of the elements of a page with a class or an id. */
function textsOf(html: string, pattern: RegExp): string[] {
  return [...html.matchAll(pattern)].map(([, text]) =>
    unescapeHtml(String(text).replace(/<[^>]*>/g, ''))
      .replace(/\s+/g, ' ')
      .trim(),
  )
}

/** The texts of the lines of queries or of statements, without their numbers, places and times. */
const linesOf = (html: string, of: string) =>
  textsOf(
    html,
    new RegExp(
      `id="${of}-\\d+"(?:(?!item-text).)*item-text">(.*?)</span>\\s*(?:<span class="item-(?:place|fact)|<svg)`,
      'gs',
    ),
  )

const metricsOf = (html: string) => textsOf(html, /<div class="metric(?: minor)?">(.*?)<\/div>/g)
const rowsOf = (html: string) =>
  [...html.matchAll(/<li class="item[^"]*" id="query-(\d+)"(?:(?! hidden).)*?>/g)].map(([, index]) => Number(index))

t.test('queries and cache calls have numbers of their own, from 1', async t => {
  const { show } = await createProfiledKernel(t)
  const queries = [redis('GET a'), redis('GET b'), author(0), author(1), author(0, { twin: 2 })]
  const numbersOf = (html: string) => textsOf(html, /<span class="item-lead">(.*?)<\/span>/gs)
  const html = await show('database', withQueries(queries))
  t.strictSame(numbersOf(html), ['1', '2', '3'])
  t.strictSame(textsOf(html, /(<a href="#query-2">same as .*?<\/a>)/g), ['same as 1'])
  t.strictSame(numbersOf(await show('cache', withQueries(queries))), ['1', '2'])
})

t.test('the database panel counts, groups and lists the queries of a request', async t => {
  const { show } = await createProfiledKernel(t)
  const html = await show('database', withQueries(blog))
  t.strictSame(metricsOf(html), [
    'Queries6',
    'Statement shapes3',
    'Duplicates3',
    'Elapsed125 ms',
    'Slowest121 ms',
    'Rows8',
  ])
  t.strictSame(
    linesOf(html, 'shape'),
    [
      'UPDATE posts SET views = views + ? bundles/shop/products.ts:12 in findProduct',
      'SELECT name FROM authors WHERE id = $1 bundles/shop/products.ts:12 in findProduct, bundles/blog/list.ts:24 in listPosts',
    ],
    'several queries or a slow one, the longest total first, and every line that runs a statement',
  )
  t.strictSame(rowsOf(html), [0, 1, 2, 3, 4, 5])
  t.match(html, /href="#query-1">same as 2<\/a>/)
})

t.test('the line of a query has its values, and a statement is whole once', async t => {
  const { show } = await createProfiledKernel(t)
  const of = (text: string, ...parameters: [string, unknown][]) => createQuery({ text, parameters })
  const lines = async (...queries: readonly QueryData[]) =>
    linesOf(await show('database', withQueries(queries)), 'query')
  const name = 'SELECT id, name FROM authors WHERE id = $1 AND kind = $2'
  t.strictSame(await lines(of(name, ['id', 7], ['kind', 'poet']), of(name, ['id', 8], ['kind', 'x y'])), [
    'SELECT id, name FROM authors WHERE id = 7 AND kind = poet',
    'SELECT … FROM authors WHERE id = 8 AND kind = x y',
  ])
  const insert = 'INSERT INTO authors (id, name) VALUES (?, ?)'
  t.strictSame(await lines(of(insert, ['id', 7], ['name', null]), of(insert, ['id', 8], ['name', 'Ada'])), [
    'INSERT INTO authors (id, name) VALUES (7, null)',
    'INSERT INTO authors (…) VALUES (8, Ada)',
  ])
  t.strictSame(
    await lines(
      of('SELECT a FROM b WHERE c = $1 OR d = $1', ['c', 5]),
      of('SELECT a FROM b WHERE c IN (?)', ['c', 5], ['c', 6]),
      of('SELECT a FROM b WHERE c = $1'),
      { ...of('SELECT a FROM b WHERE c = :c', ['d', 4]), error: 'c is missing' },
    ),
    [
      'SELECT a FROM b WHERE c = 5 OR d = 5',
      'SELECT a FROM b WHERE c IN (?) c 5 c 6',
      'SELECT a FROM b WHERE c = $1',
      'SELECT a FROM b WHERE c = :c d 4 c is missing',
    ],
    'of values that are not those of the placeholders, the place is not known',
  )
})

t.test('a statement is unfolded at its first query, and its values on demand', async t => {
  const long = `SELECT ${'a_long_name, '.repeat(30)}b FROM t`
  const { show } = await createProfiledKernel(t)
  const html = await show('database', withQueries([posts, createQuery({ text: long }), createQuery({ text: long })]))
  t.strictSame(textsOf(html, /<pre class="source" id="statement-\d+">([\s\S]*?)<\/pre>/g), [posts.text, long])
  t.match(html, /<button class="button small" data-copy="statement-1" hidden>/)
  t.match(html, '<a href="#query-1">the whole statement at 2</a>')
  t.match(html, '<dl class="parameters"><div><dt>id</dt><dd>7</dd>')
  t.match(html, '<span class="hl-keyword">SELECT</span>')
})

t.test('a single query is unfolded, and its time is not repeated', async t => {
  const { show } = await createProfiledKernel(t)
  const html = await show('database', withQueries([posts]))
  t.match(html, '<details open')
  t.strictSame(metricsOf(html), ['Queries1', 'Elapsed2.0 ms', 'Rows4'])
  t.notMatch(await show('database', withQueries([posts, author(0)])), '<details open')
})

t.test('the calls that led to a query unfold to their lines of code', async t => {
  const directory = t.testdir({
    'shop.ts': 'const one = 1\nfor (const id of ids) load(id)\nconst three = 3\nconst four = 4\n',
    'load.ts': 'query(id)\n',
    '.env': 'SECRET=1\n',
  })
  const { show } = await createProfiledKernel(t, { directory })
  const at = (name: string, file: string, line: number) => ({ function: name, file, line, column: 1 })
  const query = (start: number, loop: number) =>
    createQuery({
      start,
      caller: { ...at('load', 'load.ts', 1), callers: [at('list', 'shop.ts', loop), at('hidden', '.env', 1)] },
    })
  const queries = [query(1, 2), query(2, 3)]
  const closed = unescapeHtml(await show('database', withQueries(queries)))
  t.notMatch(closed, 'class="chain"')
  const link = '/_profiler/abc123?panel=database'
  t.match(closed, `<a class="code-link" href="${link}&code=1&find=query-1#query-1">Code</a>`)
  const html = unescapeHtml(await show('database', withQueries(queries, { query: new URLSearchParams('code=1') })))
  t.strictSame(textsOf(html, /<ol class="chain">(.*?)<\/ol>/gs), [
    'hidden:1list:32 for (const id of ids) load(id)3 const three = 34 const four = 4 load:11 query(id)2',
  ])
  t.match(html, `href="${link}#query-1">Hide code</a>`)
  t.notMatch(html, 'SECRET')
})

t.test('a damaged parameter is shown without a value', async t => {
  const { show } = await createProfiledKernel(t)
  const html = await show('database', withQueries([createQuery({ parameters: [['id', undefined]] })]))
  t.match(html, /<dt>id<\/dt><dd><\/dd>/)
})

t.test('a slow query is marked by its time', async t => {
  const { show } = await createProfiledKernel(t)
  const of = (duration: number) => createQuery({ text: 'SELECT 1', parameters: [], start: 1, end: 1 + duration })
  const html = await show('database', withQueries([of(99), of(100), of(500)]))
  t.strictSame(
    [...html.matchAll(/class="item-fact is-(plain|warning|error)"/g)].map(([, mark]) => mark),
    ['plain', 'warning', 'error'],
  )
})

t.test('the filter of the address chooses queries by kind, statement and words', async t => {
  const { show } = await createProfiledKernel(t)
  const shown = async (address: string) =>
    rowsOf(await show('database', withQueries(blog, { query: new URLSearchParams(address) })))
  t.strictSame(await shown('show=duplicate'), [1, 3, 4])
  t.strictSame(await shown('show=slow'), [5])
  t.strictSame(await shown('show=write'), [5])
  t.strictSame(await shown('show=read&shape=1'), [1, 2, 3, 4])
  t.strictSame(await shown('shape=0'), [0])
  t.strictSame(await shown('text=LIST.ts+authors'), [4])
  t.strictSame(await shown('show=nothing&shape=99&text='), [0, 1, 2, 3, 4, 5], 'invalid parameters are ignored')
  t.strictSame(await shown('show=failed'), [])
  const html = await show('database', withQueries(blog, { query: new URLSearchParams('show=failed') }))
  t.strictSame(textsOf(html, /<label class="segment">([\s\S]*?)<\/label>/g), [
    'All 6',
    'Duplicates 3',
    'Slow 1',
    'Errors 0',
    'Reads 5',
    'Writes 1',
  ])
  const alike = [1, 2, 3].map(id => createQuery({ text: 'SELECT $1', parameters: [['$1', id]] }))
  const plain = await show('database', withQueries(alike))
  t.notMatch(plain, '<fieldset', 'choices that each have all queries are not shown')
})

t.test('a transaction has its outcome, an error its code', async t => {
  const { panel, show } = await createProfiledKernel(t)
  const inTransaction = (transaction: number, ...texts: string[]) =>
    texts.map((text, at) => createQuery({ text, transaction, start: at, end: at + 0.5, rows: undefined }))
  const queries = [
    ...inTransaction(1, 'BEGIN', 'SELECT 1', 'ROLLBACK TO SAVEPOINT a', 'COMMIT'),
    ...inTransaction(2, 'BEGIN', 'ROLLBACK'),
    ...inTransaction(3, 'BEGIN', 'DELETE FROM a'),
    {
      ...createQuery({ text: 'COMMIT', transaction: 4, error: 'serialization failure', code: '40001' }),
      end: undefined,
    },
  ]
  const html = await show('database', withQueries(queries))
  t.strictSame(textsOf(html, /(Transaction \d.*?)<\/span>/g), [
    'Transaction 1 committed, 4 queries, 3.5 ms',
    'Transaction 2 rolled back, 2 queries, 1.5 ms',
    'Transaction 3 not ended, 2 queries, 1.5 ms',
    'Transaction 4 failed, 1 query, 0 ms',
  ])
  t.match(html, '<span class="problem"><b>40001</b> serialization failure</span>')
  t.match(html, 'not finished')
  t.strictSame(
    panel('database').badge?.(withQueries(queries).profile),
    { text: '1', level: 'error' },
    'those that have failed',
  )
})

t.test('places lead to the editor; a query without one, of another connection or a late one says so', async t => {
  const variables = { EDITOR_URL: 'editor:{file}:{line}' }
  const { show } = await createProfiledKernel(t, { directory: '/app', variables })
  const queries = [
    createQuery({ caller: { file: '/app/a.ts', line: 3 }, batch: 2 }),
    createQuery({ text: 'SELECT 2', start: 40, caller: { file: 'b.ts' }, server: undefined, namespace: undefined }),
    createQuery({ text: 'SELECT 3', caller: undefined }),
    createQuery({ text: 'SELECT a FROM b WHERE c = $1', parameters: undefined, caller: undefined }),
    createQuery({ text: 'SELECT $1::int', parameters: [['1', 2]] }),
    createQuery({ text: 'SELECT a::int FROM b', parameters: undefined }),
  ]
  const profile = createProfile({ queries: { queries, omitted: 7 }, late: { since: 30 } }, { queries: 13 })
  const html = await show('database', { profile })
  t.match(html, '<a class="place" href="editor:/app/a.ts:3">a.ts:3</a>')
  t.match(html, 'href="editor:/app/b.ts:1">b.ts</a>')
  t.match(html, 'Caller unknown')
  t.equal(html.split('values not recorded').length, 2, 'only a query with a placeholder has values that are not known')
  t.match(html, 'after the response')
  t.match(html, '<span class="badge badge-plain">2 commands</span>')
  t.match(html, ' · postgresql shop on localhost:5432')
  t.match(html, 'postgresql shop on localhost:5432; postgresql</code>')
  t.match(html, '6 of 13 have details')
  t.match(metricsOf(html), ['Queries13'])
})

t.test('the cache panel groups commands, and counts keys, hits and misses', async t => {
  const { panel, show } = await createProfiledKernel(t)
  const queries = [
    redis('GET a', { rows: 1 }),
    redis('GET a', { rows: 1, twin: 0 }),
    redis('GET b', { rows: 0 }),
    redis('SET b ?', { rows: undefined }),
    redis('PING', { rows: undefined }),
    redis('MULTI', { rows: undefined, batch: 3 }),
    posts,
  ]
  const shown = withQueries(queries)
  const html = await show('cache', shown)
  t.strictSame(metricsOf(html), [
    'Commands6',
    'Keys2',
    'Duplicates2',
    'Elapsed (overlap removed)1.0 ms',
    'Slowest1.0 ms',
    'Hits · misses2 · 1',
    'Batches1',
    'Commands in batches3',
  ])
  t.match(html, /Commands<\/h3>[\s\S]*<span class="hl-keyword">GET<\/span>/)
  t.match(html, '<span class="hl-keyword">GET</span><span class="hl-name"> a</span>')
  t.strictSame(textsOf(html, /<label class="segment">([\s\S]*?)<\/label>/g), [
    'All 6',
    'Duplicates 2',
    'Hits 2',
    'Misses 1',
  ])
  t.strictSame(rowsOf(html), [0, 1, 2, 3, 4, 5], 'the query of the database has its own panel')
  t.strictSame(panel('cache').badge?.(shown.profile), { text: '6', level: 'plain' })
})

t.test('without queries the panels say what would appear, and are in the lower part of the menu', async t => {
  const { panel, show } = await createProfiledKernel(t)
  const { profile } = createShown({})
  t.match(await show('database', profile), 'No queries of a database.')
  t.match(await show('cache', profile), 'No queries of a cache.')
  for (const name of ['database', 'cache']) {
    t.notOk(panel(name).hasContent(profile))
    t.strictSame(panel(name).badge?.(profile), { text: '', level: 'plain' })
  }
})

t.test('many different or very long statements are shown without colours; further groups are folded', async t => {
  const { show } = await createProfiledKernel(t)
  const many = Array.from({ length: 140 }, (_, index) =>
    createQuery({ text: `SELECT column_${Math.floor(index / 2)} FROM t`, start: index, end: index + 0.5 }),
  )
  const shown = withQueries([...many, createQuery({ text: `SELECT ${'x'.repeat(6000)}` })])
  const coloured = async () => {
    const html = await show('database', shown)
    t.match(html, '<summary>65 more</summary>')
    return html.match(/<pre class="source"[^>]*><span/g)?.length
  }
  t.equal(await coloured(), 60)
})

t.test('the same statement of two systems has the colours of each', async t => {
  const { show } = await createProfiledKernel(t)
  const text = 'SELECT data::jsonb FROM t WHERE id = $1'
  const coloursOf = async (...systems: string[]) => {
    const html = await show('database', withQueries(systems.map(system => createQuery({ system, text }))))
    return Array.from(html.matchAll(/<pre class="source"[^>]*>(.*?)<\/pre>/gs), ([, source]) => source)
  }
  const [[postgres], [sqlite]] = [await coloursOf('postgresql'), await coloursOf('sqlite')]
  t.not(postgres, sqlite)
  t.strictSame(await coloursOf('postgresql', 'sqlite'), [postgres, sqlite])
})
