import { ExceptionEvent, HttpError } from 'sinfonietta'
import t from 'tap'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { createProfile } from '#tests/support/create-profile.ts'
import { toText } from '#tests/support/html.ts'
import { createProfiledKernel, profilePage } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

const dataOf = ({ collectors }: Profile) => collectors.exception

const firstOf = (profile: Profile) => dataOf(profile)?.exceptions[0]

t.test('an error is recorded with its causes, frames and sources', async t => {
  const handlers = {
    '/broken': () => {
      throw new Error('outer', { cause: new RangeError('inner') })
    },
  }
  const { client, panel, profileOf, show } = await createProfiledKernel(t, { handlers })
  const profile = await profileOf(await client.get('/broken'))
  t.hasStrict(firstOf(profile), { name: 'Error', message: 'outer', cause: { name: 'RangeError', message: 'inner' } })
  t.equal(profile.summary.exception, 'Error')

  const [frame] = firstOf(profile)?.frames ?? []
  t.match(frame, { file: /^tests\/.+\/exception\.test\.[jt]s$/, origin: 'application' })
  const excerpt = dataOf(profile)?.excerpts[0]
  t.hasStrict(excerpt, { file: frame?.file, line: frame?.line })
  t.match(excerpt?.lines[Number(excerpt.line) - excerpt.start], /throw new Error\('outer'/)
  t.notOk(
    dataOf(profile)?.excerpts.some(({ file }) => file.startsWith('kernel/')),
    'the frames of the kernel have none',
  )
  t.ok(Number(firstOf(profile)?.cause?.common) > 3, 'frames that the cause shares are not repeated')

  t.ok(panel('exception').hasContent(profile))
  t.strictSame(panel('exception').badge?.(profile), { text: '2', level: 'error' })
  const html = await show('exception', profile)
  const text = toText(html)
  t.match(text, /RangeError Error .*Error outer.*Caused by RangeError inner/, 'the way from the cause')
  t.match(html, /<mark class="line[^>]*><span class="line-number">\d+<\/span> .*throw<\/span> .*new<\/span> .*Error/)
  t.equal(html.match(/<details class="exception"[^>]* open>/g)?.length, 1)
  t.match(text, /Stack trace As plain text Error: outer at .* Caused by: RangeError: inner at .* as|in common/)
})

t.test('foreign frames are folded, with the names of their packages', async t => {
  const { show } = await createProfiledKernel(t)
  const labelOf = async (frames: readonly object[]) => {
    const exceptions = [{ name: 'Error', message: '', frames }]
    const html = await show('exception', createProfile({ exception: { exceptions, excerpts: [] } }))
    return /<summary>(\d+ calls of [^<]*)</.exec(html)?.[1]
  }
  const frame = (origin: string, owner?: string) => ({ call: 'f', file: 'x.js', line: 1, origin, package: owner })
  t.equal(
    await labelOf([frame('vendor', '@scope/x'), frame('vendor', 'y'), frame('vendor', 'y'), frame('kernel')]),
    '4 calls of @scope/x, y and the kernel',
  )
  t.equal(await labelOf([frame('vendor'), frame('runtime')]), '2 calls of packages and Node.js', 'an old profile')
})

t.test('code that many frames have is shown once, and where an error begins', async t => {
  const { show } = await createProfiledKernel(t)
  const frameOf = (line: number) => ({ call: 'walk', file: 'tree.js', line, origin: 'application' })
  const frames = [7, 7, 7, 9, 7, 9].map(frameOf)
  const excerpts = [7, 9].map(line => ({ file: 'tree.js', line, start: line, lines: [`line${line}`] }))
  const error = { name: 'Error', message: '', frames }
  const exceptions = [{ ...error, cause: { ...error, cause: error } }]
  const html = await show('exception', createProfile({ exception: { exceptions, excerpts } }))
  const shown = Array.from(html.matchAll(/line[79](?=<)/g), ([line]) => line)
  t.strictSame(shown, ['line7', 'line9', 'line7', 'line7'])
  t.equal(html.match(/<li class="frame /g)?.length, 12, 'calls of one place that follow one another are one line')
  t.equal(html.match(/and 2 more times/g)?.length, 3)
})

t.test('a 404 is recorded with its cause, without sources of the kernel', async t => {
  const { client, panel, profileOf, show } = await createProfiledKernel(t)
  const response = await client.get('/missing')
  const profile = await profileOf(response)
  t.hasStrict(firstOf(profile), {
    name: 'KERNEL_NO_ROUTE',
    code: 'KERNEL_NO_ROUTE',
    status: 404,
    message: 'No route found for "GET http://localhost/missing"',
    cause: { name: 'ROUTE_NOT_FOUND', message: 'No routes found for "/missing".' },
  })
  t.strictSame(dataOf(profile)?.excerpts, [])
  const text = toText(await show('exception', profile))
  t.match(text, 'No route found for "GET http://localhost/missing"')
  t.equal(text.match(/KERNEL_NO_ROUTE/g)?.length, 3, 'a code that is the name is not repeated')

  const sub = await profileOf(response, 'x-previous-debug-token')
  t.notOk(panel('exception').hasContent(sub))
  t.strictSame(panel('exception').badge?.(sub), { text: '', level: 'error' }, 'nothing is no count')
  t.match(toText(await show('exception', sub)), 'No exceptions.')
})

t.test('for a client error only one source is read', async t => {
  const inner = () => {
    throw new HttpError(403, 'no entry')
  }
  const handlers = { '/denied-here': () => inner() }
  const { client, profileOf } = await createProfiledKernel(t, { handlers })
  const profile = await profileOf(await client.get('/denied-here'))
  t.ok(Number(firstOf(profile)?.frames.filter(({ origin }) => origin === 'application').length) >= 2)
  t.hasStrict(dataOf(profile)?.excerpts, [{ lines: [] }])
  t.equal(dataOf(profile)?.excerpts.length, 1)
})

t.test('an error of the kernel itself shows the definition of the controller', async t => {
  const { app, profileOf, show } = await createProfiledKernel(t)
  // Called by a server: no call of this test is on the stack.
  const { url } = await serveKernel(t, { app })
  const profile = await profileOf(await fetch(`${url}/nothing`))
  t.hasStrict(firstOf(profile), { code: 'KERNEL_NO_RESPONSE', status: 500 })
  t.match(dataOf(profile)?.excerpts, [{ file: /^tests\/support\/probe-bundle/ }])
  const [defined, thrown] = firstOf(profile)?.frames ?? []
  t.match([defined?.call, thrown?.file], [/^controller /, /^kernel\/http-kernel/])
  t.match(await show('exception', profile), '<li class="frame frame-kernel">')
})

t.test('a thrown value of any type is recorded', async t => {
  const cyclic = new Error('first')
  cyclic.cause = new Error('second', { cause: cyclic })
  const endless: object = Object.defineProperty(new Error('endless'), 'cause', { get: () => new Error('again') })
  const refuse = () => {
    throw new Error('refused')
  }
  const hostile = new Error('x')
  for (const name of ['stack', 'name', 'message', 'code', 'status', 'cause', 'errors', 'constructor']) {
    Object.defineProperty(hostile, name, { get: refuse })
  }
  const things: Readonly<Record<string, unknown>> = {
    text: 'just text',
    nothing: undefined,
    null: null,
    numbered: Object.assign(new Error('numbered'), { code: 7 }),
    frozen: Object.freeze(new Error('frozen')),
    proxy: new Proxy(new Error('proxied'), {}),
    hostile,
    cyclic,
    endless,
    many: new AggregateError([new Error('one'), 'two'], 'all'),
    long: new Error('long '.repeat(10_000)),
  }
  const handlers = Object.fromEntries(
    Object.entries(things).map(([name, thing]) => [
      `/throws-${name}`,
      () => {
        throw thing
      },
    ]),
  )
  const { client, profileOf, show } = await createProfiledKernel(t, { handlers })
  for (const [name, expected] of Object.entries({
    text: { name: 'Thrown value', message: 'just text' },
    nothing: { name: 'Thrown value', message: 'undefined' },
    null: { name: 'Thrown value', message: 'null' },
    numbered: { code: 7 },
    frozen: { message: 'frozen' },
    proxy: { message: 'proxied' },
    hostile: { name: 'Error', message: '' },
    cyclic: { message: 'first', cause: { message: 'second', note: /leads back/ } },
    endless: { message: 'endless', cause: { message: 'again' } },
    many: { message: 'all', errors: [{ message: 'one' }, { name: 'Thrown value', message: 'two' }] },
    long: { message: /^long .*…$/ },
  })) {
    const profile = await profileOf(await client.get(`/throws-${name}`))
    t.equal(dataOf(profile)?.exceptions.length, 1, name)
    t.match(firstOf(profile), expected, name)
    t.not(profile.summary.exception, null, name)
    t.ok(Number(firstOf(profile)?.message.length) <= 4096)
    await show('exception', profile)
  }
  const many = toText(await show('exception', await profileOf(await client.get('/throws-many'))))
  t.match(many, /AggregateError all .*Error 1 of 2 Error one .*Error 2 of 2 Thrown value two/)
})

t.test('secrets are masked in all texts of an error', async t => {
  // Concatenated, because the lines of this test are part of the profile.
  const canary = ['hunter', '9f3b'].join('-')
  const thrown = Object.assign(new Error(`postgres://user:${canary}@db/?password=${canary}`), {
    name: `Failed?token=${canary}`,
    code: `token=${canary}`,
  })
  const handlers = {
    '/leaky': () => {
      throw thrown
    },
  }
  const { client, profileOf } = await createProfiledKernel(t, { handlers })
  const profile = await profileOf(await client.get('/leaky'))
  t.hasStrict(firstOf(profile), {
    name: 'Failed?token=******',
    code: 'token=******',
    message: 'postgres://******@db/?password=******',
  })
  t.notOk(JSON.stringify(profile).includes(canary))
})

t.test('frames beyond the limit are omitted, with a note', async t => {
  const { stackTraceLimit } = Error
  const fall = (depth: number): never => {
    if (depth > 0) return fall(depth - 1)
    Error.stackTraceLimit = 60
    throw new Error('deep')
  }
  const { show, profile } = await profilePage(t, () => fall(70))
  Error.stackTraceLimit = stackTraceLimit
  t.equal(firstOf(profile)?.frames.length, 30)
  t.equal(firstOf(profile)?.omitted, 30)
  t.ok(Number(dataOf(profile)?.excerpts.length) <= 2, 'the same line is read once')
  t.match(toText(await show('exception', profile)), 'Frames: 30 more not recorded.')
})

t.test('an error that a listener has replaced is recorded once', async t => {
  const { client, profileOf, show } = await createProfiledKernel(t, {
    handlers: {
      '/replaced': () => {
        throw new Error('first')
      },
      '/forgotten': () => {
        throw new Error('first')
      },
    },
    register({ dispatcher }) {
      const replace = (event: ExceptionEvent) => {
        const isKept = event.request.path === '/replaced'
        if (isKept || event.request.path === '/forgotten') {
          event.error = new HttpError(409, 'second', isKept ? { cause: event.error } : {})
        }
      }
      dispatcher.on(ExceptionEvent, replace, -1)
    },
  })
  const replaced = await profileOf(await client.get('/replaced'))
  t.hasStrict(dataOf(replaced)?.exceptions, [{ message: 'second', cause: { message: 'first' } }])
  t.equal(dataOf(replaced)?.exceptions.length, 1)

  const forgotten = await profileOf(await client.get('/forgotten'))
  t.hasStrict(dataOf(forgotten)?.exceptions, [{ message: 'first' }, { message: 'second' }])
  t.match(toText(await show('exception', forgotten)), /Error first .*Thrown later HttpError/)
})

t.test('the error of a crash is said to have ended the process', async t => {
  const { show } = await createProfiledKernel(t)
  const crashed = createProfile({ exception: { exceptions: [{ name: 'Error' }] } }, { outcome: 'crashed' })
  t.match(toText(await show('exception', crashed)), 'Uncaught: the process exited.')
})

t.test('markup in an error is text', async t => {
  const evil = '"><img src=x onerror=alert(1)>'
  const { show } = await createProfiledKernel(t)
  const error = {
    name: evil,
    message: evil,
    code: evil,
    note: evil,
    frames: [{ call: evil, file: evil, line: 1, origin: evil }],
  }
  const excerpts = [{ file: evil, line: 1, start: 1, lines: [evil] }]
  const html = await show(
    'exception',
    createProfile({ exception: { exceptions: [{ ...error, cause: error }], excerpts } }),
  )
  t.notMatch(html, /<img/)
  t.match(html, '<mark class="line')
})
