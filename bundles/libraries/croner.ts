import path from 'node:path'
import { followUnit } from '../../kernel/contracts/units.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { loadPrototype } from './framework-calls.ts'
import type { Library } from './library.ts'

/** Each run of a job is a task. Its name is that of the job, or its pattern. */
export const croner: Library = {
  name: 'croner',
  reports: 'units',
  seenBy: 'patch',
  changes: { 'croner/dist/croner.cjs': exports => watchJobs(Object(Object(exports).Cron).prototype) },
  opens: {
    async croner(folder) {
      watchJobs(await loadPrototype(path.join(folder, 'dist/croner.js'), 'Cron'))
    },
  },
}

/** A scheduled function. */
interface CronJob {
  readonly name?: string
  fn?: AnyFunction
  getPattern(): string | undefined
}

const watched = new WeakSet<CronJob>()

/** The method that calls the function of a job may take its errors. */
function watchJobs(prototype: object | undefined): void {
  observeMethod(prototype, '_trigger', self => {
    const job = self as CronJob
    if (job.fn === undefined || watched.has(job)) return
    watched.add(job)
    job.fn = observeCalls(job.fn, () => followUnit({ type: 'task', name: job.name ?? job.getPattern() ?? 'once' }))
  })
}
