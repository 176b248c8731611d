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
    'bullmq/dist/cjs/classes/job.js': exports => watchAdding(Object(exports).Job, 'create', 'createBulk'),
    'bullmq/dist/cjs/classes/queue.js': exports =>
      watchAdding(Object(Object(exports).Queue).prototype, 'upsertJobScheduler'),
    'bullmq/dist/cjs/classes/flow-producer.js': exports =>
      watchAdding(Object(Object(exports).FlowProducer).prototype, 'add', 'addBulk'),
  },
}

function watchAdding(target: object | undefined, ...names: readonly string[]): void {
  for (const name of names) {
    observeMethod(target, name, () => ({
      async after(added) {
        const result = await added
        noteJobs(result)
        return result
      },
    }))
  }
}

/** Reports a job, or a list of them. That of a flow has its children beside it. */
function noteJobs(added: unknown): void {
  for (const each of [added].flat()) {
    const { children = [], job = [], queueName } = Object(each)
    if (queueName === undefined) [job, children].forEach(noteJobs)
    else noteJob(keyOf(each as BullJob))
  }
}

/** The documented part of a job. */
interface BullJob {
  readonly id?: string
  readonly name: string
  readonly queueName: string
  readonly data: unknown
  /** Of earlier attempts: BullMQ raises it when one has ended. */
  readonly attemptsMade: number
  /** With the current one, and those whose worker has not ended them. Older versions do not count them. */
  readonly attemptsStarted?: number
  /** Of the schedule that has added it. */
  readonly repeatJobKey?: string
  readonly opts?: { readonly attempts?: number; readonly delay?: number }
  /** Milliseconds since 1970. */
  readonly timestamp?: number
}

function describeJob(given: BullJob) {
  const { attemptsMade, attemptsStarted = 1, data, name, opts = {}, queueName, timestamp } = given
  const isFirst = attemptsMade === 0 && attemptsStarted === 1
  const { attempts = 1, delay = 0 } = opts
  const job: JobAttempt = {
    ...keyOf(given),
    attempt: attemptsMade + 1,
    // By default it is 0, which is one.
    attempts: Math.max(1, attempts),
    isScheduled: given.repeatJobKey !== undefined,
    // When a retry could begin is not known.
    ...(isFirst && timestamp !== undefined && { waited: Math.max(0, readTime() - timestamp - delay) }),
  }
  return { name: `${queueName} ${name}`, input: data, job }
}

/** The id of a schedule's job has its time, and what has added it may have an earlier `timestamp` than its worker. */
function keyOf({ id = '', queueName: queue, timestamp }: Pick<BullJob, 'id' | 'queueName' | 'timestamp'>) {
  return { queue, id, created: id.startsWith('repeat:') ? undefined : timestamp }
}
