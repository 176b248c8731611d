import { t } from 'tap'
import { lacksPostgres } from '#tests/support/start-postgres.ts'
import { lacksRedis } from '#tests/support/start-redis.ts'
import { soakPrograms } from './programs.ts'

// `SOAK_SECONDS=600 SOAK_SEED=7 bin/test tests/soak/programs.proof.test.ts` runs ten minutes.
const { SOAK_SECONDS = '30', SOAK_SEED = '1' } = process.env
const timeout = (Number(SOAK_SECONDS) + 900) * 1000

// The limit of tap for the whole file is ten minutes.
t.setTimeout(timeout)

t.test(
  'five programs are killed and started under load: no answer is missing in the list, and no link is wrong',
  { skip: lacksPostgres || lacksRedis, timeout },
  async t => {
    const options = { seed: Number(SOAK_SEED), seconds: Number(SOAK_SECONDS), print: (line: string) => t.comment(line) }
    t.strictSame(await soakPrograms(t, options), [])
  },
)
