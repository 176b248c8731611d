import { statSync } from 'node:fs'
import path from 'node:path'
import { isAmount, isObject, isTexts, parseJsonObject } from '../../bundles/profiler/profile/json.ts'
import { readFileNow } from '../../bundles/profiler/store/file-system.ts'
import { listEntries, replaceFileNow } from '../../lib/folders.ts'
import { appendEdit, type Edit } from '../application/edits.ts'

/** What one process of an application leaves to the next one. */
interface KeptEdits {
  /** When the latest process began, in milliseconds since 1970. */
  readonly started: number
  /** The oldest first. */
  readonly edits: readonly Edit[]
}

/**
 * Finds the latest edits of an application whose process is started again by whatever program,
 * such as `node --watch`: each has come into use when a process began, and has the sources that
 * were written since the process before. The next process finds them in `file`.
 */
export function findEdits(directory: string, file: string, started: number): readonly Edit[] {
  const kept = readKept(file)
  const edits = kept.edits.filter(({ time }) => time <= started)
  // A process that began later has been here before.
  if (kept.started >= started) return edits
  const isWritten = (time: number) => time > kept.started && time <= started
  const files = kept.started === 0 ? [] : listSources(directory).filter(({ time }) => isWritten(time))
  const all = appendEdit(edits, new Set(files.map(({ name }) => name)), Math.floor(started))
  try {
    replaceFileNow(file, JSON.stringify({ started, edits: all } satisfies KeptEdits))
  } catch {
    // The folder cannot be written, so that no profile is stored either.
  }
  return all
}

function readKept(file: string): KeptEdits {
  const { edits, started } = parseJsonObject(readFileNow(file) ?? '') ?? {}
  return { started: isAmount(started) ? started : 0, edits: Array.isArray(edits) ? edits.filter(isEdit) : [] }
}

function isEdit(value: unknown): value is Edit {
  return isObject(value) && isAmount(value.time) && isTexts(value.files)
}

/**
 * The most entries of folders that are looked at: of a larger application, those in the deepest folders are left out.
 */
const entryLimit = 10_000

/** A source, with its name relative to the application, and when it was written. */
interface Source {
  readonly name: string
  readonly time: number
}

function listSources(directory: string): Source[] {
  const sources: Source[] = []
  const folders = [directory]
  let left = entryLimit
  for (const folder of folders) {
    for (const entry of listEntries(folder)) {
      const file = path.join(folder, entry.name)
      if (left-- === 0) return sources
      if (entry.isDirectory()) {
        if (!/^\.|^node_modules$/.test(entry.name)) folders.push(file)
      } else if (/\.[cm]?[jt]sx?$|^\.env/.test(entry.name)) {
        sources.push({
          name: path.relative(directory, file),
          time: statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0,
        })
      }
    }
  }
  return sources
}
