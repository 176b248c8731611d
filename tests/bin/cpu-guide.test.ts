import { readFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { CpuSampler } from '#bundles/profiler/subjects/cpu/cpu-sampler.ts'
import { primesBundle } from '#tests/fixtures/primes-bundle.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

t.test('the bundle of the guide is the tested one, and its hot spot is the one in the guide', async t => {
  const guide = readFileSync('docs/guides/cpu-profile.md', 'utf8')
  t.ok(guide.includes(readFileSync('tests/fixtures/primes-bundle.ts', 'utf8')))
  const armFile = path.join(t.testdir(), 'armed.json')
  const { client } = await createProfiledKernel(t, {
    bundles: [primesBundle],
    armFile,
    // Resets coverage: tests of this folder have a process of their own.
    cpuSampler: new CpuSampler(),
  })
  const headers = { origin: 'http://localhost' }
  await client.post('/_profiler/cpu/arm', { form: { route: 'primes' }, headers })
  t.equal((await client.get('/primes')).text, '2262')
  const { text } = await client.get('/_profiler/latest.md?panel=cpu')
  const hottest = (markdown: string) => /\n- \d+ % (`.*:)\d+(`.*): own/.exec(markdown)?.slice(1).join(' ')
  t.equal(hottest(text)?.replace('tests/fixtures', 'bundles/primes'), hottest(guide))
})
