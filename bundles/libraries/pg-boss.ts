import path from 'node:path'
import { followUnit, noteJob } from '../../kernel/contracts/units.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { readTime } from '../../lib/own-globals.ts'
import { loadPrototype } from './framework-calls.ts'
import type { Library } from './library.ts'

/** Each call of a worker's function is work of its own. Versions 10 and 11 are CommonJS, version 12 is ES modules. */
export const pgBoss: Library = {
  name: 'pg-boss',
  reports: 'units',
  seenBy: 'patch',
  from: '10.0.0',
  files: { 'pg-boss': 'src/manager.js' },
  notSeen:
    'without `includeMetadata` of the worker, the wait and the number of attempts, before version 12 also which one it is; of a batch of jobs, each of them',
  changes: { 'pg-boss/src/manager.js': exports => watchManager(Object(exports).prototype) },
  opens: {
    async 'pg-boss'(folder) {
      watchManager(await loadPrototype(path.join(folder, 'dist/manager.js')))
    },
  },
}

/** A job as workers get it. */
interface BossJob {
  readonly id: string
  readonly data: unknown
  /** Earlier attempts. */
  readonly retryCount?: number
  readonly retryLimit?: number
  /** When it may begin; a retry has a time of its own. */
  readonly startAfter?: Date
}

/** Queues of pg-boss itself. */
const ownQueues = /^__pgboss__/

function watchManager(manager: object | undefined): void {
  observeMethod(manager, 'work', (_, args) => {
    const [queue] = args
    const at = args.findLastIndex(each => typeof each === 'function')
    if (at === -1 || ownQueues.test(String(queue))) return
    args[at] = observeCalls(args[at] as AnyFunction, (_, [jobs]) =>
      followUnit({ type: 'job', name: String(queue), ...describeJobs(String(queue), jobs as readonly BossJob[]) }),
    )
  })
  for (const name of ['createJob', 'insert']) {
    observeMethod(manager, name, (_, [given]) => ({
      after: async created => {
        const result = await created
        // Version 12 has one object in the place of all arguments. The jobs of version 10 name their queues.
        const queue = typeof given === 'string' ? given : Object(given).name
        for (const id of [result].flat()) if (typeof id === 'string' && queue !== undefined) noteJob({ queue, id })
        return result
      },
    }))
  }
}

function describeJobs(queue: string, jobs: readonly BossJob[]) {
  const [first] = jobs
  if (jobs.length !== 1 || first === undefined) return { input: jobs.map(({ data }) => data) }
  const { data, id, retryCount, retryLimit, startAfter } = first
  const job = {
    queue,
    id,
    attempt: retryCount === undefined ? undefined : retryCount + 1,
    attempts: retryLimit === undefined ? undefined : retryLimit + 1,
    waited: startAfter === undefined ? undefined : Math.max(0, readTime() - startAfter.getTime()),
  }
  return { input: data, job }
}
