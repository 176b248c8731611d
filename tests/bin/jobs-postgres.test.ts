import { t } from 'tap'
import { bossProgram, checkJobs, graphileProgram } from '#tests/support/check-jobs.ts'
import { provenRuns } from '#tests/support/sample.ts'
import { lacksPostgres } from '#tests/support/start-postgres.ts'

const skip = lacksPostgres
const count = provenRuns(200)

t.test(
  'a job of pg-boss has a profile of its own, which leads to the request that has enqueued it',
  { skip },
  async t => {
    const last = await checkJobs(t, bossProgram("import PgBoss from 'pg-boss'"), 2, count)
    t.match(last?.overview.sentence, /^The job mail failed in all 2 attempts, the last after .*: TypeError .*: no such/)
  },
)

t.test('a job of graphile-worker has one, too', { skip }, async t => {
  const last = await checkJobs(t, graphileProgram, 1, count)
  t.match(last?.overview.sentence, /^The job mail failed after .*: TypeError .*: no such address/)
})
