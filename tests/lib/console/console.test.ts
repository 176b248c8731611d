import assert from 'node:assert'
import fc from 'fast-check'
import { t } from 'tap'
import {
  type Document,
  escapeMarkdown,
  formatForTerminal,
  formatJson,
  formatMarkdown,
  formatMarkdownTable,
  formatTable,
  layOut,
  type Table,
  withoutEmpty,
} from '#lib/console/document.ts'
import { hasColours, Output } from '#lib/console/output.ts'
import { displayWidth, paintColours, paintNothing } from '#lib/console/terminal-text.ts'
import { createFakeStream } from '#tests/support/fake-terminal.ts'
import { hostileTexts } from '#tests/support/hostile-texts.ts'

const table: Table = {
  columns: [
    { title: 'Name' },
    { title: 'Number', align: 'right', cut: 'never' },
    { title: 'File', cut: 'start' },
    { title: 'Note', isOptional: true },
  ],
  rows: [
    ['first', '1', 'bundles/framework/framework-bundle.ts:12', 'a note of some length'],
    [{ text: 'second', tone: 'error' }, '12,000', 'lib/signals.ts:7', ''],
    ['third'],
  ],
}

t.test('a table is as wide as its texts if there is room', async t => {
  t.equal(
    formatTable(table, paintNothing),
    [
      'Name    Number  File                                      Note',
      'first        1  bundles/framework/framework-bundle.ts:12  a note of some length',
      'second  12,000  lib/signals.ts:7',
      'third',
      '',
    ].join('\n'),
  )
  t.equal(formatTable(table, paintNothing, 200), formatTable(table, paintNothing))
})

t.test('a column without a text can be left out', async t => {
  const table = (rows: readonly string[][]) => ({ columns: [{ title: 'A' }, { title: 'B' }], rows })
  t.strictSame(withoutEmpty(table([['1', ''], ['2']]), 'B'), { columns: [{ title: 'A' }], rows: [['1'], ['2']] })
  const full = table([
    ['1', ''],
    ['2', '3'],
  ])
  t.equal(withoutEmpty(full, 'B'), full)
})

t.test('a table fits a terminal: its widest columns are cut, optional ones are left out', async t => {
  t.equal(
    formatTable(table, paintNothing, 60),
    [
      'Name    Number  File                   Note',
      'first        1  …amework-bundle.ts:12  a note of some length',
      'second  12,000  lib/signals.ts:7',
      'third',
      '',
    ].join('\n'),
  )
  t.equal(
    formatTable(table, paintNothing, 34),
    [
      'Name    Number  File',
      'first        1  …work-bundle.ts:12',
      'second  12,000  lib/signals.ts:7',
      'third',
      '',
    ].join('\n'),
  )
  for (let width = 1; width < 100; width++) {
    for (const line of formatTable(table, paintNothing, width).split('\n')) t.ok(displayWidth(line) <= width)
  }
  t.strictSame(layOut({ columns: [], rows: [] }, 10), [])
})

t.test('colours do not change how wide a table is', async t => {
  const coloured = formatTable(table, paintColours, 60)
  t.match(coloured, '\u001b[31msecond\u001b[39m')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the codes of colours
  t.equal(coloured.replace(/\u001b\[\d+m/g, ''), formatTable(table, paintNothing, 60))
})

t.test('recorded texts cannot control the terminal or break out of Markdown', async t => {
  const hostile = [...hostileTexts, '\u001b]0;title\u0007\u001b[2J\u009b31m\u202e', 'a|b\n| c |']
  const document: Document = {
    blocks: [
      { kind: 'title', text: hostile.join(' ') },
      { kind: 'text', text: hostile.join(' '), tone: 'muted' },
      { kind: 'fields', fields: hostile.map(text => ['name', text]) },
      {
        kind: 'table',
        table: { columns: [{ title: 'One' }, { title: 'Two' }], rows: hostile.map(text => [text, 'x']) },
      },
      { kind: 'code', language: 'json', text: hostile.join(' ') },
    ],
    json: hostile,
  }
  const control = /[^\P{Cc}\n\t]|\p{Bidi_Control}|[\u2028\u2029]/u
  for (const text of [
    formatForTerminal(document, paintNothing),
    formatForTerminal(document, paintNothing, 50),
    formatMarkdown(document),
    formatJson(document.json),
  ]) {
    t.notMatch(text, control)
  }
  t.strictSame(JSON.parse(formatJson(document.json)), hostile)
  t.strictSame(JSON.parse(formatJson(document.json, false)), hostile)
  const rows = formatMarkdownTable({
    columns: [{ title: 'One' }, { title: 'Two' }],
    rows: hostile.map(text => [text, 'x']),
  })
  for (const row of rows.trimEnd().split('\n')) t.equal(row.match(/(?<!\\)(?:\\\\)*\|/g)?.length, 3, row)
})

t.test('characters with a meaning in Markdown are escaped', async t => {
  t.equal(
    escapeMarkdown('_private_ snake_case *a* [b](c) `d` <e> &amp; a & b \\'),
    '\\_private\\_ snake_case \\*a\\* \\[b\\](c) \\`d\\` \\<e\\> \\&amp; a & b \\\\',
  )
  const document: Document = {
    blocks: [
      { kind: 'title', text: 'Title' },
      { kind: 'text', text: 'Text.' },
      {
        kind: 'fields',
        fields: [
          ['Name', 'value'],
          ['Other', { text: 'v', tone: 'ok' }],
        ],
      },
      {
        kind: 'table',
        table: { columns: [{ title: 'A' }, { title: 'B', align: 'right' }], rows: [['a', { text: '1', tone: 'ok' }]] },
      },
      { kind: 'code', language: 'json', text: '"```"' },
    ],
    json: null,
  }
  t.equal(
    formatMarkdown(document),
    [
      '## Title\n',
      'Text.\n',
      '- Name: value\n- Other: v\n',
      '| A | B |\n| --- | --: |\n| a | 1 |\n',
      '````json\n"```"\n````\n',
    ].join('\n'),
  )
  t.equal(
    formatForTerminal(document, paintNothing),
    'Title\n\nText.\n\nName   value\nOther  v\n\nA  B\na  1\n\n"```"\n',
  )
})

const markdown = `# 500: \`GET /\`

- Token: \`abc\`
- \`request\` 1.500 ms; threw
  - \`Listener.onRequest\` 1.200 ms; priority 256; set the response

### Source

\`\`\`ts
\t   7 | calm()
>    8 | fail(with, arguments)
\`\`\`
`

t.test('Markdown stays as it is; in a terminal long lines are wrapped below their text', async t => {
  const document: Document = { blocks: [{ kind: 'markdown', text: markdown, tone: 'error' }], json: null }
  t.equal(formatMarkdown(document), markdown)
  t.equal(formatForTerminal(document, paintNothing), markdown.replace('\t', '  '))
  t.equal(
    formatForTerminal(document, paintNothing, 28),
    markdown
      .replace('\t', '  ')
      .replace(' 1.200 ms; priority', '\n    1.200 ms; priority')
      .replace('; set the response', ';\n    set the response')
      .replace('with, arguments', 'with,\n         arguments'),
  )
})

t.test('a terminal shows headings and the marked line of a source in colours', async t => {
  const format = (text: string, tone?: 'ok') =>
    formatForTerminal({ blocks: [{ kind: 'markdown', text, ...(tone && { tone }) }], json: null }, paintColours)
  t.equal(format('# `Title`', 'ok'), '\u001b[32m# `Title`\u001b[39m')
  t.equal(format('# Title\n## Part'), '\u001b[1m# Title\u001b[22m\n\u001b[1m## Part\u001b[22m')
  t.equal(format('```ts\n>  8 | fail()'), '\u001b[90m```ts\u001b[39m\n>  8 | \u001b[31mfail()\u001b[39m')
  t.equal(format('- a `b`'), '- a \u001b[90m`\u001b[39mb\u001b[90m`\u001b[39m')
})

const piece = fc.oneof(
  fc.constantFrom('`', '``', ' ', '- ', '# ', '  - ', '\n', ': ', '```', '漢', ' 1.5 ms'),
  fc.string(),
)
const texts = fc.array(piece, { maxLength: 30 }).map(pieces => pieces.join(''))

t.test('no control character of Markdown reaches the terminal, and no line is wider than it', async t => {
  const check = (text: string, width: number) => {
    for (const line of formatForTerminal(
      { blocks: [{ kind: 'markdown', text }], json: null },
      paintNothing,
      width,
    ).split('\n')) {
      assert.doesNotMatch(line, /\p{Cc}|\p{Bidi_Control}|[\u2028\u2029]/u)
      assert.ok(displayWidth(line) <= width, `${displayWidth(line)} ${JSON.stringify(line)}`)
    }
  }
  t.doesNotThrow(() => fc.assert(fc.property(texts, fc.integer({ min: 40, max: 120 }), check), { numRuns: 500 }))
})

t.test('only a terminal gets colours, and cut texts', async t => {
  const terminal = createFakeStream(40)
  t.ok(hasColours(terminal, {}))
  t.ok(hasColours(terminal, { NO_COLOR: '' }))
  t.notOk(hasColours(terminal, { NO_COLOR: '1' }))
  t.notOk(hasColours(terminal, { TERM: 'dumb' }))
  t.notOk(hasColours(createFakeStream(), {}))

  const [stdout, stderr] = [createFakeStream(), createFakeStream(40)]
  const output = new Output({ stdout, stderr, env: {} })
  output.print({ blocks: [{ kind: 'text', text: 'x'.repeat(100), tone: 'error' }], json: null })
  t.equal(stdout.text, `${'x'.repeat(100)}\n`)
  output.note('one\ntwo\u001b')
  t.equal(stderr.text, '\u001b[90mone\u001b[39m\n\u001b[90mtwo\\u001b\u001b[39m\n')

  // Some terminals do not report their width.
  const unknown = { ...createFakeStream(), isTTY: true }
  const wide = new Output({ stdout: unknown, stderr: unknown, env: { NO_COLOR: '1' } })
  wide.print({
    blocks: [{ kind: 'table', table: { columns: [{ title: 'A' }], rows: [['x'.repeat(100)]] } }],
    json: null,
  })
  t.equal(unknown.text, `A\n${'x'.repeat(79)}…\n`)
})

t.test('rows can be added to a table that is shown', async t => {
  const open = (format: 'text' | 'json' | 'markdown', width?: number) => {
    const stdout = createFakeStream(width)
    const output = new Output({ stdout, stderr: createFakeStream(), env: { NO_COLOR: '1' }, format })
    const add = output.open({ columns: [{ title: 'Name' }, { title: 'No', align: 'right' }], rows: [['one', '1']] }, [
      { one: 1 },
    ])
    add(['three', '3'], { three: 3 })
    return stdout.text
  }
  t.equal(open('text'), 'Name  No\none    1\nthree   3\n')
  t.equal(open('text', 80), 'Name  No\none    1\nthr…   3\n')
  t.equal(open('json'), '{"one":1}\n{"three":3}\n')
  t.equal(open('markdown'), '| Name | No |\n| --- | --: |\n| one | 1 |\n| three | 3 |\n')
})
