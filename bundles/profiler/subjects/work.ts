import type { WorkKind } from '../profile/work.ts'
import { callWork } from './http/read.ts'
import { cacheWork, databaseWork } from './queries/read.ts'
import { renderWork } from './templates/read.ts'

/** The kinds of work of the profiler's own subjects. The timeline, the overview and Compare show all of them in this order. */
export const workKinds: readonly WorkKind[] = [databaseWork, cacheWork, callWork, renderWork]
