import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import fc from 'fast-check'
import { type Test, t } from 'tap'
import { createCallCurl, createCurl } from '#bundles/profiler/export/snippets.ts'
import { encodeMultipart } from '#lib/body/multipart.ts'
import { quoteForShell } from '#lib/text/escapes.ts'
import { createProfile } from '#tests/support/create-profile.ts'
import { anyCharacter, provenRuns } from '#tests/support/sample.ts'

const shells = ['dash', 'bash'].filter(shell => spawnSync(shell, ['-c', 'true']).status === 0)
for (const shell of ['dash', 'bash']) if (!shells.includes(shell)) t.comment(`${shell} is missing, and is not tried`)

/**
 * Runs commands in a shell, in an empty folder, with a shell function instead of curl. Returns the arguments of each
 * curl command as bytes. Fails if a command wrote a file: the attacks in the texts try to.
 */
function runCommands(t: Test, shell: string, commands: readonly string[]): string[][] {
  const cwd = t.testdir({})
  const script = `curl() { printf '%s\\0' "$#" "$@"; }\n${commands.join('\n')}\n`
  const options = { cwd, input: script, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' }, maxBuffer: 2 ** 28 }
  const { status, stderr, stdout } = spawnSync(shell, ['-s'], options)
  t.strictSame([status, stderr.toString()], [0, ''], `${shell} has nothing to complain of`)
  t.strictSame(readdirSync(cwd), [], `${shell} has run nothing else`)
  const words = stdout.toString('latin1').split('\0')
  const calls: string[][] = []
  for (let at = 0; at < words.length - 1; at += Number(words[at]) + 1) {
    calls.push(words.slice(at + 1, at + 1 + Number(words[at])))
  }
  return calls
}

/** The arguments of a command, which are equal in all shells. */
function wordsOf(t: Test, command: string): string[] {
  const [first = [], ...others] = shells.map(shell => runCommands(t, shell, [command])[0])
  for (const other of others) t.strictSame(other, first)
  return first
}

/** The bytes of an argument. */
function toBytes(text: string): string {
  return Buffer.from(text).toString('latin1')
}

function curlOf(request: unknown, summary: object = {}): string {
  return createCurl(createProfile({ request }, summary))
}

/** Invisible characters that a command must not contain; line feeds at the end of a text are allowed. */
const unseen = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u

t.test('a page is requested with its headers, without those that curl sets itself', async t => {
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

t.test('methods and URLs are not changed', async t => {
  const url = 'http://localhost/a'
  t.equal(curlOf({}, { url, method: 'HEAD' }), 'curl --head http://localhost/a')
  t.equal(curlOf({}, { url, method: 'DELETE' }), 'curl --request DELETE http://localhost/a')
  t.equal(curlOf({}, { url, method: 'POST' }), 'curl --request POST http://localhost/a')
  t.equal(curlOf({ body: { json: [1] } }, { url, method: 'GET' }).split(' \\\n')[0], `curl --request GET ${url}`)
  t.strictSame(wordsOf(t, curlOf({}, { url: 'http://localhost/[1-3]' })), ['http://localhost/[1-3]', '--globoff'])
  t.strictSame(wordsOf(t, curlOf({}, { url: 'http://localhost/../a' })), ['http://localhost/../a', '--path-as-is'])
  t.strictSame(wordsOf(t, curlOf({}, { url: 'http://a/.%2E/b' })), ['http://a/.%2E/b', '--path-as-is'])
  t.strictSame(wordsOf(t, curlOf({}, { url: '-o' })), ['--url', '-o'], 'a URL is not an option')
  t.equal(createCurl(createProfile({}, { method: '', url: '' })), "curl ''")
})

t.test('bodies are sent as recorded', async t => {
  const url = 'http://localhost/a'
  const type = ['--header', 'Content-Type: x/y']
  const bodyOf = (body: unknown, method = 'POST') =>
    wordsOf(t, curlOf({ headers: [['Content-Type', 'x/y']], body }, { url, method }))
  t.strictSame(bodyOf({ json: [{ a: "it's" }] }), [url, ...type, '--data-raw', `{"a":"it's"}`])
  t.strictSame(bodyOf({ json: ['@/etc/hostname'] }), [url, ...type, '--data-raw', '"@/etc/hostname"'])
  const form = [['a', 'b c'], ['d', '@e'], 'no pair']
  t.strictSame(bodyOf({ form }), [url, ...type, '--data-raw', 'a=b+c&d=%40e'])
  t.strictSame(bodyOf({ type: 'multipart/form-data', form: [['a', 'b']] }), [url, '--form-string', 'a=b'])
  t.strictSame(bodyOf({ state: 'unread' }), ['--request', 'POST', url, ...type])
  t.strictSame(bodyOf({ json: [1] }, 'HEAD'), ['--head', url, ...type])
})

t.test('comments list the parts that are not sent, without recorded text', async t => {
  const commentsOf = (request: object, method = 'POST') =>
    curlOf(request, { method })
      .split('\n')
      .filter(line => line.startsWith('#'))
  t.strictSame(commentsOf({ body: { state: 'unread', type: "x'\n>canary" } }), ['# The body is not recorded.'])
  t.strictSame(commentsOf({ body: { state: 'unread', length: 0 } }), [])
  t.strictSame(commentsOf({ body: { json: [1] } }, 'HEAD'), ['# With HEAD, curl sends no body.'])
  t.strictSame(commentsOf({ headers: [['…', '…']] }), ['# Headers that were recorded incompletely are not included.'])
  t.strictSame(commentsOf({ headers: [['x-long', 'abc…']] }), [
    '# Headers that were recorded incompletely are not included.',
  ])
  const files = [{ field: 'cv', name: '.env', type: '' }]
  const empty = '# File contents are not recorded. The files are sent empty.'
  t.strictSame(commentsOf({ body: { files } }), [empty])
  const nul = '# Fields with a NUL character are not included: an argument cannot contain it.'
  t.strictSame(commentsOf({ body: { files, form: [['a', '\0']] } }), [empty, nul])
  const files2 = [{ field: 'a=@b', name: 'c', type: '' }]
  t.strictSame(commentsOf({ body: { files: files2 } }), ['# The form is not included: its boundary is not recorded.'])
})

t.test('a form never makes curl read a file', async t => {
  const url = 'http://localhost/a'
  const contentType = 'multipart/form-data; boundary=X'
  const formOf = (body: object) =>
    wordsOf(t, curlOf({ headers: [['content-type', contentType]], body }, { url, method: 'POST' }))
  const file = { field: 'cv', name: 'my cv.txt', type: 'text/plain' }

  t.strictSame(formOf({ form: [['a', '@.env;type=x']], files: [file, { ...file, name: '.env', type: '' }] }), [
    url,
    '--form-string',
    'a=@.env;type=x',
    '--form',
    'cv=;filename="my cv.txt";type=text/plain',
    '--form',
    'cv=;filename=".env"',
  ])
  const names = ['a=@secret-file;x', 'a=<secret-file;x', 'a=b', 'a";x', 'a\\', 'a,b', 'a\r\nb', 'a\u202e', '']
  for (const field of names) {
    const part = { field, content: '', file: { name: 'f.txt', type: '' } }
    const written = ['--data-raw', encodeMultipart('X', [part]).toString('latin1')]
    const header = ['--header', `content-type: ${contentType}`]
    t.strictSame(formOf({ files: [{ field, name: 'f.txt', type: '' }] }), [url, ...header, ...written], field)
  }
  for (const hostile of [{ name: 'a";type="x' }, { name: '' }, { type: 'text/plain;filename=.env' }]) {
    const { field, name, type } = { ...file, ...hostile }
    const written = encodeMultipart('X', [{ field, content: '', file: { name, type } }]).toString('latin1')
    t.equal(formOf({ files: [{ field, name, type }] }).at(-1), written)
  }
})

t.test('a shell reads a quoted text as one word', async t => {
  t.equal(quoteForShell('http://a.test/x'), 'http://a.test/x')
  t.equal(quoteForShell("it's"), "'it'\\''s'")
  t.equal(quoteForShell(''), "''")
  t.equal(quoteForShell('=ls'), "'=ls'", 'zsh would look for ls')
  t.equal(quoteForShell('two\nlines!\n'), `"$(printf %b 'two\\nlines\\0041')\n"`)
  t.equal(quoteForShell("\u001b'\\"), `"$(printf %b '\\0033\\0047\\\\')"`)
  t.equal(quoteForShell('a\u0085', 'latin1'), `"$(printf %b 'a\\0205')"`)
  t.equal(quoteForShell('a\u0085'), `"$(printf %b 'a\\0302\\0205')"`)
})

const planted = [
  "\u0080';>canary;#",
  "\u0001');>canary;('",
  '\u0001")>canary;("',
  '\u0085$(>canary)`>canary`',
  "\u001b\\';>canary;#",
  "\n';>canary;\n#",
  '\n\n',
  '\u007f\n>canary\n',
  "$'\\';>canary;#'",
  '\u202e;>canary #\u2066\u2028>canary',
  '\u{e0041}\u200b\u00ad',
  '\ud800\u0001',
  "-o canary\u0007'",
]

t.test('an attack in a recorded text stays in its word', async t => {
  const commands = planted.flatMap(text => [
    curlOf({ headers: [['x-evil', text]] }, { url: `http://a/${text}` }),
    curlOf({ body: { json: [text] } }, { method: 'POST' }),
    curlOf({ body: { type: 'multipart/form-data', form: [['a', text]] } }, { method: 'POST' }),
    createCallCurl({
      method: text,
      url: text,
      request: { headers: [['x-a', text]], content: { type: 'text/plain', length: 1, text } },
    }),
  ])
  for (const command of commands) t.notMatch(command, unseen)
  for (const shell of shells) {
    const calls = runCommands(t, shell, commands)
    t.equal(calls.length, commands.length)
    for (const [index, text] of planted.entries()) {
      const [page = [], json = [], form = [], call = []] = calls.slice(4 * index)
      t.ok(page.includes(toBytes(`http://a/${text}`)))
      t.equal(json.at(-1), toBytes(JSON.stringify(text)))
      t.equal(form.at(-1), toBytes(`a=${text}`))
      t.strictSame(call.slice(0, 2), ['--request', toBytes(text)])
      t.equal(call.at(-1), toBytes(text))
    }
  }
})

const pieces = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(...planted) },
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      ...["'", '"', '\\', '`', '$', '>canary', ';', '&', '|', '#', '!', '*', '~', '%s', '\\0101', '\\c', '=@', '=<'],
      ...['@/etc/hostname', '-o', '--next', ';type=', ';filename=".env', '[1-3]', '{a,b}', '/../', ' ', 'a', 'é', '漢'],
      ...['\0', '\t', '\r\n', '\u009b', '\u200f', '\u061c', '\u2029', '\ufeff', '👍🏽', '\udc00'],
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 5 }) },
)
const text = fc.array(pieces, { maxLength: 4 }).map(some => some.join(''))
const byteText = text.map(text => text.replace(/[^\x20-\xff]/g, '\u0085'))
const fileName = fc.record({ field: text, name: text, type: fc.oneof(text, fc.constant('text/plain')) })

/** A hostile request, within the limits of a server. */
const exchange = fc.record({
  method: fc.constantFrom('GET', 'POST', 'HEAD', 'PUT', '-X'),
  path: text.map(text => text.replaceAll('\0', '')),
  headers: fc.array(fc.tuple(fc.constantFrom('x-a', 'Cookie', "x!#$%&'*+.^_`|~"), fc.oneof(byteText, text)), {
    maxLength: 2,
  }),
  body: fc.oneof(
    fc.constant({}),
    text.map(text => ({ json: [{ [text]: text }] })),
    fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 2 }).map(form => ({ form })),
    fc.record({
      type: fc.constant('multipart/form-data'),
      form: fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 2 }),
      files: fc.array(fileName, { maxLength: 1 }),
    }),
  ),
})

type Exchange = typeof exchange extends fc.Arbitrary<infer exchange> ? exchange : never

/** The expected arguments of curl, without quoting. */
function expectedWords({ body, headers, method, path }: Exchange): string[] {
  const options = method === 'HEAD' ? [] : expectedBody(body)
  const usual = options.length > 0 ? 'POST' : 'GET'
  const isWritten = options[0] === '--data-raw' && 'type' in body
  return [
    ...(method === 'HEAD' ? ['--head'] : method === usual ? [] : ['--request', method]),
    toBytes(`http://a/${path}`),
    ...(/[[\]{}]/.test(path) ? ['--globoff'] : []),
    ...(/^\.\.?($|[/?#])|\/\.\.?($|[/?#])/.test(path) ? ['--path-as-is'] : []),
    ...(method === 'HEAD' || !('type' in body) || isWritten
      ? ['--header', 'content-type: multipart/form-data; boundary="X Y"']
      : []),
    ...headers
      .filter(([, value]) => [...value].every(isHeaderCharacter))
      .flatMap(([name, value]) => ['--header', value.trim() === '' ? `${name};` : `${name}: ${value}`]),
    ...options,
  ]
}

function isHeaderCharacter(character: string): boolean {
  return character === '\t' || (character >= ' ' && character <= '\xff' && character !== '\x7f')
}

function isNameCharacter(character: string): boolean {
  return !'"%,;=\\'.includes(character) && !/[\p{C}\p{Zl}\p{Zp}]/u.test(character)
}

function expectedBody(body: Exchange['body']): string[] {
  if ('json' in body) return ['--data-raw', toBytes(JSON.stringify(body.json[0]))]
  if (!('form' in body)) return []
  if (!('type' in body)) return ['--data-raw', new URLSearchParams(body.form).toString()]
  const form = body.form.filter(pair => !pair.join('').includes('\0'))
  const files = body.files.filter(({ field, name, type }) => !`${field}${name}${type}`.includes('\0'))
  const names = [...form.map(([name]) => name), ...files.flatMap(({ field, name }) => [field, name])]
  const isPlain = names.every(name => name !== '' && [...name].every(isNameCharacter))
  if (isPlain && files.every(({ type }) => type === '' || type === 'text/plain')) {
    return [
      ...form.flatMap(([name, value]) => ['--form-string', toBytes(`${name}=${value}`)]),
      ...files.flatMap(({ field, name, type }) => [
        '--form',
        toBytes(`${field}=;filename="${name}"${type === '' ? '' : `;type=${type}`}`),
      ]),
    ]
  }
  const parts = [
    ...form.map(([field, content]) => ({ field, content })),
    ...files.map(({ field, name, type }) => ({ field, content: '', file: { name, type } })),
  ]
  return ['--data-raw', encodeMultipart('X Y', parts).toString('latin1')]
}

t.test('hostile requests: a shell runs curl with the recorded values, and nothing else', async t => {
  const property = fc.property(fc.array(exchange, { minLength: 250, maxLength: 250 }), exchanges => {
    const commands = exchanges.map(({ body, headers, method, path }) => {
      const type = ['content-type', 'multipart/form-data; boundary="X Y"']
      return curlOf({ headers: [type, ...headers], body }, { method, url: `http://a/${path}` })
    })
    for (const command of commands) if (unseen.test(command)) t.fail(`unseen: ${JSON.stringify(command)}`)
    const expected = exchanges.map(expectedWords)
    for (const shell of shells) {
      const calls = runCommands(t, shell, commands)
      const wrong = expected.findIndex((words, index) => words.join('\0') !== calls[index]?.join('\0'))
      if (wrong === -1 && calls.length === expected.length) continue
      t.strictSame(calls[wrong], expected[wrong], `${shell}: ${commands[wrong]}`)
      throw new Error(`${shell} has not run ${JSON.stringify(exchanges[wrong])} as it was recorded`)
    }
  })
  fc.assert(property, { numRuns: provenRuns(8), endOnFailure: true })
})

t.test('the command of a call has its headers and its body, or says what is missing', async t => {
  const call = { method: 'POST', url: 'http://a/' }
  const headers = [
    ['host', 'a'],
    ['content-length', '3'],
    ['x-a', '1'],
  ] as const
  t.equal(
    createCallCurl(call),
    '# The headers and the body are not recorded.\ncurl --request POST \\\n  http://a/'.replace(' \\\n ', ''),
  )
  t.equal(
    createCallCurl({ ...call, request: { headers } }),
    "# The body is not recorded.\ncurl --request POST http://a/ \\\n  --header 'x-a: 1'",
  )
  const content = { type: 'text/plain', length: 3, text: 'abc', isCut: true } as const
  t.match(
    createCallCurl({ ...call, request: { headers, content } }),
    /^# The body is only the beginning\.\ncurl http[\s\S]*--data-raw abc$/,
  )
  const chunked = createCallCurl({ ...call, request: { headers: [['transfer-encoding', 'chunked']] } })
  t.match(chunked, '# The body is not recorded.')
})
