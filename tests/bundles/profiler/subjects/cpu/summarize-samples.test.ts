import type { Profiler } from 'node:inspector'
import fc from 'fast-check'
import { t } from 'tap'
import { type CallNode, createCallTree, summarizeSamples } from '#bundles/profiler/subjects/cpu/summarize-samples.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { SourceExcerpts } from '#lib/stack/source-excerpts.ts'

/** A node of V8: the id of its parent (0 for none), and the name of its function. */
type Node = readonly [parent: number, name: string]

function createProfile(
  nodes: readonly Node[],
  samples: readonly (readonly [id: number, delta: number])[],
): Profiler.Profile {
  const end = samples.reduce((sum, [, delta]) => sum + delta, 0) + 100
  return {
    nodes: nodes.map(([, functionName], index) => ({
      id: index + 1,
      callFrame: {
        functionName,
        scriptId: '1',
        url: functionName.startsWith('(') ? '' : `file://${process.cwd()}/dist/${functionName}.js`,
        lineNumber: functionName.startsWith('(') ? -1 : 3,
        columnNumber: 0,
      },
      hitCount: 0,
      children: nodes.flatMap(([parent], child) => (parent === index + 1 ? [child + 1] : [])),
    })),
    startTime: 0,
    endTime: end,
    samples: samples.map(([id]) => id),
    timeDeltas: samples.map(([, delta]) => delta),
  }
}

function summarize(profile: Profiler.Profile, names: ReadonlyMap<string, string> = new Map()) {
  const redactor = new Redactor({})
  const directory = process.cwd()
  const services = { directory, names, redactor, sources: new SourceExcerpts(directory, redactor) }
  return summarizeSamples({ profile, startup: 1.5, others: 0, isCut: false }, services)
}

t.test('a process without a processor does not make the function of the last sample hot', async t => {
  const { busy, functions, idle } = summarize(
    createProfile(
      [
        [0, '(root)'],
        [1, 'a'],
        [2, 'b'],
      ],
      [
        [2, 0],
        [3, 100_000],
        [3, 4_000],
      ],
    ),
  )
  t.strictSame({ busy, idle }, { busy: 9_100, idle: 95_000 })
  t.strictSame(
    functions.map(({ name, self }) => [name, self]),
    [
      ['a', 5_000],
      ['b', 4_100],
    ],
  )
})

t.test('a sample stands for the time until the next sample; waiting is not work', async t => {
  const profile = createProfile(
    [
      [0, '(root)'],
      [1, 'a'],
      [2, 'b'],
      [1, '(idle)'],
      [1, '(garbage collector)'],
    ],
    [
      [2, 10],
      [3, 20],
      [4, 30],
      [5, 40],
    ],
  )
  const data = summarize(profile)
  t.hasStrict(data, { busy: 150, idle: 40, samples: 4, startup: 1500, omitted: 0 })
  t.strictSame(
    summarize(profile, new Map([['1:3:0', 'controller home']])).functions.map(({ name }) => name),
    ['(garbage collector)', 'controller home', 'controller home'],
    'a place may have a name that is not in the source',
  )
  t.strictSame(
    data.functions.map(({ name, origin, self, total }) => [name, origin, self, total]),
    [
      ['(garbage collector)', 'gc', 100, 100],
      ['b', 'application', 30, 30],
      ['a', 'application', 20, 50],
    ],
  )
  t.strictSame(data.calls, [
    [0, -1, 100, 100],
    [2, -1, 20, 50],
    [1, 1, 30, 30],
  ])
})

t.test('the time of a recursive function counts once', async t => {
  const profile = createProfile(
    [
      [0, '(root)'],
      [1, 'walk'],
      [2, 'walk'],
      [3, 'step'],
      [4, 'walk'],
    ],
    [
      [2, 0],
      [3, 100],
      [4, 100],
      [5, 100],
    ],
  )
  const [walk] = summarize(profile).functions
  t.hasStrict(walk, { name: 'walk', self: 300, total: 400 })
})

t.test('equal calls by the same caller are merged, even if V8 has separate nodes', async t => {
  const profile = createProfile(
    [
      [0, '(root)'],
      [1, 'a'],
      [1, 'a'],
      [2, 'b'],
      [3, 'b'],
    ],
    [
      [4, 0],
      [5, 100],
    ],
  )
  t.strictSame(
    summarize(profile).calls.map(([, , self, total]) => [self, total]),
    [
      [0, 200],
      [200, 200],
    ],
  )
})

t.test('the longest of many calls are kept, with all their callers', async t => {
  const nodes: Node[] = [
    [0, '(root)'],
    [1, 'main'],
  ]
  const samples: [number, number][] = []
  for (let index = 0; index < 3000; index++) {
    nodes.push([2, `f${index}`])
    samples.push([index + 3, 1000 + index])
  }
  const data = summarize(createProfile(nodes, samples))
  t.ok(data.calls.length <= 1000)
  t.equal(data.omitted, 3001 - data.calls.length)
  t.ok(JSON.stringify(data).length < 250_000)
  for (const [called, caller] of data.calls.slice(1)) {
    t.equal(caller, 0)
    if (data.functions[called] === undefined) t.fail('every call has its function')
  }
})

t.test('the sources of the hottest functions are kept', async t => {
  const names = Array.from({ length: 9 }, (_, index) => `f${index}`)
  const profile = createProfile(
    [[0, '(root)'], ...names.map((name): Node => [1, name])],
    names.map((_, index) => [index + 2, 10 * index]),
  )
  const url = `file://${process.cwd()}/tests/fixtures/busy-bundle.ts`
  const nodes = profile.nodes.map((node, index) => ({
    ...node,
    callFrame: { ...node.callFrame, url, lineNumber: index },
    positionTicks: [
      { line: index, ticks: 1 },
      { line: index + 5, ticks: 2 },
    ],
  }))
  const { excerpts, functions } = summarize({ ...profile, nodes })
  t.equal(functions.length, 9)
  t.equal(excerpts.length, 5)
  t.hasStrict(functions[0], { name: 'f8', line: 10, hot: 14 })
  t.hasStrict(excerpts[0], { file: 'tests/fixtures/busy-bundle.ts', line: 14, start: 9 })
})

t.test('without valid samples the tree is empty', async t => {
  for (const profile of [
    { nodes: [], startTime: 0, endTime: 0 },
    { nodes: [], startTime: 0, endTime: 0, samples: [7, 8], timeDeltas: [1] },
  ]) {
    t.hasStrict(summarize(profile), { busy: 0, idle: 0, calls: [], functions: [], excerpts: [] })
  }
})

t.test('no time is lost or counted twice, in any tree', async t => {
  const shape = fc.array(fc.tuple(fc.nat(30), fc.constantFrom('a', 'b', 'c', '(idle)', '(program)')), { maxLength: 40 })
  const seen = fc.array(fc.tuple(fc.nat(60), fc.integer({ min: -5, max: 1000 })), { minLength: 1, maxLength: 60 })
  const property = fc.property(shape, seen, (shape, seen) => {
    const nodes: Node[] = [[0, '(root)']]
    for (const [place, name] of shape) {
      const parent = place % nodes.length
      // Nothing is called while the process waits.
      nodes.push([nodes[parent]?.[1] === '(idle)' ? 1 : parent + 1, name])
    }
    const samples = seen.map(([id, delta]): [number, number] => [(id % nodes.length) + 1, delta])
    const { idle, root } = createCallTree(createProfile(nodes, samples), () => false)
    const addUp = (node: CallNode): number => {
      const below = [...node.children.values()].reduce((sum, child) => sum + addUp(child), 0)
      if (node.total !== node.self + below) throw new Error('A total is not the sum of its parts.')
      return node.total
    }
    const clocked = samples.slice(1).reduce((sum, [, delta]) => sum + Math.max(0, delta), 0)
    const last = createProfile(nodes, samples).endTime - samples.reduce((sum, [, delta]) => sum + delta, 0)
    return addUp(root) + idle === clocked + last
  })
  fc.assert(property, { numRuns: 500 })
  t.pass()
})
