import type { Collector } from '../../kernel/collector.ts'
import { flattenError } from '../../lib/errors/flatten.ts'
import { isThenable } from '../../lib/event-dispatcher/event-dispatcher.ts'
import type { Pass } from './pass.ts'

/** What collectors have told of a pass; what some of them are still about to tell is there when `pending` resolves. */
export interface CollectedData {
  readonly data: Record<string, unknown>
  /** The messages of those that failed, by their names. */
  readonly failures: Record<string, string>
  readonly pending: Promise<unknown> | undefined
}

/** Asks each collector about a pass. Never throws: one that fails costs its own data only. */
export function collectData(pass: Pass, collectors: Iterable<Collector<Pass>>): CollectedData {
  const data: Record<string, unknown> = {}
  const failures: Record<string, string> = {}
  const pending: Promise<void>[] = []
  const keep = (name: string, value: unknown) => {
    if (value !== undefined) data[name] = value
  }
  const fail = (name: string, error: unknown) => {
    failures[name] = flattenError(error, { hasFrames: false }).message
  }
  for (const collector of collectors) {
    const { name } = collector
    try {
      const told = collector.collect(pass)
      if (!isThenable(told)) keep(name, told)
      else
        pending.push(
          Promise.resolve(told)
            .then(value => keep(name, value))
            .catch(error => fail(name, error)),
        )
    } catch (error) {
      fail(name, error)
    }
  }
  return { data, failures, pending: pending.length === 0 ? undefined : Promise.all(pending) }
}
