import { tracingChannel } from 'node:diagnostics_channel'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { countRows, Queries, type QueryResult, type QueryStart } from '#kernel/contracts/queries.ts'
import { RequestContext } from '#kernel/request-context.ts'

/** An observer that notes what it receives. */
function observe(queries: Queries) {
  const notes: (QueryStart | QueryResult)[] = []
  const stop = queries.observe({
    begin(query) {
      notes.push(query)
      return result => notes.push(result)
    },
  })
  return { notes, stop }
}

t.test('measure returns the result of the query and reports it with its rows', async t => {
  const queries = new Queries()
  const { notes, stop } = observe(queries)
  t.strictSame(
    queries.measure('sqlite', 'SELECT 1', [1], () => ['a', 'b']),
    ['a', 'b'],
  )
  const query = { system: 'sqlite', text: 'SELECT 1', parameters: [1], source: 'measure' }
  t.strictSame(notes, [query, { rows: 2 }])
  stop()
  t.equal(
    queries.measure('sqlite', 'SELECT 2', undefined, () => 3),
    3,
  )
  t.equal(notes.length, 2, 'nothing is reported after the observer was removed')
})

t.test('whether a request is recorded is the answer of any observer that does not throw', async t => {
  const queries = new Queries()
  const begin = () => undefined
  const isRecorded = () => queries.isRecorded(createRequest())
  queries.observe({ begin })
  queries.observe({
    begin,
    isRecorded() {
      throw new Error('broken')
    },
  })
  t.notOk(isRecorded())
  queries.observe({ begin, isRecorded: () => true })
  t.ok(isRecorded())
})

t.test('measure reports a promise when it is settled', async t => {
  const queries = new Queries()
  const { notes } = observe(queries)
  const promise = queries.measure('mysql', 'DELETE', undefined, async () => ({ affectedRows: 4 }))
  t.equal(notes.length, 1)
  t.strictSame(await promise, { affectedRows: 4 })
  t.strictSame(notes[1], { rows: 4 })
  const error = new Error('refused')
  await t.rejects(
    queries.measure('mysql', 'DELETE', undefined, () => Promise.reject(error)),
    error,
  )
  t.strictSame(notes[3], { error })
})

t.test('measure executes a query builder once', async t => {
  const queries = new Queries()
  observe(queries)
  let executed = 0
  const builder = {
    // biome-ignore lint/suspicious/noThenProperty: a query builder is a thenable
    then(resolve: (rows: string[]) => void) {
      executed++
      resolve(['row'])
    },
  }
  t.strictSame(await queries.measure('mysql', 'SELECT', undefined, () => builder), ['row'])
  t.equal(executed, 1)
})

t.test('an error of the query is reported and thrown', async t => {
  const queries = new Queries()
  const { notes } = observe(queries)
  const error = new Error('no such table')
  const fail = () => {
    throw error
  }
  t.throws(() => queries.measure('sqlite', 'SELECT', undefined, fail), error)
  t.strictSame(notes[1], { error })
})

t.test('an observer that throws affects neither the query nor other observers', async t => {
  const queries = new Queries()
  const fail = () => {
    throw new Error('observer')
  }
  queries.observe({ begin: fail })
  queries.observe({ begin: () => fail })
  t.equal(
    queries.measure('sqlite', 'SELECT', undefined, () => 1),
    1,
  )
  const { notes } = observe(queries)
  t.equal(
    queries.measure('sqlite', 'SELECT', undefined, () => 1),
    1,
  )
  t.equal(notes.length, 2)
})

t.test('a query that no observer records has no end to report', async t => {
  const queries = new Queries()
  const begin = () => queries.begin({ system: 'sqlite', text: 'SELECT', source: 'measure' })
  t.equal(begin(), undefined)
  for (let count = 1; count <= 2; count++) {
    queries.observe({ begin: () => undefined })
    t.equal(begin(), undefined)
  }
})

t.test('the only observer may throw, too', async t => {
  const measure = (queries: Queries) => queries.measure('sqlite', 'SELECT', undefined, () => 1)
  const begin = (queries: Queries) => queries.begin({ system: 'sqlite', text: 'SELECT', source: 'measure' })
  const fail = () => {
    throw new Error('observer')
  }
  const [failing, failingLate] = [new Queries(), new Queries()]
  failing.observe({ begin: fail })
  failingLate.observe({ begin: () => fail })
  t.strictSame([measure(failing), begin(failing)], [1, undefined])
  t.equal(measure(failingLate), 1)
  t.equal(begin(failingLate)?.({}), undefined)
})

t.test('a query that no observer records has no end', async t => {
  const queries = new Queries()
  queries.observe({ begin: () => undefined })
  t.equal(queries.begin({ system: 'sqlite', text: 'SELECT', source: 'measure' }), undefined)
  t.equal(
    queries.measure('sqlite', 'SELECT', undefined, () => 1),
    1,
  )
})

t.test('the rows of a result are counted as its library says', async t => {
  const counts = [[1, 2], { rowCount: 3 }, { affectedRows: 4 }, { changes: 5n }, { rowCount: null }, null, 'text']
  t.strictSame(counts.map(countRows), [2, 3, 4, 5, undefined, undefined, undefined])
})

t.test('a request is carried across a channel, and left', async t => {
  const context = new RequestContext()
  const [request, other] = [createRequest('/here'), createRequest('/there')]
  const pool = tracingChannel<object, object>('tests:pool')
  const currentWithin = () => {
    const message = {}
    pool.asyncStart.publish(message)
    const { current } = context
    pool.asyncEnd.publish(message)
    return current
  }
  t.equal(context.carry('tracing:tests:pool', () => request)(), undefined, 'the context is not enabled')
  context.enter(undefined)
  t.equal(currentWithin(), undefined)
  context.enable()
  const stop = context.carry('tracing:tests:pool', () => request)
  t.strictSame(
    context.run(other, () => [currentWithin(), context.current]),
    [request, other],
  )
  stop()
  t.equal(context.run(other, currentWithin), other)
  const leave = () => {
    context.enter(undefined)
    return context.current
  }
  t.equal(context.run(other, leave), undefined)
})
