import { readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { t } from 'tap'
import { runProcess } from '#tests/support/start-process.ts'

/**
 * Beside the tests of this folder, those of handlers that get the messages themselves, and of requests byte by byte.
 */
const others = [
  '../../application/mount-fetch-handler.test.js',
  '../../application/mount-node-handler.test.js',
  '../../application/to-fetch-handler.test.js',
  '../../conformance/bad-requests.test.js',
  '../../conformance/conformance.test.js',
]

t.test('the server works as well with the messages of Node', async t => {
  const files = readdirSync(import.meta.dirname).filter(name => /^[^.]+\.test\.js$/.test(name))
  t.not(files.length, 0)
  // In one program: each program takes a second before its first test begins.
  const program = path.join(t.testdir(), 'all.mjs')
  const imports = [...files, ...others].map(name => `import '${pathToFileURL(path.join(import.meta.dirname, name))}'`)
  writeFileSync(program, imports.join('\n'))
  // Below another run of tap, a test would leave out its totals.
  const env = { ...process.env, SERVER_MESSAGES: 'node', TAP_CHILD_ID: undefined }
  const { code, stderr, stdout } = await runProcess(t, [process.execPath, '--enable-source-maps', program], { env })
  t.strictSame(stdout.match(/^ *not ok .*/gm) ?? [], [])
  t.equal(code, 0, stderr)
})
