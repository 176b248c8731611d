import { recall, remember } from './browser.ts'
import { type FuzzyMatch, matchFuzzily } from './fuzzy.ts'

/** An entry of the palette. */
export interface PaletteEntry {
  readonly group: string
  readonly label: string
  /** Further text that is searched, such as a value. */
  readonly hint?: string
  readonly link: string
  /** `post` sends a form to the link, `copy` copies the text at the link, `theme` applies one. By default the link is opened. */
  readonly act?: 'post' | 'copy' | 'theme'
}

/** An entry that matches, with the positions of the letters in its label and hint. */
export interface FoundEntry {
  readonly entry: PaletteEntry
  readonly label: readonly number[]
  readonly hint: readonly number[]
}

/** The most entries that are shown. */
const shownLimit = 50

/** The most choices that are stored. */
const recentLimit = 6

/** Entries that another page has as well: only these are stored as recent choices. */
const lasting: readonly string[] = ['Panel', 'Action', 'Page', 'Route', 'Theme']

/** Finds the entries for a query, the best first. Without a query, recent choices come before the others. */
export function findEntries(entries: readonly PaletteEntry[], query: string): FoundEntry[] {
  const recent = readRecent()
  const rankOf = (entry: PaletteEntry) => {
    const at = recent.indexOf(keyOf(entry))
    return at === -1 ? recentLimit : at
  }
  return entries
    .flatMap(entry => {
      const match = matchFuzzily(query, textOf(entry), entry.label.length)
      return match === undefined ? [] : [{ entry, match, rank: rankOf(entry) }]
    })
    .sort((one, other) => other.match.score - one.match.score || one.rank - other.rank)
    .slice(0, shownLimit)
    .map(({ entry, match }) => toFound(entry, match))
}

/** Stores a choice, so that it comes first the next time; not one that changes something, such as a pause. */
export function rememberEntry(entry: PaletteEntry): void {
  if (!lasting.includes(entry.group) || entry.act === 'post') return
  const key = keyOf(entry)
  const recent = [key, ...readRecent().filter(other => other !== key)].slice(0, recentLimit)
  remember('palette', JSON.stringify(recent))
}

function readRecent(): string[] {
  try {
    const stored = JSON.parse(recall('palette') ?? '[]')
    return Array.isArray(stored) ? stored.map(String) : []
  } catch {
    return []
  }
}

function keyOf({ group, label }: PaletteEntry): string {
  return `${group} ${label}`
}

function textOf({ group, hint = '', label }: PaletteEntry): string {
  return `${label}\n${hint}\n${group}`
}

function toFound(entry: PaletteEntry, { positions }: FuzzyMatch): FoundEntry {
  const { hint = '', label } = entry
  const begin = label.length + 1
  return {
    entry,
    label: positions.filter(position => position < label.length),
    hint: positions.map(position => position - begin).filter(position => position >= 0 && position < hint.length),
  }
}
