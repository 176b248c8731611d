import { type Test, t } from 'tap'
import { runProcess } from '#tests/support/start-process.ts'

/** The files of the package of which a request for a path calls a function. */
async function passedFiles(t: Test, environment: string, path: string): Promise<string[]> {
  const program = [process.execPath, 'dist/tests/fixtures/passed-files.js', environment, path]
  // Node's own coverage would change the counts.
  const env = { ...process.env, APP_SECRET: 'of one’s own, and long enough for production', NODE_V8_COVERAGE: '' }
  const { code, stderr } = await runProcess(t, program, { env })
  t.equal(code, 0)
  const files: string[] = JSON.parse(stderr)
  t.ok(files.includes('kernel/http-kernel.js'), 'the files are found')
  return files
}

t.test('a page passes at most 50 files of the package', async t => {
  const files = await passedFiles(t, 'prod', '/partnership')
  t.ok(files.length <= 50, `${files.length} files: ${files.join(' ')}`)
})

t.test('in development it passes at most 105 files, none of them with code of screens', async t => {
  const files = await passedFiles(t, 'dev', '/partnership')
  t.ok(files.length <= 105, `${files.length} files: ${files.join(' ')}`)
  const screens = /\/(?:insight|export|pages|panels)\/|\/(?:show|rules)\.js$/
  t.strictSame(
    files.filter(file => screens.test(file)),
    [],
  )
})

t.test('the page of a profile passes at most 150 files, and no code of other pages', async t => {
  const files = await passedFiles(t, 'dev', '/_profiler/:token')
  t.ok(files.length <= 150, `${files.length} files: ${files.join(' ')}`)
  t.strictSame(
    files.filter(file => file.includes('/pages/')),
    ['bundles/profiler/web/pages/pages.js', 'bundles/profiler/web/pages/profile-page.js'],
  )
})
