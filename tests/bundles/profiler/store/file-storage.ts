import { mkdtempSync, readdirSync, renameSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import { FileProfileStorage, type FileProfileStorageOptions } from '#bundles/profiler/store/file-profile-storage.ts'
import { createRecords, facts, tokensOf } from '#tests/support/create-profile.ts'

/** A problem that a storage has reported. */
export interface Problem {
  readonly message: string
  readonly error: unknown
}

/** Creates a storage, by default in a new directory; it is closed when the test ends. */
export function createFileStorage(
  t: Test,
  options: Partial<FileProfileStorageOptions> = {},
): { storage: FileProfileStorage; directory: string; problems: Problem[] } {
  const directory = options.directory ?? path.join(createDirectory(t), 'var', 'profiler')
  const problems: Problem[] = []
  const onProblem = (message: string, error: unknown) => void problems.push({ message, error })
  const storage = new FileProfileStorage({ onProblem, ...options, directory })
  t.teardown(() => storage.close())
  return { storage, directory, problems }
}

const roots = new WeakMap<Test, string>()

/** Creates an empty directory, which is removed when the test ends. */
export function createDirectory(t: Test): string {
  const root = roots.get(t) ?? t.testdir()
  roots.set(t, root)
  return mkdtempSync(path.join(root, 'directory-'))
}

/** Appends profiles with tokens from `first` on, and waits until they are written. */
export async function append(storage: FileProfileStorage, count: number, first = 0): Promise<void> {
  for (const record of createRecords(count, first)) storage.append(record, facts)
  await storage.flush()
}

/** The tokens of all stored profiles, as numbers. */
export async function list(storage: FileProfileStorage): Promise<number[]> {
  return tokensOf(await storage.search({ limit: 100_000 })).map(token => Number.parseInt(token, 16))
}

/** The files of a directory with this ending, sorted. */
export function listFiles(directory: string, ending = ''): string[] {
  return readdirSync(directory)
    .filter(file => file.endsWith(ending))
    .sort()
    .map(file => path.join(directory, file))
}

/** The id of no process: it is greater than the maximum of Linux. */
export const missingPid = 999_999_999

/** Marks all segments as those of processes that have ended. */
export function abandon(directory: string, pid: number = missingPid): void {
  for (const file of listFiles(directory)) {
    renameSync(file, path.join(directory, path.basename(file).replace(/^(\d{16})-\d+-/, `$1-${pid}-`)))
  }
}

/** Milliseconds. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, milliseconds))
}
