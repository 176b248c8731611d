import fc from 'fast-check'
import { t } from 'tap'
import { createProfile, createShown } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { provenRuns } from '#tests/support/sample.ts'

t.test('the panels of a damaged profile can be shown', async t => {
  const kernel = await createProfiledKernel(t)
  const panels = kernel.panels()
  const json = fc.jsonValue()
  const row = fc.oneof(
    json,
    fc.tuple(
      fc.constantFrom(null, 1, 'request'),
      fc.constantFrom('kernel.request', 'a.b'),
      json,
      json,
      fc.integer(),
      json,
    ),
  )
  const record = fc.record({ level: fc.constantFrom('info', 'error'), message: fc.string(), at: json, site: json })
  const call = fc.record({ method: json, url: json, start: json, head: json, end: json, status: json, error: json })
  const query = fc.record(
    {
      system: fc.constantFrom('postgresql', 'redis'),
      text: fc.string(),
      parameters: json,
      start: json,
      end: json,
      rows: json,
      error: json,
      caller: json,
      twin: json,
      batch: json,
      transaction: json,
    },
    { requiredKeys: ['system', 'text'] },
  )
  const render = fc.record({ name: json, parent: fc.integer({ min: -1, max: 5 }), start: json, duration: json })
  const usage = fc.record({ wall: json, cpu: json, loop: json, heap: fc.record({ after: json, limit: json }) })
  const tree = fc.record({ kind: json, text: fc.string(), entries: fc.array(fc.record({ name: json, value: json })) })
  const entry = fc.record({
    at: json,
    method: fc.constantFrom('dump', 'table', 'odd'),
    values: fc.array(tree),
    site: json,
  })
  const report = fc.record({
    kind: fc.constantFrom('console', 'policy'),
    message: fc.string(),
    stack: json,
    line: json,
  })
  const validation = fc.record({
    source: json,
    vendor: fc.string(),
    start: json,
    end: json,
    issues: fc.array(fc.oneof(json, fc.record({ path: json, message: fc.string() }))),
    omittedIssues: json,
    input: tree,
  })
  const data = fc.record({
    validation: fc.oneof(json, fc.record({ validations: fc.array(fc.oneof(json, validation)), omitted: json })),
    console: fc.oneof(json, fc.record({ entries: fc.array(fc.oneof(json, entry)), omitted: json })),
    browser: fc.oneof(json, fc.record({ errors: fc.array(fc.oneof(json, report)), omitted: json })),
    queries: fc.oneof(json, fc.record({ queries: fc.array(fc.oneof(json, query)), omitted: json })),
    http: fc.oneof(json, fc.record({ calls: fc.array(fc.oneof(json, call)), omitted: json })),
    templates: fc.oneof(json, fc.record({ renders: fc.array(fc.oneof(json, render)), waited: json })),
    memory: fc.oneof(json, usage),
    events: fc.oneof(json, fc.record({ spans: fc.array(row), dropped: json })),
    logger: fc.oneof(json, fc.record({ records: fc.array(fc.oneof(json, record)), dropped: json })),
    time: fc.oneof(
      json,
      fc.record({ measured: fc.array(fc.oneof(json, fc.record({ periods: json }))), dropped: json }),
    ),
  })
  const processData = fc.record({ events: fc.oneof(json, fc.record({ listeners: fc.array(json) })) })
  const property = fc.asyncProperty(data, processData, async (data, processData) => {
    const shown = createShown({}, { profile: createProfile(data, { processData }) })
    for (const panel of panels) {
      panel.hasContent(shown.profile)
      panel.badge?.(shown.profile)
      const html = await kernel.show(panel, shown)
      if (/NaN|undefined|\[object/.test(html.replaceAll(/<pre>.*?<\/pre>/gs, ''))) t.fail(html)
    }
  })
  await t.resolves(fc.assert(property, { numRuns: provenRuns(200) }))
})
