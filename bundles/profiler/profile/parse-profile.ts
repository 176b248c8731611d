import * as v from 'valibot'
import { measureJsonDepth } from '../../../lib/body/parse-json.ts'
import { collectorSchemas, processSchemas, unpackData } from '../subjects/schemas.ts'
import {
  type CollectorData,
  type ProcessData,
  type Profile,
  type ProfileDocument,
  type ProfileSummary,
  schemaVersion,
} from './profile.ts'
import { check, isCount, isToken, type JsonObject, parseJsonObject, type Schema } from './schema.ts'

const token = v.custom<string>(isToken)
const count = v.custom<number>(isCount)

const summarySchema: Schema<ProfileSummary> = v.object({
  token,
  parent: v.nullable(token),
  type: v.literal('request'),
  outcome: v.picklist(['complete', 'aborted', 'stream-failed', 'crashed', 'unfinished']),
  status: count,
  ip: v.string(),
  method: v.string(),
  url: v.string(),
  route: v.nullable(v.string()),
  controller: v.nullable(v.string()),
  contentType: v.nullable(v.string()),
  // Profiles of earlier versions do not have these three.
  size: v.optional(v.nullable(check.amount), null),
  client: v.optional(v.nullable(v.string()), null),
  destination: v.optional(v.nullable(v.string()), null),
  machine: v.optional(v.nullable(v.string()), null),
  // The range of a Date.
  time: v.pipe(check.amount, v.maxValue(8.64e15)),
  duration: check.amount,
  isCold: v.optional(v.boolean(), false),
  memory: check.amount,
  exception: v.nullable(v.string()),
  // Profiles of versions without fingerprints are shown, too.
  fingerprint: v.optional(v.nullable(v.string()), null),
  errors: count,
  warnings: count,
  calls: count,
  // Profiles of versions without queries are shown, too.
  queries: v.optional(count, 0),
  queryTime: v.optional(check.amount, 0),
  cacheCalls: v.optional(count, 0),
  subRequests: count,
  // Profiles of earlier versions do not have the following fields.
  dumps: v.optional(count, 0),
  browserErrors: v.optional(count, 0),
})

const documentSchema: Schema<ProfileDocument> = v.object({
  schemaVersion: v.literal(schemaVersion),
  summary: summarySchema,
  children: v.array(token),
  data: check.object,
  failures: v.pipe(check.object, v.record(v.string(), v.string())),
})

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
export function parseProfile(text: string, processText = ''): Profile | undefined {
  const document = parse(documentSchema, parseBounded(text))
  return document && new ParsedProfile(document, () => readProcess(processText))
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
