import fc from 'fast-check'
import { t } from 'tap'
import { createEventsPanel } from '../../../../bundles/profiler/panels/events.ts'
import { createLoggerPanel } from '../../../../bundles/profiler/panels/logger.ts'
import { timePanel } from '../../../../bundles/profiler/panels/time.ts'
import { createSubject } from '../../../support/create-profile.ts'
import { createProfiledKernel } from '../../../support/profiled-kernel.ts'

t.test('whatever has become of a record on the disk, its panels can be shown', async t => {
  const { show } = await createProfiledKernel(t)
  const panels = [createEventsPanel(), createLoggerPanel(), timePanel]
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
  const data = fc.record({
    events: fc.oneof(json, fc.record({ spans: fc.array(row), dropped: json })),
    logger: fc.oneof(json, fc.record({ records: fc.array(fc.oneof(json, record)), dropped: json })),
    time: fc.oneof(
      json,
      fc.record({ measured: fc.array(fc.oneof(json, fc.record({ periods: json }))), dropped: json }),
    ),
  })
  const facts = fc.record({ events: fc.oneof(json, fc.record({ listeners: fc.array(json) })) })
  const property = fc.asyncProperty(data, facts, async (data, facts) => {
    const subject = createSubject(data, { facts })
    for (const panel of panels) {
      panel.hasContent(subject.profile)
      panel.badge?.(subject.profile)
      const html = await show(panel, subject)
      if (/NaN|undefined|\[object/.test(html.replaceAll(/<pre>.*?<\/pre>/gs, ''))) t.fail(html)
    }
  })
  await t.resolves(fc.assert(property, { numRuns: 200 }))
})
