import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { parseJsonObject } from '../../bundles/profiler/profile/json.ts'
import { readProgram } from '../../bundles/profiler/settings.ts'
import { type ReportProblem, warnBy } from '../../bundles/profiler/store/base-profile-storage.ts'
import { FileProfileStorage } from '../../bundles/profiler/store/file-profile-storage.ts'
import { directoryMode, isOwn, readFileNow } from '../../bundles/profiler/store/file-system.ts'
import type { ProgramStore } from '../../bundles/profiler/store/united-storage.ts'
import type { Application } from '../../kernel/bundle.ts'
import { isForOwnUser } from '../../kernel/debug/debug-gate.ts'
import { nameProgram } from '../../lib/find-package.ts'
import { listEntries, replaceFileNow } from '../../lib/folders.ts'
import { findUserFolder } from './user-folder.ts'

/** Where a program is, and where the profiler keeps its files. */
export interface Program {
  readonly directory: string
  /**
   * Its folder `profiler` has the profiles, its file `replay-secret` the secret of a program that is not one of ours.
   */
  readonly files: string
}

/**
 * The folder of the programs of this user whose profiles are shown in one list: a file for each.
 * No other user can read or write it.
 *
 * @throws CommandUsageError if another user can write there
 */
function findList(): string {
  return path.join(findUserFolder(), 'programs.list')
}

/**
 * Adds a program to the list. It stays there when it ends, as long as its profiles are stored. `name` is that of its
 * profiles.
 *
 * @throws CommandUsageError if another user can write to the list, and the errors of node:fs
 */
export function addProgram(program: Program, name: string): void {
  const list = findList()
  for (const folder of [list, path.join(program.files, 'profiler')]) {
    mkdirSync(folder, { recursive: true, mode: directoryMode })
  }
  const names = [...readNames(program).filter(other => other !== name), name].slice(-nameLimit)
  replaceFileNow(path.join(program.files, namesFile), JSON.stringify({ names }))
  // A new file of the list is noticed, and so the name is.
  replaceFileNow(path.join(list, nameFile(program.files)), JSON.stringify(program))
}

/** The file with the names that a program has had, the last one at the end: its profiles have them. */
const namesFile = 'program-names.json'
const nameLimit = 8

/** By default the name of its package. */
function readNames({ directory, files }: Program): readonly string[] {
  const { names } = parseJsonObject(readFileNow(path.join(files, namesFile)) ?? '') ?? {}
  const known = Array.isArray(names) ? names.filter(name => typeof name === 'string').slice(-nameLimit) : []
  return known.length > 0 ? known : [nameProgram(directory)]
}

/** Adds an application of ours to the list, and shows the profiles of the others on its pages. */
export function listApplication({ config, directory, logger, redactor, settings, signals }: Application): void {
  const program = { directory, files: path.join(directory, 'var') }
  try {
    addProgram(program, redactor.text(readProgram(settings, directory)))
    // Clients of others see only what this application has recorded.
    if (isForOwnUser(config)) signals.emit('program.listed', { listOthers: watchPrograms(program, warnBy(logger)) })
  } catch {
    // Other users can write there: it is shown alone.
  }
}

/**
 * Creates the function that lists the stores of the programs but one. What a file of the list says
 * is data: folders of other users, and those that are gone, are left out.
 *
 * @throws CommandUsageError if another user can write to the list
 */
export function watchPrograms(own: Program, onProblem: ReportProblem): () => readonly ProgramStore[] {
  const list = findList()
  const stores = new Map<string, ProgramStore>()
  const open = (program: Program): ProgramStore => {
    const store = stores.get(program.files) ?? openProgram(program, onProblem)
    stores.set(program.files, store)
    return { ...store, names: readNames(program) }
  }
  let changed: number | undefined
  let found: readonly ProgramStore[] = []
  return () => {
    const { mtimeMs } = statSync(list, { throwIfNoEntry: false }) ?? {}
    // A page asks for the program of each row: without a new file, the list is the same.
    if (changed !== mtimeMs)
      found = listFiles(list)
        .flatMap(file => readListed(file, own) ?? [])
        .map(open)
    changed = mtimeMs
    return found
  }
}

/** Opens the store of a program. */
export function openProgram(program: Program, onProblem: ReportProblem): ProgramStore {
  const { directory, files } = program
  const names = readNames(program)
  const storage = new FileProfileStorage({ directory: path.join(files, 'profiler'), onProblem })
  const armFile = path.join(files, 'cpu-profile.json')
  return { id: nameFile(files).slice(0, 6), directory, names, storage, armFile, replaySecret: readSecret(files) }
}

/** Reads the secret of a program that marks its replays; `undefined` of one of ours. */
export function readSecret(files: string): string | undefined {
  const secret = readFileNow(path.join(files, 'replay-secret'))
  // It is sent as a header.
  return secret !== undefined && /^[0-9a-f]{32}$/.test(secret) ? secret : undefined
}

function readListed(file: string, own: Program): Program | undefined {
  const { directory, files } = parseJsonObject(readFileNow(file) ?? '') ?? {}
  if (!isFolder(directory) || !isFolder(files) || files === own.files) return undefined
  if (path.basename(file) === nameFile(files) && isStored(files)) return { directory, files }
  rmSync(file, { force: true })
  return undefined
}

function nameFile(files: string): string {
  return `${createHash('sha256').update(files).digest('hex').slice(0, 16)}.json`
}

function isFolder(value: unknown): value is string {
  return typeof value === 'string' && path.isAbsolute(value) && !value.includes('\0')
}

/** Whether a folder of this user has profiles. */
function isStored(files: string): boolean {
  const state = statSync(path.join(files, 'profiler'), { throwIfNoEntry: false })
  return state?.isDirectory() === true && isOwn(state)
}

function listFiles(folder: string): string[] {
  const names = listEntries(folder).flatMap(({ name }) => (/^[0-9a-f]{16}\.json$/.test(name) ? name : []))
  return names.sort().map(name => path.join(folder, name))
}
