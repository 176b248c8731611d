import type { Logger } from '../../../../lib/log/logger.ts'
import { readClock } from '../../../../lib/own-globals.ts'
import { maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import { type AmendServices, amendProfile } from '../../record/collect.ts'
import {
  type BrowserData,
  type BrowserError,
  type BrowserReport,
  describeBrowserError,
  parseBrowserStack,
  placeOfBrowserError,
} from './data.ts'

interface BrowserErrorServices extends AmendServices {
  readonly logger: Logger
  /** Milliseconds; it never goes back. */
  readonly clock?: () => number
}

/** Different errors of one page that are kept. */
const errorLimit = 20

/** Reports of one page, repetitions included. Further ones change nothing. */
const reportLimit = 100

/** Messages of all pages in one second. */
const rateLimit = 50

/** Characters that are kept: 4,000 for one error. */
const lengths = { message: 1000, file: 500, stack: 2500 } as const

/**
 * The errors that pages report from the browser: they are masked, added to the profile of the page, and logged once.
 */
export class BrowserErrors {
  readonly #services: BrowserErrorServices
  readonly #logger: Logger
  readonly #clock: () => number
  #second = 0
  #messages = 0

  constructor(services: BrowserErrorServices) {
    this.#services = services
    this.#logger = services.logger.channel('browser')
    this.#clock = services.clock ?? (() => readClock())
  }

  /**
   * Adds reports to the profile of a page. `origin` is that of the page. `unknown`: there is no
   * such profile. `busy`: there are too many messages.
   */
  async add(token: string, reports: readonly BrowserReport[], origin: string): Promise<'added' | 'unknown' | 'busy'> {
    if (this.#isBusy()) return 'busy'
    const errors = reports.slice(0, errorLimit).map(report => this.#mask(report, origin))
    let added: readonly BrowserError[] = []
    let url = ''
    const isKnown = await amendProfile(this.#services, token, ({ collectors, summary }) => {
      const merged = merge(collectors.browser, errors)
      if (merged === undefined) return undefined
      added = merged.added
      url = summary.url
      const { browser } = merged
      return { summary: { ...summary, browserErrors: countErrors(browser) }, data: { browser } }
    })
    for (const error of added) this.#log(error, token, url)
    return isKnown ? 'added' : 'unknown'
  }

  #isBusy(): boolean {
    const second = Math.floor(this.#clock() / 1000)
    if (second !== this.#second) this.#messages = 0
    this.#second = second
    return ++this.#messages > rateLimit
  }

  #mask({ at, column, file, kind, line, message, stack }: BrowserReport, origin: string): BrowserError {
    const [frame] = stack === undefined ? [] : parseBrowserStack(stack)
    const place = file === undefined ? frame : { file, line, column }
    return {
      kind,
      message: this.#text(message, lengths.message),
      ...(place && {
        file: this.#text(withoutOrigin(place.file, origin), lengths.file),
        line: place.line,
        column: place.column,
      }),
      ...(stack !== undefined && { stack: this.#text(stack.replaceAll(`${origin}/`, '/'), lengths.stack) }),
      at: Math.round(at),
      times: 1,
    }
  }

  #text(text: string, limit: number): string {
    return maskAndCut(text, limit, this.#services.redactor)
  }

  #log(error: BrowserError, profile: string, url: string): void {
    const place = placeOfBrowserError(error)
    const context = { error: describeBrowserError(error), profile, url }
    this.#logger.error('{error}', place === '' ? context : { place, ...context })
  }
}

function withoutOrigin(file: string, origin: string): string {
  return file.startsWith(`${origin}/`) ? file.slice(origin.length) : file
}

/** All errors of a page, with repetitions and those that were not kept. */
function countErrors({ errors, omitted }: BrowserData): number {
  return errors.reduce((sum, { times }) => sum + times, omitted)
}

/** Adds errors to those that are stored; `undefined` when nothing changes. */
function merge(
  stored: BrowserData = { errors: [], omitted: 0 },
  errors: readonly BrowserError[],
): { readonly browser: BrowserData; readonly added: readonly BrowserError[] } | undefined {
  if (errors.length === 0 || countErrors(stored) >= reportLimit) return undefined
  const merged = [...stored.errors]
  const added: BrowserError[] = []
  let { omitted } = stored
  for (const error of errors) {
    const at = merged.findIndex(other => isSame(other, error))
    const known = merged[at]
    if (known !== undefined) merged[at] = { ...known, times: known.times + 1 }
    else if (merged.length === errorLimit) omitted++
    else {
      merged.push(error)
      added.push(error)
    }
  }
  return { browser: { errors: merged, omitted }, added }
}

function isSame(one: BrowserError, other: BrowserError): boolean {
  return (['kind', 'message', 'file', 'line', 'column'] as const).every(name => one[name] === other[name])
}
