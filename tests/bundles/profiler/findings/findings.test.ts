import { type Test, t } from 'tap'
import { findFindings } from '../../../../bundles/profiler/findings/find-findings.ts'
import { tellProblem } from '../../../../bundles/profiler/findings/finding.ts'
import { profilerRules } from '../../../../bundles/profiler/findings/profiler-rules.ts'
import type { Profile } from '../../../../bundles/profiler/profile.ts'
import { createFlawedBundle, flawedPairs, flawedTemplates, startUpstream } from '../../../support/flawed-bundle.ts'
import { createProfiledKernel, waitForProfile } from '../../../support/profiled-kernel.ts'
import { createProject } from '../../../support/project.ts'
import { serveKernel } from '../../../support/test-server.ts'

/** A server with flawed routes and their twins. */
async function serveFlaws(t: Test) {
  const kernel = await createProfiledKernel(t, {
    bundles: [createFlawedBundle(await startUpstream(t))],
    directory: createProject(t.testdir(), flawedTemplates),
  })
  const { url } = await serveKernel(t, kernel)
  const ask = async (path: string) => {
    const response = await fetch(url + path)
    await response.text()
    return String(response.headers.get('x-debug-token'))
  }
  const find = async (path: string, isWanted?: (profile: Profile) => boolean) =>
    waitForProfile(kernel.storage, await ask(path), isWanted)
  return { ...kernel, url, ask, find }
}

const tell = (profile: Profile) => findFindings(profile).map(finding => `${finding.rule}: ${tellProblem(finding)}`)

t.test('each flaw is found in the route that has it, and nothing else is; its twin has nothing', async t => {
  const { find } = await serveFlaws(t)
  // What opens connections takes longer.
  await find('/flawed/sequence')
  for (const { flawed, rule, twin } of flawedPairs) {
    const isLate = rule === 'late-work'
    const { token } = (await find(twin)).summary
    if (isLate) await new Promise(resolve => setTimeout(resolve, 150))
    const profile = await find(flawed, ({ data }) => !isLate || data.late !== undefined)
    t.strictSame(
      tell(profile).map(text => text.split(':')[0]),
      [rule],
      `${flawed} ${tell(profile).join(' ')}`,
    )
    t.strictSame(tell(await find(twin, ({ summary }) => summary.token !== token)), [], twin)
    t.comment(tell(profile).join('\n'))
  }
  const shown = new Set(flawedPairs.map(({ rule }) => rule))
  t.strictSame([...shown].sort(), profilerRules.map(({ name }) => name).sort(), 'every rule has its flaw')
})
