import type { Request } from '../lib/http/request.ts'
import type { Response } from '../lib/http/response.ts'

/** A request that is over, as a collector sees it. */
export interface CollectedRequest {
  readonly request: Request
  /** Absent when there was none: the process ended, or a sub-request failed. */
  readonly response: Response | undefined
  /** What was thrown last while the request was handled; `undefined` when nothing was. */
  readonly error: unknown
}

/** Tells something about a request for its profile. It keeps nothing of a request itself: many are handled at once. */
export interface Collector<collected extends CollectedRequest = CollectedRequest> {
  /** Names the data within the profile, and the panel: lower case, digits and hyphens. */
  readonly name: string
  /**
   * What there is to tell, as plain data, at once or later; `undefined` when there is nothing. It is masked and cut
   * before it is kept. What this throws is noted in the profile and costs nothing else.
   */
  collect(collected: collected): unknown
  /** How the data is shown; without one it is shown as a list. */
  readonly panel?: CollectorPanel
}

/** The page of a profile that shows what one collector has told. */
export interface CollectorPanel {
  /** In the menu. */
  readonly label: string
  /** The template, which is given the collector's `data`. */
  readonly template: string
  /** A short count beside the label, such as `3`. */
  badge?(data: unknown): string
}

/** How much a finding wants to be looked at; what is only `info` may well be meant so. */
export type Severity = 'info' | 'warning' | 'error'

/** A recorded request, as a rule sees it. */
export interface InspectedProfile {
  readonly summary: {
    readonly method: string
    readonly url: string
    readonly route: string | null
    /** 0 when there was no response. */
    readonly status: number
    /** Milliseconds until it was handled. */
    readonly duration: number
  }
  /** What each collector has told, by its name. It comes from the disk, so it may be of any shape. */
  readonly data: Readonly<Record<string, unknown>>
}

/** What a rule has found in one request. */
export interface RuleFinding {
  readonly severity: Severity
  /** One sentence of what was found. What was recorded stands in `values`, under the name of its placeholder: `{call}`. */
  readonly problem: string
  readonly values?: Readonly<Record<string, string>>
  /** One sentence of what to do about it. */
  readonly advice: string
  /** Where to look: a panel of the record, and the id of something there. */
  readonly place?: FindingPlace
  /** The numbers that it is founded on; times are in milliseconds. */
  readonly evidence: Readonly<Record<string, number>>
}

/** A place in the pages of a record. */
export interface FindingPlace {
  readonly panel: string
  readonly anchor?: string
  /** Of another record than the one that was looked at. */
  readonly token?: string
}

/** Looks for one kind of flaw in recorded requests, when somebody looks at them. It keeps nothing of what it sees. */
export interface FindingRule<inspected extends InspectedProfile = InspectedProfile> {
  /** Lower case, digits and hyphens. */
  readonly name: string
  /** What it finds, in a few words. */
  readonly title: string
  /** What this throws is told as a finding, and costs nothing else. */
  find(profile: inspected): readonly RuleFinding[]
}
