import type { DebugGate } from '../../../kernel/debug-gate.ts'
import type { LastResort } from '../../../kernel/last-resort.ts'
import { recordLink } from '../links.ts'
import { nameProfile } from '../recording/name-profile.ts'
import type { Profiler } from '../recording/profiler.ts'

/** What the decoration works with. */
export interface LastResortServices {
  readonly profiler: Pick<Profiler, 'find' | 'keeps'>
  /** The gate exists as soon as bundles are registered. */
  readonly debugGate: () => DebugGate
}

/** Creates the last resort that also leads to the profile of the request, for clients that may see the profile. */
export function decorateLastResort(inner: LastResort, { debugGate, profiler }: LastResortServices): LastResort {
  return (request, errors) => {
    const response = inner(request, errors)
    const pass = profiler.find(request)
    if (pass === undefined || !profiler.keeps(pass) || !debugGate().allows(request)) return response
    nameProfile(response.headers, request, pass.token)
    const link = `<p><a href="${recordLink(pass.token)}">The profile of this request</a></p>\n</body>`
    response.body = String(response.body).replace('</body>', link)
    return response
  }
}
