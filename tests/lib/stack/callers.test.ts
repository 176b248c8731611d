import { Script } from 'node:vm'
import { t } from 'tap'
import { createEventDispatcher, Event } from '#lib/event-dispatcher/event-dispatcher.ts'
import { packageDirectory } from '#lib/package.ts'
import { type Caller, Callers, choosePlaces } from '#lib/stack/callers.ts'
import { runProcess } from '#tests/support/start-process.ts'

t.test('the caller is the innermost function of the application', async t => {
  const callers = new Callers(packageDirectory)
  const findProduct = () => [1].map(() => callers.find())[0]
  const [caller, again] = [1, 2].map(findProduct)
  t.match(caller, { file: /^tests\/lib\/stack\/callers\.test\.(ts|js)$/, line: 10, column: Number })
  t.equal(again, caller, 'the same frames are cached')
  t.match(
    (function findOrder() {
      return callers.find()
    })(),
    { function: 'findOrder', line: 16 },
  )
})

t.test('a caller has up to three frames of the application, without those before a frame of the package', async t => {
  const callers = new Callers(packageDirectory)
  const read = () => callers.find()
  const list = () => [1].map(read)[0]
  const show = () => list()
  const open = () => show()
  t.match(open(), { function: 'read', callers: [{ function: 'list' }, { function: 'show' }] })
  t.equal(open()?.callers?.length, 2)
  class Asked extends Event {
    static readonly eventName = 'asked'
    answer: Caller | undefined
  }
  const dispatcher = createEventDispatcher()
  dispatcher.on(Asked, function answer(event) {
    event.answer = read()
  })
  const event = new Asked()
  void dispatcher.dispatch(event)
  t.match(event.answer, { function: 'read', callers: [{ function: /answer/ }] })
  t.equal(event.answer?.callers?.length, 1, 'the dispatcher has called the listener')
  const load = async () => {
    await null
    return read()
  }
  const wait = async () => await load()
  t.match(await wait(), {
    callers: [
      { function: 'load', isAwaiting: undefined },
      { function: 'wait', isAwaiting: true },
    ],
  })
})

t.test('a stack without a caller has none', async t => {
  const callers = new Callers('/nowhere')
  const later = evaluateElsewhere('(resolve, find) => setImmediate(() => resolve(find()))')
  t.equal(await new Promise(resolve => later(resolve, callers.find.bind(callers))), undefined)
})

t.test('a caller is found whatever the depth of the callers before it', async t => {
  const callers = new Callers(packageDirectory)
  const find = callers.find.bind(callers)
  const call = evaluateElsewhere('(depth, find, call) => depth === 0 ? find() : call(depth - 1, find, call)')
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

t.test('whatever replaces Error.prepareStackTrace, a place is that of its call, in source or in dist/', async t => {
  const { prepareStackTrace, stackTraceLimit } = Error
  type Sites = readonly NodeJS.CallSite[]
  const replacements: Record<string, (error: Error, sites: Sites) => unknown> = {
    nothing: () => undefined,
    text: () => 'no frames',
    'the calls': (_error, sites) => sites,
    'an object': (error, sites) => ({ message: error.message, sites }),
    'a colon without a message': (_error, sites) => ['Error: ', ...sites].join('\n    at '),
    'a long form': (_error, sites) => `Error\n${sites.map(site => `    at ${site}\n    ---`).join('\n')}`,
    'calls of Node left out': (_error, sites) =>
      ['Error', ...sites.filter(site => site.getFileName())].join('\n    at '),
    'one call more': (_error, sites) => ['Error', 'evil (/etc/passwd:1:1)', ...sites].join('\n    at '),
    'an error': () => {
      throw new Error('no stack')
    },
  }
  for (const [name, replacement] of Object.entries(replacements)) {
    for (const limit of [stackTraceLimit, 0, 1, undefined]) {
      const callers = new Callers(packageDirectory)
      Object.assign(Error, { prepareStackTrace: replacement, stackTraceLimit: limit })
      const found = [1].map(function buy() {
        return callers.find()
      })[0]
      Object.assign(Error, { prepareStackTrace, stackTraceLimit })
      t.match(
        found,
        { function: 'buy', file: /^(dist\/)?tests\/lib\/stack\/callers\.test\.[jt]s$/, line: Number },
        name,
      )
    }
  }
})

t.test('an application may freeze Error, or replace captureStackTrace', async t => {
  const code = `
const { Callers } = await import('${new URL('../../../lib/stack/callers.js', import.meta.url).href}')
const find = name => new Callers(process.cwd()).find()?.file
const replaced = () => {}
const { captureStackTrace } = Error
Error.captureStackTrace = replaced
const results = [find()]
Error.captureStackTrace = captureStackTrace
Object.defineProperty(Error, 'prepareStackTrace', { value: (error, sites) => sites.length, writable: false, configurable: true })
results.push(find(), typeof new Error().stack === 'number')
delete Error.prepareStackTrace
Object.defineProperty(Error, 'stackTraceLimit', { value: 7, writable: false })
results.push(find())
Object.freeze(Error)
results.push(find(), new Error().stack.split('at ').length > 1)
process.stdout.write(JSON.stringify(results))`
  const cwd = t.testdir({ 'app.mjs': code })
  const { code: exit, stderr, stdout } = await runProcess(t, [process.execPath, 'app.mjs'], { cwd })
  t.equal(exit, 0, stderr)
  t.strictSame(JSON.parse(stdout), ['app.mjs', null, true, 'app.mjs', null, true])
})

t.test('code from a string has the file that it names, and a line only by a source map', async t => {
  const callers = new Callers(packageDirectory)
  const find = callers.find.bind(callers)
  const evaluate = (name: string) =>
    new Function('find', `const load = () => find()\nreturn load()\n//# sourceURL=${name}`)
  // The runner of the modules is not the place.
  const run = (name: string) =>
    (function runner() {
      return evaluate(name)(find)
    })()
  const { href } = new URL('page.ts', import.meta.url)
  for (const name of [href, `${href}?t=17`, `${packageDirectory}/dist/tests/lib/stack/page.ts?t=17#x`])
    t.match(run(name), {
      function: 'load',
      file: 'tests/lib/stack/page.ts',
      line: undefined,
      callers: [{}, { function: 'runner' }],
    })
  const encode = (mappings: string) =>
    Buffer.from(JSON.stringify({ version: 3, names: [], sources: ['shop.ts'], mappings })).toString('base64')
  const mapped = `${href}\n//# sourceMappingURL=data:application/json;base64,${encode('AAAA;;AASA;AACA')}`
  t.match(run(mapped), { function: 'load', file: 'tests/lib/stack/shop.ts', line: 10 })
  const works = [href, href].map(name => ({ caller: run(name) }))
  t.match([...choosePlaces(works, () => true).values()], [{ function: 'load' }, { function: 'load' }], 'not the runner')
  t.match(run('webpack-internal:///./page.ts'), { function: 'runner' }, 'it is no file of the application')
})

t.test('code from a string without a name has no place, if the application has evaluated it', async t => {
  const callers = new Callers(packageDirectory)
  const find = callers.find.bind(callers)
  const call = new Function('find', 'return [1].map(() => find())[0]')
  t.equal(call(find), undefined)
  t.match(
    (function pass() {
      return call(read)
    })(),
    { function: 'read', callers: [{ function: 'pass' }] },
    'it lies between two functions',
  )
  function read() {
    return callers.find()
  }
  const compile = evaluateElsewhere(`code => new Function('find', code)`)
  t.match(
    (function render() {
      return compile('return find()')(find)
    })(),
    { function: 'render' },
    'a library has generated it',
  )
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

t.test('with the application on the stack, no package runs by itself', async t => {
  const callers = new Callers(packageDirectory)
  // Below this function are only frames of Node.
  const isWithin = await new Promise(resolve => setImmediate(() => resolve(callers.isWithin('tap'))))
  t.equal(isWithin, false)
})

t.test('without source maps a caller is a place in the compiled code', async t => {
  process.setSourceMapsEnabled(false)
  t.teardown(() => process.setSourceMapsEnabled(true))
  t.equal(new Callers(packageDirectory).find()?.file, 'tests/lib/stack/callers.test.js')
})

t.test('after a thousand places the cache starts again', async t => {
  const callers = new Callers(packageDirectory)
  const text = Array.from({ length: 1200 }, () => 'find()').join(',')
  const { href } = new URL('generated.js', import.meta.url)
  const findAll = new Script(`find => [${text}]`, { filename: href }).runInThisContext()
  const find = callers.find.bind(callers)
  const [[first, ...others], [again]] = [1, 2].map(() => findAll(find))
  t.equal(new Set([first, ...others].map(({ column }) => column)).size, 1200)
  t.strictSame(again, first)
  t.not(again, first, 'found again')
})

/** Code of a file outside of the application. */
function evaluateElsewhere(code: string) {
  return new Script(code, { filename: '/elsewhere/library.js' }).runInThisContext()
}
