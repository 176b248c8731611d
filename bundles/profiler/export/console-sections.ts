import { formatTree } from '../../../lib/redact/value-tree.ts'
import { type BrowserError, describeBrowserError, placeOfBrowserError } from '../profile/browser-data.ts'
import type { ConsoleEntry } from '../profile/console-data.ts'
import { formatMicroseconds, formatPlace } from '../profile/format.ts'
import { type Section, toBlock, toSpan } from './markdown-text.ts'

/** The calls of `dump` and of `console`. */
export const consoleSection: Section = {
  panel: 'console',
  write({ profile }, limit) {
    const { entries = [], omitted = 0 } = profile.collectors.console ?? {}
    if (entries.length === 0) return []
    const rest = Math.max(0, entries.length - limit) + omitted
    return [
      '## Console',
      ...entries.slice(0, limit).flatMap(writeEntry),
      ...(rest === 0 ? [] : [`${rest.toLocaleString('en')} more are not listed.`]),
    ]
  },
}

function writeEntry({ at, callers = [], label, method, site, values }: ConsoleEntry): string[] {
  const place = site?.file === undefined ? '' : ` at ${toSpan(formatPlace(site))}`
  const head = `+${formatMicroseconds(at)} ${method}${label === undefined ? '' : ` ${toSpan(label)}`}${place}`
  const plain = method === 'dump' ? [] : values.filter(({ kind }) => kind === 'text')
  const lines = values.map(value => (plain.includes(value) ? value.text : formatTree(value)))
  const calls = callers.map(caller => ['at', caller.function, formatPlace(caller)].filter(Boolean).join(' '))
  return [head, ...(lines.length === 0 ? [] : [toBlock([...lines, ...calls].join('\n'))])]
}

/** The errors of the page in the browser. */
export const browserSection: Section = {
  panel: 'browser',
  nothing: 'No errors in the browser.',
  write({ profile }) {
    const { errors = [], omitted = 0 } = profile.collectors.browser ?? {}
    if (errors.length === 0) return []
    return [
      '## Errors in the browser',
      ...errors.flatMap(writeBrowserError),
      ...(omitted === 0 ? [] : [`${omitted.toLocaleString('en')} more were not recorded.`]),
    ]
  },
}

function writeBrowserError(error: BrowserError): string[] {
  const { stack = '', times } = error
  const place = placeOfBrowserError(error)
  const head = [
    toSpan(describeBrowserError(error)),
    ...(place === '' ? [] : [`at ${toSpan(place)}`]),
    ...(times === 1 ? [] : [`(${times} times)`]),
  ]
  return [head.join(' '), ...(stack === '' ? [] : [toBlock(stack)])]
}
