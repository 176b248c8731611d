import path from 'node:path'
import { guard } from '../../../lib/guard.ts'
import { readTime, startInterval, stopTimer } from '../../../lib/own-globals.ts'
import { toProfile } from '../profile/parse-profile.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { matchFilter, selectSorted } from './base-profile-storage.ts'
import {
  type ProfileChange,
  type ProfileFilter,
  type ProfileQuery,
  type ProfileSearchResult,
  type ProfileStorage,
  readLimit,
  type SerializedProfile,
  type StorageUsage,
  type StoredProfile,
} from './profile-storage.ts'

/** What distinguishes programs: those of one directory are one program. */
interface NamedProgram {
  /** Relative names of files in its profiles start there. In storage of several machines, the `folder` of profiles. */
  readonly directory: string
  /** The names that its profiles have. */
  readonly names: readonly string[]
}

/** A program of this user, and its profiles. */
export interface ProgramStore extends NamedProgram {
  /** Six hexadecimal digits: the same in each process. */
  readonly id: string
  readonly storage: ProfileStorage
  /** The file by which its processes learn which request to sample. */
  readonly armFile: string
  /** The secret by which it knows the replays of the profiler; absent if its requests cannot be sent again. */
  readonly replaySecret?: string | undefined
}

declare module '../../../lib/signals.ts' {
  interface SignalMap {
    /** The application is in the list of programs: those of others are shown, too. */
    'program.listed': { readonly listOthers: () => readonly ProgramStore[] }
  }
}

/** The program whose storage it is. */
interface OwnProgram extends NamedProgram {
  /**
   * The machine of a command that only shows profiles. Its directory may be mounted into a container, where it has
   * another path.
   */
  readonly viewerMachine?: string | null | undefined
}

/** The other programs whose profiles are shown. */
export interface OtherPrograms {
  /** The program that has a known profile; `undefined` if it is this one, or another one of the same storage. */
  ownerOf(token: string): ProgramStore | undefined
  /** Whether the directory of this program is that of a profile. */
  hasFilesOf(profile: Pick<ProfileSummary, 'folder' | 'machine' | 'program' | 'token'>): boolean
  list(): readonly ProgramStore[]
  /** The name of a program, by default of this one, as its profiles have it here. */
  nameOf(program?: ProgramStore): string
}

/** Milliseconds between two looks for other programs while there are listeners. */
const lookInterval = 1000

/** The most profiles of a program that are new when it is found. */
const newLimit = 100

/** The most programs of one storage that are distinguished by short names. */
const storedLimit = 100

/**
 * The profiles of several programs as one list. What this program records goes to its own storage;
 * a pin goes to the storage that has the profile.
 *
 * Two storages may have a token of six digits. Only the first one shows it as it is: the others
 * show the id of the program before it, so that each link leads to one profile. A profile that two
 * storages have is shown once: folders of programs are copied.
 *
 * Programs of two directories may have one name. Whatever is counted, compared or filtered goes by the
 * name in a summary, so here the profiles of both get the name with the folder: `shop (checkout-2/shop)`.
 * In storage of several machines, each profile has the folder of its program.
 */
export class UnitedStorage implements ProfileStorage, OtherPrograms {
  readonly #own: ProfileStorage
  readonly #program: OwnProgram
  readonly list: () => readonly ProgramStore[]
  /** The programs of a storage of several machines, by their folders. */
  #stored = new Map<string, { readonly directory: string; readonly names: string[] }>()

  constructor(
    own: ProfileStorage,
    listOthers: () => readonly ProgramStore[] = () => [],
    program: OwnProgram = { directory: '', names: [] },
  ) {
    this.#own = own
    this.#program = program
    this.list = listOthers
  }

  get isShared(): boolean {
    return this.#own.isShared === true
  }

  get #all(): readonly ProfileStorage[] {
    return [this.#own, ...this.list().map(({ storage }) => storage)]
  }

  ownerOf(token: string): ProgramStore | undefined {
    if (this.#own.has(token)) return undefined
    const programs = this.list()
    return programs.find(({ storage }) => storage.has(token)) ?? findNamed(programs, token)
  }

  hasFilesOf({ folder, machine, program, token }: Parameters<OtherPrograms['hasFilesOf']>[0]): boolean {
    if (this.ownerOf(token) !== undefined) return false
    if (!this.isShared) return true
    const { directory, viewerMachine } = this.#program
    const isElsewhere = viewerMachine !== undefined && machine !== viewerMachine
    return program === this.nameOf() && (folder === directory || (isElsewhere && !this.#stored.has(directory)))
  }

  nameOf(program: NamedProgram = this.#program): string {
    const name = program.names.at(-1) ?? path.basename(program.directory)
    const isStored = !this.isShared || program !== this.#program || this.#stored.has(program.directory)
    return isStored ? this.#distinguish(program)(name) : name
  }

  append(profile: SerializedProfile, facts: string): void {
    this.#own.append(profile, facts)
  }

  amend(token: string, change: ProfileChange): Promise<boolean> {
    const { own, storage } = this.#resolve(token)
    return storage.amend(own, change)
  }

  pin(token: string, isPinned: boolean): Promise<boolean> {
    const { own, storage } = this.#resolve(token)
    return storage.pin(own, isPinned)
  }

  async pinned(): Promise<ReadonlySet<string>> {
    const pinned = await Promise.all(this.#all.map(storage => storage.pinned()))
    return new Set(pinned.flatMap((tokens, index) => [...tokens].map(this.#namer(index).token)))
  }

  has(token: string): boolean {
    return this.#own.has(token) || this.ownerOf(token) !== undefined
  }

  async find(token: string): Promise<StoredProfile | undefined> {
    const { index, own, storage } = this.#resolve(token)
    if (this.#stored.size === 0) await this.#lookForPrograms()
    if (storage.has(own)) return this.#rename(await storage.find(own), index)
    const found = await Promise.all(this.#all.map(storage => storage.find(token)))
    const first = found.findIndex(stored => stored !== undefined)
    return this.#rename(found[first], first)
  }

  async search(query: ProfileQuery): Promise<ProfileSearchResult> {
    const all = this.#all
    if (all.length === 1 && !this.isShared) return this.#own.search(query)
    const { filters = [], limit, offset = 0, sort } = query
    const end = offset + limit
    // A storage does not know which other programs have its names.
    const isNamed = ({ field }: ProfileFilter) => field === 'program'
    const tests = filters.filter(isNamed).map(matchFilter)
    const wanted =
      tests.length === 0
        ? { ...query, offset: 0, limit: end }
        : { filters: filters.filter(filter => !isNamed(filter)), limit: readLimit }
    const [results] = await Promise.all([
      Promise.all(all.map(storage => storage.search(wanted))),
      this.#lookForPrograms(),
    ])
    const merged = mergeByTime(
      results.map(({ summaries }) => summaries),
      index => this.#namer(index),
    ).filter(summary => tests.every(test => test(summary)))
    const sorted = sort === undefined ? merged : selectSorted(merged, summary => summary, end, sort)
    const unstored = results.flatMap(({ unstored = [] }, index) => [...unstored].map(this.#namer(index).token))
    return {
      summaries: sorted.slice(offset, end),
      total: results.reduce((sum, { summaries, total }) => sum + total - summaries.length, merged.length),
      ...(unstored.length > 0 && { unstored: new Set(unstored) }),
    }
  }

  async load(): Promise<void> {
    await Promise.all(this.#all.map(storage => storage.load()))
  }

  /** Also listens to programs that begin later. */
  tail(listener: (summary: ProfileSummary) => void): () => void {
    const began = readTime()
    const stops = new Map<ProfileStorage, () => void>()
    void this.#lookForPrograms()
    const nameFor = (storage: ProfileStorage) => (summary: ProfileSummary) => {
      if (storage === this.#own) this.#noteProgram(summary)
      listener(renameSummary(summary, this.#namer(this.#all.indexOf(storage))))
    }
    const add = (storage: ProfileStorage) => stops.set(storage, storage.tail(nameFor(storage)))
    // A program may have stored profiles before it was found.
    const report = async (storage: ProfileStorage) => {
      const { summaries } = await storage.search({ limit: newLimit })
      const report = nameFor(storage)
      for (const summary of summaries.toReversed()) if (summary.time >= began) report(summary)
    }
    for (const storage of this.#all) add(storage)
    const look = guard('the programs of the list', () => {
      for (const storage of this.#all.filter(storage => !stops.has(storage))) {
        add(storage)
        void report(storage)
      }
    })
    const timer = startInterval(look, lookInterval).unref()
    return () => {
      stopTimer(timer)
      for (const stop of stops.values()) stop()
    }
  }

  /** Removes those of this program only: the others are shown, and belong to their programs. */
  purge(): Promise<void> {
    return this.#own.purge()
  }

  async usage(): Promise<StorageUsage> {
    const [own, ...others] = await Promise.all(this.#all.map(storage => storage.usage()))
    const sum = (field: 'bytes' | 'profiles') => others.reduce((sum, usage) => sum + usage[field], own?.[field] ?? 0)
    return { dropped: 0, problem: undefined, ...own, profiles: sum('profiles'), bytes: sum('bytes') }
  }

  flush(): Promise<void> {
    return this.#own.flush()
  }

  flushNow(): void {
    this.#own.flushNow()
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map(storage => storage.close()))
  }

  /** The storage with a profile, and the token that the profile has there; of an unknown one, the own storage. */
  #resolve(token: string): { readonly index: number; readonly own: string; readonly storage: ProfileStorage } {
    const owner = this.ownerOf(token)
    if (owner === undefined) return { index: 0, own: token, storage: this.#own }
    const { storage } = owner
    return { index: this.#all.indexOf(storage), own: storage.has(token) ? token : token.slice(-shortLength), storage }
  }

  #rename(stored: StoredProfile | undefined, index: number): StoredProfile | undefined {
    if (stored === undefined) return undefined
    if (index === 0) this.#noteProgram(stored.profile.summary)
    return rename(stored, this.#namer(index))
  }

  /** Notes the programs of a storage of several machines. */
  async #lookForPrograms(): Promise<void> {
    if (!this.isShared) return
    const { summaries } = await this.#own.search({ limit: readLimit })
    this.#stored = new Map()
    for (const summary of summaries) this.#noteProgram(summary)
  }

  #noteProgram({ folder, program }: ProfileSummary): void {
    if (!this.isShared || folder === undefined || program === null) return
    const known = this.#stored.get(folder)
    if (known === undefined && this.#stored.size < storedLimit)
      this.#stored.set(folder, { directory: folder, names: [program] })
    else if (known?.names.includes(program) === false && known.names.length < storedLimit) known.names.push(program)
  }

  /** Creates the functions that name what a storage has, by its index. */
  #namer(index: number): Namer {
    const before = this.#all.slice(0, index)
    const owner = this.list()[index - 1]
    const ofOwner = this.#distinguish(owner ?? this.#program)
    const ofFolders = new Map<string, (name: string) => string>()
    return {
      token: token =>
        token.length === shortLength && before.some(storage => storage.has(token)) ? `${owner?.id}${token}` : token,
      program: (name, folder) => {
        if (index > 0 || !this.isShared) return ofOwner(name)
        if (folder === undefined) return name
        const stored = this.#stored.get(folder)
        if (stored === undefined) return `${name} (${folder})`
        const ofFolder = ofFolders.get(folder) ?? this.#distinguish(stored)
        ofFolders.set(folder, ofFolder)
        return ofFolder(name)
      },
    }
  }

  /** Creates the function that distinguishes the names of a program from those of other directories. */
  #distinguish({ directory }: NamedProgram): (name: string) => string {
    const own = this.isShared ? this.#stored.values() : [this.#program]
    const others = [...own, ...this.list()].filter(other => other.directory !== directory)
    const taken = new Set(others.flatMap(({ names }) => names))
    if (taken.size === 0) return String
    const folder = shortenFolder(directory, others)
    return name => (taken.has(name) ? `${name} (${folder})` : name)
  }
}

interface Namer {
  readonly token: (token: string) => string
  readonly program: (name: string, folder: string | undefined) => string
}

/** The end of the name of a directory that no other one has. */
function shortenFolder(directory: string, others: readonly NamedProgram[]): string {
  const endOf = (name: string, count: number) => name.split(path.sep).slice(-count).join(path.sep)
  let count = 1
  const isLike = (other: NamedProgram) => endOf(other.directory, count) === endOf(directory, count)
  while (others.some(isLike)) count++
  return endOf(directory, count)
}

/** Digits of a token in the storage of one program. */
const shortLength = 6

/** Finds the program whose id a token begins with. */
function findNamed(programs: readonly ProgramStore[], token: string): ProgramStore | undefined {
  return programs.find(({ id, storage }) => token.startsWith(id) && storage.has(token.slice(id.length)))
}

function rename(stored: StoredProfile, name: Namer): StoredProfile {
  const { profile } = stored
  const summary = renameSummary(profile.summary, name)
  const children = profile.children.map(name.token)
  if (summary === profile.summary && children.every((token, index) => token === profile.children[index])) return stored
  return { ...stored, profile: toProfile({ ...profile, summary, children }, profile.processData) }
}

/** Most summaries stay as they are. */
function renameSummary(summary: ProfileSummary, name: Namer): ProfileSummary {
  const [token, parent] = [name.token(summary.token), summary.parent && name.token(summary.parent)]
  const cause = summary.cause === undefined ? undefined : name.token(summary.cause)
  const program = summary.program && name.program(summary.program, summary.folder)
  const isSame = token === summary.token && parent === summary.parent && cause === summary.cause
  if (isSame && program === summary.program) return summary
  return { ...summary, token, parent, program, ...(cause !== undefined && { cause }) }
}

interface Listed {
  readonly summary: ProfileSummary
  /** That of its storage. */
  readonly index: number
  /** The time of the oldest profile before it, or its own. */
  readonly time: number
}

/**
 * Merges lists, each with the newest first, to one list in which each profile is once. The order within a list stays.
 */
function mergeByTime(
  lists: readonly (readonly ProfileSummary[])[],
  namerOf: (index: number) => Namer,
): ProfileSummary[] {
  const all: Listed[] = []
  for (const [index, list] of lists.entries()) {
    let time = Number.POSITIVE_INFINITY
    for (const summary of list) {
      time = Math.min(time, summary.time)
      all.push({ summary, index, time })
    }
  }
  // Each list is in order: the sort only merges them.
  all.sort((one, other) => other.time - one.time)
  const first = new Map<string, Listed>()
  for (const listed of all) {
    const { token } = listed.summary
    if (listed.index <= (first.get(token)?.index ?? listed.index)) first.set(token, listed)
  }
  const namers = lists.map((_, index) => namerOf(index))
  const merged: ProfileSummary[] = []
  for (const { index, summary } of all) {
    const known = first.get(summary.token)
    const isCopy =
      known?.index !== index && (known?.summary.time === summary.time || summary.token.length > shortLength)
    const namer = namers[index]
    if (!isCopy && namer !== undefined) merged.push(renameSummary(summary, namer))
  }
  return merged
}
