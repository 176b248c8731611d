import { t } from 'tap'
import type { CopyBounds } from '#lib/redact/masking-copier.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { describeTree, type Expand, formatTree } from '#lib/redact/value-tree.ts'

const bounds: CopyBounds = { depth: 4, entries: 400, text: 200, total: 10_000 }

const redactor = new Redactor({ APP_SECRET: 'a-secret-of-the-environment' })

/** The tree of a value as text. */
function show(value: unknown, changed: Partial<CopyBounds> = {}, expand?: Expand): string {
  return formatTree(describeTree(value, redactor, { bounds: { ...bounds, ...changed }, ...(expand && { expand }) }))
}

class Product {
  readonly name = 'Teapot'
  readonly #price = 12

  get price(): number {
    return this.#price
  }
}

t.test('simple values have one line', async t => {
  const values: [value: unknown, text: string][] = [
    [undefined, 'undefined'],
    [null, 'null'],
    [true, 'true'],
    [-0, '-0'],
    [Number.NaN, 'NaN'],
    [12n, '12n'],
    ['a "text"', '"a \\"text\\""'],
    ['', '""'],
    [Symbol('x'), 'Symbol(x)'],
    [function named() {}, '[function named]'],
    [() => {}, '[function (anonymous)]'],
    [Product, '[class Product]'],
    [Object.defineProperty(() => {}, 'name', { value: 7 }), '[function (anonymous)]'],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [new Date(Number.NaN), 'Invalid Date'],
    [/a\/b/g, '/a\\/b/g'],
    [new URL('http://host/?token=abc&x=1'), 'http://host/?token=******&x=1'],
    [new Uint8Array(3), 'Uint8Array(3 bytes)'],
    [Buffer.from('x'), 'Buffer(1 byte)'],
    [new ArrayBuffer(8), 'ArrayBuffer(8 bytes)'],
    [new Proxy({ a: 1 }, {}), '[Proxy]'],
    [Promise.resolve(1), 'Promise'],
    [{}, 'Object'],
    [[], 'Array(0)'],
    [Object.create(null), '[no prototype]'],
    [Object.create({ constructor: 'text' }), 'Object'],
    [Object.create(Object.create(null)), 'Object'],
  ]
  for (const [value, text] of values) t.equal(show(value), text)
  t.equal(show('one\ntwo'), '\n  one\n  two')
})

t.test('what is no text, object or note is a plain value', t => {
  const values = [undefined, null, true, 1, -0, 12n, Symbol('x')]
  t.strictSame(
    values.filter(value => describeTree(value, redactor, { bounds }).kind !== 'value'),
    [],
  )
  t.end()
})

t.test('objects have their class and entries; no code of them runs', async t => {
  const value = {
    product: new Product(),
    list: Object.assign(new Array(3), { 0: 'a', 2: { deep: 1 } }),
    map: new Map<unknown, unknown>([
      ['a', 1],
      [{ key: true }, 2],
      [3, new Set(['b'])],
    ]),
    get computed() {
      throw new Error('A getter was called.')
    },
    set written(_value: number) {},
    toJSON() {
      throw new Error('A method was called.')
    },
  }
  t.equal(
    show(value),
    `Object
  product: Product
    name: "Teapot"
  list: Array(3)
    0: "a"
    1: undefined
    2: Object
      deep: 1
  map: Map(3)
    a: 1
    [Object]: 2
    3: Set(1)
      0: "b"
  computed: [getter]
  written: [getter]
  toJSON: [function toJSON]`,
  )
  const list: unknown[] = []
  Object.defineProperty(list, 0, { get: () => t.fail('A getter was called.') })
  t.equal(show(list), 'Array(1)\n  0: [getter]')
})

t.test('an error has its message, stack, cause and own properties', async t => {
  const error = Object.assign(new AggregateError([new TypeError('inner')], 'outer', { cause: 'a reason' }), {
    code: 'E_OUTER',
    detail: { password: 'hunter2' },
  })
  Object.defineProperty(error, 'lazy', { get: () => t.fail('A getter was called.'), enumerable: true })
  const text = show(error).replaceAll(/\n *at .+/g, '')
  t.match(text, /^AggregateError: outer\n {2}stack: \n/)
  t.match(text, '  cause: "a reason"\n  errors: Array(1)\n    0: TypeError: inner\n')
  t.match(text, '  code: "E_OUTER"\n  detail: Object\n    password: ******\n  lazy: [getter]')
  const place = /at .*tests\/lib\/redact\/value-tree\.test\.[jt]s:\d+/
  t.match(show(error), new RegExp(`at .*${process.cwd()}/`))
  const located = formatTree(describeTree(error, redactor, { bounds, directory: process.cwd() }))
  t.match(located, place)
  t.notMatch(located.replaceAll(/node_modules.*/g, ''), process.cwd())
  const [builtIn] = [0].map(() => new Error('in the engine'))
  t.match(
    formatTree(describeTree(builtIn, redactor, { bounds, directory: process.cwd() })),
    'at Array.map (<anonymous>)',
  )
  const odd = Object.defineProperty(new Error(), 'stack', { value: '', enumerable: true })
  t.equal(show(Object.assign(odd, { message: 'own' })), 'Error: own')
  const bare = new Error('bare')
  Object.defineProperty(bare, 'stack', { value: '' })
  Object.defineProperty(bare, 'cause', { get: () => t.fail('A getter was called.') })
  t.equal(show(bare), 'Error: bare\n  cause: [getter]')
})

t.test('the statement of an error is shown without its values', async t => {
  const sql = "SELECT login('hunter2', $1)"
  const error = Object.assign(new Error('x'), { sql, sqlMessage: 'no hunter2', parameters: ['hunter3'], errno: 7 })
  const text = show(error)
  t.notMatch(text, /hunter/)
  t.match(text, '  sql: "SELECT login(?, $1)"\n  sqlMessage: "no ******"\n')
  t.match(text, '  errno: 7')
})

t.test('secrets are masked by name and in texts', async t => {
  const value = {
    password: 'hunter2',
    apiKey: { nested: 'hunter2' },
    token: undefined,
    secret: '',
    setting: { name: 'password', value: 'hunter2' },
    empty: { name: 'password', value: '' },
    note: 'the password=hunter2 of a-secret-of-the-environment',
    map: new Map([['authorization', 'Bearer hunter2']]),
  }
  const text = show(value)
  t.notMatch(text, /hunter2|a-secret/)
  t.match(text, '  password: ******\n  apiKey: ******\n  token: undefined\n  secret: ""')
  t.match(text, '    value: ******')
  t.match(text, '    value: ""')
})

t.test('a value that leads back to itself, or cannot be read, is a note', async t => {
  const node: Record<string, unknown> = { name: 'a' }
  node.self = node
  node.twice = [node]
  t.equal(show(node), 'Object\n  name: "a"\n  self: [circular]\n  twice: Array(1)\n    0: [circular]')
  const shared = { x: 1 }
  t.equal(show([shared, shared]), 'Array(2)\n  0: Object\n    x: 1\n  1: Object\n    x: 1', 'a repetition is no circle')
  const hostile = Object.create(
    new Proxy(
      {},
      {
        getOwnPropertyDescriptor() {
          throw new Error('No.')
        },
      },
    ),
  )
  t.equal(show({ hostile }), 'Object\n  hostile: [unreadable]')
})

t.test('the bounds hold for the whole tree, and what was left out is counted', async t => {
  t.equal(
    show({ a: { b: { c: 1 }, d: {}, e: [] } }, { depth: 2 }),
    'Object\n  a: Object\n    b: Object …\n    d: Object …\n    e: Array(0)',
  )
  const numbers = Array.from({ length: 1000 }, (_, index) => index)
  const rows = show(numbers).split('\n')
  t.equal(rows.length, 102)
  t.equal(rows.at(-1), '  … 900 more')
  t.match(show(new Map(numbers.map(number => [number, number]))), /\n {2}… 900 more$/)
  t.match(show(new Set(numbers)), /\n {2}… 900 more$/)
  t.match(show(Object.fromEntries(numbers.map(number => [`n${number}`, number]))), /\n {2}… 900 more$/)
  t.equal(show([1, 2, 3], { entries: 2 }), 'Array(3)\n  0: 1\n  1: 2\n  … 1 more')
  t.equal(show([1, 2], { entries: 0 }), 'Array(2)\n  … 2 more')
  t.equal(show('x'.repeat(1000), { text: 10 }), '"xxxxxxxxx…"')
  t.ok(show({ a: 'x'.repeat(90), b: 'x'.repeat(90), c: 'x'.repeat(90) }, { total: 100 }).length < 150)
  let deep: unknown = 'the end'
  for (let level = 0; level < 10_000; level++) deep = [deep]
  t.match(show(deep), /Array\(1\) …$/)
})

t.test('private data of known classes can be shown', async t => {
  const expand: Expand = value => (value instanceof URLSearchParams ? value : undefined)
  const query = new URLSearchParams('a=1&password=hunter2&a=2')
  t.equal(show({ query }, {}, expand), 'Object\n  query: URLSearchParams\n    a: "1"\n    password: ******\n    a: "2"')
  t.equal(show({ query }), 'Object\n  query: URLSearchParams')
})
