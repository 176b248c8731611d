import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { get } from 'node:http'
import { createRequire } from 'node:module'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { bootApplication } from 'sinfonietta/server'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { describeFailure, toSourceProblems } from '#bin/application/describe-failure.ts'
import { parseCompilerOutput } from '#bin/application/sources.ts'
import { serveProblems } from '#bin/serving/holding-application.ts'
import { holdingPage } from '#bin/serving/holding-page.ts'
import type { Options } from '#bin/serving/serve-options.ts'
import { createView } from '#lib/view/view.ts'
import { findPort } from '#tests/support/find-port.ts'
import { createProject } from '#tests/support/project.ts'

const directory = process.cwd()

const failureOf = (pending: Promise<unknown>) =>
  pending.then(
    () => undefined,
    (error: unknown) => error,
  )

t.test('the mistakes of the compiler have their places, plain or with colours', async t => {
  const file = path.join(directory, 'bundles/a.ts')
  const expected = [
    { message: "Cannot find name 'x'.", file, line: 3, column: 7 },
    { message: "Type 'A' is not assignable.\n  Property 'b' is missing.", file, line: 9, column: 1 },
  ]
  const plain = `bundles/a.ts(3,7): error TS2304: Cannot find name 'x'.
bundles/a.ts(9,1): error TS2322: Type 'A' is not assignable.
  Property 'b' is missing.
`
  t.strictSame(parseCompilerOutput(plain, directory), expected)
  const [first] = expected
  const colours = `\u001b[96mbundles/a.ts\u001b[0m:\u001b[93m3\u001b[0m:\u001b[93m7\u001b[0m - \u001b[91merror\u001b[0m\u001b[90m TS2304: \u001b[0mCannot find name 'x'.

\u001b[7m3\u001b[0m const y = x
\u001b[7m \u001b[0m           \u001b[91m~\u001b[0m

Found 1 error.
`
  t.strictSame(parseCompilerOutput(colours, directory), [first])
  t.strictSame(parseCompilerOutput('error TS5083: Cannot read file.\n', directory), [{ message: 'Cannot read file.' }])
  t.strictSame(parseCompilerOutput('Found 0 errors.', directory), [])
})

t.test('each mistake in a template has its own line', async t => {
  const folder = t.testdir({ shop: { 'a.hbs': 'one\n{{#if x}}', 'b.hbs': '<p>\n  {{> nowhere}}' } })
  const view = createView([{ path: folder }])
  let error: unknown
  try {
    view.load()
  } catch (thrown) {
    error = thrown
  }
  const problems = toSourceProblems(error, path.dirname(folder))
  t.match(problems, [
    { file: path.join(folder, 'shop/a.hbs'), line: 2, message: '{{#if}} has no end: write {{/if}}' },
    { file: path.join(folder, 'shop/b.hbs'), line: 2, message: /^there is no partial "nowhere"/ },
  ])
  t.equal(problems.length, 2)
  // There are more mistakes than places.
  const message = 'Mistakes:\nshop/a.hbs: line 1: one\nshop/b.hbs: line 2: two'
  const stack = `Error: ${message}\n    at template shop/a (/app/templates/shop/a.hbs:1:2)`
  const lacking = Object.assign(error as Error, { message, stack })
  t.strictSame(toSourceProblems(lacking, directory), [
    { message: 'one', file: '/app/templates/shop/a.hbs', line: 1, column: 2 },
    { message: 'shop/b.hbs: line 2: two' },
  ])
})

t.test('an error of the start has the place of the application, without the calls', async t => {
  const cause = new TypeError('no price')
  const register = () => {
    throw cause
  }
  const failed = await failureOf(createTestKernel({ bundles: [{ name: 'shop', register }] }))
  const [problem] = toSourceProblems(failed, directory)
  t.match(problem?.message, /^KERNEL_BUNDLE_FAILED: .*no price/)
  t.notMatch(problem?.message, /\n {4}at /)
  t.equal(problem?.file, path.join(directory, 'tests/bin/source-problems.test.ts'))
  const elsewhere = Object.assign(new Error('far'), { stack: 'Error: far\n    at f (/usr/lib/x.js:1:1)' })
  t.notOk(toSourceProblems(elsewhere, directory)[0]?.file)
  t.strictSame(toSourceProblems('text', directory), [{ message: "'text'" }])
})

t.test('a syntax error has the place that Node names; a setting that of its file', async t => {
  const syntax = Object.assign(new SyntaxError('Unexpected token'), {
    stack: `file://${directory}/bundles/a.ts:4\n  x =\n\nSyntaxError: Unexpected token\n    at compile (node:internal:1:1)`,
  })
  t.match(toSourceProblems(syntax, directory), [{ file: path.join(directory, 'bundles/a.ts'), line: 4, column: 1 }])
  const application = t.testdir({ '.env': 'A=1\nB=2\nno assignment\n' })
  const [malformed] = toSourceProblems(await failureOf(bootApplication(application)), directory)
  t.match(malformed, { file: path.join(application, '.env'), line: 3, column: 1, message: /^The file/ })
  const unknown = createTestKernel({ bundles: [], variables: { APP_ENV: 'nowhere' } })
  const [invalid] = toSourceProblems(await failureOf(unknown), directory)
  t.match(invalid?.message, 'APP_ENV')
})

t.test('an import that finds no file has its own line, and the right path', async t => {
  const folder = realpathSync(
    t.testdir({ 'index.mjs': "import 'node:fs'\nimport {\n  a,\n} from './shop'\n", 'shop.ts': '' }),
  )
  const importer = path.join(folder, 'index.mjs')
  const failed = await failureOf(import(pathToFileURL(importer).href))
  t.match(toSourceProblems(failed, folder), [
    {
      message: 'the import of "./shop" finds no file.\nImports of own files end in .ts: import "./shop.ts" instead.',
      file: importer,
      line: 4,
      column: 1,
    },
  ])
})

t.test('an import in a compiled file has the line of its source', async t => {
  const map = { version: 3, sources: ['../index.ts'], names: [], mappings: ';AAEA' }
  const folder = realpathSync(
    t.testdir({
      'index.ts': "\n\nimport './shop'\n",
      'shop.ts': '',
      dist: {
        'index.mjs': "\nimport './shop'\n//# sourceMappingURL=index.mjs.map\n",
        'index.mjs.map': JSON.stringify(map),
        'shop.js': '',
      },
    }),
  )
  const failed = await failureOf(import(pathToFileURL(path.join(folder, 'dist/index.mjs')).href))
  t.match(toSourceProblems(failed, folder), [{ file: path.join(folder, 'index.ts'), line: 3 }])
  t.match(describeFailure(failed), `${path.join(folder, 'index.ts')}:3: the import of "./shop" finds no file.`)
})

t.test('the page of the mistakes masks the source, and other sites cannot load it', async t => {
  const root = createProject(realpathSync(t.testdir()), {
    '.env': `APP_SECRET=${'s'.repeat(32)}\n`,
    'bundles/shop.cjs': "exports.one = 1\nconst password = 'hunter2canary' oops\n",
  })
  let thrown: unknown
  try {
    createRequire(import.meta.url)(path.join(root, 'bundles/shop.cjs'))
  } catch (error) {
    thrown = error
  }
  const problems = toSourceProblems(thrown, root)
  t.match(problems, [{ message: /^SyntaxError: /, file: path.join(root, 'bundles/shop.cjs'), line: 2 }])
  t.notMatch(problems[0]?.message, /canary/)
  const port = await findPort()
  const options: Options = {
    ...{ host: '127.0.0.1', port, environment: 'dev', workers: 0, edits: [] },
    ...{ identity: undefined, inspectPort: undefined, socket: undefined, ignoredHost: undefined, isRestarted: false },
  }
  const server = await serveProblems(root, options, problems)
  t.teardown(() => server.close())
  const ask = async (headers: Record<string, string>) => {
    // `fetch` has a Sec-Fetch-Mode of its own.
    const [answer] = await once(get(`http://127.0.0.1:${port}/any`, { agent: false, headers }), 'response')
    return { status: answer.statusCode, text: await text(answer) }
  }
  const shown = await ask({ 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' })
  t.equal(shown.status, 503)
  t.match(shown.text, /SyntaxError[\s\S]*\*{6}/)
  t.notMatch(shown.text, /canary/)
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  t.match((await ask(link)).text, 'SyntaxError', 'a link')
  for (const mode of ['no-cors', 'cors']) {
    const refused = await ask({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': mode, 'sec-fetch-dest': 'script' })
    t.match([refused.status, refused.text], [503, holdingPage])
  }
})
