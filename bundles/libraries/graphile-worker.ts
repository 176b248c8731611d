import { followUnit, noteJob } from '../../kernel/contracts/units.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { readTime } from '../../lib/own-globals.ts'
import type { Library } from './library.ts'

/** Each attempt of a job is work of its own. */
export const graphileWorker: Library = {
  name: 'graphile-worker',
  reports: 'units',
  seenBy: 'patch',
  notSeen: 'the enqueuing by SQL; of a batch, which of its parts have failed',
  changes: {
    'graphile-worker/dist/worker.js': exports =>
      void observeMethod(Object(exports), 'makeNewWorker', (_, args) => {
        const given = Object(args[1])
        args[1] = { ...given, tasks: new Proxy(given.tasks, tasksHandler) }
      }),
    'graphile-worker/dist/helpers.js': exports => {
      for (const name of ['makeAddJob', 'makeAddJobs'])
        observeMethod(Object(exports), name, () => ({ after: add => observeCalls(add as AnyFunction, followAdding) }))
      observeMethod(Object(exports), 'makeJobHelpers', () => ({
        after(helpers) {
          for (const name of ['addJob', 'addJobs']) observeMethod(Object(helpers), name, followAdding)
        },
      }))
    },
  },
}

/** A row of the table of jobs. */
interface GraphileJob {
  readonly id: string | number
  readonly task_identifier: string
  /** With the current one. */
  readonly attempts: number
  readonly max_attempts: number
  readonly created_at?: Date
  /** When it may begin; a retry has a time of its own. */
  readonly run_at?: Date
}

function followAdding() {
  return {
    async after(added: unknown) {
      const jobs = (await added) as GraphileJob | readonly GraphileJob[]
      for (const job of [jobs].flat()) noteJob(keyOf(job))
      return jobs
    },
  }
}

/**
 * The functions of an application may be loaded again when their files change, so each is observed
 * when a worker reads it.
 */
const tasksHandler: ProxyHandler<Readonly<Record<string, unknown>>> = {
  get(tasks, name, receiver) {
    const task: unknown = Reflect.get(tasks, name, receiver)
    return typeof task === 'function' ? observeCalls(task as AnyFunction, beginJob) : task
  },
}

function beginJob(_: unknown, [input, helpers]: unknown[]) {
  const given = Object(helpers).job as GraphileJob
  const { attempts, max_attempts, run_at, task_identifier: name } = given
  const waited = run_at === undefined ? undefined : Math.max(0, readTime() - run_at.getTime())
  const job = { ...keyOf(given), attempt: attempts, attempts: max_attempts, waited }
  return followUnit({ type: 'job', name, input, job })
}

function keyOf({ created_at, id, task_identifier: queue }: GraphileJob) {
  return { queue, id: String(id), created: created_at?.getTime() }
}
