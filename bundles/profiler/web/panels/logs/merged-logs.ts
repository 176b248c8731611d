import { readEventTree } from '../../../profile/event-tree.ts'
import { readLogs, type StoredLog } from '../../../profile/logs.ts'
import type { Profile } from '../../../profile/profile.ts'
import type { PanelSubject } from '../panel.ts'

/** A log message of a request or of one of its sub-requests. */
export interface MergedLog {
  readonly log: StoredLog
  /** The profile that has the message. */
  readonly profile: Profile
  /** Microseconds since the main request began. */
  readonly at: number
}

/** The most profiles of sub-requests whose messages are read. */
const profileLimit = 50

/** The log messages of a request and of its stored sub-requests, of all levels, in the order of time. */
export async function mergeLogs(profile: Profile, findChildren: PanelSubject['findChildren']): Promise<MergedLog[]> {
  const merged: MergedLog[] = []
  const known = new Set<string>()
  const add = async (of: Profile, begin: number): Promise<void> => {
    known.add(of.summary.token)
    merged.push(...readLogs(of).logs.map(log => ({ log, profile: of, at: begin + log.at })))
    if (of.children.length === 0) return
    const starts = new Map(
      readEventTree(of).nodes.flatMap(({ kind, name, start }) => (kind === 'request' ? [[name, start]] : [])),
    )
    for (const child of await findChildren(of)) {
      const start = starts.get(child.summary.token)
      if (start !== undefined && !known.has(child.summary.token) && known.size < profileLimit)
        await add(child, begin + start)
    }
  }
  await add(profile, 0)
  return merged.sort((a, b) => a.at - b.at)
}
