import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type Test, t } from 'tap'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { startProgram } from '#tests/bin/site-process.ts'

const program = path.join(import.meta.dirname, '../../../fixtures/crashing-server.js')

/** Serves in a separate process, in which a request waits for its response. */
async function start(t: Test) {
  const disk = path.join(t.testdir(), 'profiles.json')
  const site = startProgram(t, [process.execPath, '--enable-source-maps', program, disk], {})
  const [url] = await site.until(/http:\S+(?=\n)/)
  const waiting = fetch(`${url}/slow`).then(
    () => 'answered',
    () => 'cut off',
  )
  await site.until(/^slow$/m)
  return {
    url,
    /** Waits for the end of the process, and returns its exit and its stored profiles. */
    async end() {
      const code = await site.end()
      const profiles: Profile[] = JSON.parse(readFileSync(disk, 'utf8'))
      const findProfile = (target: string) => profiles.find(({ summary }) => summary.url.endsWith(target))
      return { code, stderr: site.stderr, findProfile, slow: await waiting }
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
