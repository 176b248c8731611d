import type { WorkKind } from '../profile/work.ts'
import { callWork } from './http/read.ts'
import { mailWork } from './mails/read.ts'
import { cacheWork, databaseWork } from './queries/read.ts'
import { renderWork } from './templates/read.ts'
import { asyncWork } from './time/read.ts'

/** Work outside of the process, or of its main thread: the code that starts it waits for it. */
export const awaitedWork: readonly WorkKind[] = [databaseWork, cacheWork, callWork, mailWork, asyncWork]

/** Work of the process itself. */
export const ownWork: readonly WorkKind[] = [renderWork]

/** The kinds of work of the profiler's own subjects. The overview and Compare show all of them in this order. */
export const workKinds: readonly WorkKind[] = [...awaitedWork, ...ownWork]
