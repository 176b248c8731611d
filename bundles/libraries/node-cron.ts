import path from 'node:path'
import { followUnit } from '../../kernel/contracts/units.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { loadExport } from './framework-calls.ts'
import type { Library } from './library.ts'

/** Each run of a scheduled function is a task. Its name is that of the options, or its expression. */
export const nodeCron: Library = {
  name: 'node-cron',
  reports: 'units',
  seenBy: 'patch',
  from: '4.0.0',
  files: { 'node-cron': 'src/node-cron.js' },
  notSeen: 'tasks in a file of their own, which run in another process',
  changes: {
    'node-cron/dist/node-cron.cjs': exports => watchTasks(Object(exports).createTask),
    'node-cron/dist/cjs/node-cron.js': exports => watchTasks(Object(exports).createTask),
  },
  opens: {
    async 'node-cron'(folder) {
      for (const file of ['node-cron.js', 'esm/node-cron.js'])
        watchTasks(await loadExport(path.join(folder, 'dist', file), 'createTask'))
    },
  },
}

/** A scheduled function. */
interface CronTask {
  readonly id: string
  /** Without a name, its id. */
  readonly name?: string
  readonly cronExpression: string
  readonly runner: { onMatch: AnyFunction }
  destroy(): unknown
}

const watched = new WeakSet<CronTask['runner']>()

/** The class of tasks is not exported: it is that of a task which never starts. */
function watchTasks(createTask: unknown): void {
  if (typeof createTask !== 'function') return
  const created = createTask('* * * * *', () => undefined) as CronTask
  created.destroy()
  for (const name of ['start', 'execute']) {
    observeMethod(Object.getPrototypeOf(created), name, self => {
      const { cronExpression, id, name = id, runner } = self as CronTask
      if (watched.has(runner)) return
      watched.add(runner)
      const task = { type: 'task', name: name === id ? cronExpression : name } as const
      runner.onMatch = observeCalls(runner.onMatch, () => followUnit(task))
    })
  }
}
