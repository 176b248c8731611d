import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'

/** Beside the tests of this folder, those of handlers that get the messages themselves, and of requests byte by byte. */
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
  const failures = [...files, ...others].flatMap(name => {
    const { status, stdout } = spawnSync(process.execPath, [path.join(import.meta.dirname, name)], {
      env: { ...process.env, SERVER_MESSAGES: 'node' },
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    })
    return status === 0 ? [] : [name, ...(stdout.match(/^ *not ok .*/gm) ?? [])]
  })
  t.strictSame(failures, [])
})
