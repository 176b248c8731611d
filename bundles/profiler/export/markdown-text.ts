import type { CallerPlace } from '../../../lib/stack/callers.ts'
import { escapeInvisible, escapeInvisibleLines } from '../../../lib/text/escapes.ts'
import { formatCaller } from '../profile/callers.ts'
import type { BodyData, ContentData } from '../profile/content.ts'
import { formatDuration, formatNumber, formatPlace, formatSize } from '../profile/format.ts'
import { type ProfileSummary, readCount, type SummaryCount, summaryCounts } from '../profile/profile.ts'
import type { Pairs } from '../profile/schema.ts'

const spanLimit = 500

const blockLimit = 8000

/**
 * Writes a recorded text as a code span (CommonMark 0.31, section 6.1) on one line. Its fence is longer than any run of
 * backticks in the text, so the text cannot become Markdown syntax. Long texts are cut.
 */
export function toSpan(text: string): string {
  if (text === '') return '(empty)'
  const line = escapeInvisible(cut(text, spanLimit))
  const fence = '`'.repeat(longestRun(line) + 1)
  // CommonMark removes one space at each end.
  const space = /^[` ]|[` ]$/.test(line) ? ' ' : ''
  return `${fence}${space}${line}${space}${fence}`
}

/** Writes a recorded value as a code span: a text unchanged, any other value as JSON. */
export function toValueSpan(value: unknown): string {
  return toSpan(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
}

/** Writes a recorded text as a fenced code block (CommonMark 0.31, section 4.5). Long texts are cut. */
export function toBlock(text: string, language = 'text'): string {
  const lines = escapeInvisibleLines(cut(text, blockLimit).replace(/\r\n?/g, '\n'))
  const fence = '`'.repeat(Math.max(2, longestRun(lines)) + 1)
  return `${fence}${language}\n${lines}\n${fence}`
}

/** Writes a recorded value as a block of indented JSON. */
export function toJsonBlock(value: unknown): string {
  return toBlock(JSON.stringify(value, undefined, 2) ?? '', 'json')
}

/** Writes a document of blocks, without empty ones. */
export function joinBlocks(blocks: readonly string[]): string {
  return `${blocks.filter(block => block !== '').join('\n\n')}\n`
}

/** Chooses items up to a limit, those of the lowest rank first. They keep their order. */
export function choose<item>(items: readonly item[], limit: number, rankOf: (item: item) => number): readonly item[] {
  if (items.length <= limit) return items
  const chosen = new Set(items.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, limit))
  return items.filter(item => chosen.has(item))
}

/**
 * Writes a list with one item per line. Items beyond the limit are only counted: those of the
 * highest rank, else the last ones.
 */
export function toList<item>(
  items: readonly item[],
  limit: number,
  write: (item: item) => string,
  rankOf: (item: item) => number = () => 0,
): string {
  const lines = choose(items, limit, rankOf).map(item => `- ${write(item)}`)
  if (items.length > limit) lines.push(`- … and ${(items.length - limit).toLocaleString('en')} more`)
  return lines.join('\n')
}

/** Writes how many further entries were not recorded, or were not listed; nothing if there are none. */
export function writeRest(count: number, lack: 'recorded' | 'listed' = 'recorded'): string[] {
  return count > 0 ? [`${formatNumber(count)} more not ${lack}.`] : []
}

/** Writes the function that made a call, with its helpers and its place. Code at top level has no function. */
export function writeCaller(caller: CallerPlace): string {
  const { function: name = '', isIn, via = [] } = caller
  const place = `at ${toSpan(formatPlace(caller))}`
  if (isIn) return `${toSpan(formatCaller(caller))} ${place}`
  const functions = via.length === 0 ? name : formatCaller(caller)
  return functions === '' ? place : `by ${toSpan(functions)} ${place}`
}

function cut(text: string, limit: number): string {
  const formed = text.toWellFormed()
  return formed.length <= limit ? formed : `${formed.slice(0, limit).toWellFormed()}…`
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length))
}

/** Writes the counts of a summary with a place, such as `queries: 51 in 38.0 ms`, without those that are 0. */
export function writeCounts(summary: ProfileSummary, place: SummaryCount['after']): string[] {
  return summaryCounts
    .filter(count => count.after === place && readCount(summary, count) > 0)
    .map(count => {
      const time = count.field === 'queries' ? ` in ${formatDuration(summary.queryTime)}` : ''
      return `${count.name}: ${readCount(summary, count)}${time}`
    })
}

/** Writes pairs as a list below a heading; nothing without pairs. */
export function writePairs(title: string, pairs: Pairs = [], limit: number): string[] {
  if (pairs.length === 0) return []
  return [`### ${title}`, toList(pairs, limit, ([name, value]) => `${toValueSpan(name)}: ${toValueSpan(value)}`)]
}

/** Writes a content below a heading, or why it is not stored. `state` says how a request's body was read. */
export function writeContentBlocks(
  title: string,
  content: ContentData | undefined,
  limit: number,
  state?: BodyData['state'],
): string[] {
  if (content === undefined) return []
  const { form, isCut, json, length, note, text, type } = content
  const facts = [
    toSpan(type),
    formatSize(length) || 'of unknown length',
    ...(isCut ? ['cut'] : []),
    ...(state === undefined ? [] : [`state ${toSpan(state)}`]),
  ]
  return [
    `### ${title}`,
    facts.join(', '),
    ...(note === undefined ? [] : [toSpan(note)]),
    ...(json === undefined ? [] : [toJsonBlock(json[0])]),
    ...(text === undefined ? [] : [toBlock(text, type.includes('html') ? 'html' : 'text')]),
    ...writePairs('Form', form, limit),
  ]
}

/** Writes a line of an excerpt with its number, and with a mark if it is the line in question. */
export function writeLine(text: string, number: number, hot: number): string {
  return `${number === hot ? '>' : ' '} ${String(number).padStart(4)} | ${text}`.trimEnd()
}

/** The maximal depth of nested lists. */
export const markdownDepth = 20
