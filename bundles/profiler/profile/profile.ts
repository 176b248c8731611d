import * as v from 'valibot'
import { measureJsonDepth } from '../../../lib/body/parse-json.ts'
import { collectorSchemas, processSchemas, unpackData } from '../subjects/schemas.ts'
import { check, isCount, isToken, type JsonObject, parseJsonObject, type Schema } from './schema.ts'

declare module '../../../lib/signals.ts' {
  interface SignalMap {
    /** A profile was stored. */
    'profile.saved': ProfileSummary
  }
}

/** Raised whenever profiles of the version before can no longer be read. */
export const schemaVersion = 1

/** The fields of a profile that the list shows, and by which profiles are searched and sorted. Masked. */
export type ProfileSummary = Readonly<v.InferOutput<typeof summarySchema>>

/** How a request ended: the response was sent, the client has left, the stream failed, the process ended, or it has not ended. */
export type Outcome = ProfileSummary['outcome']

/** One request as it is stored, as plain JSON. `docs/reference/profile.md` describes the parts of `data`. */
export type ProfileDocument = Readonly<v.InferOutput<typeof documentSchema>>

/** A stored profile with its parsed parts, which the pages, exports and tools show. */
export interface Profile extends ProfileDocument {
  /** The parts of `data` that the profiler's own collectors recorded. Each is parsed when it is read first. */
  readonly collectors: CollectorData
  /** The parts of `processData` that the profiler's own collectors recorded. */
  readonly process: ProcessData
  /** The stored part of each collector about the process. */
  readonly processData: JsonObject
}

type TypesOf<Schemas extends Readonly<Record<string, Schema<unknown>>>> = {
  readonly [Name in keyof Schemas]: v.InferOutput<Schemas[Name]>
}

/** The types of the parts that the profiler's collectors record of a request, by the names of the collectors. */
export type CollectorTypes = TypesOf<typeof collectorSchemas>

/** The types of the parts that they record of the process, once for all of its profiles. */
export type ProcessTypes = TypesOf<typeof processSchemas>

/** The recorded parts of a request, by collector; `undefined` for a part that is absent or damaged. */
export type CollectorData = { readonly [Name in keyof CollectorTypes]: CollectorTypes[Name] | undefined }

/** The recorded parts of the process, by collector; `undefined` for a part that is absent or damaged. */
type ProcessData = { readonly [Name in keyof ProcessTypes]: ProcessTypes[Name] | undefined }

const token = v.custom<string>(isToken)
const count = v.custom<number>(isCount)

// Profiles of earlier versions do not have the fields with a default.
const laterText = v.optional(v.nullable(v.string()), null)
const laterCount = v.optional(count, 0)

/** The fields of a profile that the list shows. Masked. */
const summarySchema = v.object({
  /** 6 or 12 lower-case hexadecimal digits. An identifier, not a secret. */
  token,
  /** The token of the request that made this sub-request; `null` of a main request. */
  parent: v.nullable(token),
  type: v.literal('request'),
  /** The response was sent, the client has left, the stream has failed, the process has ended, or none of these so far. */
  outcome: v.picklist(['complete', 'aborted', 'stream-failed', 'crashed', 'unfinished']),
  /** 0 when there was no response. */
  status: count,
  ip: v.string(),
  method: v.string(),
  /** Secrets in it are masked. */
  url: v.string(),
  route: v.nullable(v.string()),
  controller: v.nullable(v.string()),
  /** The response's content type. */
  contentType: v.nullable(v.string()),
  /** Bytes of the response's body; `null` if they are not known. */
  size: v.optional(v.nullable(check.amount), null),
  /** The same for each request of a client, by its IP and user agent: eight hexadecimal digits; `null` in older profiles. */
  client: laterText,
  /** The use of the response in a browser, such as `document` or `empty`: `Sec-Fetch-Dest` (W3C Fetch Metadata). */
  destination: laterText,
  /** The name of the machine; `null` in storage of a single one. */
  machine: laterText,
  /** When the request began, in milliseconds since 1970, in the range of a Date. */
  time: v.pipe(check.amount, v.maxValue(8.64e15)),
  /**
   * Milliseconds until the last byte was sent, or sending has ended; of a sub-request, until `kernel.finish_request`.
   */
  duration: check.amount,
  /**
   * Whether it was the first request of its route in the process, or one of the first three of the process: code and caches
   * were cold, so its duration says little about others. `false` in older profiles.
   */
  isCold: v.optional(v.boolean(), false),
  /** Bytes of the heap of the process in use when the request ended. */
  memory: check.amount,
  /** The name of the class of the last exception. */
  exception: v.nullable(v.string()),
  /** The same for each occurrence of that exception: eight hexadecimal digits; `null` where it cannot be recognised. */
  fingerprint: laterText,
  /** Log messages of level error and above. */
  errors: count,
  /** Log messages of level warning. */
  warnings: count,
  /** HTTP client calls. */
  calls: count,
  /** Queries of databases. */
  queries: laterCount,
  /** Milliseconds in which at least one query of a database ran. */
  queryTime: v.optional(check.amount, 0),
  /** Queries of caches. */
  cacheCalls: laterCount,
  /** Sub-requests. */
  subRequests: count,
  /** Calls of `dump` and of `console`. */
  dumps: laterCount,
  /** Errors of the page in the browser. */
  browserErrors: laterCount,
})

const documentSchema = v.object({
  schemaVersion: v.literal(schemaVersion),
  summary: v.pipe(summarySchema, v.readonly()),
  /** The tokens of its sub-requests, in the order in which they began. */
  children: v.pipe(v.array(token), v.readonly()),
  /** The stored part of each collector, by its name; also of the collectors of other bundles. */
  data: check.object,
  /** The messages of the collectors that failed, by their names. */
  failures: v.pipe(check.object, v.record(v.string(), v.string()), v.readonly()),
})

/** The words for a count, and where it is shown. */
interface CountWords {
  /** Its name in texts: `cache calls`. */
  readonly name: string
  /** The noun for one of them. */
  readonly one: string
  /** The noun for several, if it is not `one` with an s. */
  readonly many?: string
  /** The panel that has all of them. */
  readonly panel: string
  /** The badge of a request: its noun and its colour. Queries have a column instead. */
  readonly badge?: { readonly one: string; readonly tone: 'plain' | 'warning' | 'error' }
  /** Whether two requests are compared by it. */
  readonly isCompared?: boolean
  /** The part of a comparison that contains the same difference. */
  readonly part?: 'calls' | 'queries'
  /** Its place in Markdown: after the duration, or after the exception. Markdown does not list the other counts. */
  readonly after?: 'duration' | 'exception'
}

const counts = [
  {
    field: 'errors',
    name: 'errors',
    one: 'logged error',
    panel: 'logger',
    badge: { one: 'error', tone: 'error' },
    isCompared: true,
    after: 'exception',
  },
  {
    field: 'warnings',
    name: 'warnings',
    one: 'logged warning',
    panel: 'logger',
    badge: { one: 'warning', tone: 'warning' },
    isCompared: true,
    after: 'exception',
  },
  {
    field: 'browserErrors',
    name: 'errors in the browser',
    one: 'browser error',
    panel: 'browser',
    badge: { one: 'browser error', tone: 'error' },
    after: 'exception',
  },
  {
    field: 'queries',
    name: 'queries',
    one: 'query',
    many: 'queries',
    panel: 'database',
    isCompared: true,
    part: 'queries',
    after: 'duration',
  },
  {
    field: 'cacheCalls',
    name: 'cache calls',
    one: 'cache call',
    panel: 'cache',
    badge: { one: 'cache call', tone: 'plain' },
    isCompared: true,
    part: 'queries',
    after: 'duration',
  },
  {
    field: 'calls',
    name: 'HTTP client calls',
    one: 'HTTP client call',
    panel: 'http',
    badge: { one: 'HTTP client call', tone: 'plain' },
    isCompared: true,
    part: 'calls',
    after: 'duration',
  },
  {
    field: 'subRequests',
    name: 'sub-requests',
    one: 'sub-request',
    panel: 'request',
    badge: { one: 'sub-request', tone: 'plain' },
    isCompared: true,
    after: 'exception',
  },
  { field: 'dumps', name: 'dumps', one: 'dump', panel: 'console', badge: { one: 'dump', tone: 'plain' } },
] as const satisfies readonly (CountWords & { readonly field: keyof ProfileSummary })[]

type CountName = (typeof counts)[number]['field']

/** A count of a summary: its field, the words for it, and where it is shown. */
export interface SummaryCount extends CountWords {
  readonly field: CountName
}

/** The counts of a summary, in the order in which they are shown. */
export const summaryCounts: readonly SummaryCount[] = counts

/** The counts of a request in which nothing has happened. */
// The entries have all names.
export const noCounts = Object.fromEntries(counts.map(({ field }) => [field, 0])) as Readonly<Record<CountName, number>>

/** Bytes of the longest profile that is written and read. */
export const sizeLimit: number = 4 * 1024 * 1024

/** Recorded data is less deep, and the stack has room for much deeper data. */
const depthLimit = 100

/** Parses a summary; `undefined` when a field is missing or wrong. Other fields are dropped. */
export function parseSummary(value: unknown): ProfileSummary | undefined {
  return parse(summarySchema, value)
}

/**
 * Parses the stored text of a profile, and of the process that recorded it (nothing by default). `undefined` when the
 * profile is damaged, too long, too deep, or of another schema version. A damaged part of a collector is `undefined`.
 */
export function parseProfile(text: string, facts = ''): Profile | undefined {
  const document = parse(documentSchema, parseBounded(text))
  return document && new ParsedProfile(document, () => readProcess(facts))
}

/** Makes a profile of its stored document, and of the stored data of its process. */
export function toProfile(document: ProfileDocument, processData: JsonObject = {}): Profile {
  return new ParsedProfile(document, () => processData)
}

/** The process data that was read last: the profiles of a process share its text, which is longer than most of them. */
let lastProcess: { readonly text: string; readonly data: JsonObject } | undefined

function readProcess(text: string): JsonObject {
  if (lastProcess?.text !== text) lastProcess = { text, data: parseBounded(text) ?? {} }
  return lastProcess.data
}

/** A profile. The data of its process is read with its first part: many pages need none. */
class ParsedProfile implements Profile {
  readonly schemaVersion: Profile['schemaVersion']
  readonly summary: ProfileSummary
  readonly children: readonly string[]
  readonly data: JsonObject
  readonly failures: Profile['failures']
  readonly collectors: CollectorData
  readonly process: ProcessData
  readonly #readProcess: () => JsonObject

  constructor({ children, data, failures, schemaVersion, summary }: ProfileDocument, readProcess: () => JsonObject) {
    this.schemaVersion = schemaVersion
    this.summary = summary
    this.children = children
    this.data = unpackData(data)
    this.failures = failures
    this.collectors = readCollectors(() => this.data)
    this.process = readProcessParts(readProcess)
    this.#readProcess = readProcess
  }

  get processData(): JsonObject {
    return this.#readProcess()
  }
}

type Parts<Types> = { readonly [Name in keyof Types]: Types[Name] | undefined }

type Schemas<Types> = { readonly [Name in keyof Types]: Schema<Types[Name]> }

/** Stored data whose parts are parsed when they are read for the first time: most pages read a few parts. */
class StoredParts {
  readonly #stored: () => JsonObject
  readonly #parsed = new Map<string, unknown>()

  constructor(stored: () => JsonObject) {
    this.#stored = stored
  }

  /**
   * Creates the function that makes such parts. Their getters are those of a prototype: with getters of its own, each
   * object would have a hidden class of its own, which is slow and keeps its data alive in minor garbage collections.
   */
  static reader<Types extends object>(schemas: Schemas<Types>): (stored: () => JsonObject) => Parts<Types> {
    class Reader extends StoredParts {}
    for (const [name, schema] of Object.entries<Schema<unknown>>(schemas)) {
      const get = function (this: Reader) {
        return this.#read(name, schema)
      }
      Object.defineProperty(Reader.prototype, name, { get, enumerable: true })
    }
    // The prototype has a getter for each name of the schemas.
    return stored => new Reader(stored) as object as Parts<Types>
  }

  #read(name: string, schema: Schema<unknown>): unknown {
    if (!this.#parsed.has(name)) this.#parsed.set(name, parse(schema, this.#stored()[name]))
    return this.#parsed.get(name)
  }
}

const readCollectors = StoredParts.reader(collectorSchemas)
const readProcessParts = StoredParts.reader(processSchemas)

function parse<Data>(schema: Schema<Data>, value: unknown): Data | undefined {
  if (value === undefined) return undefined
  const result = v.safeParse(schema, value, { abortEarly: true })
  return result.success ? result.output : undefined
}

/** The object that a text of JSON contains; `undefined` when it is damaged, too long or too deep. */
function parseBounded(text: string): JsonObject | undefined {
  return text.length > sizeLimit || measureJsonDepth(text) > depthLimit ? undefined : parseJsonObject(text)
}

/**
 * Recorded data holds what was derived from it under this key. The values of a WeakMap would survive minor garbage
 * collections.
 */
const derivedKey: unique symbol = Symbol('derived')

interface Derived {
  [derivedKey]?: Map<object, object>
}

/**
 * Wraps a function that derives data from the recorded data of a profile, so that it runs once per profile: a panel, the
 * menu and the rules need the same data.
 */
export function oncePerProfile<result extends object>(
  derive: (collectors: CollectorData) => result,
): (profile: Profile) => result {
  return ({ collectors }) => {
    const holder: CollectorData & Derived = collectors
    holder[derivedKey] ??= new Map()
    const derived = holder[derivedKey]
    // Under a function are only its own results.
    let result = derived.get(derive) as result | undefined
    if (result === undefined) {
      result = derive(collectors)
      derived.set(derive, result)
    }
    return result
  }
}
