import { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { dump, Headers } from 'sinfonietta'
import { type Test, t } from 'tap'
import { patchProcess } from '#bundles/libraries/libraries.ts'
import { toMarkdown } from '#bundles/profiler/export/markdown.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { countComplaints, readPrinted } from '#bundles/profiler/subjects/console/read.ts'
import { observeConsole } from '#bundles/profiler/subjects/console/record.ts'
import { consoleCalls } from '#kernel/contracts/process-calls.ts'
import { Response } from '#lib/http/response.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { formatTree } from '#lib/redact/value-tree.ts'
import type { RequestHandler } from '#lib/routing/route-collection.ts'
import { createProfile, createShown } from '#tests/support/create-profile.ts'
import { plainEquals, toText } from '#tests/support/html.ts'
import { createProfiledKernel, profilePage, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { createProject } from '#tests/support/project.ts'

const { console } = globalThis

/** The streams of the console; tests write their results to those of the process. */
interface Streams {
  _stdout: Writable
  _stderr: Writable
}

/** Collects what the console prints, until the test ends. */
function capture(t: Test): string[] {
  const printed: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, callback) {
      printed.push(String(chunk))
      callback()
    },
  })
  const streams = console as unknown as Streams
  const { _stderr, _stdout } = streams
  Object.assign(streams, { _stderr: stream, _stdout: stream })
  t.teardown(() => Object.assign(streams, { _stderr, _stdout }))
  return printed
}

/** Runs a handler in a request, and gives its profile and what was printed. */
async function run(t: Test, handle: RequestHandler): Promise<{ profile: Profile; entries: string[]; printed: string }> {
  const kernel = await createProfiledKernel(t, { handlers: { '/run': handle } })
  const printed = capture(t)
  const response = await kernel.client.get('/run')
  const profile = await kernel.profileOf(response)
  return { profile, entries: entriesOf(profile).map(write), printed: printed.join('') }
}

const entriesOf = ({ collectors }: Profile) => collectors.console?.entries ?? []

function write({ label = '', method, values }: ReturnType<typeof entriesOf>[number]): string {
  return [method, label, ...values.map(value => formatTree(value))].filter(Boolean).join(' ')
}

t.test('a dump is in the profile of its request, with label and place, and gives its value back', async t => {
  const { entries, printed, profile } = await run(t, request => {
    const total = dump(1, 'first') + dump({ password: 'hunter2', nested: { a: [1] } }).nested.a.length
    dump(request, 'the request')
    dump(new Response('text', { status: 201, headers: { 'set-cookie': 'session=abc' } }))
    dump(new Response(null))
    dump(Response.stream(Readable.from(['x'])))
    dump(new Headers({ authorization: 'Bearer abc', accept: '*/*' }))
    dump(new globalThis.Headers({ cookie: 'a=b' }))
    dump(globalThis.Response.json({}))
    dump(new URLSearchParams('token=abc'))
    return Response.text(String(total))
  })
  t.equal(entries[0], 'dump first 1')
  t.equal(entries[1], 'dump Object\n  password: ******\n  nested: Object\n    a: Array(1)\n      0: 1')
  t.match(entries[2], /^dump the request Request\n {2}method: "GET"\n {2}url: "http.+\/run"\n/)
  t.match(entries[2], /attributes: AttributeMap\(\d+\)/)
  t.match(entries[3], 'Response\n  status: 201\n  headers: Headers\n')
  t.match(entries[3], '    set-cookie: ******\n  body: "text"')
  t.match(entries[4], 'body: null')
  t.match(entries[5], 'body: "(a stream)"')
  t.match(entries[6], 'Headers\n  authorization: ******\n  accept: "*/*"')
  t.match(entries[7], 'Headers\n  cookie: ******')
  t.match(entries[8], 'status: 200')
  t.equal(entries[9], 'dump URLSearchParams\n  token: ******')
  const [first] = entriesOf(profile)
  t.match(first?.site, { file: /^tests\/.+\/console\.test\.[jt]s$/, line: Number })
  t.ok((first?.at ?? -1) >= 0)
  t.equal(profile.summary.dumps, 10)
  t.equal(printed, '', 'nothing is printed')
})

t.test('calls of the console are in the profile, and print as before', async t => {
  const { entries, printed, profile } = await run(t, () => {
    console.log('%s has %d of 100%% %o', 'cart', 3, { a: 1 }, { token: 'abc' }, 'end')
    console.info('plain')
    console.warn(new Error('warned'))
    console.error('text', 'more')
    console.debug({ a: 1 })
    console.dir({ deep: { er: 1 } }, { depth: 0 })
    console.table([{ a: 1, b: 'x' }, { a: 2 }], ['a'])
    ;(function outer() {
      console.trace('here')
    })()
    console.log()
    return Response.text('')
  })
  t.equal(entries[0], 'log "cart has 3 of 100% { a: 1 }" Object\n  token: ****** "end"')
  t.equal(entries[1], 'info "plain"')
  t.match(entries[2], /^warn Error: warned\n {2}stack: /)
  t.strictSame(entries.slice(3, 6), [
    'error "text" "more"',
    'debug Object\n  a: 1',
    'dir Object\n  deep: Object\n    er: 1',
  ])
  t.match(entries[6], /^table Array\(2\)\n {2}0: Object\n/)
  t.strictSame(entries.slice(7), ['trace "here"', 'log'])
  t.match(entriesOf(profile)[7]?.callers?.[0], { function: 'outer', line: Number })
  t.equal(profile.summary.dumps, 9)
  t.match(printed, "cart has 3 of 100% { a: 1 } { token: 'abc' } end\nplain\n")
  t.match(printed, /Trace: here\n +at outer/)
  t.match(printed, '│ (index) │ a │')
})

t.test('what prints while a value is shown is recorded once, though the profile shows the value, too', async t => {
  const noisy = {
    [inspect.custom]() {
      console.log('inside')
      return 'noisy'
    },
  }
  const broken = {
    [inspect.custom]() {
      throw new Error('It cannot be shown.')
    },
  }
  const { entries, printed } = await run(t, () => {
    console.log('%O', noisy)
    t.throws(() => console.log('%O', broken), { message: 'It cannot be shown.' })
    console.log('after')
    return Response.text('')
  })
  t.strictSame(entries, ['log "noisy"', 'log "inside"', 'log "after"'])
  t.match(printed, 'inside\n')
})

t.test('60 overlapping requests never see dumps of one another', async t => {
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/run': async request => {
        const marker = request.query.get('marker')
        for (let turn = 0; turn < 3; turn++) {
          await sleep((Number(marker) * 31 + turn * 7) % 5)
          dump(marker, `turn ${turn}`)
          console.log('%s', marker)
        }
        return Response.text('')
      },
    },
  })
  capture(t)
  const markers = Array.from({ length: 60 }, (_, index) => String(index))
  const responses = await Promise.all(markers.map(marker => kernel.client.get(`/run?marker=${marker}`)))
  for (const [index, response] of responses.entries()) {
    const entries = entriesOf(await kernel.profileOf(response))
    const wrong = entries.filter(({ values }) => values[0]?.text !== markers[index])
    if (entries.length !== 6 || wrong.length > 0) t.fail(`request ${index} has ${entries.length} dumps`)
  }
})

t.test('a request has at most 200 dumps, and not too much text', async t => {
  const many = await run(t, () => {
    for (let index = 0; index < 250; index++) dump(index)
    return Response.text('')
  })
  t.equal(many.entries.length, 200)
  t.strictSame([many.profile.summary.dumps, many.profile.collectors.console?.omitted], [250, 50])
  const long = await run(t, () => {
    for (let index = 0; index < 250; index++) dump(Array(10).fill('x'.repeat(4000)))
    return Response.text('')
  })
  t.ok(long.entries.length < 20)
  t.equal(long.profile.summary.dumps, 250)
})

t.test('a flood of calls drops no error, no warning and no dump', async t => {
  const { entries, profile } = await run(t, () => {
    for (let call = 0; call < 2000; call++) {
      if (call === 1000) console.error('the error')
      else if (call === 1001) console.warn('the warning')
      else if (call === 1002) dump('the dump')
      else console.log('row', call)
    }
    return Response.text('')
  })
  t.strictSame(entries.slice(200), ['error "the error"', 'warn "the warning"', 'dump "the dump"'])
  t.strictSame([profile.summary.dumps, profile.collectors.console?.omitted], [2000, 1797])
  t.strictSame(profile.collectors.console?.callsByKind, { dump: 1, error: 1, warn: 1, plain: 1997 })
  t.match([readPrinted(profile).count, countComplaints(profile).text], [1999, '1 error'])
  t.match(toMarkdown(createShown({}, { profile })), 'the error')
})

t.test('a dump after the response updates the profile', async t => {
  const kernel = await profilePage(t, () => {
    void sleep(20).then(() => dump('late'))
    return Response.text('')
  })
  const response = kernel.response
  const token = response.headers.get('x-debug-token')
  const profile = await waitForProfile(kernel.storage, token, ({ summary }) => summary.dumps === 1)
  t.strictSame(entriesOf(profile).map(write), ['dump "late"'])
})

t.test('a template can dump a value, and nothing is in the page', async t => {
  const directory = createProject(t.testdir(), {
    'templates/own/page.hbs': "<p>{{dump total 'the total'}}{{dump total}}</p>",
  })
  const kernel = await createProfiledKernel(t, {
    directory,
    handlers: {
      '/run': async request => Response.html(await kernel.app.view.render('own/page', { total: 7 }, request)),
    },
  })
  const response = await kernel.client.get('/run')
  t.equal(response.text, '<p></p>')
  t.strictSame(entriesOf(await kernel.profileOf(response)).map(write), ['dump the total 7', 'dump 7'])
})

t.test('outside of a request a dump is printed, and the console is unchanged', async t => {
  await createProfiledKernel(t)
  const written: string[] = []
  const parts = {
    findTrace: () => undefined,
    redactor: new Redactor(),
    terminal: { write: (text: string) => written.push(text) },
  }
  const stop = observeConsole({ ...parts, directory: process.cwd() })
  const printed = capture(t)
  t.equal(dump('\u001b[31mred', 'a label'), '\u001b[31mred')
  dump({ password: 'hunter2' })
  console.log('plain')
  stop()
  t.match(written[0], /^dump a label tests\/.+console\.test\.[jt]s:\d+\n"\\u001b\[31mred"\n$/)
  t.match(written[1], /\nObject\n {2}password: \*{6}\n$/)
  t.strictSame(printed, ['plain\n'])
  const stopElsewhere = observeConsole({ ...parts, directory: '/somewhere/else' })
  dump('x')
  stopElsewhere()
  t.equal(written[2], 'dump\n"x"\n', 'without application code there is no place')
})

t.test('without an observer nothing happens, not even a look at the value', async t => {
  const printed = capture(t)
  const untouchable = new Proxy(
    {},
    {
      get: () => t.fail('It was read.'),
      getPrototypeOf: () => {
        throw new Error('It was read.')
      },
    },
  )
  t.equal(dump(untouchable), untouchable)
  t.strictSame(printed, [])
})

t.test('warnings are log messages with their place, in channels of their own', async t => {
  const warn = (message: string, name: string, code?: string) =>
    process.emitWarning(message, { type: name, ...(code !== undefined && { code }) })
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/old': () => {
        warn('old() is deprecated.', 'DeprecationWarning', 'DEP_OLD')
        warn('password=opensesame in the address is deprecated.', 'DeprecationWarning')
        // A warning of Node.js itself may have no place in the application.
        process.emitWarning(Object.assign(new Error('Elsewhere.'), { name: 'DeprecationWarning', stack: 'Elsewhere.' }))
        warn('Too many listeners.', 'MaxListenersExceededWarning')
        warn('Try something new.', 'ExperimentalWarning')
        return new Promise(resolve => setImmediate(() => resolve(Response.text('old'))))
      },
    },
  })
  const printed = capture(t)
  const profile = await kernel.profileOf(await kernel.client.get('/old'))
  const records = profile.collectors.logger?.records ?? []
  const site = { file: /^tests\/.*console\.test\.ts$/, line: Number }
  t.match(
    records.filter(({ channel }) => channel === 'deprecation'),
    [
      { level: 'warning', message: 'DEP_OLD: old() is deprecated.', site },
      { level: 'warning', message: 'password=****** in the address is deprecated.' },
      { level: 'warning', message: 'Elsewhere.', site: undefined },
    ],
  )
  const leaks = records.filter(({ channel }) => channel === 'listeners')
  t.match(leaks, [{ level: 'warning', message: 'Too many listeners.', site }])
  t.equal(profile.summary.warnings, 4)
  const html = plainEquals(await kernel.show('logger', { profile, query: new URLSearchParams('channel=deprecation') }))
  t.match(html, /aria-current="true">deprecation</)
  t.equal(printed.join('').match(/DeprecationWarning: old\(\) is deprecated\./g)?.length, 1, 'Node.js prints them')
  t.strictSame(entriesOf(profile).map(write), [`error "(node:${process.pid}) ExperimentalWarning: Try something new."`])
  process.emitWarning('Outside of a request.', 'DeprecationWarning')
  await new Promise(setImmediate)
  const before = process.listenerCount('warning')
  await kernel.close()
  t.equal(process.listenerCount('warning'), before - 1)
})

t.test('production has no console of its own', async t => {
  const { log } = console
  const kernel = await createProfiledKernel(t, { variables: { APP_DEBUG: '0' } })
  t.equal(console.log, log)
  const printed = capture(t)
  dump('ignored')
  t.strictSame(printed, [])
  await kernel.close()
})

t.test('the last watch restores the console, unless another library has wrapped it', async t => {
  const { error, log } = console
  const calls: string[] = []
  const [stopFirst, stopSecond] = ['first', 'second'].map(name => {
    const stops = [patchProcess(), consoleCalls.observe(method => calls.push(`${name} ${method}`))]
    return () => stops.map(stop => stop())
  })
  const printed = capture(t)
  t.not(console.log, log)
  const patched = console.error
  const wrapper = (...values: unknown[]) => patched(...values)
  console.error = wrapper
  console.log('once')
  stopFirst?.()
  console.error('twice')
  stopSecond?.()
  t.equal(console.log, log)
  t.equal(console.error, wrapper)
  console.error('unobserved')
  console.error = error
  t.strictSame(calls, ['first log', 'second log', 'second error'])
  t.equal(printed.join(''), 'once\ntwice\nunobserved\n')
})

t.test('the panel, the toolbar, the list and the exports show dumps', async t => {
  const kernel = await createProfiledKernel(t, {
    variables: { EDITOR_URL: 'editor://open?file={file}&line={line}' },
    handlers: {
      '/run': () => {
        dump({ list: [1, '<b>'], empty: {} }, 'a <label>')
        console.log('said <i>')
        console.table([{ a: 1, b: 'x' }, { a: 2 }])
        console.table(Array.from({ length: 101 }, () => ({ a: 1 })))
        console.table('no table')
        console.table([1])
        console.trace('traced')
        return Response.text('')
      },
    },
  })
  capture(t)
  const response = await kernel.client.get('/run')
  const profile = await kernel.profileOf(response)
  const token = profile.summary.token
  const html = plainEquals(await kernel.show('console', profile))
  t.match(html, '<strong>a &lt;label&gt;</strong> <code>{list: [1, &quot;&lt;b&gt;&quot;], empty: {}}</code>')
  t.match(html, '<details class="value-tree" open><summary><span class="value-object">Object</span></summary>')
  t.match(html, '<span class="value-name">1</span>: <span class="value-text">&quot;&lt;b&gt;&quot;</span>')
  t.match(html, '<span class="value-text">said &lt;i&gt;</span>', 'a text of the console has no quotes')
  t.match(html, '<tr><th scope="row">1</th><td>2</td><td></td></tr>')
  t.match(html, '… 1 more')
  t.match(html, /<ol class="frames"><li><span class="call">[^<]+<\/span>\s+<a class="place" href="editor:/)
  t.notMatch(html, /<b>|<i>s/)
  t.strictSame(kernel.panel('console').badge?.(profile), { text: '7', level: 'plain' })
  t.match((await kernel.client.get('/_profiler/empty/search/results?limit=10')).text, '7 console calls')
  const bar = toText(plainEquals((await kernel.client.get(`/_wdt/${token}`)).text))
  t.match(bar, /Console 7 calls .*a <label> Object list: Array\(2\) 0: 1/)
  const markdown = (await kernel.client.get(`/_profiler/${token}.md?panel=console`)).text
  t.match(
    markdown,
    /\+[\d.]+ m?s dump `a <label>` at `tests\/.+console\.test\.[jt]s:\d+`\n\n```text\nObject\n {2}list: Array\(2\)\n/,
  )
  t.match(markdown, /```text\nsaid <i>\n```/)
  t.match(markdown, /```text\ntraced\nat .+console\.test/)
  const whole = (await kernel.client.get(`/_profiler/${token}.md`)).text
  t.match(whole, '## Console')
})

t.test('an error below many other calls is named above them', async t => {
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/run': request => {
        for (let index = 0; index < Number(request.query.get('before')); index++) console.log('said')
        console.error('failed <i>')
        if (request.query.has('twice')) console.error('failed again')
        return Response.text('')
      },
    },
  })
  capture(t)
  const showNote = async (query: string) => {
    const html = await kernel.show('console', await kernel.profileOf(await kernel.client.get(`/run?before=${query}`)))
    return /<p class="note[\s\S]*?<\/p>/.exec(plainEquals(html))?.[0] ?? ''
  }
  t.equal(await showNote('9'), '', 'it is in sight')
  t.match(await showNote('30'), '>1 error: <a href="#dump-30"><code>failed &lt;i&gt;</code></a></p>')
  t.match(toText(await showNote('30&twice')), '2 errors, first: failed <i>')
})

t.test('a profile without dumps says how to make one', async t => {
  const kernel = await createProfiledKernel(t, { handlers: { '/run': () => Response.text('') } })
  const profile = await kernel.profileOf(await kernel.client.get('/run'))
  const { name, hasContent, badge } = kernel.panel('console')
  t.strictSame([name, hasContent(profile), badge?.(profile)], ['console', false, { text: '', level: 'plain' }])
  t.match(await kernel.show('console', profile), 'No calls.')
  t.notMatch((await kernel.client.get(`/_profiler/${profile.summary.token}.md`)).text, '## Console')
  const markdown = await kernel.client.get(`/_profiler/${profile.summary.token}.md?panel=console`)
  t.match(markdown.text, 'No data for this panel.')
})

t.test('a dump without a place, and calls that were left out', async t => {
  const kernel = await createProfiledKernel(t)
  const text = { kind: 'text', text: 'said' }
  const entries = [
    { at: 1, method: 'log', values: [] },
    {
      at: 1,
      method: 'dump',
      values: [{ kind: 'object', text: 'Set(1000)', entries: [{ name: '0', value: text }], omitted: 999 }],
    },
    { at: 2, method: 'trace', values: [text], callers: [{ file: 'a.ts', line: 3 }] },
    {
      at: 3,
      method: 'table',
      values: [
        {
          kind: 'object',
          text: 'Array(1)',
          entries: [{ name: '0', value: { kind: 'object', text: 'Row', entries: [] } }],
        },
      ],
    },
  ]
  const browser = { errors: [{ kind: 'console', message: 'x', at: 0, times: 1 }], omitted: 2 }
  const profile = createProfile({ console: { entries, omitted: 5 }, browser }, { dumps: 8 })
  const html = plainEquals(await kernel.show('console', profile))
  t.match(html, '5 more calls were over the limit')
  t.match(toText(html), /\+0\.001 ms log\s+\+0\.001 ms dump Set\(1000\) \["said"\]/, 'each is a line')
  t.match(html, '… 999 more')
  const markdown = toMarkdown(createShown({}, { profile }))
  t.match(markdown, /\+0\.001 ms log\n\n\+0\.001 ms dump[^+]+\+0\.002 ms trace\n\n```text\nsaid\nat a\.ts:3\n```/)
  t.match(markdown, '5 more not listed.')
  t.match(markdown, '`console.error: x`\n\n2 more not recorded.')
})
