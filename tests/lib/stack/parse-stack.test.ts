import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  type FrameLocation,
  formatFrame,
  locateFrame,
  parseFrames,
  parseStack,
  resolveLocated,
} from '#lib/stack/stack-frames.ts'

const evil = 'x\n    at evil (/etc/passwd:1:1)'

t.test('a real error leads to the line that made it', async t => {
  const [frame] = parseStack(makeError('here'))
  t.match(frame, { function: 'makeError', file: /parse-stack\.test\.[jt]s$/ })
  t.ok(Number(frame?.line) > 1 && Number(frame?.column) > 1)
})

t.test('every form of a frame is read', async t => {
  const forms: [line: string, frame: object][] = [
    ['fn (/a b/(c)/x.ts:1:2)', { function: 'fn', file: '/a b/(c)/x.ts', line: 1, column: 2 }],
    ['/a/x.ts:1:2', { file: '/a/x.ts', line: 1, column: 2 }],
    ['<anonymous> (/a/x.ts:1:2)', { file: '/a/x.ts', line: 1, column: 2 }],
    ['file:///a%20b/x.ts:1:2', { file: '/a b/x.ts', line: 1, column: 2 }],
    ['file://host/x.ts:1:2', { file: 'file://host/x.ts', line: 1, column: 2 }],
    [
      'new A (C:\\node_modules\\a\\x.js:1:2)',
      { function: 'new A', file: 'C:\\node_modules\\a\\x.js', line: 1, column: 2 },
    ],
    ['get g [as g] (/a/x.ts:1:2)', { function: 'get g [as g]', file: '/a/x.ts', line: 1, column: 2 }],
    ['Array.map (<anonymous>)', { function: 'Array.map' }],
    ['<anonymous>', {}],
    ['read (node:fs:1:2)', { function: 'read', file: 'node:fs', line: 1, column: 2 }],
  ]
  for (const [line, frame] of forms) {
    t.same(parseStack(stackOf(line)), [{ ...frame, isAsync: false }], line)
    t.same(parseStack(stackOf(`async ${line}`)), [{ ...frame, isAsync: true }], `async ${line}`)
  }
})

t.test('code from a string is placed where it was evaluated', async t => {
  const places: [evaluator: string, file: string][] = [
    ['f (eval at g (file:///a/x.ts:4:7))', '/a/x.ts'],
    ['g (/a (b)/x.ts:4:7)', '/a (b)/x.ts'],
    ['new A (eval at f (eval at g (file:///a%20(b)/x.ts:4:7)))', '/a (b)/x.ts'],
    ['g (C:\\a (b)\\x.ts:4:7)', 'C:\\a (b)\\x.ts'],
  ]
  for (const [evaluator, file] of places) {
    const [inner] = parseStack(stackOf(`eval (eval at ${evaluator}, <anonymous>:1:7)`))
    t.same(inner, { function: 'eval', file, line: 4, column: 7, isAsync: false }, evaluator)
  }
  t.same(parseStack(stackOf('eval (eval at g (unknown location), <anonymous>:1:7)')), [
    { function: 'eval', isAsync: false },
  ])
})

t.test('a replacement of Error.prepareStackTrace may write a colon behind a name without a message', async t => {
  const { prepareStackTrace } = Error
  const native = makeError('\n    at evil (/etc/passwd:1:1)')
  t.ok(native.stack)
  t.same(parseStack(Object.assign(native, { message: '' })), [], 'V8 writes no colon: the old message is not known')
  for (const header of ['Error: ', 'Error:', 'Error']) {
    Error.prepareStackTrace = (_error, sites) => [header, ...sites].join('\n    at ')
    const error = makeError('')
    const frames = parseStack(error)
    const coded = parseStack(
      Object.assign(makeError(''), { stack: String(error.stack).replace('Error', 'Error [ERR_X]') }),
    )
    Error.prepareStackTrace = prepareStackTrace
    t.equal(frames[0]?.function, 'makeError', header)
    t.equal(coded[0]?.function, 'makeError')
  }
})

t.test('lines of the message are never frames', async t => {
  const errors = [
    makeError(evil),
    makeError(`${evil}\n`),
    makeError(`Error: ${evil}\nError: ${evil}`),
    Object.assign(makeError(evil), { name: 'Error: x' }),
    Object.assign(makeError(evil), { name: '' }),
    new AggregateError([], evil),
    runInNewContext('new RangeError(message)', { message: evil }),
  ]
  for (const error of errors) {
    const frames = parseStack(error)
    t.not(frames.length, 0)
    t.notOk(frames.some(frame => frame.function === 'evil'))
  }
})

t.test('the frames are the same for any message', async t => {
  const piece = fc.constantFrom('\n', '    at evil (/etc/passwd:1:1)', 'Error', ': ', 'x', ' ', '^')
  const framesFor = (messages: string[]) => messages.map(message => parseStack(makeError(message)))
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1 }), pieces => {
      const [plain, tricky] = framesFor(['x', pieces.join('')])
      t.strictSame(tricky, plain)
    }),
  )
})

t.test('a message that was changed after the stack was made leaves no frames', async t => {
  for (const message of ['other', '']) {
    const error = makeError(evil)
    t.ok(error.stack)
    t.same(parseStack(Object.assign(error, { message })), [])
  }
})

t.test('a message to which a text was appended has the frames of its error', async t => {
  const append = (message: string, text: string) => {
    const error = new RangeError(message)
    t.type(error.stack, 'string')
    error.message += text
    return parseStack(error).length > 0
  }
  t.ok(append('The shelf is empty.', ' (It was rewritten.)'))
  t.ok(append('Two\nlines', '\nand a third one'))
  t.notOk(append('A line\n    at a.js:1:1', ' more'), 'a message with a line like a frame')
  t.ok(append('', 'It came after the stack.'), 'a name alone is no message')
})

t.test('an error without a message has its frames', async t => {
  t.equal(parseStack(makeError(''))[0]?.function, 'makeError')
})

t.test('an excerpt of the source may come before the header', async t => {
  const stack = '/a/bad.cjs:3\n  at evil (/etc/passwd:1:1)\n  ^\n\nSyntaxError: bad\n    at wrap (node:vm:1:2)'
  t.hasStrict(parseStack({ message: 'bad', stack }), [{ function: 'wrap' }])
})

t.test('a code in the header does not matter, and text behind the frames is no frame', async t => {
  const stack = 'Error [ERR_X]: m\n    at f (/a.ts:1:2)\nCaused by: Error: n\n    at g (/b.ts:1:2)'
  t.hasStrict(parseStack({ message: 'm', stack }), [{ function: 'f' }])
  t.equal(parseStack({ message: 'm', stack }).length, 1)
})

t.test('at most 100 frames are read', async t => {
  t.equal(parseStack(stackOf(Array(200).fill('f (/a.ts:1:2)').join('\n    at '))).length, 100)
})

t.test('a value without a stack has no frames', async t => {
  const hostile = {
    get stack() {
      throw new Error('no')
    },
  }
  for (const value of [
    undefined,
    null,
    'text',
    {},
    { stack: 1 },
    { stack: 'x\n    at f (/a:1:2)', message: 1 },
    hostile,
  ]) {
    t.same(parseStack(value), [])
  }
  t.same(parseStack({ message: 'm', stack: 'Error: m' }), [])
})

t.test('no text makes the parser throw', async t => {
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom('    at ', ' (', ')', ':1:2', 'eval at ', 'async ', 'file://', '\n'),
  )
  fc.assert(fc.property(fc.array(piece), pieces => Array.isArray(parseStack(stackOf(pieces.join(''))))))
  t.pass()
})

t.test('formatFrame writes a frame as V8 does', async t => {
  for (const line of ['f (/a.ts:1:2)', '/a.ts:1:2', 'async f (/a.ts:1:2)', 'Array.map (<anonymous>)', '<anonymous>']) {
    const frames = parseStack(stackOf(line))
    t.same(frames.map(formatFrame), [`at ${line}`])
    t.same(parseFrames([`at ${line}`, 'no frame']), frames)
  }
  t.match(parseFrames(['at f (/a\nb/c.ts:1:2)']), [{ function: 'f', file: '/a\nb/c.ts', line: 1, column: 2 }])
})

t.test('the same stack is parsed once, until too many others were', async t => {
  const read = () => parseStack(stackOf('known (/a.ts:1:2)'))
  const frames = read()
  t.equal(read(), frames)
  t.ok(Object.isFrozen(frames) && Object.isFrozen(frames[0]))
  for (let line = 1; line <= 200; line++) parseStack(stackOf(`other (/a.ts:${line}:1)`))
  t.not(read(), frames)
  t.same(read(), frames)
})

t.test('a stack with a long message is parsed, and not cached', async t => {
  const error = Object.assign(new Error('x'.repeat(10_000)), {
    stack: `Error: ${'x'.repeat(10_000)}\n    at f (/a.ts:1:2)`,
  })
  t.match(parseStack(error), [{ function: 'f', file: '/a.ts', line: 1, column: 2 }])
  t.not(parseStack(error), parseStack(error))
})

/** Checks the places of calls, seen from an application and with the package in a directory. */
function checkPlaces(t: Test, directory: string, ownDirectory: string, places: Record<string, FrameLocation>): void {
  for (const [place, location] of Object.entries(places)) {
    const frames = parseStack(stackOf(place.startsWith('Array.') ? place : `f (${place}:1:2)`))
    t.strictSame(
      frames.map(frame => locateFrame(frame, directory, ownDirectory)),
      [location],
      place,
    )
    if (location.file?.startsWith('node:') === false && !place.includes('/app/dist/') && directory !== ownDirectory)
      t.equal(resolveLocated(location.file, directory, ownDirectory), place)
  }
}

t.test('in the repository of the package, an application has the same directory', async t => {
  checkPlaces(t, '/project', '/project', {
    '/project/bundles/a.ts': { file: 'bundles/a.ts', origin: 'application' },
    '/project/bundles/site/a.ts': { file: 'bundles/site/a.ts', origin: 'application' },
    '/project/dist/bundles/a.js': { file: 'bundles/a.js', origin: 'application' },
    '/project/kernel/a.ts': { file: 'kernel/a.ts', origin: 'kernel' },
    '/project/bin/serve.ts': { file: 'bin/serve.ts', origin: 'kernel' },
    '/project/dist/lib/a.js': { file: 'lib/a.js', origin: 'kernel' },
    '/project/bundles/framework/a.ts': { file: 'bundles/framework/a.ts', origin: 'kernel' },
    '/project/bundles/profiler/web/a.ts': { file: 'bundles/profiler/web/a.ts', origin: 'kernel' },
    '/project/library/a.ts': { file: 'library/a.ts', origin: 'application' },
    '/project/node_modules/x/lib/a.js': { file: 'node_modules/x/lib/a.js', origin: 'vendor', package: 'x' },
    '/project-two/a.ts': { file: '/project-two/a.ts', origin: 'vendor' },
    '/elsewhere/node_modules/a.js': { file: '/elsewhere/node_modules/a.js', origin: 'vendor' },
    'node:fs': { file: 'node:fs', origin: 'runtime' },
    'Array.map (<anonymous>)': { origin: 'runtime' },
  })
})

t.test('in an application, the package and its dependencies are in node_modules', async t => {
  checkPlaces(t, '/app', '/app/node_modules/sinfonietta', {
    '/app/bundles/home/a.ts': { file: 'bundles/home/a.ts', origin: 'application' },
    '/app/dist/bundles/home/a.js': { file: 'bundles/home/a.js', origin: 'application' },
    '/app/kernel/a.ts': { file: 'kernel/a.ts', origin: 'application' },
    '/app/bundles/framework/a.ts': { file: 'bundles/framework/a.ts', origin: 'application' },
    '/app/node_modules/sinfonietta/dist/kernel/a.js': { file: 'sinfonietta/dist/kernel/a.js', origin: 'kernel' },
    '/app/node_modules/sinfonietta/node_modules/@one/two/lib/a.js': {
      file: 'node_modules/sinfonietta/node_modules/@one/two/lib/a.js',
      origin: 'vendor',
      package: '@one/two',
    },
    '/app/node_modules/sinfonietta-extra/lib/a.js': {
      file: 'node_modules/sinfonietta-extra/lib/a.js',
      origin: 'vendor',
      package: 'sinfonietta-extra',
    },
  })
})

t.test('pnpm and links have the package outside of the node_modules of the application', async t => {
  const store = '/app/node_modules/.pnpm'
  checkPlaces(t, '/app', `${store}/sinfonietta@1.0.0/node_modules/sinfonietta`, {
    [`${store}/sinfonietta@1.0.0/node_modules/sinfonietta/dist/lib/a.js`]: {
      file: 'sinfonietta/dist/lib/a.js',
      origin: 'kernel',
    },
    [`${store}/@one+two@1.0.0/node_modules/@one/two/a.js`]: {
      file: 'node_modules/.pnpm/@one+two@1.0.0/node_modules/@one/two/a.js',
      origin: 'vendor',
      package: '@one/two',
    },
  })
  checkPlaces(t, '/app', '/clones/kernel', {
    '/clones/kernel/lib/a.ts': { file: 'sinfonietta/lib/a.ts', origin: 'kernel' },
    '/clones/kernel/tests/a.ts': { file: '/clones/kernel/tests/a.ts', origin: 'vendor' },
    '/clones/kernel/node_modules/x/a.js': {
      file: '/clones/kernel/node_modules/x/a.js',
      origin: 'vendor',
      package: 'x',
    },
  })
  const virtual = { file: '/app/\0virtual:entry' }
  t.strictSame(locateFrame(virtual, '/app'), { file: 'virtual:entry', origin: 'vendor' }, 'no file has this name')
  t.strictSame(locateFrame({ file: 'C:\\app\\node_modules\\@one\\two\\a.js' }, '/app'), {
    file: 'C:\\app\\node_modules\\@one\\two\\a.js',
    origin: 'vendor',
    package: '@one/two',
  })
  // An application may lie within the repository of the package.
  checkPlaces(t, '/clone/example', '/clone', { '/clone/example/lib/a.ts': { file: 'lib/a.ts', origin: 'application' } })
})

function makeError(message: string): Error {
  return new Error(message)
}

function stackOf(line: string): object {
  return { message: 'm', stack: `Error: m\n    at ${line}` }
}

t.test('a getter of the application for the stack is not called', t => {
  const error = new Error('x')
  Object.defineProperty(error, 'stack', {
    get() {
      throw t.fail('It is called.')
    },
  })
  t.strictSame(parseStack(error), [])
  t.ok(parseStack(new Error('y')).length > 0)
  t.end()
})
