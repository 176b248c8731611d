import { runInNewContext } from 'node:vm'
import { defineError } from 'sinfonietta'
import t from 'tap'
import {
  appendCause,
  describeError,
  errorChain,
  type FlatError,
  flattenError,
  rememberStatement,
} from '#lib/errors/flat-error.ts'
import { maskAndCut } from '#lib/redact/masking-copier.ts'
import { Redactor } from '#lib/redact/redactor.ts'

t.test('an error becomes plain data with its code, status, frames and causes', async t => {
  const NOT_FOUND = defineError<[string]>('TEST_NOT_FOUND', 404, 'No "%s".')
  const flat = flattenError(new NOT_FOUND(['x'], { cause: new TypeError('inner') }))
  t.hasStrict(flat, { name: 'TEST_NOT_FOUND', code: 'TEST_NOT_FOUND', status: 404, message: 'No "x".' })
  t.hasStrict(flat.cause, { name: 'TypeError', message: 'inner' })
  t.match(flat.frames[0], { file: /flatten\.test/ })
  t.same(JSON.parse(JSON.stringify(flat)), flat)
})

t.test('the values of a statement are hidden under each name that libraries use', async t => {
  const value = 'CNRYx7q4W'
  const of = (statement: string, values: string) =>
    flattenError(Object.assign(new Error(`"${value}" is no number`), { [statement]: 'SELECT f(?)', [values]: [value] }))
  const shown: string[] = []
  for (const statement of ['sql', 'query', 'statement', 'internalQuery']) {
    for (const values of ['parameters', 'params', 'values', 'bindings', 'args']) {
      if (JSON.stringify(of(statement, values)).includes(value)) shown.push(`${statement}, ${values}`)
    }
  }
  t.strictSame(shown, [])
})

t.test('an AggregateError has the errors that it gathers', async t => {
  const flat = flattenError(new AggregateError([new Error('a'), 'b'], 'all'))
  t.same(
    flat.errors?.map(error => `${error.name}: ${error.message}`),
    ['Error: a', 'Thrown value: b'],
  )
})

t.test('a chain has the error, the errors that it gathers, and its causes', async t => {
  const gathered = [new Error('b', { cause: new Error('c') }), new Error('d')]
  const error = Object.assign(new AggregateError(gathered, 'a'), { cause: new Error('e', { cause: new Error('f') }) })
  t.same(
    errorChain(flattenError(error)).map(({ message }) => message),
    ['a', 'b', 'c', 'd', 'e', 'f'],
  )
})

t.test('an error has its own enumerable properties, except for those that other fields have', async t => {
  const methods = { toJSON: () => 'x', headers: {}, none: undefined, missing: null }
  const error = Object.assign(new Error('x', { cause: 'y' }), methods, {
    name: 'E',
    code: 'C',
    status: 404,
    detail: 'd',
  })
  t.same(flattenError(error).properties, { detail: 'd' })
  t.notOk('properties' in flattenError(Object.assign(new Error('x'), { code: 7 })), 'a code may be a number')
  t.same(flattenError(Object.assign(new Error('x'), { code: { a: 1 }, status: 'no', errors: { b: 2 } })).properties, {
    code: { a: 1 },
    status: 'no',
    errors: { b: 2 },
  })
  t.notOk('properties' in flattenError(new Error('x')))
  const many = Object.assign(new Error('x'), Object.fromEntries(Array.from({ length: 99 }, (_, at) => [`p${at}`, at])))
  t.equal(Object.keys(flattenError(many).properties ?? {}).length, 50)
})

t.test('the hidden issues of a validator are properties, and a getter is not called', async t => {
  const error = new Error('x')
  Object.defineProperty(error, 'issues', { value: [1], enumerable: false })
  Object.defineProperty(error, 'lazy', { get: () => t.fail('called'), enumerable: true })
  Object.defineProperty(error, '__proto__', { value: 'own', enumerable: true })
  const { properties } = flattenError(error)
  t.strictSame(Object.entries(properties ?? {}), [
    ['lazy', '[getter]'],
    ['__proto__', 'own'],
    ['issues', [1]],
  ])
})

t.test('secret inputs are masked in the message of a validator', async t => {
  const issue = { kind: 'schema', message: 'x', path: [{ key: 'user' }, { key: 'password' }], input: 'hunter2' }
  const error = (properties: object) => Object.assign(new Error('Expected number but received "hunter2"'), properties)
  for (const issues of [{ issues: [issue] }, { details: [issue, null, 'text'] }]) {
    t.equal(flattenError(error(issues)).message, 'Expected number but received "******"')
  }
  const named = [{ path: ['user', 0, 'age'], message: 'Too small' }, { path: [], message: 'Wrong' }, 'odd', { a: 1 }]
  const zod = Object.assign(new Error(JSON.stringify(named)), { issues: named })
  t.equal(flattenError(zod).message, 'user.0.age: Too small\nWrong\nodd\nan object with a')
  t.equal(flattenError(error({ issues: [] })).message, 'Expected number but received "hunter2"')
})

t.test('a secret input is masked where a message quotes it as JSON: it has marks, or is short', async t => {
  for (const input of ['a"b\\c', 'x1']) {
    const issues = [{ kind: 'schema', message: 'x', path: ['password'], input }]
    const error = Object.assign(new Error(`Expected number but received ${JSON.stringify(input)}`), { issues })
    t.equal(flattenError(error).message, 'Expected number but received "******"', input)
  }
})

t.test('the statement of an error has no literals, and its values have the names of their columns', async t => {
  const sql = "insert into users (id, email, name) values (7, 'x@y.z', 'Ada'), ($1, $2, $3)"
  const params = [8, 'second@y.z', 'Grace', 'unnamed']
  const error = Object.assign(new Error(`Failed query: ${sql}\nparams: ${params}`), { sql, query: 7, params })
  const { message, properties } = flattenError(error)
  t.equal(properties?.sql, 'insert into users (id, email, name) values (?, ?, ?), ($1, $2, $3)')
  t.equal(properties?.query, 7)
  t.strictSame(properties?.params, [
    { name: 'id', value: 8 },
    { name: 'email', value: '******' },
    { name: 'name', value: 'Grace' },
    { name: '$4', value: '******' },
  ])
  t.match(message, 'params: 8,******,Grace,******')
  t.notMatch(message, /@y\.z/)
  t.strictSame(
    { ...flattenError(Object.assign(new Error('x'), { query: 'text', values: [1] })).properties },
    { query: 'text', values: [1] },
  )
  const refuse = () => {
    throw new Error('refused')
  }
  t.equal(flattenError(new Proxy(error, { getOwnPropertyDescriptor: refuse })).properties, undefined)
})

t.test('the statement of an error is found behind comments and brackets, and with any verb', async t => {
  const texts = ["/* a */ SELECT 'hunter2'", "(SELECT 'hunter2')", '-- a\nDO $$hunter2$$', "EXPLAIN SELECT 'hunter2'"]
  for (const query of texts) {
    const error = Object.assign(new Error('x'), { query, sqlMessage: "Wrong value: 'hunter2'" })
    t.notMatch(JSON.stringify(flattenError(error).properties), /hunter2/, query)
  }
  const named = Object.assign(new Error('hunter2 is wrong'), {
    sql: 'login(:pw, @name)',
    parameters: { ':pw': 'hunter2' },
  })
  t.strictSame(
    { ...flattenError(named).properties },
    { sql: 'login(:pw, @name)', parameters: [{ name: 'pw', value: '******' }] },
  )
  t.equal(flattenError(named).message, '****** is wrong')
  const query = { query: 'a search, not a statement', parameters: ['shown'] }
  t.strictSame({ ...flattenError(Object.assign(new Error('x'), query)).properties }, query)
})

t.test('of a value that contains another one nothing is left, also where the message quotes it as JSON', async t => {
  const params = ['Kq3W', 'Kq3W-zv9Q', 'a"b\\c']
  const messages = ['Kq3W-zv9Q or Kq3W', `it was ${JSON.stringify('a"b\\c')}`]
  const shown = messages.map(message => {
    const error = Object.assign(new Error(message), { sql: 'SELECT f(?, ?, ?)', params })
    return flattenError(error).message
  })
  t.strictSame(shown, ['****** or ******', 'it was "******"'])
})

t.test('the message of a database is the same for the error, for its property, and in an error around it', async t => {
  const message = `Incorrect value: 'it's Kq3W' for column 'id' at row 1`
  const masked = `Incorrect value: '******' for column 'id'`
  const error = Object.assign(new Error(message), { sqlMessage: message, errno: 1366 })
  const outer = new Error(`Not saved: ${message}!`, { cause: error })
  const flat = flattenError(new AggregateError([outer], 'all'))
  t.match(flat.errors?.[0]?.message, `Not saved: ${masked}`)
  t.match(flat.errors?.[0]?.cause?.message, masked)
  t.match(flat.errors?.[0]?.cause?.properties?.sqlMessage, masked)
  t.notMatch(JSON.stringify(flat), 'Kq3W')
  const names: readonly (readonly [properties: object, message: string])[] = [
    [{ severity: 'ERROR', code: '42P01' }, 'relation "shop.gone" does not exist'],
    [{ code: 'SQLITE_ERROR' }, 'no such column: token'],
    [{ sqlState: '28000' }, `Access denied for user 'ada'@'localhost' (using password: YES)`],
    [{ sqlState: '42S22' }, `Unknown column 'a' in 'field list'`],
  ]
  const changed = names.filter(
    ([own, message]) => describeError(Object.assign(new Error(message), own)) !== `Error: ${message}`,
  )
  t.strictSame(changed, [], 'names of objects are readable')
})

t.test('the secret parameters of a reported statement are masked in the message of its error', async t => {
  const describe = (statement: Parameters<typeof rememberStatement>[1]) => {
    const error = new Error('Kq3W-zv9Q is wrong for user seven')
    rememberStatement(error, statement)
    return flattenError(error).message
  }
  const masked = '****** is wrong for user seven'
  const byNumber = 'UPDATE users SET password = $1 WHERE name = $2'
  t.equal(describe({ system: 'postgresql', text: byNumber, parameters: ['Kq3W-zv9Q', 'seven'] }), masked)
  const byName = 'UPDATE users SET token = :secret WHERE name = :name'
  const parameters = { secret: 'Kq3W-zv9Q', ':name': 'seven' }
  t.equal(describe({ system: 'sqlite', text: byName, parameters }), masked)
})

t.test('of a message that ends within a quoted value nothing of the value is left', async t => {
  const error = Object.assign(new Error("Incorrect value: 'Kq3W-zv9Q and"), { sqlState: '22007' })
  t.equal(flattenError(error).message, "Incorrect value: '******'")
})

t.test(
  'of a value with quotes or brackets in it nothing is left, also if the message is cut before its end',
  async t => {
    const mask = (text: string) => maskAndCut(text, 4096, new Redactor())
    const messageOf = (text: string) =>
      flattenError(Object.assign(new Error(text), { sqlState: '22007' }), { mask }).message
    const long = 'sunflower '.repeat(3000)
    t.equal(messageOf(`invalid input: "a" ${long}"`), 'invalid input: "******"')
    t.equal(messageOf(`Key (name)=(a) ${long}) already exists.`), 'Key (name)=(******')
  },
)

t.test('severity and query alone do not make an error one of a database', async t => {
  const message = `The rule "no-shoes" has found 'boots'`
  const describe = (own: object) => describeError(Object.assign(new Error(message), own))
  const others = [
    { severity: 'high' },
    { severity: 'error', code: 'no-shoes' },
    { severity: 'high', code: 'EPIPE' },
    { query: 'select shoes' },
  ]
  t.strictSame(
    others.filter(own => describe(own) !== `Error: ${message}`),
    [],
  )
  const databases = [
    { severity: 'ERROR', code: '22P02' },
    { severity: 'ERROR', code: 'P0001', query: 'select shoes' },
    { query: 'select shoes', params: [] },
    { query: 'select shoes where size = $1' },
    { sql: 'select shoes' },
  ]
  t.strictSame(
    databases.filter(own => describe(own).includes('boots')),
    [],
  )
  class ReplyError extends Error {}
  class MongoServerError extends Error {}
  t.strictSame(
    [ReplyError, MongoServerError].filter(Database => describeError(new Database(message)).includes('boots')),
    [],
    'errors of Redis and MongoDB have only their class',
  )
})

t.test('the arguments of the command of a cache are masked', async t => {
  const message = "ERR unknown command 'AUTHS', with args beginning with: 'hunter2'"
  const withCommand = (command: unknown) => flattenError(Object.assign(new Error(message), { command }))
  const flat = withCommand({ name: 'auths', args: ['hunter2', Buffer.from('x')] })
  t.strictSame({ ...flat.properties }, { command: { name: 'auths', args: '******' } })
  t.equal(flat.message, "ERR unknown command 'AUTHS', with args beginning with: '******'")
  t.strictSame(withCommand({ name: 'ping', args: [] }).properties?.command, { name: 'ping', args: [] })
  for (const command of ['ls -l', { name: 'other' }]) t.strictSame(withCommand(command).properties?.command, command)
})

t.test('a circle of causes is cut with a note', async t => {
  const error = new Error('outer')
  error.cause = new Error('inner', { cause: error })
  const flat = flattenError(error)
  t.hasStrict(flat.cause, { message: 'inner', note: 'It leads back to an error above, which is not repeated.' })
  t.equal(flat.cause?.cause, undefined)
})

t.test('causes end after ten levels, and errors after fifty in all', async t => {
  let error = new Error('0')
  for (let level = 1; level <= 20; level++) error = new Error(String(level), { cause: error })
  const chain = [...chainOf(flattenError(error))]
  t.equal(chain.length, 10)
  t.equal(chain.at(-1)?.note, 'What led to it further is left out.')

  const wide = (depth: number): Error =>
    new AggregateError(depth === 0 ? [] : Array.from({ length: 9 }, () => wide(depth - 1)))
  t.equal(JSON.stringify(flattenError(wide(3))).split('"frames"').length - 1, 50)
})

t.test('a value that is no error is described without the values of its properties', async t => {
  const cases: [thrown: unknown, message: string][] = [
    ['text', 'text'],
    [42, '42'],
    [undefined, 'undefined'],
    [null, 'null'],
    [Symbol('s'), 'Symbol(s)'],
    [{}, 'an object'],
    [{ status: 1, password: 'hunter2' }, 'an object with status, password'],
    [() => 'x', 'a function'],
  ]
  for (const [thrown, message] of cases) t.same(flattenError(thrown), { name: 'Thrown value', message, frames: [] })
})

t.test('errors of other realms and objects that behave like errors are errors', async t => {
  t.hasStrict(flattenError(runInNewContext('new RangeError("far")')), { name: 'RangeError', message: 'far' })
  t.hasStrict(flattenError({ message: 'alike', code: 7, status: 'no' }), { name: 'Object', message: 'alike', code: 7 })
})

t.test('a missing or inherited name is replaced by that of the class, or Error', async t => {
  class PaymentError extends Error {}
  t.equal(flattenError(new PaymentError('x')).name, 'PaymentError')
  t.equal(flattenError(Object.assign(new PaymentError('x'), { name: 'error' })).name, 'PaymentError', 'as in pg')
  t.equal(flattenError({ name: 'Error', message: 'x' }).name, 'Error')
  t.equal(flattenError({ name: 'Error', message: 'x', constructor: undefined }).name, 'Error')
  t.equal(flattenError(Object.assign(new TypeError('x'), { name: 1 })).name, 'TypeError')
  t.equal(flattenError(Object.assign(Object.create(null), { message: 'x' })).name, 'Error')
})

t.test('hostile errors do no harm', async t => {
  const refuse = () => {
    throw new Error('refused')
  }
  const getters = new Error('x')
  for (const name of ['stack', 'name', 'message', 'code', 'status', 'cause', 'errors', 'constructor']) {
    Object.defineProperty(getters, name, { get: refuse })
  }
  t.same(flattenError(getters), { name: 'Error', message: '', frames: [] })

  const traps = { get: refuse, getPrototypeOf: refuse, ownKeys: refuse }
  t.notOk(flattenError(new Proxy(new Error('x'), { ownKeys: refuse })).properties)
  t.same(flattenError(new Proxy({}, traps)), { name: 'Thrown value', message: 'an object', frames: [] })
  const errors = new Proxy([], { get: refuse })
  t.notOk(flattenError(Object.assign(new Error('x'), { errors })).errors)
})

t.test('an error is described by the name and message that it has as plain data', async t => {
  const cause = new Error('never looked at')
  const thrown = [new TypeError('x', { cause }), { message: 'alike' }, new Proxy({}, {}), 'text', null, () => 'x']
  for (const error of thrown) {
    const { message, name } = flattenError(error)
    t.equal(describeError(error), `${name}: ${message}`)
  }
})

function* chainOf(error: FlatError): Generator<FlatError> {
  for (let link: FlatError | undefined = error; link !== undefined; link = link.cause) yield link
}

t.test('an error is appended as the last cause of a failure', async t => {
  const original = new Error('original')
  const inner = new Error('inner')
  appendCause(new Error('outer', { cause: inner }), original)
  t.equal(inner.cause, original)

  const known = new Error('known', { cause: original })
  appendCause(known, original)
  appendCause(original, original)
  appendCause(original, known)
  t.equal(original.cause, undefined, 'it is never made a cause of itself')

  const thrownAgain = new Error('one for all')
  for (const text of ['first', 'second']) appendCause(thrownAgain, new Error(text))
  t.match(thrownAgain.cause, { message: 'second', cause: undefined })
})

t.test('a failure that cannot be changed, or is no object, stays as it is', async t => {
  const original = new Error('original')
  const texted = new Error('', { cause: 'a text' })
  const frozen = Object.freeze(new Error('frozen'))
  const circle = new Error('one')
  circle.cause = new Error('two', { cause: circle })
  const refuse = () => {
    throw new Error('refused')
  }
  const proxy = new Proxy(new Error('proxied'), { defineProperty: refuse, get: refuse })
  for (const failure of [texted, frozen, circle, proxy, 'text', null, undefined]) {
    t.doesNotThrow(() => appendCause(failure, original))
  }
  t.equal(texted.cause, 'a text')
  t.equal(frozen.cause, undefined)
  t.match(circle, { cause: { message: 'two' } })
  const deep = Array.from({ length: 20 }).reduce<Error>(cause => new Error('', { cause }), new Error('deepest'))
  appendCause(deep, original)
  t.notOk(errorChain(flattenError(deep)).some(({ message }) => message === 'original'))
})

t.test('the status of an error is where its framework reads it', t => {
  const statusOf = (properties: object) => flattenError(Object.assign(new Error('x'), properties)).status
  t.equal(statusOf({ status: 404 }), 404)
  t.equal(statusOf({ statusCode: 404 }), 404, 'Fastify')
  t.equal(statusOf({ output: { statusCode: 404 } }), 404, 'Boom')
  t.equal(statusOf({ status: 422, statusCode: 400 }), 422)
  t.equal(statusOf({ status: 'closed', statusCode: 400 }), 400)
  t.equal(statusOf({ output: 'text' }), undefined)
  t.end()
})
