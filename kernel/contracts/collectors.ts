import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import type { ExtensionPoint } from './extension-point.ts'

/** A finished request, as collectors see it. */
export interface CollectedRequest {
  /** The request as it was at the end. */
  readonly request: Request
  /** Absent if the process ended before the response, or if a sub-request failed. */
  readonly response: Response | undefined
  /** The last value that was thrown while the request was handled; `undefined` if nothing was thrown. */
  readonly error: unknown
}

/** Contributes data about a request to its profile. It must not store data of a request in itself: requests overlap. */
export interface Collector<collected extends CollectedRequest = CollectedRequest> {
  /** The name of the data in the profile, and of the panel: lower-case letters, digits and hyphens. */
  readonly name: string
  /**
   * Returns plain data, or a promise of it; `undefined` if there is none. The data is masked and shortened before it is
   * stored. If this method throws, the profile contains the error, and its other data is complete.
   */
  collect(collected: collected): unknown
  /** How the profiler shows the data; by default as a list. */
  readonly panel?: CollectorPanel
  /** Returns the item of the toolbar for the stored data; `undefined` for no item. By default there is none. */
  toolbar?(data: unknown): CollectorToolbarItem | undefined
}

/** An item of the toolbar. It links to the panel of its collector, and has its label. */
export interface CollectorToolbarItem {
  /** A few words, such as `3 products`. */
  readonly text: string
  /** The default is `plain`. */
  readonly tone?: 'plain' | 'warning' | 'error'
  /** Rows that unfold, by name: at most ten. */
  readonly details?: Readonly<Record<string, string>>
}

/** The page of a profile that shows the data of a collector. */
export interface CollectorPanel {
  /** The text in the menu. */
  readonly label: string
  /** The template; it receives the data as `data`. */
  readonly template: string
  /** A short text beside the label, such as a count. */
  badge?(data: unknown): string
}

/** How serious a finding is; `info` may be intended. */
export type Severity = 'info' | 'warning' | 'error'

/** A profile, as rules see it. */
export interface InspectedProfile {
  /** What the list of profiles shows. */
  readonly summary: {
    readonly method: string
    readonly url: string
    readonly route: string | null
    /** 0 without a response. */
    readonly status: number
    /** Milliseconds until the request was handled. */
    readonly duration: number
    /** The name of the class of the last exception. */
    readonly exception: string | null
  }
  /** The data of each collector by name. It comes from the disk, so it may have any shape. */
  readonly data: Readonly<Record<string, unknown>>
}

/** A finding of a rule in one request. */
export interface RuleFinding {
  /** How serious it is. */
  readonly severity: Severity
  /** The flaw in a few words, where the title of the rule does not fit. */
  readonly title?: string
  /**
   * One sentence about the problem. Recorded texts are not part of it but in `values`, under a placeholder: `{call}`.
   */
  readonly problem: string
  /** The recorded texts of `problem` and `advice` by their placeholders. */
  readonly values?: Readonly<Record<string, string>>
  /** One sentence about the solution. It may contain the same placeholders. */
  readonly advice: string
  /** The line in the code of the application at which the problem begins. */
  readonly code?: { readonly file: string; readonly line: number }
  /** The place in the profile. */
  readonly place?: FindingPlace
  /** The numbers behind the finding; times in milliseconds. */
  readonly evidence: Readonly<Record<string, number>>
}

/** A place on the pages of a profile: a panel, and the id of an element there. */
export interface FindingPlace {
  /** The name of the panel. */
  readonly panel: string
  /** The id of the element on the panel. */
  readonly anchor?: string
  /** The token of another profile than the inspected one. */
  readonly token?: string
}

/** Finds one kind of flaw in profiles when they are shown. It must not store data of a profile in itself. */
export interface FindingRule<inspected extends InspectedProfile = InspectedProfile> {
  /** Lower-case letters, digits and hyphens. */
  readonly name: string
  /** The flaw, in a few words. */
  readonly title: string
  /** If this method throws, the error becomes a finding; other rules are not affected. */
  find(profile: inspected): readonly RuleFinding[]
  /** Decides whether a finding is fixed. By default it is fixed if the rule no longer finds it. */
  readonly measure?: FindingMeasure<inspected>
  /**
   * Whether the same request has the finding again as long as its cause exists; so it is by
   * default. If not, a request without the finding proves no fix.
   */
  readonly isRepeatable?: boolean
}

/** The amount that a finding measures, in any profile of the same request, also below the limit of the rule. */
export interface FindingMeasure<inspected extends InspectedProfile = InspectedProfile> {
  /** `ms` for a time, or the noun of the things that are counted, such as `queries`. */
  readonly unit: string
  /** The amount of the finding in a profile. */
  read(finding: RuleFinding, profile: inspected): number
  /** All of it, in whatever form: a finding is fixed only if this falls, too. Otherwise its work has another form. */
  total?(profile: inspected): number
}

/**
 * Opens connections on which the console shows how a database runs a query. An application adds
 * one per database system.
 */
export interface Explainer {
  /** The `db.system.name` of OpenTelemetry: `postgresql`, `mysql` or `mariadb`. */
  readonly system: string
  /** Opens a connection that nothing else uses: its settings are changed. */
  connect(): Promise<ExplainConnection>
}

/** A connection for the statements of one plan. */
export interface ExplainConnection {
  /** Runs a statement with the values of its placeholders, and returns the rows as objects. */
  run(statement: string, values: readonly unknown[]): Promise<readonly object[]>
  /** Called when the plan is read, or has failed. */
  close(): Promise<void>
}

/** What `app.collectors` takes. */
export const collectorPoint: ExtensionPoint<Collector> = {
  noun: 'collector',
  shape: {
    name: 'string',
    collect: 'function',
    panel: { label: 'string', template: 'string', badge: 'sync function' },
    toolbar: 'sync function',
  },
  required: ['name', 'collect'],
}

/** What `app.findingRules` takes. */
export const findingRulePoint: ExtensionPoint<FindingRule> = {
  noun: 'finding rule',
  shape: {
    name: 'string',
    title: 'string',
    find: 'sync function',
    measure: { unit: 'string', read: 'sync function', total: 'sync function' },
    isRepeatable: 'boolean',
  },
  required: ['name', 'title', 'find'],
}

/** What `app.explainers` takes. */
export const explainerPoint: ExtensionPoint<Explainer> = {
  noun: 'explainer',
  shape: { system: 'string', connect: 'function' },
  required: ['system', 'connect'],
}
