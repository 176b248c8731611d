import { RequestType } from '../../../kernel/events.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import { readProperty } from '../../../lib/stack/read-property.ts'
import type { Profile } from '../profile.ts'
import type { CollectedData } from '../recording/collected-data.ts'
import { createRecord } from '../recording/create-record.ts'
import { Pass } from '../recording/pass.ts'
import type { Profiler } from '../recording/profiler.ts'

/** What previews are made with. */
export interface PreviewServices {
  readonly profiler: Pick<Profiler, 'find' | 'keeps'>
  /** Asks the collectors about a pass that is not over. */
  readonly collect: (pass: Pass) => CollectedData
  readonly redactor: Redactor
}

/** What is known of a request that has failed, before it is over. Masked, and kept nowhere. */
export interface Preview {
  /** Of the request that failed. */
  readonly profile: Profile
  /** From the main request down to the sub-request that the error came from: mostly one. */
  readonly lineage: readonly Profile[]
  /** Of the record that there will be of the main request; empty when there will be none. */
  readonly token: string
}

/**
 * Makes the profile so far of the request that `request`, an error page's, was made for. When it is not recorded there is
 * nothing in it of events and logs; all else is as in any other.
 */
export function createPreview(request: Request, { collect, profiler, redactor }: PreviewServices): Preview {
  const failed = request.parent ?? request
  const error = request.attributes.get('exception')
  const pass = profiler.find(failed) ?? createPass(failed)
  // Whoever has replaced it after everyone was told is still at it.
  pass.noteThrown(error)
  const toProfile = (pass: Pass): Profile => JSON.parse(createRecord(pass, collect(pass), redactor).text)
  const ancestors = ancestorsOf(pass)
  const [main = pass] = ancestors
  const profile = toProfile(pass)
  const lineage = [...ancestors.map(toProfile), profile, ...failedWithin(pass).map(toProfile)]
  return { profile, lineage, token: main.token !== '' && profiler.keeps(main) ? main.token : '' }
}

function createPass(request: Request): Pass {
  const pass = new Pass('', request, request.isMainRequest ? RequestType.Main : RequestType.Sub, undefined)
  const controller = request.attributes.get('_controller')
  const name = readProperty(controller, 'name')
  if (typeof name === 'string' && name !== '') pass.controller = name
  return pass
}

/** The main request first. */
function ancestorsOf({ parent }: Pass): Pass[] {
  return parent === undefined ? [] : [...ancestorsOf(parent), parent]
}

/** The sub-request that was made last, when it is over and has answered nothing: its error went on to whoever made it. */
function failedWithin({ children }: Pass): Pass[] {
  const last = children.findLast(({ duration }) => duration !== undefined)
  return last === undefined || last.response !== undefined ? [] : [last, ...failedWithin(last)]
}
