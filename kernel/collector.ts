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
