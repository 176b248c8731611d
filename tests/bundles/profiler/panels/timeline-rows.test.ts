import { t } from 'tap'
import { createCallRows } from '../../../../bundles/profiler/panels/call-rows.ts'
import { createTemplateRows } from '../../../../bundles/profiler/panels/template-rows.ts'
import { createProfile } from '../../../support/create-profile.ts'

t.test('each template is a row of a timeline, with the time that its partials leave', async t => {
  const renders = [
    { name: 'page', parent: -1, start: 1, duration: 2 },
    { name: 'list', parent: 0, start: 1.5, duration: 1 },
    { name: 'list', parent: 1, start: 1.6, duration: 0.4 },
    { name: 'page', parent: -1, start: 4, duration: 1 },
  ]
  t.strictSame(createTemplateRows(createProfile({ templates: { renders } })), [
    {
      name: 'page',
      category: 'template',
      periods: [
        { start: 1000, duration: 2000 },
        { start: 4000, duration: 1000 },
      ],
      own: 2000,
    },
    { name: 'list', category: 'template', periods: [{ start: 1500, duration: 1000 }], own: 1000 },
  ])
})

t.test('an outgoing request is a row of a timeline, until the end of the pass when it had none', async t => {
  const calls = [
    { method: 'GET', url: 'http://localhost/a', start: 1, end: 3.5 },
    { method: 'POST', url: `http://localhost/${'b'.repeat(100)}`, start: 2 },
  ]
  const rows = createCallRows(createProfile({ http: { calls } }))
  t.match(rows, [
    { name: 'GET http://localhost/a', category: 'http', periods: [{ start: 1000, duration: 2500 }] },
    { name: /^POST http:.*b…$/, category: 'http', periods: [{ start: 2000, duration: 3000 }] },
  ])
  t.equal(rows[1]?.name.length, 101)
})

t.test('records of any shape make rows, or none', async t => {
  const circular = [
    { name: 'a', parent: 1, start: -1, duration: -1 },
    { name: 'b', parent: 0 },
    { name: 'b', parent: 7 },
    { name: 'a', parent: 5 },
    null,
  ]
  for (const [data, names] of [
    [{}, []],
    [{ templates: 7, http: 'x' }, []],
    [{ templates: { renders: circular }, http: { calls: [7] } }, ['a', 'b', '']],
  ] as const) {
    const profile = createProfile(data)
    t.strictSame(
      createTemplateRows(profile).map(({ name }) => name),
      names,
    )
    t.doesNotThrow(() => createCallRows(profile))
  }
})
