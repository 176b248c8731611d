import type { ValueTree } from '../../../../lib/redact/value-tree.ts'
import { formatCount, toOneLine } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import type { BadWork } from '../../profile/work.ts'
import type { ConsoleMethod } from './data.ts'

/** The calls of `console` that were recorded, without those of `dump`, and how many there were. */
export function readPrinted({ collectors, summary }: Profile) {
  const { callsByKind, entries: all = [] } = collectors.console ?? {}
  const entries = all.filter(({ method }) => method !== 'dump')
  const dumped = all.length - entries.length
  if (callsByKind !== undefined) return { entries, count: summary.dumps - callsByKind.dump }
  // Of both kinds, some may have been left out.
  return { entries, count: dumped === 0 ? summary.dumps : entries.length }
}

/** How many calls of a method of the console there were. */
export function countPrinted({ collectors }: Profile, method: 'error' | 'warn'): number {
  const { callsByKind, entries = [] } = collectors.console ?? {}
  return callsByKind?.[method] ?? entries.filter(entry => entry.method === method).length
}

/** How many calls of the console were errors, else warnings. */
export function countComplaints(profile: Profile): BadWork {
  const errors = countPrinted(profile, 'error')
  const count = errors || countPrinted(profile, 'warn')
  const [tone, method] = errors > 0 ? (['error', 'error'] as const) : (['warning', 'warn'] as const)
  const first = profile.collectors.console?.entries.findIndex(entry => entry.method === method) ?? -1
  const anchor = first < 0 ? undefined : `dump-${first}`
  return { count, text: count === 0 ? '' : formatCount(count, tone), tone, anchor }
}

/** The colours of levels of the log. */
export const consoleLevels: Readonly<Record<ConsoleMethod, 'plain' | 'info' | 'warning' | 'error'>> = {
  dump: 'info',
  log: 'plain',
  info: 'info',
  warn: 'warning',
  error: 'error',
  debug: 'plain',
  table: 'plain',
  trace: 'plain',
  dir: 'plain',
}

/** Writes the values of a call in one line. */
export function writeValues(values: readonly ValueTree[], method: ConsoleMethod): string {
  return values.map(value => toOneLine(isPrinted(value, method) ? value.text : writeInline(value))).join(' ')
}

/** Writes a value in one line, such as `{id: 7, roles: ["admin"]}`. Of an error, the message says it. */
function writeInline({ entries, kind, text }: ValueTree): string {
  if (entries === undefined) return kind === 'text' ? JSON.stringify(text) : text === 'Object' ? '{}' : text
  if (entries.some(({ name }) => name === 'stack')) return text
  const isList = entries.every(({ name }, index) => name === String(index))
  const inner = entries.map(({ name, value }) => `${isList ? '' : `${name}: `}${writeInline(value)}`).join(', ')
  return `${/^(?:Object$|Array\()/.test(text) ? '' : `${text} `}${isList ? `[${inner}]` : `{${inner}}`}`
}

/** Whether a value is a text of the console, which has no quotes. */
export function isPrinted({ kind }: ValueTree, method: ConsoleMethod): boolean {
  return method !== 'dump' && kind === 'text'
}
