import { oncePerProfile, type Profile } from '../../profile/profile.ts'
import { createWork, type LocatedWork, locateWork, readMoreWork, readStops, type WorkKind } from '../../profile/work.ts'
import type { AsyncCallData } from './data.ts'

/** Reads the measurements of the stopwatch of a profile: empty lists if nothing was recorded. */
export function readStopwatch({ collectors }: Profile) {
  const { dropped = 0, measured = [] } = collectors.time ?? {}
  return { measured, dropped: measured.reduce((sum, event) => sum + event.dropped, dropped) }
}

/** An asynchronous call of a profile. Times are in milliseconds since the request began. */
export type StoredAsyncCall = LocatedWork<AsyncCallData>

/** Reads the asynchronous calls of a profile: empty lists if there were none. */
export const readAsyncCalls = oncePerProfile(collectors => {
  const { asyncCalls = [], moreAsyncCalls } = collectors.time ?? {}
  const stops = readStops({ collectors })
  return {
    calls: locateWork(
      asyncCalls.toSorted((one, other) => one.start - other.start),
      stops,
    ),
    more: readMoreWork(moreAsyncCalls, stops),
  }
})

/** Asynchronous calls as work: the code that makes one waits for another thread, or for a process. */
export const asyncWork: Required<WorkKind> = {
  panel: 'time',
  category: 'async',
  label: 'Asynchronous calls',
  nouns: ['asynchronous call', 'asynchronous calls'],
  list: profile =>
    readAsyncCalls(profile).calls.map(call => {
      const { caller, end, error, exit = '', index, start, stopped } = call
      return createWork({
        name: nameAsyncCall(call),
        id: `async-${index}`,
        start,
        end,
        stopped,
        hasFailed: error !== undefined,
        note: error ?? exit,
        caller,
      })
    }),
  more: profile => readAsyncCalls(profile).more,
  count(profile) {
    const { calls, more } = readAsyncCalls(profile)
    return calls.length + more.ended
  },
}

/** Names a call by its function, or a process by its command line. */
export function nameAsyncCall({ command = '', name }: Pick<AsyncCallData, 'command' | 'name'>): string {
  return command === '' ? name : `${name} ${command}`
}
