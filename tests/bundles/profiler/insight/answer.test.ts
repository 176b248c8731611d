import { t } from 'tap'
import { findReason, writeReason } from '#bundles/profiler/insight/overview/answer.ts'
import { summarizeProfile } from '#bundles/profiler/insight/overview/overview.ts'
import { toPlainText } from '#bundles/profiler/insight/overview/sentence.ts'
import { toHeadBadges } from '#bundles/profiler/panels/head-badges.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { subjectViews } from '#bundles/profiler/subjects/views.ts'
import { createMenu, divideMenu } from '#bundles/profiler/web/pages/render-panel.ts'
import { createProfile, createQuery, createShown, type ProfileInit } from '#tests/support/create-profile.ts'

const issue = (path: string, message: string) => ({ path: path === '' ? [] : path.split('.'), message })

const refusedBy = (issues: object[], more: object = {}): Profile['data'] => ({
  validation: {
    validations: [
      {
        source: 'form',
        vendor: 'zod',
        start: 1,
        end: 2,
        issues,
        omittedIssues: 0,
        input: { kind: 'note', text: '' },
        ...more,
      },
    ],
    omitted: 0,
  },
})

const problem = (json: object, type = 'application/problem+json; charset=utf-8'): Profile['data'] => ({
  response: { headers: [], size: 9, isStreamed: false, content: { type, length: 9, json: [json] } },
})

const page = (text: string): Profile['data'] => ({
  response: { headers: [], size: 9, isStreamed: false, content: { type: 'text/html', length: 9, text } },
})

const thrown = (name: string, message: string): Profile['data'] => ({
  exception: {
    exceptions: [{ name, message, frames: [{ call: 'pay', file: 'shop/pay.js', line: 3, origin: 'application' }] }],
    excerpts: [],
  },
})

const router = (outcome: string, allow?: string[]): Profile['data'] => ({
  router: {
    outcome,
    allow,
    nearest: [{ name: 'blog', path: '/blog', position: 1, reason: 'path', text: '' }],
    total: 1,
  },
})

const log = (level: string, message: string) => ({ at: 9, level, channel: 'app', message })

const mail = (error: string | undefined) => ({
  ...{ start: 1, end: 2, transport: 'SMTP', from: 'a@x', to: ['b@x'], subject: 'Hello', headers: [], attachments: [] },
  ...(error !== undefined && { error }),
})

const call = (status: number, more: object = {}) => ({
  ...{ client: 'fetch', method: 'GET', url: `http://x/${status}`, start: 1, end: 2 },
  ...(status > 0 && { status }),
  ...more,
})

const three = [issue('email', 'must be an address'), issue('name', 'Required'), issue('items.0.price', 'Too small')]

/** The status and the JSON of a response that is no problem, and what of it is quoted. */
const quoted: readonly (readonly [claim: string, status: number, json: object, text: string])[] = [
  ['a field and its message', 422, { errors: [{ field: 'a', message: 'B' }] }, 'a: B'],
  [
    'express-validator',
    400,
    { errors: [{ type: 'field', path: 'email', msg: 'Invalid value' }] },
    'email: Invalid value',
  ],
  ['zod', 400, { error: { issues: [{ path: ['seats', 0], message: 'at least 1' }] } }, 'seats.0 at least 1'],
  [
    'joi',
    422,
    {
      details: [
        { path: ['a'], message: '"a" is required' },
        { path: ['b'], message: 'x' },
      ],
    },
    '"a" is required, and b x',
  ],
  ['ajv', 400, { errors: [{ instancePath: '/a/0', message: 'must be number' }] }, 'a.0 must be number'],
  ['texts by their fields', 422, { errors: { title: ['is too long'] } }, 'title is too long'],
  [
    'a list of texts',
    400,
    { statusCode: 400, message: ['a must be x', 'b must be y'], error: 'Bad Request' },
    'a must be x',
  ],
  ['an error', 500, { error: 'no stock.' }, 'no stock'],
  ['an error and its message', 409, { error: { code: 7, message: 'sold' } }, 'sold'],
  ['a message beside a name', 401, { error: 'TokenExpired', message: 'jwt expired' }, 'jwt expired'],
  ['details of another kind', 500, { details: { id: '7' }, error: 'Broken' }, 'Broken'],
  ['the text of the status', 404, { message: 'Not Found' }, ''],
  ['no text', 500, { error: true, message: '' }, ''],
  ['a list', 500, ['a'], ''],
]

/** Pages with a form, and what of them is quoted. */
const forms: readonly (readonly [claim: string, html: string, text: string])[] = [
  [
    'a field and its message',
    `<input name=email aria-invalid="true" aria-describedby=e1><p id='e1'>Enter an <b>e&#45;mail</b> &amp; wait.</p>
     <select name="qty" aria-invalid=true></select>`,
    'email: Enter an e-mail & wait, and qty is refused',
  ],
  [
    'a hint beside the message',
    '<p id="h">As on the card</p><p id="x-error">is too long</p><input aria-invalid="true" aria-describedby="h x-error" name="x">',
    'x is too long',
  ],
  [
    'a hint and another one',
    '<p id="h">a</p><p id="i">b</p><input aria-invalid="true" aria-describedby="h i" name="x">',
    'x is refused',
  ],
  [
    'an alert that begins with the name of the field',
    '<p role="alert">Quantity is sold out</p><p role="alert">email: a &lt;b&gt;</p><input aria-invalid="true" name="email">',
    'email a <b>',
  ],
  [
    'an alert of another field with the same beginning',
    '<p role="alert">emails are off</p><input aria-invalid="true" name="email">',
    'email is refused',
  ],
  ['a field that is right', '<input name="x" aria-invalid="false" aria-describedby="h"><p id="h">a</p>', ''],
  ['a field without a text', '<input name="x" aria-invalid="true" aria-describedby="y">', 'x is refused'],
  ['an alert', '<div class="alert alert-danger" role="alert"><h2>Sold</h2></div>', 'Sold'],
  ['an alert of another kind', '<div class="alert alert-info" role="alert">We use cookies</div>', ''],
  ['a hidden alert', '<div role="alert" hidden>Sold</div>', ''],
  ['two alerts: which one is the reason is not known', '<p role="alert">a</p><p role="alert">b</p>', ''],
  ['a text of the class', '<p class="form error">Sold</p>', 'Sold'],
  [
    'markup in scripts, comments and styles',
    '<script>"<p role=alert>a</p>"</script><!-- <p class="error">b</p> -->',
    '',
  ],
  ['a tag without an end', '<p role="alert">No stock<div>Cart</div>', 'No stock'],
]

/** What is recorded, its status, and what the reason is; empty without one. */
const reasons: [claim: string, status: number, data: Profile['data'], reason: string, init?: ProfileInit][] = [
  ['the first field and the count of the others', 422, refusedBy(three), 'email must be an address, and 2 more'],
  [
    'a field with two issues is one',
    422,
    refusedBy([issue('email', 'Too short'), issue('email', 'No address')]),
    'email: Too short',
  ],
  [
    'issues that are not listed',
    422,
    refusedBy(three, { omittedIssues: 7 }),
    'email must be an address, and 9 more issues',
  ],
  [
    'a message that names its field',
    422,
    refusedBy([issue('email', '"Email" is no address.')]),
    '"Email" is no address',
  ],
  [
    'the whole input',
    400,
    refusedBy([issue('', 'Expected an object')], { source: 'json' }),
    'JSON body: Expected an object',
  ],
  [
    'a parameter of the route',
    404,
    refusedBy([issue('id', 'must be a number')], { source: 'route' }),
    'id must be a number',
  ],
  ['a masked message', 422, refusedBy([issue('pin', '******')]), 'pin is refused'],
  [
    'the last refused input',
    422,
    {
      validation: {
        omitted: 0,
        validations: [
          ...[three, [issue('b', 'is late')]].flatMap(issues => Object(refusedBy(issues).validation).validations),
        ],
      },
    },
    'b is late',
  ],
  ['a form that is accepted', 422, refusedBy([]), ''],
  [
    'a form that is shown again, of a page that fails later',
    500,
    { ...refusedBy(three), ...thrown('TypeError', 'x is null.') },
    'x is null',
  ],
  ['a refused form before a 403', 403, { ...refusedBy(three), ...thrown('Forbidden', 'Not yours') }, 'Not yours'],
  [
    'a refused form behind an exception',
    422,
    { ...refusedBy(three), ...thrown('KERNEL_INPUT_REFUSED', 'The form') },
    'email must be an address, and 2 more',
  ],
  [
    'errors with pointers',
    422,
    problem({
      errors: [
        { pointer: '#/items/0/price', detail: 'must be positive' },
        { pointer: '/b', detail: 'x' },
      ],
    }),
    'items.0.price must be positive, and b x',
  ],
  [
    'errors with parameters',
    400,
    problem({ errors: [{ parameter: 'page', detail: 'must be a number' }] }),
    'page must be a number',
  ],
  [
    'violations',
    422,
    problem({ violations: [{ propertyPath: 'email', message: 'This is no address.' }] }),
    'email: This is no address',
  ],
  [
    'an object of lists',
    400,
    problem({ errors: { Email: ['The Email field is required.', 'x'], b: 'y' } }),
    'The Email field is required, and b y',
  ],
  ['errors of another form', 422, problem({ errors: ['no', 7, null], detail: 'Two values.' }), 'Two values'],
  ['a detail', 409, problem({ title: 'Conflict', detail: 'The order is closed.' }), 'The order is closed'],
  ['a title says no more than the status', 409, problem({ title: 'Conflict' }), ''],
  ...quoted.map(([claim, status, body, text]): (typeof reasons)[number] => [
    claim,
    status,
    problem(body, 'application/json'),
    text && `the response says ${text}`,
  ]),
  ...forms.map(([claim, html, text]): (typeof reasons)[number] => [
    `a page: ${claim}`,
    422,
    page(`<!doctype html><title>Order</title>${html}`),
    text && `the response says ${text}`,
  ]),
  ['a page of a server that has failed', 500, page('<p class="error">Something went wrong</p>'), ''],
  ['a text', 403, page('Staff only.\n'), 'the response says Staff only'],
  ['a text that is the status', 404, page('404 Not Found'), ''],
  [
    'what no route of Express has',
    404,
    page('<body>\n<pre>Cannot GET /a</pre>\n</body>'),
    'the response says Cannot GET /a',
  ],
  ['a text that broke off', 200, page('a;b'), '', { outcome: 'aborted' }],
  ['another page', 404, page('<h1>Oh</h1>'), ''],
  ['data without their type', 404, page('{"a":1}'), ''],
  [
    'a problem of a server with its exception',
    500,
    { ...problem({ detail: 'Sorry' }), ...thrown('TypeError', 'x is null') },
    'x is null',
  ],
  [
    'the methods of a path',
    405,
    { ...router('method-not-allowed', ['GET', 'POST']), ...thrown('X', 'y') },
    'the path takes GET, POST',
  ],
  ['the methods of the header', 405, { response: { headers: [['Allow', 'GET, HEAD']] } }, 'the path takes GET, HEAD'],
  ['the header of another status', 200, { response: { headers: [['allow', 'GET, HEAD']] } }, ''],
  [
    'the nearest route',
    404,
    { ...router('not-found'), ...thrown('KERNEL_NO_ROUTE', 'No route') },
    'no route matches, the nearest is /blog',
  ],
  ...[400, 401, 403, 413, 415, 429, 404].map(
    status =>
      [`${status}`, status, thrown('HttpError', 'Wait a minute.'), 'Wait a minute'] as [
        string,
        number,
        Profile['data'],
        string,
      ],
  ),
  ['an exception without a message', 400, thrown('HttpError', ''), 'HttpError'],
  ['an exception that was handled', 200, thrown('HttpError', 'handled'), ''],
  ['a stream that broke off', 200, thrown('Error', 'in stream'), 'in stream', { outcome: 'stream-failed' }],
  ['an error without any trace', 502, {}, ''],
]

t.test('the reason of a failure is named, or none if it is not certain', async t => {
  for (const [claim, status, data, reason, init] of reasons) {
    const profile = createProfile(data, { status, url: '/x', method: 'POST', ...init })
    t.equal(writeReason(findReason(profile)), reason, claim)
    const sentence = toPlainText(summarizeProfile({ profile, earlier: [], findings: [] }).sentence)
    if (reason !== '') t.match(sentence, reason, `${claim}: the sentence`)
    const badge = toHeadBadges(profile, undefined, subjectViews).find(({ text }) => text.endsWith(reason))
    if (reason !== '') t.match(badge, { tone: 'error', link: /^\/_profiler/ }, `${claim}: the head`)
  }
})

const finding = { rule: 'x', title: 'Slow', severity: 'warning', problem: '', advice: '', evidence: {} } as const

/** What is recorded, and what the sentence says after the time; empty if it ends there. */
const problems: [data: Profile['data'], text: string, init?: ProfileInit][] = [
  [{ http: { calls: [call(200), call(200), call(503)] } }, 'HTTP call 3 answered 503'],
  [
    { http: { calls: [call(503), call(500), call(0, { error: 'reset' })] } },
    'HTTP call 1 answered 503, and 2 more failed',
  ],
  [{ http: { calls: [call(0, { error: 'connect ECONNREFUSED' })] } }, 'HTTP call 1 failed: connect ECONNREFUSED'],
  [{ http: { calls: [call(0, { error: 'aborted', isAborted: true })] } }, ''],
  [
    { http: { calls: [call(0, { error: 'The operation was aborted due to timeout', isAborted: true })] } },
    'HTTP call 1 was aborted: The operation was aborted due to timeout',
  ],
  [
    { http: { calls: [call(0, { error: 'socket hang up', isAborted: true })] } },
    'HTTP call 1 was aborted: socket hang up',
    { status: 504 },
  ],
  [{ http: { calls: [call(503, { url: 'http://x/' }), call(200, { url: 'http://x/', start: 30 })] } }, ''],
  [
    { http: { calls: [call(503, { url: 'http://x/', method: 'POST' }), call(200, { url: 'http://x/', start: 30 })] } },
    'HTTP call 1 answered 503',
  ],
  [{ http: { calls: [call(404)] } }, 'HTTP call 1 answered 404'],
  [{ http: { calls: [call(304), call(204)] } }, ''],
  [{ http: { calls: [call(503)] } }, 'HTTP call 1 answered 503', { status: 502 }],
  [
    { http: { calls: [call(503)] }, logger: { records: [log('error', 'No price')] } },
    'HTTP call 1 answered 503',
    { errors: 1 },
  ],
  [
    { queries: { queries: [createQuery({ error: 'no such table: x' })] } },
    '1 query failed at bundles/shop/products.ts:12: no such table: x',
  ],
  [
    { queries: { queries: [createQuery({ error: 'a' }), createQuery({ error: 'b', text: 'B' })] } },
    '2 queries failed, the first at bundles/shop/products.ts:12: a',
  ],
  [
    { queries: { queries: [createQuery({ system: 'redis', text: 'GET a', error: 'LOADING' })] } },
    '1 cache call failed at bundles/shop/products.ts:12: LOADING',
  ],
  [
    { queries: { queries: [createQuery({ system: 'redis', error: 'LOADING' })] }, http: { calls: [call(503)] } },
    '1 cache call failed at bundles/shop/products.ts:12: LOADING; HTTP call 1 answered 503',
  ],
  [{ queries: { queries: [createQuery({ error: 'x', code: '23505' })] } }, ''],
  [{ queries: { queries: [createQuery({ error: 'x' }), createQuery({ start: 30, end: 31 })] } }, ''],
  [{ mails: { mails: [mail('connect ECONNREFUSED'), mail(undefined)] } }, '1 mail failed: connect ECONNREFUSED'],
  [{ mails: { mails: [mail('no'), mail('late')] } }, '2 mails failed, the first: no'],
  [{ mails: { mails: [mail(undefined)] } }, ''],
  [
    { logger: { records: [log('warning', 'Low'), log('critical', 'No\n stock.')] } },
    '1 error logged: No stock',
    { errors: 1, warnings: 1 },
  ],
  [
    { logger: { records: [log('error', 'One'), log('error', 'Two')] } },
    '3 errors logged, the first: One',
    { errors: 3 },
  ],
  [{ logger: { records: [log('warning', 'Low')] } }, '1 warning logged: Low', { warnings: 1 }],
  [{}, '2 warnings logged', { warnings: 2 }],
  [
    { console: { entries: [{ at: 1, method: 'error', values: [{ kind: 'text', text: 'boom' }] }] } },
    'console.error: boom',
    { dumps: 1 },
  ],
  [
    { console: { entries: [{ at: 1, method: 'warn', values: [{ kind: 'text', text: 'hm' }] }] } },
    'console.warn: hm',
    { dumps: 1 },
  ],
  [{ console: { entries: [{ at: 1, method: 'log', values: [{ kind: 'text', text: 'fine' }] }] } }, '', { dumps: 1 }],
  [
    {
      console: {
        entries: [{ at: 1, method: 'error', values: [{ kind: 'text', text: 'boom' }] }],
        omitted: 129,
        callsByKind: { dump: 0, error: 130, warn: 0, plain: 0 },
      },
    },
    '130 calls of console.error, the first: boom',
    { dumps: 130 },
  ],
]

t.test('the sentence of an answered request names what has failed in it', async t => {
  const say = (data: Profile['data'], init: ProfileInit = {}, findings: readonly (typeof finding)[] = []) =>
    toPlainText(
      summarizeProfile({ profile: createProfile(data, { url: '/x', duration: 50, ...init }), earlier: [], findings })
        .sentence,
    )
  for (const [data, text, init] of problems) {
    t.equal(say(data, init).replace(/^.*50 ms(?:; )?/, ''), `${text}.`, text)
  }
  t.match(say({ http: { calls: [call(404)] } }, {}, [finding]), 'finding: Slow', 'a finding is worse than a 404')
  t.match(say({ http: { calls: [call(500)] } }, {}, [finding]), 'HTTP call 1 answered 500')
  const data = { ...problem({ error: 'No stock' }, 'application/json'), http: { calls: [call(500), call(503)] } }
  t.match(say(data, { status: 502 }), 'the response says No stock; HTTP call 1 answered 500, and 1 more failed.')
  t.match(say({ ...data, ...thrown('Error', 'no') }, { status: 502 }), /: no\.$/, 'an exception says enough')
})

t.test('the badges say what is bad, not how much there was', async t => {
  const badgesOf = (data: Profile['data'], init: ProfileInit) =>
    toHeadBadges(createProfile(data, init), undefined, subjectViews).map(({ text, tone }) => `${tone}: ${text}`)
  const calls = (...statuses: number[]) => ({ http: { calls: statuses.map(status => call(status)) } })
  t.strictSame(badgesOf(calls(200, 503, 404), { calls: 3 }), ['error: HTTP Client: 1 failed'])
  t.strictSame(badgesOf(calls(200, 404, 404), { calls: 3 }), ['warning: HTTP Client: 2 answered 404'])
  t.strictSame(badgesOf(calls(401, 404), { calls: 2 }), ['warning: HTTP Client: 2 answered 4xx'])
  t.strictSame(badgesOf(calls(200), { calls: 1, subRequests: 1, mails: 1 }), [], 'the menu has what is well')
  const failed = [createQuery({ error: 'x' }), createQuery({ system: 'redis', text: 'GET a', error: 'y' })]
  t.strictSame(badgesOf({ queries: { queries: failed } }, { queries: 1, cacheCalls: 2, queryTime: 2 }), [
    'error: Database: 1 failed',
    'error: Cache: 1 failed',
  ])
  t.strictSame(badgesOf(thrown('HttpError', 'No token'), { status: 401, exception: 'HttpError' }), [
    'error: HttpError: No token',
  ])
  const refused = createProfile(refusedBy(three), { status: 422 })
  t.strictSame(toHeadBadges(refused, undefined, subjectViews, true), [], 'the sentence of the overview has it')
  t.strictSame(badgesOf(refusedBy(three), { status: 422, exception: 'KERNEL_INPUT_REFUSED' }), [
    'error: email must be an address, and 2 more',
  ])
})

t.test('a panel with a failure or a tenth of the time is in sight', async t => {
  const labels = (data: Profile['data'], init: ProfileInit = {}) => {
    const shown = { ...createShown(data), profile: createProfile(data, { duration: 10, ...init }) }
    const { first, more } = divideMenu(createMenu(subjectViews, shown, undefined))
    return { first: first.map(({ label }) => label), more: more.map(({ label }) => label) }
  }
  const isHidden = (label: string, data: Profile['data'], init?: ProfileInit) => labels(data, init).more.includes(label)
  t.equal(isHidden('HTTP Client', { http: { calls: [call(200, { end: 1.5 })] } }), true)
  t.equal(isHidden('HTTP Client', { http: { calls: [call(404, { end: 1.5 })] } }), false)
  t.equal(isHidden('HTTP Client', { http: { calls: [call(200, { end: 3 })] } }), false)
  t.equal(isHidden('Validation', refusedBy([])), true)
  t.equal(isHidden('Validation', refusedBy(three), { status: 422 }), false)
  t.equal(
    isHidden('Cache', {
      queries: { queries: [createQuery({ system: 'redis', text: 'GET a', error: 'x', end: 1.1 })] },
    }),
    false,
  )
  const said = (...methods: string[]) => ({
    console: { entries: methods.map(method => ({ at: 1, method, values: [{ kind: 'text', text: 'x' }] })) },
  })
  const printed = createShown({}, { profile: createProfile(said('log', 'error', 'error'), { dumps: 3 }) })
  const links = [
    ...toHeadBadges(printed.profile, undefined, subjectViews),
    ...createMenu(subjectViews, printed, undefined).filter(({ label }) => label === 'Console'),
  ].map(({ link }) => link?.replace(/.*panel=/, ''))
  t.strictSame(links, ['console#dump-1', 'console#dump-1'], 'the first error, not the rows before it')
  t.equal(isHidden('Console', said('log'), { dumps: 1 }), true)
  t.equal(isHidden('Console', said('error'), { dumps: 1 }), false)
})

t.test('a short list in Markdown has what failed, in its place', async t => {
  const calls = [call(200), call(200), call(503), call(200)].map((each, index) => ({
    ...each,
    url: `http://x/${index}`,
  }))
  const queries = [createQuery({ text: 'A' }), createQuery({ text: 'B' }), createQuery({ text: 'C', error: 'gone' })]
  const shown = createShown({ http: { calls }, queries: { queries } })
  const markdown = subjectViews.flatMap(view => view.toMarkdown?.(shown, 2) ?? []).join('\n')
  const listed = [...markdown.matchAll(/http:\/\/x\/\d|gone|and \d more/g)].map(([text]) => text)
  t.strictSame(
    listed.filter(text => text !== 'and 1 more'),
    ['gone', 'http://x/0', 'http://x/2', 'and 2 more'],
  )
})
