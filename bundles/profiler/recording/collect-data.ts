import type { Collector } from '../../../kernel/profiler-contract.ts'
import { flattenError } from '../../../lib/errors/flat-error.ts'
import { isThenable } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import type { CollectedData } from './collected-data.ts'
import type { Pass } from './pass.ts'
import type { ProfileCollector } from './profile-collector.ts'
import { summarize } from './summarize.ts'

/** Asks each collector about a pass. Never throws: one that fails costs its own data only. */
export function collectData(pass: Pass, collectors: Iterable<Collector<Pass>>, redactor: Redactor): CollectedData {
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
  const summary = summarize(pass, redactor)
  return { summary, data, failures, pending: pending.length === 0 ? undefined : Promise.all(pending) }
}

/**
 * Asks collectors that tell what comes after the response once more, of a pass that is over: all else stays as it was then,
 * when its response was still there. None of them tells something later than at once.
 */
export function collectLate(pass: Pass, collectors: readonly ProfileCollector[], redactor: Redactor): void {
  const { collected } = pass
  if (collected === undefined) return
  const late = collectors.filter(({ tellsLate }) => tellsLate)
  const { data, failures, summary } = collectData(pass, late, redactor)
  Object.assign(collected.data, data)
  Object.assign(collected.failures, failures)
  const { calls, errors, warnings } = summary
  pass.collected = { ...collected, summary: { ...collected.summary, calls, errors, warnings } }
}
