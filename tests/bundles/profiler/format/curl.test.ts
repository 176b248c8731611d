import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { t } from 'tap'
import { createCurl } from '../../../../bundles/profiler/format/curl.ts'
import { createProfile } from '../../../support/create-profile.ts'

/** What a shell makes of a command: the words that curl would be given. */
function wordsOf(command: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }; ${command}`
  return execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1)
}

function curlOf(request: unknown, summary: object = {}): string {
  return createCurl(createProfile({ request }, summary))
}

t.test('a page is asked for again with its headers, but those that curl sets itself', async t => {
  const headers = [
    ['Host', 'localhost'],
    ['User-Agent', "it's me"],
    ['Accept-Encoding', 'gzip'],
    ['X-Empty', ''],
    ['Connection', 'close'],
    ['cookie', 'theme=******'],
  ]
  t.equal(
    curlOf({ headers }),
    [
      `curl 'http://localhost:8000/somewhere?q=1'`,
      `--header 'User-Agent: it'\\''s me'`,
      '--compressed',
      `--header 'X-Empty;'`,
      `--header 'cookie: theme=******'`,
    ].join(' \\\n  '),
  )
})

t.test('methods and addresses are taken as they are', async t => {
  const url = 'http://localhost/a'
  t.equal(curlOf({}, { url, method: 'HEAD' }), 'curl --head http://localhost/a')
  t.equal(curlOf({}, { url, method: 'DELETE' }), 'curl --request DELETE http://localhost/a')
  t.equal(curlOf({}, { url, method: 'POST' }), 'curl --request POST http://localhost/a')
  t.equal(curlOf({ body: { json: [1] } }, { url, method: 'GET' }).split(' \\\n')[0], `curl --request GET ${url}`)
  t.strictSame(wordsOf(curlOf({}, { url: 'http://localhost/[1-3]' })), ['http://localhost/[1-3]', '--globoff'])
  t.strictSame(wordsOf(curlOf({}, { url: 'http://localhost/../a' })), ['http://localhost/../a', '--path-as-is'])
})

t.test('bodies are sent as they were kept', async t => {
  const url = 'http://localhost/a'
  const bodyOf = (body: unknown) =>
    wordsOf(curlOf({ headers: [['Content-Type', 'x/y']], body }, { url, method: 'POST' }))
  const type = ['--header', 'Content-Type: x/y']
  t.strictSame(bodyOf({ json: [{ a: "it's" }] }), [url, ...type, '--data-raw', `{"a":"it's"}`])
  const form = [['a', 'b c'], ['d', '@e'], 'no pair']
  t.strictSame(bodyOf({ form }), [url, ...type, '--data-raw', 'a=b+c&d=%40e'])
  const files = [{ field: 'cv', name: 'a "b";c.txt' }]
  t.strictSame(bodyOf({ form, files }), [
    url,
    '--form-string',
    'a=b c',
    '--form-string',
    'd=@e',
    '--form',
    'cv=@"a \\"b\\";c.txt"',
  ])
  t.strictSame(bodyOf({ type: 'multipart/form-data', form: [['a', 'b']] }), [url, '--form-string', 'a=b'])
  t.strictSame(bodyOf({ state: 'unread' }), ['--request', 'POST', url, ...type])
})

t.test('whatever a record contains, the shell runs one command and leaves each word as it is', async t => {
  const text = fc.string({ unit: fc.constantFrom("'", '"', '$', '`', '\\', '\n', ';', '&', 'a', ' ', '!', '*', 'é') })
  const property = fc.property(text, text, (value, json) => {
    const words = wordsOf(curlOf({ headers: [['x', value]], body: { json: [json] } }, { url: `http://a/${value}` }))
    const header = value === '' ? 'x;' : `x: ${value}`
    t.strictSame(words, [
      '--request',
      'GET',
      `http://a/${value}`,
      '--header',
      header,
      '--data-raw',
      JSON.stringify(json),
    ])
  })
  fc.assert(property, { numRuns: 30 })
  t.match(createCurl({ data: {}, summary: null } as never), /^curl ''$/)
})
