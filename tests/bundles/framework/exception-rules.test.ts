import { type Bundle, createFrameworkBundle, defineError, type ExceptionRule, HttpError } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import type { FrameworkOptions } from '#bundles/framework/options.ts'
import { createProfiledTestKernel } from '#bundles/profiler/testing/create-profiled-test-kernel.ts'

class StoreError extends Error {}
class RowMissing extends StoreError {
  override name = 'NoSuchRow'
}
/** As the errors of some libraries: the class has another name than its objects. */
class Minified extends Error {
  override name = 'UniqueConstraintError'
}
const SOLD_OUT = defineError('SOLD_OUT', 409, 'All is sold.')

const errors: Record<string, () => unknown> = {
  store: () => new StoreError('The table users is locked.'),
  row: () => new RowMissing('No row in users where id = 7.'),
  unique: () => new Minified('Key (mail)=(ada@example.org) exists.'),
  aborted: () => new DOMException('stopped', 'AbortError'),
  sold: () => new SOLD_OUT([]),
  busy: () => new HttpError(500, 'busy', { headers: { 'retry-after': '9' } }),
  other: () => new TypeError('a bug'),
  text: () => 'a text',
}

const shop: Bundle = {
  name: 'shop',
  register({ routes }) {
    for (const [name, create] of Object.entries(errors)) {
      routes.get(name, `/${name}`, () => {
        throw create()
      })
    }
  },
}

const rules: ExceptionRule[] = [
  { type: RowMissing, status: 404, level: 'info' },
  { type: StoreError, status: 503 },
  { type: 'UniqueConstraintError', status: 409 },
  { type: 'AbortError', level: 'debug' },
  { type: SOLD_OUT, level: 'info' },
  { type: HttpError, status: 503, level: 'warning' },
]

t.test('the first rule for an error gives its status and its level', async t => {
  const { client, close, records } = await createTestKernel({
    bundles: [createFrameworkBundle({ exceptions: rules }), shop],
    variables: { APP_ENV: 'prod' },
  })
  t.teardown(close)
  const found: unknown[] = []
  for (const name of Object.keys(errors)) {
    const before = records.length
    const { json, status } = await client.get(`/${name}`, { headers: { accept: 'application/json' } })
    const [record] = records.slice(before).filter(({ message }) => message.startsWith('Uncaught'))
    const { detail } = json() as { readonly detail?: string }
    found.push([name, status, detail, record?.level, record?.message.replace(/exception-rules.*$/, '…')])
  }
  t.strictSame(found, [
    ['store', 503, 'Service Unavailable', 'critical', 'Uncaught StoreError: "The table users is locked." at …'],
    ['row', 404, 'Not Found', 'info', 'Uncaught NoSuchRow: "No row in users where id = 7." at …'],
    ['unique', 409, 'Conflict', 'error', 'Uncaught UniqueConstraintError: "Key (mail)=(ada@example.org) exists." at …'],
    ['aborted', 500, 'Internal Server Error', 'debug', 'Uncaught AbortError: "stopped" at …'],
    ['sold', 409, 'All is sold.', 'info', 'Uncaught SOLD_OUT: "All is sold." at …'],
    ['busy', 503, 'Service Unavailable', 'warning', 'Uncaught HttpError: "busy" at …'],
    ['other', 500, 'Internal Server Error', 'critical', 'Uncaught TypeError: "a bug" at …'],
    ['text', 500, 'Internal Server Error', 'critical', 'Uncaught Thrown value: "a text" at …'],
  ])
  t.equal((await client.get('/busy')).headers.get('retry-after'), '9', 'the headers of an HttpError stay')
})

t.test('the profile has the error of the library, with its place', async t => {
  const { client, close, profileOf } = await createProfiledTestKernel({
    bundles: [createFrameworkBundle({ exceptions: rules }), shop],
  })
  t.teardown(close)
  const { collectors, summary } = await profileOf(await client.get('/unique'))
  t.equal(summary.status, 409)
  const [exception] = collectors.exception?.exceptions ?? []
  t.match(exception, { name: 'UniqueConstraintError', message: 'Conflict', status: 409 })
  t.match(exception?.cause, { name: 'UniqueConstraintError', message: /^Key/ })
  t.match(exception?.cause?.frames[0]?.file, /exception-rules\.test\.ts$/)
  t.ok(summary.fingerprint)
  t.equal(summary.exception, 'UniqueConstraintError', 'lists and searches have the name of the library')
})

t.test('rules that cannot mean anything are refused at the start', async t => {
  const findMistakes = (exceptions: unknown) => {
    try {
      createFrameworkBundle({ exceptions } as FrameworkOptions)
      return []
    } catch (error) {
      return String((error as Error).message)
        .split('\n')
        .slice(1)
    }
  }
  t.strictSame(findMistakes(rules), [])
  t.strictSame(findMistakes([]), [])
  const cases: [rules: unknown, mistake: string][] = [
    [{ NotFound: { status: 404 } }, '"exceptions" must be a list, not an object with the key "NotFound"'],
    [['NotFound'], 'exceptions[0] is a string of 8 characters: use an object with type, status, level'],
    [[{ type: 'A', code: 404 }], 'there is no option "exceptions[0].code": use type, status, level'],
    [[{ status: 404 }], 'exceptions[0].type is undefined: use a class of errors, or the name of one'],
    [[{ type: Map, status: 404 }], 'exceptions[0].type is the function Map: use a class of errors, or the name of one'],
    [
      [{ type: 'not found', status: 404 }],
      'exceptions[0].type is "not found": use a class of errors, or the name of one',
    ],
    [[{ type: 'A', status: 200 }], 'exceptions[0].status is 200: use a number from 400 to 599'],
    [[{ type: 'A', status: '404' }], 'exceptions[0].status is a string of 3 characters: use a number from 400 to 599'],
    [[{ type: 'A', level: 'warn' }], 'exceptions[0].level is "warn": use debug, info, warning, error, critical'],
    [[{ type: 'A' }], 'exceptions[0] has no effect: give it a status or a level'],
    [
      [
        { type: StoreError, status: 500 },
        { type: RowMissing, status: 404 },
      ],
      'exceptions[1] is never used, because exceptions[0] is for the same errors: put it before',
    ],
    [
      [
        { type: 'A', status: 500 },
        { type: 'A', level: 'info' },
      ],
      'exceptions[1] is never used, because exceptions[0] is for the same errors: put it before',
    ],
  ]
  t.strictSame(
    cases.map(([rules]) => findMistakes(rules)),
    cases.map(([, mistake]) => [`- ${mistake}.`]),
  )
})
