import type { ProfileSummary } from '../profile/profile.ts'

/** A stretch of bytes in a file: where it begins, and how long it is without the end of its line. */
export interface Span {
  readonly offset: number
  readonly length: number
}

/** Where a record stands, and the facts that belong to it. */
export interface Place extends Span {
  readonly file: RecordFile
  readonly facts: Span
}

/** A file that records stand in. */
export interface RecordFile {
  readonly path: string
  /** No profile that stands in it was kept later. */
  newest: number
}

/** The texts of a record and its facts. */
export interface RecordText {
  readonly record: string
  readonly facts: string
}

/** A profile as it was kept, or amended: it has its text until that is written, and then a place. */
export class Version {
  readonly summary: ProfileSummary
  text: RecordText | undefined
  place: Place | undefined
  /** What counts again should this one be lost. */
  previous: Version | undefined
  /** Whether it could not be written. */
  isLost = false

  constructor(summary: ProfileSummary, text: RecordText | undefined, place?: Place, previous?: Version) {
    this.summary = summary
    this.text = text
    this.place = place
    this.previous = previous
  }
}

/** A profile in the index, by its token and who wrote it. */
export class IndexEntry {
  readonly token: string
  readonly writer: string
  /** Milliseconds since 1970, and never less than of what was kept before: profiles are in this order. */
  readonly keptAt: number
  /** When it was kept at the latest: later than `keptAt` where that is a guess. */
  readonly latest: number
  /** The next older profile of the same token, which another process has drawn, too. */
  namesake: IndexEntry | undefined
  #version: Version
  #summary: ProfileSummary

  constructor(writer: string, keptAt: number, version: Version, latest: number = keptAt) {
    this.token = version.summary.token
    this.writer = writer
    this.keptAt = keptAt
    this.latest = latest
    this.#version = version
    this.#summary = version.summary
  }

  /** The present version. */
  get version(): Version {
    return this.#version
  }

  /** Makes a version the present one. */
  show(version: Version): void {
    this.#version = version
    this.#summary = version.summary
    const file = version.place?.file
    if (file !== undefined) file.newest = Math.max(file.newest, this.keptAt)
  }

  /** Of the present version. Searches read it often: it is one look-up nearer than in the version. */
  get summary(): ProfileSummary {
    return this.#summary
  }
}
