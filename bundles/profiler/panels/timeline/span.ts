import type { Period } from '../../reading/periods.ts'
import type { Category } from './category.ts'

/** Something that took time, once or several times, and what happened within it. */
export interface TimelineSpan {
  readonly name: string
  readonly category: Category
  readonly periods: readonly Period[]
  /** The page that tells more of it; empty when there is none. */
  readonly link: string
  /** A word that says more of its kind. */
  readonly note: string
  /** What went wrong: `threw`, `failed`, `was not over`. */
  readonly problem: string
  readonly children: TimelineSpan[]
}

/** Creates a span; what is not told is empty. */
export function createSpan(
  { category, name, periods }: Pick<TimelineSpan, 'category' | 'name' | 'periods'>,
  { children = [], link = '', note = '', problem = '' }: Partial<TimelineSpan> = {},
): TimelineSpan {
  return { name, category, periods, link, note, problem, children }
}

/** Of a pass: where its times count from, and until when it was handled. */
export interface PassFrame {
  readonly token: string
  /** Microseconds from the begin of the main request to that of the pass. */
  readonly offset: number
  /** Microseconds since the pass began: what was not over then is shown as if it had ended. */
  readonly handled: number
}
