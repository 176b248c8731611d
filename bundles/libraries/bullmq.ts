import { followUnit, type JobAttempt, noteJob } from '../../kernel/contracts/units.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { readTime } from '../../lib/own-globals.ts'
import type { Library } from './library.ts'

/**
 * Each attempt of a job is work of its own. Jobs in a file of their own run in another process,
 * which has a profiler of its own.
 */
export const bullmq: Library = {
  name: 'bullmq',
  reports: 'units',
  seenBy: 'patch',
  changes: {
    'bullmq/dist/cjs/classes/worker.js': exports =>
      void observeMethod(Object(Object(exports).Worker).prototype, 'callProcessJob', (_, [job]) =>
        followUnit({ type: 'job', ...describeJob(job as BullJob) }),
      ),
    'bullmq/dist/cjs/classes/job.js': exports => {
      for (const name of ['create', 'createBulk']) {
        observeMethod(Object(exports).Job, name, () => ({
          after: async created => {
            const jobs = (await created) as BullJob | readonly BullJob[]
            for (const { id = '', queueName } of [jobs].flat()) noteJob({ queue: queueName, id })
            return jobs
          },
        }))
      }
    },
  },
}

/** The documented part of a job. */
interface BullJob {
  readonly id?: string
  readonly name: string
  readonly queueName: string
  readonly data: unknown
  /** Of earlier attempts: BullMQ raises it when one has ended. */
  readonly attemptsMade: number
  readonly opts?: { readonly attempts?: number; readonly delay?: number }
  /** Milliseconds since 1970. */
  readonly timestamp?: number
}

function describeJob({ attemptsMade, data, id = '', name, opts = {}, queueName, timestamp }: BullJob) {
  const isFirst = attemptsMade === 0
  const { attempts = 1, delay = 0 } = opts
  const job: JobAttempt = {
    queue: queueName,
    id,
    attempt: attemptsMade + 1,
    attempts,
    // When a retry could begin is not known.
    ...(isFirst && timestamp !== undefined && { waited: Math.max(0, readTime() - timestamp - delay) }),
  }
  return { name: `${queueName} ${name}`, input: data, job }
}
