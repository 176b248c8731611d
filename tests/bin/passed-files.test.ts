import { type Test, t } from 'tap'
import { runProcess } from '#tests/support/start-process.ts'

/** For each path, the files of the package of which a request for it calls a function. */
async function passedFiles(t: Test, environment: string, ...paths: readonly string[]): Promise<readonly string[][]> {
  const program = [process.execPath, 'dist/tests/fixtures/passed-files.js', environment, ...paths]
  // Node's own coverage would change the counts.
  const env = { ...process.env, APP_SECRET: 'of one’s own, and long enough for production', NODE_V8_COVERAGE: '' }
  const { code, stderr } = await runProcess(t, program, { env })
  t.equal(code, 0)
  const found: string[][] = JSON.parse(stderr)
  t.ok(
    found.every(files => files.includes('kernel/http-kernel.js')),
    'the files are found',
  )
  return found
}

t.test('a page passes at most 50 files of the package', async t => {
  const [files = []] = await passedFiles(t, 'prod', '/partnership')
  t.ok(files.length <= 50, `${files.length} files: ${files.join(' ')}`)
})

t.test('in development it passes at most 125 files, the page of a profile 180; none is of other pages', async t => {
  const [files = [], shown = []] = await passedFiles(t, 'dev', '/partnership', '/_profiler/:token')
  t.ok(files.length <= 125, `${files.length} files: ${files.join(' ')}`)
  const screens = /\/(?:insight|export|pages|panels)\/|\/(?:show|rules)\.js$/
  t.strictSame(
    files.filter(file => screens.test(file)),
    [],
  )
  t.ok(shown.length <= 180, `${shown.length} files: ${shown.join(' ')}`)
  t.strictSame(
    shown.filter(file => file.includes('/pages/')),
    ['pages', 'profile-page', 'render-panel'].map(name => `bundles/profiler/web/pages/${name}.js`),
  )
})
