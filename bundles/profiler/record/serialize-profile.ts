import type { Redactor } from '../../../lib/redact/redactor.ts'
import { packCallers } from '../profile/code.ts'
import { type Profile, type ProfileDocument, schemaVersion } from '../profile/profile.ts'
import type { ProfileStorage, SerializedProfile } from '../store/profile-storage.ts'
import { packQueries } from '../subjects/queries/data.ts'
import type { CollectedData, Trace } from './trace.ts'

/**
 * Makes the summary and the text of a profile for the store. All of it is masked. Parts of the stored version that no
 * collector has made stay: a page may report errors at any time.
 */
export function serializeProfile(
  trace: Trace,
  { data, failures, summary }: CollectedData,
  redactor: Redactor,
  stored?: Profile,
  machine: string | null = null,
): SerializedProfile {
  const children = trace.children.map(({ token }) => token)
  const { browserErrors } = stored?.summary ?? summary
  const profile: ProfileDocument = {
    schemaVersion,
    summary: { ...summary, machine, outcome: trace.outcome, subRequests: children.length, browserErrors },
    children,
    data: stored === undefined ? data : { ...stored.data, ...data },
    failures,
  }
  return serialize(profile, redactor)
}

/** The services of {@link amendProfile}. */
export interface AmendServices {
  readonly storage: Pick<ProfileStorage, 'amend'>
  readonly redactor: Redactor
}

/** The masked parts of a profile that change: its summary, and parts of its data. */
export type ProfileAmendment = Partial<Pick<ProfileDocument, 'summary' | 'data'>>

/** Changes parts of a stored profile; nothing if `change` returns `undefined`. False when the profile is not known. */
export function amendProfile(
  { redactor, storage }: AmendServices,
  token: string,
  change: (profile: Profile) => ProfileAmendment | undefined,
): Promise<boolean> {
  return storage.amend(token, stored => {
    const amendment = change(stored)
    if (amendment === undefined) return undefined
    const { children, data, failures } = stored
    const { summary = stored.summary } = amendment
    return serialize({ schemaVersion, summary, children, data: { ...data, ...amendment.data }, failures }, redactor)
  })
}

function serialize(profile: ProfileDocument, redactor: Redactor): SerializedProfile {
  const packed = { ...profile, data: packCallers(packQueries(profile.data)) }
  // Collectors mask what they recognise. This masks the secrets of the environment wherever they occur.
  return { summary: profile.summary, text: redactor.knownSecrets(JSON.stringify(packed)) }
}
