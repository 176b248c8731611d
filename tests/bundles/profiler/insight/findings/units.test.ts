import { t } from 'tap'
import { writeAdvice, writeProblem } from '#bundles/profiler/insight/findings/finding.ts'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { unitTypes } from '#bundles/profiler/profile/units.ts'
import { createProfile } from '#tests/support/create-profile.ts'

type Given = Parameters<typeof createProfile>

const rulesOf = (...given: Given) => findFindings(createProfile(...given)).map(({ rule }) => rule)

const job = (fields: object) => ({ unit: { job: { queue: 'mail', id: '1', ...fields } } })

t.test('a job that has failed in its last attempt is an error; one that is tried again is none', async t => {
  const failed = { type: 'job', outcome: 'failed' } as const
  const [finding] = findFindings(createProfile(job({ attempt: 3, attempts: 3 }), failed))
  t.match(finding && writeProblem(finding), /^The job failed in all 3 attempts: its queue does not try it again/)
  t.strictSame(rulesOf(job({ attempt: 1, attempts: 1 }), failed), ['failed-job'])
  t.strictSame(rulesOf(job({ attempt: 2, attempts: 3 }), failed), [])
  t.strictSame(rulesOf(job({ attempt: 2 }), failed), [], 'the number of attempts is not known')
  t.strictSame(rulesOf(job({ attempt: 3, attempts: 3 }), { ...failed, outcome: 'complete' }), [])
})

t.test('a job waited for longer than it worked', async t => {
  const init = { type: 'job', duration: 40 } as const
  t.strictSame(rulesOf(job({ waited: 6000 }), init), ['waiting-job'])
  t.strictSame(rulesOf(job({ waited: 6000 }), { ...init, duration: 7000 }), [])
  t.strictSame(rulesOf(job({ waited: 2000 }), init), [], 'the pause of a worker that asks its database')
  t.strictSame(rulesOf(job({}), init), [], 'it is not known')
})

t.test('jobs with the same data', async t => {
  const unit = (sameJobs: number) => ({ unit: { sameJobs } })
  t.strictSame(rulesOf(unit(3), { type: 'job' }), ['repeated-job'])
  t.strictSame(rulesOf(unit(2), { type: 'job' }), [])
})

t.test('a command ended before its queries and calls', async t => {
  const query = { kind: 'database', text: 'SELECT 1', start: 1 }
  const call = { method: 'GET', url: 'http://a/', start: 1 }
  const pending = { queries: { queries: [query] }, http: { calls: [call] } }
  const [finding] = findFindings(createProfile(pending, { type: 'command' }))
  t.match(finding && writeProblem(finding), /^The command ended before 1 query and 1 HTTP client call had ended/)
  t.strictSame(rulesOf(pending, { type: 'command' }), ['pending-work'])
  t.strictSame(rulesOf({ http: { calls: [{ ...call, end: 3, status: 200 }] } }, { type: 'command' }), [])
  t.strictSame(rulesOf(pending, { type: 'task' }), [], 'a task may go on behind its promise')
})

t.test('findings of a unit do not call it a request', async t => {
  const data = {
    console: { count: 500, entries: [] },
    logger: { records: Array.from({ length: 500 }, (_, at) => ({ at, level: 'info', channel: 'app', message: 'a' })) },
    queries: {
      queries: Array.from({ length: 80 }, (_, index) => ({
        ...{ kind: 'database', text: 'SELECT * FROM a WHERE id = $1', start: index, end: index + 0.9, rows: 1 },
      })),
    },
  }
  const wrong: string[] = []
  for (const type of unitTypes) {
    const findings = findFindings(createProfile(data, { type, queries: 80 }))
    if (findings.length < 2) wrong.push(`${type}: ${findings.map(({ rule }) => rule)}`)
    for (const each of findings) {
      const text = `${each.title} ${writeProblem(each)} ${writeAdvice(each)}`
      if (/\b(?:the|this) (?:request|response)\b/i.test(text) !== false && type !== 'request')
        wrong.push(`${type}: ${text}`)
    }
  }
  t.strictSame(wrong, [])
})
