import * as v from 'valibot'
import { measureJsonDepth } from '../../../lib/body/parse-json.ts'
import { unpackData } from '../subjects/pack.ts'
import { collectorSchemas, processSchemas } from '../subjects/schemas.ts'
import { documentSchema, summarySchema } from './document-schema.ts'
import { type JsonObject, parseJsonObject, sizeLimit } from './json.ts'
import type { CollectorData, ProcessData, Profile, ProfileDocument, ProfileSummary } from './profile.ts'
import type { Schema } from './schema.ts'

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
    this.data = unpackData(data, summary.time)
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
