import * as v from 'valibot'
import { amount, check, count, list, maybe, type Schema } from '../../profile/schema.ts'

/**
 * The errors that browsers report: `resource` is a file that could not be loaded, `policy` a
 * violated Content-Security-Policy.
 */
const browserErrorKinds = ['exception', 'rejection', 'console', 'resource', 'policy'] as const

/** One of {@link browserErrorKinds}. */
export type BrowserErrorKind = (typeof browserErrorKinds)[number]

/** The errors of a page in the browser. */
export type BrowserData = v.InferOutput<typeof browserSchema>

/** An error of a page in the browser. */
export type BrowserError = BrowserData['errors'][number]

/** An error as a page reports it: not masked, and of any length. */
export type BrowserReport = Omit<BrowserError, 'times'>

const position = maybe(check.count)

const fields = {
  kind: v.picklist(browserErrorKinds),
  message: check.text,
  /** The path of the script on this server, or the address of a script of another server. */
  file: maybe(check.text),
  line: position,
  column: position,
  /** As the browser wrote it, without the message. */
  stack: maybe(check.text),
  /** Milliseconds since the page was loaded, by the clock of the browser. */
  at: count,
}

/** The clock of browsers has fractions. */
const report: Schema<BrowserReport> = v.object({ ...fields, at: amount })

/** An error without its kind or its message is left out. */
export const browserSchema = v.object({
  /** In the order in which they were reported. */
  errors: list(
    v.object({
      ...fields,
      /** How often it occurred. */
      times: v.fallback(check.count, 1),
    }),
  ),
  /** How many were only counted because there were too many. */
  omitted: count,
})

const reports = v.fallback(v.object({ errors: list(report) }), { errors: [] })

/** Parses the reports of a page. Damaged reports are left out. */
export function parseReports(value: unknown): readonly BrowserReport[] {
  return v.parse(reports, value).errors
}

const lineLength = 1000

const frameLimit = 100

/**
 * Parses the frames of a stack in the format of Chromium (`at name (url:1:2)`), or of Firefox and
 * Safari (`name@url:1:2`), at most 100.
 */
export function parseBrowserStack(stack: string) {
  return stack.split('\n', frameLimit).flatMap(text => {
    const line = text.trim().slice(0, lineLength)
    const place = /:(\d{1,9}):(\d{1,9})\)?$/.exec(line)
    if (place === null) return []
    const [, row, column] = place
    const call = line.slice(0, place.index)
    // A pattern for the whole line would try each of its characters as the beginning of the file.
    const file = call.split(/[\s(@]/).at(-1)
    if (!file) return []
    const name = call
      .slice(0, call.length - file.length)
      .replace(/^at /, '')
      .replace(/^async /, '')
      .replace(/ ?[(@]$/, '')
      .trim()
    return [{ function: name, file, line: Number(row), column: Number(column) }]
  })
}

/** Writes an error as one line, with its kind. */
export function describeBrowserError({ kind, message }: Pick<BrowserError, 'kind' | 'message'>): string {
  return `${beginnings[kind]}${message}`
}

const beginnings: Readonly<Record<BrowserErrorKind, string>> = {
  exception: 'Uncaught ',
  rejection: 'Unhandled rejection: ',
  console: 'console.error: ',
  resource: 'Not loaded: ',
  policy: 'Content-Security-Policy: ',
}

/** The place of an error: `/assets/site/site.js:12:3`; empty when it is not known. */
export function placeOfBrowserError({
  column,
  file = '',
  line,
}: Pick<BrowserError, 'file' | 'line' | 'column'>): string {
  return [file, line, column].filter(part => part !== undefined && part !== '').join(':')
}
