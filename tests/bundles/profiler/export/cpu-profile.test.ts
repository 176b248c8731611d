import { t } from 'tap'
import { toCpuProfileFile } from '#bundles/profiler/export/cpu-profile.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { createCallTree } from '#bundles/profiler/subjects/cpu/summarize-samples.ts'
import { createProfile } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

const functions = [
  { name: 'handle', file: 'a.ts', line: 3, column: 5, origin: 'application', self: 10, total: 100 },
  { name: '(anonymous)', file: 'a.ts', line: 9, column: 1, origin: 'application', self: 60, total: 60 },
  { name: '(garbage collector)', origin: 'gc', self: 20, total: 20 },
]

function createSampled(): Profile {
  const calls = [
    [0, -1, 10, 100],
    [1, 0, 60, 60],
    [2, -1, 20, 20],
    [1, 0, 0, 0],
  ]
  return createProfile({ cpu: { samples: 3, busy: 130, idle: 70, functions, calls, omitted: 4 } })
}

t.test('a CPU profile has the times of the stored calls, in the format of V8', async t => {
  const file = toCpuProfileFile(createSampled())
  const startTime = Date.parse('2026-11-20T23:15:09.042Z') * 1000
  const [samples, timeDeltas] = [
    [4, 5, 6, 2, 3],
    [0, 40, 60, 20, 10],
  ]
  t.hasStrict(file, { startTime, endTime: startTime + 200, samples, timeDeltas })
  t.hasStrict(file?.nodes, [
    { id: 1, callFrame: { functionName: '(root)' }, children: [4, 6, 2, 3] },
    { id: 2, callFrame: { functionName: '(program)' }, hitCount: 1 },
    { id: 3, callFrame: { functionName: '(idle)' } },
    {
      id: 4,
      callFrame: { functionName: 'handle', scriptId: '1', url: 'a.ts', lineNumber: 2, columnNumber: 4 },
      children: [5, 7],
    },
    { id: 5, callFrame: { functionName: '', scriptId: '1', lineNumber: 8, columnNumber: 0 }, hitCount: 1 },
    { id: 6, callFrame: { functionName: '(garbage collector)', scriptId: '0', url: '', lineNumber: -1 } },
    { id: 7, hitCount: 0 },
  ])
  // The reader of V8's own profiles reads it, with the same times.
  const copy = JSON.parse(JSON.stringify(file))
  const { idle, root } = createCallTree(copy, () => false)
  t.equal(idle, 70)
  t.equal(root.total, 130)
  const [handle] = [...root.children.values()]
  t.hasStrict(handle, { self: 40, total: 100 }, 'with calls that were too short to be stored')
})

t.test('a CPU profile is listed and found only if the request was sampled', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const { summary, ...document } = createSampled()
  const { children, data, failures, schemaVersion } = document
  storage.append({ summary, text: JSON.stringify({ schemaVersion, summary, children, data, failures }) }, '{}')
  const [page, file] = [await client.get('/_profiler/abc123'), await client.get('/_profiler/abc123/export/cpuprofile')]
  t.match(page.text, '/_profiler/abc123/export/cpuprofile')
  t.equal(file.headers.get('content-disposition'), 'attachment; filename="profile-abc123.cpuprofile"')
  t.hasStrict(file.json(), { endTime: summary.time * 1000 + 200 })
  t.hasStrict((await client.get('/_profiler/abc123.json')).json(), {
    links: { exports: { cpuprofile: '/_profiler/abc123/export/cpuprofile' } },
  })

  const other = (await client.get('/star-photo-booth')).headers.get('x-debug-token')
  t.notMatch((await client.get(`/_profiler/${other}`)).text, 'cpuprofile')
  t.notMatch((await client.get(`/_profiler/${other}.json`)).text, 'cpuprofile')
  const missing = await client.get(`/_profiler/${other}/export/cpuprofile`)
  t.equal(missing.status, 404)
  t.hasStrict(missing.json(), { detail: `The CPU was not sampled during the request ${other}` })
})
