import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { type Test, t } from 'tap'
import type { Profile } from '#bundles/profiler/profile/profile.ts'

const program = path.join(import.meta.dirname, '../../../fixtures/crashing-server.js')

/** Serves in a separate process, in which a request waits for its response. */
async function start(t: Test) {
  const disk = path.join(t.testdir(), 'profiles.json')
  // Without the additions of tap to the environment of each process, which take seconds.
  const command = ['-u', 'NODE_OPTIONS', process.execPath, '--enable-source-maps', program, disk]
  const child = spawn('env', command, { stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const stderr = text(child.stderr)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const url = String((await lines.next()).value)
  const waiting = fetch(`${url}/slow`).then(
    () => 'answered',
    () => 'cut off',
  )
  t.equal((await lines.next()).value, 'slow')
  return {
    url,
    /** Waits for the end of the process, and returns its exit and its stored profiles. */
    async end() {
      const [code] = await ended
      const profiles: Profile[] = JSON.parse(readFileSync(disk, 'utf8'))
      const findProfile = (target: string) => profiles.find(({ summary }) => summary.url.endsWith(target))
      return { code, stderr: await stderr, findProfile, slow: await waiting }
    },
  }
}

for (const [target, message] of [
  ['/pending', 'while it was handled'],
  ['/answered', 'after its answer'],
  ['/rejected', 'in a promise'],
] as const) {
  t.test(`an error ${message} ends the process, and the profiles of its requests are stored`, async t => {
    const { url, end } = await start(t)
    const isAnswered = await fetch(url + target).then(
      () => true,
      () => false,
    )
    t.equal(isAnswered, target !== '/pending')

    const { code, findProfile, slow, stderr } = await end()
    t.equal(code, 1, 'the exit code is the same without a profiler')
    t.match(stderr, `Error: ${message}`)
    t.equal(slow, 'cut off')

    const culprit = findProfile(target)
    t.hasStrict(culprit?.summary, { outcome: 'crashed', status: isAnswered ? 200 : 0, exception: 'Error' })
    t.hasStrict(culprit?.data.exception, {
      exceptions: [{ message, frames: [{ file: 'tests/fixtures/crashing-server.ts' }] }],
      excerpts: [{ lines: [] }],
    })
    t.hasStrict(findProfile('/slow')?.summary, { outcome: 'crashed', status: 0, exception: null, route: '/slow' })
  })
}
