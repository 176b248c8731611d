import path from 'node:path'
import { Script } from 'node:vm'
import { t } from 'tap'
import { packageDirectory } from '#lib/package.ts'
import { Callers } from '#lib/stack/callers.ts'

t.test('the caller is the innermost function of the application', async t => {
  const callers = new Callers(packageDirectory)
  const findProduct = () => [1].map(() => callers.find())[0]
  const caller = findProduct()
  t.match(caller, { file: /^tests\/lib\/stack\/callers\.test\.(ts|js)$/, line: 9, column: Number })
  t.equal(findProduct(), caller, 'a known place is cached')
  t.match(
    (function findOrder() {
      return callers.find()
    })(),
    { function: 'findOrder', line: 15 },
  )
})

t.test('without a frame of the application, the caller is in no package of npm', async t => {
  const elsewhere = new Callers(path.join(packageDirectory, 'tests/fixtures'))
  t.match(elsewhere.find(), { file: /callers\.test\.(ts|js)$/, line: 23 })
})

t.test('a stack without a caller has none', async t => {
  const callers = new Callers('/nowhere')
  // Code from a string belongs to no file.
  const later = new Function('resolve', 'find', 'setImmediate(() => resolve(find()))')
  t.equal(await new Promise(resolve => later(resolve, callers.find.bind(callers))), undefined)
})

t.test('a caller is found whatever the depth of the callers before it', async t => {
  const callers = new Callers(packageDirectory)
  const find = callers.find.bind(callers)
  // Code from a string belongs to no file.
  const call = new Function('depth', 'find', 'call', 'return depth === 0 ? find() : call(depth - 1, find, call)')
  const depths = [0, 40, 3, 3, 3, 30, 0, 45, ...new Array<number>(200).fill(2), 20, 60, 5]
  const missed = depths.filter(depth => call(depth, find, call) === undefined)
  t.strictSame(missed, [60], 'at most 50 frames are searched')
})

t.test('the settings of Error are restored', async t => {
  const { prepareStackTrace, stackTraceLimit } = Error
  new Callers(packageDirectory).find()
  t.equal(Error.stackTraceLimit, stackTraceLimit)
  t.equal(Error.prepareStackTrace, prepareStackTrace)
})

t.test('without frames in the text of a stack, the place is not known', async t => {
  const { prepareStackTrace } = Error
  const callers = new Callers(packageDirectory)
  Error.prepareStackTrace = () => 'no frames'
  const found = callers.find()
  Error.prepareStackTrace = prepareStackTrace
  t.strictSame(found, {})
})

t.test('the frames of a function, and those above it, are not searched', async t => {
  const callers = new Callers(packageDirectory)
  const library = () => [1].map(() => callers.find(library))[0]
  const caller = (function buy() {
    return library()
  })()
  t.equal(caller?.function, 'buy')
  const elsewhere = () => callers.find(library)
  t.equal(elsewhere()?.function, 'elsewhere', 'without the function on the stack, all of it is searched')
})

t.test('a list has the frames of the application only, the innermost first', async t => {
  const callers = new Callers(packageDirectory)
  const outer = () =>
    [1].flatMap(function inner() {
      return callers.list(2)
    })
  t.match(outer(), [{ function: 'inner', file: /callers\.test\.[tj]s$/, line: Number }, { function: 'outer' }])
  t.equal(outer().length, 2)
  t.strictSame(new Callers('/somewhere/else').list(1), [], 'code outside of the application')
  let found: unknown
  void Promise.resolve(1)
    .then(callers.list.bind(callers))
    .then(list => {
      found = list
    })
  await new Promise(setImmediate)
  t.strictSame(found, [], 'no code of the application')
})

t.test('without source maps a caller is a place in the compiled code', async t => {
  process.setSourceMapsEnabled(false)
  t.teardown(() => process.setSourceMapsEnabled(true))
  t.equal(new Callers(packageDirectory).find()?.file, 'tests/lib/stack/callers.test.js')
})

t.test('after five hundred places the cache starts again', async t => {
  const callers = new Callers(packageDirectory)
  const text = Array.from({ length: 600 }, () => 'find()').join(',')
  const { href } = new URL('generated.js', import.meta.url)
  const findAll = new Script(`find => [${text}]`, { filename: href }).runInThisContext()
  const find = callers.find.bind(callers)
  const [first, ...others] = findAll(find)
  t.equal(new Set([first, ...others].map(({ column }) => column)).size, 600)
  t.strictSame(findAll(find)[0], first)
  t.not(findAll(find)[0], first, 'found again')
})
