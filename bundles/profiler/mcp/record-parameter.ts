import { findRecord as find, latest, missing } from '../commands/find-record.ts'
import { hasContent } from '../pages/create-menu.ts'
import { findRelatives } from '../pages/find-relatives.ts'
import type { Profile } from '../profile.ts'
import type { RecordSubject } from '../renderings/record-subject.ts'
import { isToken } from '../store/parse-summary.ts'
import type { StoredProfile } from '../store/profile-storage.ts'
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
  if (isToken(word)) await profiler.whenKept(word)
  const found = await find(storage, word)
  if (found === undefined) throw new ToolError(`${missing(word)} find_records tells what there is.`)
  return found
}

/** Finds the record that was named, with those that belong to it. @throws ToolError */
export async function findSubject(word: string, services: ToolServices): Promise<RecordSubject> {
  const found = await findStored(word, services)
  return { ...found, ...(await findRelatives(services.storage, found.profile)) }
}

/** The panels of a record that have something to tell. */
export function panelsOf(profile: Profile, { panels }: ToolServices): string[] {
  return panels()
    .filter(panel => hasContent(panel, profile))
    .map(({ name }) => name)
}
