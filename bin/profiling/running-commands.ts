import { unlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { isObject, parseJsonObject, sizeLimit } from '../../bundles/profiler/profile/json.ts'
import { isRunning, readFileNow } from '../../bundles/profiler/store/file-system.ts'
import type { ProfileStorage } from '../../bundles/profiler/store/profile-storage.ts'
import type { StoredText } from '../../kernel/contracts/units.ts'
import { listEntries, replaceFileNow } from '../../lib/folders.ts'
import { guard } from '../../lib/guard.ts'

/*
 * The profiles of commands that run: a signal, or the system for lack of memory, may end them at
 * any time. Each process has a file, which it replaces again and again, and removes at its end.
 * Another process stores the profile of one that has ended without it.
 */

/**
 * The file of a process, by default of this one. Processes of other machines, or of containers, may have the same id.
 */
export function findCommandFile(files: string, pid: number = process.pid): string {
  return path.join(files, folderName, `${hostname()}-${pid}.json`)
}

const folderName = 'commands'

/** Writes the profile of the command that this process runs. */
export function writeCommand(file: string, stored: StoredText): void {
  replaceFileNow(file, JSON.stringify(stored))
}

/** False if the file is gone. */
export function removeCommand(file: string): boolean {
  try {
    unlinkSync(file)
    return true
  } catch {
    return false
  }
}

/**
 * Stores the profiles of the commands that have ended without it. `signals` are those that are
 * known, by the ids of the processes.
 */
export const storeEndedCommands = guard(
  'commands that have ended',
  async (files: string, storage: ProfileStorage, signals: ReadonlyMap<number, string> = new Map()): Promise<void> => {
    const folder = path.join(files, folderName)
    for (const { name } of listEntries(folder)) {
      const [, host, digits, unwritten] = /^(.+)-(\d+)\.json(\.[\w-]+)?$/.exec(name) ?? []
      const pid = Number(digits)
      if (host !== hostname() || isRunning(pid)) continue
      const file = path.join(folder, name)
      if (unwritten === undefined) await storeEnded(file, storage, signals.get(pid))
      else removeCommand(file)
    }
    // Their files are gone, and a signal may end this process, too.
    storage.flushNow()
  },
)

/** Of several processes, that one stores a profile that removes its file. */
async function storeEnded(file: string, storage: ProfileStorage, signal: string | undefined): Promise<void> {
  const { facts, text } = parseJsonObject(readFileNow(file, 4 * sizeLimit) ?? '') ?? {}
  const { parseSummary } = await import('../../bundles/profiler/profile/parse-profile.ts')
  if (!removeCommand(file) || typeof text !== 'string' || typeof facts !== 'string') return
  const document = parseJsonObject(text)
  const known = parseSummary(document?.summary)
  if (known === undefined || !isObject(document?.data) || !isObject(document.data.unit)) return
  if (signal === undefined) return storage.append({ summary: known, text }, facts)
  const summary = { ...known, outcome: 'failed' as const }
  const data = { ...document.data, unit: { ...document.data.unit, signal } }
  storage.append({ summary, text: JSON.stringify({ ...document, summary, data }) }, facts)
}
