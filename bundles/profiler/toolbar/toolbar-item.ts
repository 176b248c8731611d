import type { Finding } from '../findings/finding.ts'
import { shorten } from '../format/shorten.ts'
import type { Tone } from '../pages/to-summary-view.ts'
import type { ProcessFacts, Profile, ProfileSummary } from '../profile.ts'

/** What a toolbar is about. */
export interface ToolbarSubject {
  readonly profile: Profile
  readonly facts: ProcessFacts
  /** Those sub-requests whose records are there. */
  readonly children: readonly ProfileSummary[]
  /** What could be better about it, the worst first. */
  readonly findings: readonly Finding[]
}

/** A line of an item's details. */
export interface ToolbarRow {
  readonly name: string
  readonly value: string
  /** Empty where there is nothing to go to. */
  readonly link: string
  readonly tone: Tone
  /** Which part of the bar above it this is about; mostly empty. */
  readonly category: string
}

/** One thing in the bar: a link to its panel, with details that unfold. */
export interface ToolbarItem {
  /** Of the panel it leads to, or of the thing itself: unique among the items. */
  readonly id: string
  /** What it is about, for those who do not see where it stands. */
  readonly title: string
  /** What stands out, such as the status; may be empty. */
  readonly pill: string
  readonly text: string
  readonly tone: Tone
  readonly link: string
  /** Whether it is left away where there is little room. */
  readonly isMinor: boolean
  readonly rows: readonly ToolbarRow[]
  /** How a whole is divided, as a bar of 1,000 units; empty where it is not. */
  readonly shares: readonly { readonly category: string; readonly x: number; readonly width: number }[]
}

/** What an item must be given. */
export type ItemInit = Partial<ToolbarItem> & Pick<ToolbarItem, 'link' | 'rows' | 'text'>

/** Makes an item of what is special about it. */
export function item(id: string, title: string, init: ItemInit): ToolbarItem {
  return { id, title, pill: '', tone: 'plain', isMinor: false, shares: [], ...init }
}

/** Makes a row, a plain one unless told else. */
export function row(name: string, value: string, init: Partial<ToolbarRow> = {}): ToolbarRow {
  return { name, value, link: '', tone: 'plain', category: '', ...init }
}

const textLimit = 300

/** Cuts a long text: the bar has little room. */
export function cut(text: string): string {
  return shorten(text, textLimit)
}
