import { endOf, type Period } from '../../profile/periods.ts'

/** Something that took time, once or several times, with the spans within it. */
export interface TimelineSpan {
  readonly name: string
  /** The text that the name shortens, such as a statement; empty if it shortens none. */
  readonly text: string
  readonly category: Category
  readonly periods: readonly Period[]
  /** The page with its details; empty when there is none. */
  readonly link: string
  /** A word about its kind, such as a status. */
  readonly note: string
  /** `threw`, `failed`, `not finished`; empty when nothing went wrong. */
  readonly problem: string
  /** The id by which other services name it as a parent; empty without one. */
  readonly spanId: string
  readonly children: TimelineSpan[]
}

/** Creates a span. Fields that are not given are empty. */
export function createSpan(
  { category, name, periods }: Pick<TimelineSpan, 'category' | 'name' | 'periods'>,
  { children = [], link = '', note = '', problem = '', spanId = '', text = '' }: Partial<TimelineSpan> = {},
): TimelineSpan {
  return { name, text, category, periods, link, note, problem, spanId, children }
}

/** The place of a request on the time axis. */
export interface RequestFrame {
  readonly token: string
  /** Microseconds from the start of the main request to the start of this one. */
  readonly offset: number
  /** The name of the controller; empty if it is not known. */
  readonly controller: string
  /** Microseconds until this request was handled. A span without an end is drawn until then. */
  readonly handled: number
}

/** The kinds of spans, in the order of their lanes. The name is also a class and a parameter of the page. */
export const categories = [
  { name: 'kernel', label: 'Kernel' },
  { name: 'event', label: 'Application events' },
  { name: 'listener', label: 'Listeners' },
  { name: 'controller', label: 'Controller' },
  { name: 'template', label: 'Templates' },
  { name: 'database', label: 'Database queries' },
  { name: 'cache', label: 'Cache queries' },
  { name: 'http', label: 'HTTP client calls' },
  { name: 'service', label: 'Other services' },
  { name: 'stopwatch', label: 'Stopwatch' },
  { name: 'request', label: 'Sub-Requests' },
] as const

/** One of {@link categories}. */
export type Category = (typeof categories)[number]['name']

/** The categories of work outside of the process or of the request, which the spans around them wait for. */
export const awaitedCategories: Readonly<Record<AwaitedCategory, string>> = {
  database: 'database queries',
  cache: 'cache queries',
  http: 'HTTP client calls',
  service: 'other services',
  request: 'sub-requests',
}

/** One of {@link awaitedCategories}. */
export type AwaitedCategory = Extract<Category, 'database' | 'cache' | 'http' | 'service' | 'request'>

/** Whether a moment lies within a period. */
export function holds(period: Period | undefined, moment: number): boolean {
  return period !== undefined && period.start <= moment && moment < endOf(period)
}
