import path from 'node:path'
import { t } from 'tap'
import { packageDirectory } from '#lib/package.ts'
import { Callers } from '#lib/stack/callers.ts'

t.test('the caller is the innermost function of the application', async t => {
  const callers = new Callers(packageDirectory)
  const findProduct = () => [1].map(() => callers.find())[0]
  const caller = findProduct()
  t.match(caller, { file: /^tests\/lib\/stack\/callers\.test\.(ts|js)$/, line: 8, column: Number })
  t.equal(findProduct(), caller, 'a known place is cached')
  t.match(
    (function findOrder() {
      return callers.find()
    })(),
    { function: 'findOrder', line: 14 },
  )
})

t.test('without a frame of the application, the caller is in no package of npm', async t => {
  const elsewhere = new Callers(path.join(packageDirectory, 'tests/fixtures'))
  t.match(elsewhere.find(), { file: /callers\.test\.(ts|js)$/, line: 22 })
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
