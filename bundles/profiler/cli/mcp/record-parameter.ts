import { findRelatives, type ShownProfile } from '../../insight/relatives.ts'
import type { Profile } from '../../profile/profile.ts'
import { isToken } from '../../profile/schema.ts'
import type { StoredProfile } from '../../store/profile-storage.ts'
import { hasContent } from '../../web/panels/render-panel.ts'
import { findRecord as find, latest, missing } from '../find-profile.ts'
import { type Parameter, textParameter } from './parameter.ts'
import { ToolError } from './tool-error.ts'
import type { ToolServices } from './tool-services.ts'

/** Names a record. */
export function recordParameter(description: string): Parameter<string | undefined> {
  return textParameter(description, {
    isFit: word => word === latest || isToken(word),
    expected: `a token (six hexadecimal digits) or "${latest}"`,
  })
}

/** Finds the record that was named. @throws ToolError when nothing is kept of it */
export async function findStored(word: string, { profiler, storage }: ToolServices): Promise<StoredProfile> {
  // An agent may know the token of a response before the profile is made.
  if (isToken(word)) await profiler.whenWritten(word)
  const found = await find(storage, word)
  if (found === undefined) throw new ToolError(`${missing(word)} find_records tells what there is.`)
  return found
}

/** Finds the record that was named, with those that belong to it. @throws ToolError */
export async function findSubject(word: string, services: ToolServices): Promise<ShownProfile> {
  const found = await findStored(word, services)
  const findings = services.inspector.inspect(found.profile)
  return { ...found, findings, ...(await findRelatives(services.storage, found.profile)) }
}

/** The panels of a record that have something to tell. */
export function panelsOf(profile: Profile, { panels }: ToolServices): string[] {
  return panels()
    .filter(panel => hasContent(panel, profile))
    .map(({ name }) => name)
}
