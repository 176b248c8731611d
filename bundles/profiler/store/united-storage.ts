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
  /** Relative names of files in its profiles start there. */
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

/** The other programs whose profiles are shown. */
export interface OtherPrograms {
  /** The program that has a known profile; `undefined` if it is this one. */
  ownerOf(token: string): ProgramStore | undefined
  list(): readonly ProgramStore[]
  /** The name of a program, by default of this one, as its profiles have it here. */
  nameOf(program?: ProgramStore): string
}

/** Milliseconds between two looks for other programs while there are listeners. */
const lookInterval = 1000

/** The most profiles of a program that are new when it is found. */
const newLimit = 100

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
 */
export class UnitedStorage implements ProfileStorage, OtherPrograms {
  readonly #own: ProfileStorage
  readonly #program: NamedProgram
  readonly list: () => readonly ProgramStore[]

  constructor(
    own: ProfileStorage,
    listOthers: () => readonly ProgramStore[] = () => [],
    program: NamedProgram = { directory: '', names: [] },
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

  nameOf(program: NamedProgram = this.#program): string {
    return this.#distinguish(program)(program.names.at(-1) ?? path.basename(program.directory))
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
    if (storage.has(own)) return rename(await storage.find(own), this.#namer(index))
    const found = await Promise.all(this.#all.map(storage => storage.find(token)))
    return found.find(stored => stored !== undefined)
  }

  async search(query: ProfileQuery): Promise<ProfileSearchResult> {
    const all = this.#all
    if (all.length === 1) return this.#own.search(query)
    const { filters = [], limit, offset = 0, sort } = query
    const end = offset + limit
    // A storage does not know which other programs have its names.
    const isNamed = ({ field }: ProfileFilter) => field === 'program'
    const tests = filters.filter(isNamed).map(matchFilter)
    const wanted =
      tests.length === 0
        ? { ...query, offset: 0, limit: end }
        : { filters: filters.filter(filter => !isNamed(filter)), limit: readLimit }
    const results = await Promise.all(all.map(storage => storage.search(wanted)))
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
    const nameFor = (storage: ProfileStorage) => (summary: ProfileSummary) =>
      listener(renameSummary(summary, this.#namer(this.#all.indexOf(storage))))
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

  /** Creates the functions that name what a storage has, by its index. */
  #namer(index: number): Namer {
    const before = this.#all.slice(0, index)
    const owner = this.list()[index - 1]
    return {
      token: token =>
        token.length === shortLength && before.some(storage => storage.has(token)) ? `${owner?.id}${token}` : token,
      program: this.#distinguish(owner ?? this.#program),
    }
  }

  /** Creates the function that distinguishes the names of a program from those of other directories. */
  #distinguish({ directory }: NamedProgram): (name: string) => string {
    const others = [this.#program, ...this.list()].filter(other => other.directory !== directory)
    const taken = new Set(others.flatMap(({ names }) => names))
    if (taken.size === 0) return String
    const folder = shortenFolder(directory, others)
    return name => (taken.has(name) ? `${name} (${folder})` : name)
  }
}

interface Namer {
  readonly token: (token: string) => string
  readonly program: (name: string) => string
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

function rename(stored: StoredProfile | undefined, name: Namer): StoredProfile | undefined {
  if (stored === undefined) return undefined
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
  const program = summary.program && name.program(summary.program)
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
