import { formatWithOptions } from 'node:util'
import { observeDumps } from '../../../../kernel/contracts/dump.ts'
import { consoleCalls } from '../../../../kernel/contracts/process-calls.ts'
import { Headers } from '../../../../lib/http/headers.ts'
import { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { type CopyBounds, maskAndCut, type TextMasker } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import {
  describeTree,
  describeTrees,
  type Expand,
  formatTree,
  type ValueTree,
} from '../../../../lib/redact/value-tree.ts'
import { Callers } from '../../../../lib/stack/callers.ts'
import type { CodePlace } from '../../../../lib/stack/stack-frames.ts'
import { escapeControls } from '../../../../lib/text/escapes.ts'
import { formatPlace } from '../../profile/format.ts'
import type { CollectorOf } from '../../record/collect.ts'
import { isRecordedWarning } from '../../record/node-warnings.ts'
import type { RecordedSubject } from '../../record/recorded-subject.ts'
import { type FindTrace, TracePart } from '../../record/trace.ts'
import type { ConsoleData, ConsoleEntry, ConsoleMethod } from './data.ts'

/**
 * The calls of `dump` and of `console`, also while bundles are registered. They are masked when
 * they are recorded. In production the console stays as it is.
 */
export const consoleSubject: RecordedSubject = {
  observeProcess: ({ debugGate, directory, redactor }, { findTrace }) =>
    debugGate.isDebug ? [observeConsole({ directory, redactor, findTrace, terminal: process.stdout })] : [],
  createCollectors: () => [consoleCollector],
}

const consoleCollector: CollectorOf<'console'> = {
  name: 'console',
  collectsLate: true,
  collect: trace => consolePart.find(trace)?.toData(),
  summarize: trace => ({ dumps: consolePart.find(trace)?.count ?? 0 }),
}

/** The services of {@link observeConsole}. */
interface ConsoleServices {
  /** Finds the trace of the current request. */
  readonly findTrace: FindTrace
  readonly redactor: Redactor
  readonly directory: string
  /** Where a dump outside of a request is printed. */
  readonly terminal: { write(text: string): unknown }
}

/** The calls of the application that `console.trace` shows. */
const callerLimit = 20

/**
 * Records the calls of `dump` and of `console` on the traces of their requests, until the returned function is called.
 */
export function observeConsole({ directory, findTrace, redactor, terminal }: ConsoleServices): () => void {
  const callers = new Callers(directory)
  const findSite = (): CodePlace | undefined => {
    const { callers: _, ...site } = callers.find() ?? {}
    return site.file === undefined ? undefined : site
  }
  const add = (method: ConsoleMethod, describe: () => Pick<ConsoleEntry, 'label' | 'values' | 'callers'>) => {
    const trace = findTrace()
    if (trace === undefined) return false
    consolePart.of(trace).add(method, () => {
      const at = Math.round(trace.elapsed() * 1000)
      const site = findSite()
      return { at, method, ...describe(), ...(site !== undefined && { site }) }
    })
    trace.touch()
    return true
  }
  const stopDumps = observeDumps({
    record: (value, label) =>
      add('dump', () => ({
        ...(label !== undefined && { label: maskAndCut(label, labelLength, redactor) }),
        values: [describeDump(value, redactor, directory)],
      })),
    print(value, label) {
      const site = findSite()
      const head = ['dump', label === undefined ? '' : redactor.text(label), formatPlace(site ?? {})]
      const lines = formatTree(describeDump(value, redactor, directory)).split('\n')
      terminal.write([head.filter(Boolean).join(' '), ...lines].map(line => `${escapeControls(line)}\n`).join(''))
    },
  })
  const stopConsole = consoleCalls.observe((name, values) => {
    if (isRecordedWarning(values)) return
    // These are the methods that are observed.
    const method = name as ConsoleMethod
    add(method, () => ({
      values: describeConsole(method, values, redactor, directory),
      ...(method === 'trace' && { callers: callers.list(callerLimit) }),
    }))
  })
  return () => {
    stopDumps()
    stopConsole()
  }
}

const labelLength = 200

/** More calls of one kind in a request are only counted: a flood of one kind leaves room for the others. */
const entryLimits = { plain: 200, dump: 200, warn: 100, error: 100 } as const

type Kind = keyof typeof entryLimits

/** Characters of the values of all calls of a kind, for each call that may be kept. */
const textLimit = 1250

/** One call. */
const bounds: CopyBounds = { depth: 6, entries: 500, text: 4096, total: 16_384 }

/** The calls of `dump` and of `console` in one request. */
class ConsoleTrace {
  /** All calls, including those that were not kept. */
  count = 0
  readonly #entries: ConsoleEntry[] = []
  /** The calls of each kind, those that were kept, and the characters of their values. */
  readonly #kinds = new Map<Kind, { count: number; entries: number; text: number }>()

  /** Adds a call; `describe` is called only if there is room. */
  add(method: ConsoleMethod, describe: () => ConsoleEntry): void {
    this.count++
    const kind = method in entryLimits ? (method as Kind) : 'plain'
    const limit = entryLimits[kind]
    const known = this.#kinds.get(kind) ?? { count: 0, entries: 0, text: 0 }
    this.#kinds.set(kind, known)
    known.count++
    if (known.entries === limit || known.text > textLimit * limit) return
    const entry = describe()
    known.entries++
    known.text += JSON.stringify(entry.values).length
    this.#entries.push(entry)
  }

  toData(): ConsoleData {
    const omitted = this.count - this.#entries.length
    if (omitted === 0) return { entries: this.#entries, omitted }
    const countOf = (kind: Kind) => this.#kinds.get(kind)?.count ?? 0
    const [dump, error, warn, plain] = [countOf('dump'), countOf('error'), countOf('warn'), countOf('plain')]
    return { entries: this.#entries, omitted, callsByKind: { dump, error, warn, plain } }
  }
}

const consolePart = new TracePart(() => new ConsoleTrace())

/** Describes the value of a dump, masked and within bounds. Files are shown as seen from the directory. */
export function describeDump(value: unknown, masker: TextMasker, directory: string): ValueTree {
  return describeTree(value, masker, { bounds, directory, expand })
}

/**
 * Describes the values of a call of the console: as `console` does, a text with placeholders such
 * as `%s` is filled with the next values. All other values become trees.
 */
function describeConsole(
  method: ConsoleMethod,
  values: readonly unknown[],
  masker: TextMasker,
  directory: string,
): readonly ValueTree[] {
  // The second value of these is an option.
  const shown = method === 'dir' || method === 'table' ? values.slice(0, 1) : fillText(values)
  return describeTrees(shown.slice(0, valueLimit), masker, { bounds, directory, expand })
}

const valueLimit = 20

/** Placeholders that take a value; `%%` takes none. */
const placeholder = /%[sdifjoOc%]/g

function fillText([first, ...rest]: readonly unknown[]): readonly unknown[] {
  if (typeof first !== 'string' || rest.length === 0)
    return first === undefined && rest.length === 0 ? [] : [first, ...rest]
  const wanted = (first.match(placeholder) ?? []).filter(found => found !== '%%').length
  const filled = rest.slice(0, wanted)
  return [formatWithOptions({ depth: 4 }, first, ...filled), ...rest.slice(wanted)]
}

/** The data of objects that keep it in private fields. */
const expand: Expand = value => {
  if (value instanceof Request) {
    const { attributes, clientIp, headers, method, url } = value
    return Object.entries({ method, url, clientIp, headers, attributes })
  }
  if (value instanceof Response) {
    const { body, headers, status } = value
    return Object.entries({ status, headers, body: typeof body === 'string' ? body : describeBody(body) })
  }
  if (value instanceof globalThis.Response) {
    const { headers, status, url } = value
    return Object.entries({ url, status, headers })
  }
  if (value instanceof Headers || value instanceof globalThis.Headers || value instanceof URLSearchParams) return value
  return undefined
}

function describeBody(body: Exclude<Response['body'], string>): unknown {
  return body === null || ArrayBuffer.isView(body) ? body : '(a stream)'
}
