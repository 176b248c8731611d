import type { Bundle } from 'sinfonietta'
import { type Test, t } from 'tap'
import { Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import { RowFacts } from '#bundles/profiler/insight/search-list.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { profilerRules } from '#bundles/profiler/subjects/rules.ts'
import { createRecord, createStorage, keep, type RecordInit } from '#tests/support/create-profile.ts'
import { runInTerminal } from '#tests/support/fake-terminal.ts'
import { plainEquals, textOf } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

const cookie = '<b>|session|'
const flawed: RecordInit = {
  token: 'f1f1f1',
  data: {
    response: { headers: [['set-cookie', `${cookie}=******; HttpOnly`]] },
    memory: { blocks: [{ by: 'fedcba', duration: 300, cpu: 300 }] },
  },
}
const healthy: RecordInit = { token: 'a0a0a0' }

/** A bundle with two rules: one without a place, and one with the place of an unknown panel. */
const demanding: Bundle = {
  name: 'demanding',
  register({ findingRules }) {
    const base = { severity: 'info', advice: 'Be it.', evidence: {} } as const
    const isFlawed = (token: unknown) => token === 'f1f1f1'
    findingRules.push({
      name: 'perfection',
      title: 'Not perfect',
      find: ({ summary }) => (isFlawed(Object(summary).token) ? [{ ...base, problem: 'It could be better.' }] : []),
    })
    findingRules.push({
      name: 'order',
      title: 'Not in order',
      find: ({ summary }) =>
        isFlawed(Object(summary).token)
          ? [
              {
                ...base,
                problem: 'See there.',
                advice: 'Tidy {file}.',
                values: { file: '<i>.ts' },
                place: { panel: 'elsewhere' },
                code: { file: 'shop/<i>.ts', line: 7 },
              },
            ]
          : [],
    })
  },
}

async function createExhibition(t: Test) {
  const kernel = await createProfiledKernel(t, { bundles: [demanding], variables: { EDITOR_URL: 'x:{file}:{line}' } })
  for (const profile of [healthy, flawed]) kernel.storage.append(createRecord(profile), '{}')
  const read = async (path: string) => (await kernel.client.get(path, { headers: { 'x-profiler': 'off' } })).text
  return { ...kernel, read }
}

t.test('the panel shows the findings, and the rules without findings', async t => {
  const { read, storage } = await createExhibition(t)
  const html = plainEquals(await read('/_profiler/f1f1f1?panel=findings'))
  const text = textOf(html)
  t.match(text, /4 findings/, 'in the summary')
  t.match(text, /Findings ?4/, 'in the menu')
  t.match(text, /Insecure cookie warning\s+Verify\s+Copy prompt\s+The cookie/)
  t.match(html, '<code>&lt;b&gt;|session|</code>')
  t.match(html, '<a href="/_profiler/f1f1f1?panel=request#cookies">Show in Request / Response</a>')
  t.match(html, '<a href="/_profiler/fedcba?panel=time">Open fedcba</a>')
  t.match(html, '<a href="/_profiler/f1f1f1?panel=elsewhere">Show in elsewhere</a>')
  t.match(html, /href="x:[^"]*\/shop\/%3Ci%3E\.ts:7">shop\/&lt;i&gt;\.ts:7</)
  t.match(html, 'Tidy <code>&lt;i&gt;.ts</code>.')
  t.match(text, /Not perfect info\s+Verify\s+Copy prompt\s+It could be better\.\s+Be it\./)
  const promptsOf = (page: string) =>
    Array.from(page.matchAll(/data-text="([^"]*)"/g), ([, prompt]) => String(prompt).replaceAll('&#x60;', '`'))
  const prompts = promptsOf(html)
  t.equal(prompts.length, 4)
  t.match(
    prompts[3],
    'Find the cause of this finding in the code, and correct it: Not in order.\n\nSee there. Tidy `&lt;i&gt;.ts`.\n\n',
  )
  t.match(prompts[3], '- Place: `shop/&lt;i&gt;.ts:7`\n- Everything recorded: `bin/console profiler:show f1f1f1`')
  t.match(
    prompts[3],
    '- After the change: `bin/console profiler:verify f1f1f1 --finding order`, or the MCP tool `verify_request`\n',
  )
  t.notMatch(prompts[2], 'Place')
  storage.append(createRecord({ ...flawed, token: 'f2f2f2', parent: 'a0a0a0' }), '{}')
  const [asked] = promptsOf(await read('/_profiler/f2f2f2?panel=findings'))
  t.match(asked, 'profiler:show f2f2f2')
  t.notMatch(asked, 'verify', 'a sub-request cannot be replayed')
  // Two of this file, and two of the framework.
  t.match(text, `${profilerRules.length + 4} checks ran`)
  t.match(text, 'Slow listener slow-listener')
  const other = textOf(await read('/_profiler/a0a0a0?panel=findings'))
  t.match(other, 'No issues found.')
  t.notMatch(other, 'findings')
})

t.test('the list and the toolbar show the number of findings', async t => {
  const { read, storage } = await createExhibition(t)
  const list = textOf(await read('/_profiler/empty/search/results?limit=10'))
  t.equal(list.match(/\d finding/g)?.join(), '4 finding')
  const toolbar = plainEquals(await read('/_wdt/f1f1f1'))
  t.match(textOf(toolbar), 'Findings 4 findings Findings Event loop blocked This request waited')
  t.match(toolbar, '<a href="/_profiler/f1f1f1?panel=request#cookies">The cookie')
  t.notMatch(await read('/_wdt/a0a0a0'), 'finding')
  const blocks = Array.from({ length: 4 }, (_, index) => ({ by: `00000${index}`, duration: 200, cpu: 200 }))
  storage.append(createRecord({ ...flawed, data: { ...flawed.data, memory: { blocks } } }), '{}')
  t.match(textOf(await read('/_wdt/f1f1f1')), '2 more')
})

t.test('JSON and Markdown contain the findings, with recorded texts escaped', async t => {
  const { read } = await createExhibition(t)
  const { findings } = JSON.parse(await read('/_profiler/f1f1f1.json'))
  t.equal(findings.length, 4)
  t.match(findings[1], {
    rule: 'insecure-cookie',
    title: 'Insecure cookie',
    severity: 'warning',
    problem: `The cookie ${cookie} has no SameSite, so requests from other sites may carry it.`,
    advice: /^Set it with/,
    evidence: { flaws: 1 },
    code: null,
    link: '/_profiler/f1f1f1?panel=request#cookies',
  })
  t.match(findings[3], { advice: 'Tidy <i>.ts.', code: { file: 'shop/<i>.ts', line: 7 } })
  t.strictSame(JSON.parse(await read('/_profiler/a0a0a0.json')).findings, [])
  const markdown = await read('/_profiler/f1f1f1.md?panel=findings')
  t.match(markdown, `\n## Findings\n\n- warning, \`blocked-loop\`: This request waited`)
  t.match(markdown, 'See there. Tidy `<i>.ts`.')
  t.match(markdown, `The cookie \`${cookie}\` has no SameSite`)
  t.match(await read('/_profiler/f1f1f1.md'), '\n## Findings\n')
  t.notMatch(await read('/_profiler/a0a0a0.md'), '## Findings')
})

t.test('the console shows the findings of a profile, and optionally of a list', async t => {
  const { app, storage } = await createExhibition(t)
  const run = (line: string) =>
    runInTerminal(line, {
      load: async () => [{ name: 'same', register: ({ commands }) => void commands.push(...app.commands) }],
    })
  const { stdout: shown } = await run('profiler:show f1f1f1')
  t.match(shown, /## Findings\n\n- warning, `blocked-loop`: This request waited .*\n?.* Look at the other work/)
  const only = (await run('profiler:show f1f1f1 --panel findings')).stdout
  t.match(only, /^- warning, `blocked-loop`: /m)
  t.match((await run('profiler:show a0a0a0 --panel findings')).stdout, 'No issues found.')
  t.notMatch((await run('profiler:show a0a0a0')).stdout, '## Findings')
  t.equal(JSON.parse((await run('profiler:show f1f1f1 --json')).stdout).findings.length, 4)
  t.match((await run('profiler:list --findings')).stdout, /f1f1f1 .*4 findings/)
  t.notMatch((await run('profiler:list')).stdout, 'findings')
  const { records } = JSON.parse((await run('profiler:list --findings --json')).stdout)
  t.strictSame(
    records.map(({ findings }: { findings: unknown[] }) => findings.length),
    [4, 0],
  )
  t.equal((await run('profiler:list --findings --follow')).code, 64)
  storage.append({ ...createRecord({ token: 'dddddd' }), text: 'It is damaged.' }, '{}')
  t.match((await run('profiler:list --findings --limit 1')).stdout, 'dddddd')
})

t.test('a list reads a profile for its facts once, until it is saved again', async t => {
  const storage = createStorage(healthy, flawed)
  const reads: string[] = []
  const find = (token: string) => {
    reads.push(token)
    return storage.find(token)
  }
  const findPlace = ({ summary }: Profile) => `${summary.token}.ts:1`
  const facts = new RowFacts({
    storage: { find, search: query => storage.search(query) },
    inspector: async () => new Inspector([]),
    findPlace,
  })
  const read = async () => {
    const { summaries } = await storage.search({ limit: 10 })
    await facts.read(summaries)
    return summaries.map(summary => ({ ...facts.get(summary) }))
  }
  const known = [
    { badge: { text: '2 findings', tone: 'warning' }, place: 'f1f1f1.ts:1' },
    { badge: undefined, place: 'a0a0a0.ts:1' },
  ]
  for (const _time of [1, 2]) t.strictSame(await read(), known)
  t.strictSame(reads, ['f1f1f1', 'a0a0a0'])
  storage.append({ ...createRecord({ token: 'dddddd' }), text: 'It is damaged.' }, '{}')
  keep(storage, { ...flawed, data: {} })
  t.strictSame(
    (await read()).map(({ badge }) => badge),
    [undefined, undefined, undefined],
  )
  t.strictSame(reads.slice(2), ['dddddd', 'f1f1f1'])
})
