import fc from 'fast-check'
import t from 'tap'
import { highlightSource, highlightSql } from '#lib/stack/highlight.ts'

const join = (lines: ReturnType<typeof highlightSource>) => lines.map(line => line.map(({ text }) => text).join(''))

t.test('tokens of TypeScript have a kind, also over several lines', async t => {
  const source = ['/* a', '   b */', 'export class A {', '  go = (x: string) => `1 < $' + '{x && 2}`', '', '}']
  const lines = highlightSource('a.ts', source)
  t.strictSame(join(lines), source)
  t.strictSame(lines[0], [{ kind: 'comment', text: '/* a' }])
  t.strictSame(lines[1], [{ kind: 'comment', text: '   b */' }])
  t.strictSame(lines[2]?.slice(0, 5), [
    { kind: 'keyword', text: 'export' },
    { kind: '', text: ' ' },
    { kind: 'keyword', text: 'class' },
    { kind: '', text: ' ' },
    { kind: 'name', text: 'A' },
  ])
  t.ok(lines[3]?.some(({ kind, text }) => kind === 'string' && text.includes('`1 < ')))
  t.strictSame(lines[4], [])
})

t.test('other files are lines of plain text', async t => {
  t.strictSame(highlightSource('page.hbs', ['const <b>', '']), [
    [{ kind: '', text: 'const <b>' }],
    [{ kind: '', text: '' }],
  ])
})

t.test('whatever the source is, its text stays the same', async t => {
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom('`', '${', '</span>', '&lt;', '<span class="x">', '/*', '//', '"', "'", '&', '<div>', '{'),
  )
  const line = fc.array(piece).map(pieces => pieces.join('').replace(/[\r\n]/g, ' '))
  fc.assert(
    fc.property(fc.array(line, { minLength: 1 }), lines => {
      t.strictSame(join(highlightSource('x.mts', lines)), lines)
    }),
  )
})

t.test('a placeholder of PostgreSQL is one token', async t => {
  const statement = 'SELECT id FROM users WHERE id = $1'
  const lastOf = (system: string) => highlightSql(statement, system).map(line => line.at(-1))
  t.strictSame(lastOf('postgresql'), [{ kind: '', text: '$1' }])
  t.strictSame(lastOf('sqlite'), [{ kind: 'number', text: '1' }])
  const quoted = ['SELECT $$a', "$1$$, $tag$ '"]
  t.strictSame(join(highlightSql(quoted.join('\n'), 'postgresql')), quoted)
})
