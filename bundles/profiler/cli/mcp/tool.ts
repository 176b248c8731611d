import type { z } from 'zod'
import type { Inspector } from '../../insight/findings/inspector.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import type { Replayer } from '../../insight/replay/replayer.ts'
import { showProfile } from '../../insight/show-profile.ts'
import type { Profile } from '../../profile/profile.ts'
import { isToken } from '../../profile/schema.ts'
import type { Profiler } from '../../record/profiler.ts'
import type { ProfileStorage, StoredProfile } from '../../store/profile-storage.ts'
import type { ProfilePanel } from '../../web/panels/panel.ts'
import { hasContent } from '../../web/panels/render-panel.ts'
import { findRecord, missing } from '../find-profile.ts'

/** The services that the tools use. */
export interface ToolServices {
  readonly storage: ProfileStorage
  readonly profiler: Pick<Profiler, 'whenWritten'>
  readonly inspector: Inspector
  /** In the order of the menu. */
  readonly panels: readonly ProfilePanel[]
  /** Replays requests; without it there is no tool for that. */
  readonly replayer?: Pick<Replayer, 'replay'> | undefined
}

/** The texts of an answer. */
export type ToolAnswer = Promise<readonly string[]>

/** An error whose message is for the agent: it names what the agent can request instead. */
export class ToolError extends Error {}

/** How a tool is described to agents and to the people who allow it. */
export interface ToolDefinition<Input extends z.ZodRawShape> {
  /** The title of the tool, which people see. */
  readonly title: string
  /** The description of the tool, which the agent reads. */
  readonly description: string
  readonly input: Input
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
}

/** Adds one tool. @throws ToolError by its answer */
export type AddTool = <Input extends z.ZodRawShape>(
  name: string,
  definition: ToolDefinition<Input>,
  answer: (values: z.output<z.ZodObject<Input>>) => ToolAnswer,
) => void

/** Finds a profile by its token, or the latest. @throws ToolError */
export async function findStored(word: string, { profiler, storage }: ToolServices): Promise<StoredProfile> {
  // An agent may have the token of a response whose profile is not written yet.
  if (isToken(word)) await profiler.whenWritten(word)
  const found = await findRecord(storage, word)
  if (found === undefined) throw new ToolError(`${missing(word)} find_profiles lists what is stored.`)
  return found
}

/** Finds a profile with its relatives and its findings. @throws ToolError */
export async function findShown(word: string, services: ToolServices): Promise<ShownProfile> {
  return showProfile(await findStored(word, services), services.storage, services.inspector)
}

/** The names of the panels that have content. */
export function panelsOf(profile: Profile, panels: readonly ProfilePanel[]): string {
  const filled = panels.filter(panel => hasContent(panel, profile))
  return filled.map(({ name }) => name).join(', ')
}
