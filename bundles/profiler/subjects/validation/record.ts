import {
  observeValidations,
  type Validation,
  type ValidationEnd,
  type ValidationObserver,
} from '../../../../kernel/argument-sources.ts'
import { describeError } from '../../../../lib/errors/flat-error.ts'
import { type CopyBounds, maskAndCut, type TextMasker } from '../../../../lib/redact/masking-copier.ts'
import { isSecretBeside, mask } from '../../../../lib/redact/secret-names.ts'
import { describeTree } from '../../../../lib/redact/value-tree.ts'
import { readProperty } from '../../../../lib/text/describe-value.ts'
import { roundTime } from '../../profile/format.ts'
import type { CollectorOf } from '../../record/collect.ts'
import type { RecordedSubject } from '../../record/recorded-subject.ts'
import { type FindTrace, TracePart } from '../../record/trace.ts'
import type { ValidationData, ValidationsData } from './data.ts'

/** The validations of the input. They are masked when they are recorded. */
export const validationSubject: RecordedSubject = {
  createCollectors: () => [validationCollector],
  observeRequests: ({ redactor }, { findTrace }) => [observeValidations(createValidationRecorder(findTrace, redactor))],
}

const validationCollector: CollectorOf<'validation'> = {
  name: 'validation',
  collectsLate: true,
  collect: trace => validationPart.find(trace)?.toData(),
}

/** More validations of one request are only counted. */
const validationLimit = 50

/** One input. */
const bounds: CopyBounds = { depth: 6, entries: 500, text: 1024, total: 16_384 }

const titleLimit = 100

const errorLimit = 500

/** The validations of one request. */
class ValidationTrace {
  /** All validations, including those that were not kept. */
  count = 0
  readonly #validations: ValidationData[] = []

  /** Adds a validation that begins, if there is room. The returned function replaces it when it ends. */
  add(begun: () => ValidationData): ((ended: Partial<ValidationData>) => void) | undefined {
    this.count++
    const index = this.#validations.length
    if (index === validationLimit) return undefined
    const data = begun()
    this.#validations.push(data)
    return ended => {
      this.#validations[index] = { ...data, ...ended }
    }
  }

  toData(): ValidationsData {
    return { validations: [...this.#validations], omitted: this.count - this.#validations.length }
  }
}

const validationPart = new TracePart(() => new ValidationTrace())

/** Creates the observer that records validations on the traces of their requests. Inputs are masked at once. */
function createValidationRecorder(findTrace: FindTrace, redactor: TextMasker): ValidationObserver {
  return validation => {
    const trace = findTrace(validation.request)
    if (trace === undefined) return undefined
    const finish = validationPart.of(trace).add(() => describeBegin(validation, roundTime(trace.elapsed()), redactor))
    return end => {
      finish?.({ end: roundTime(trace.elapsed()), ...describeEnd(end, redactor) })
      trace.touch()
    }
  }
}

function describeBegin({ input, schema, source }: Validation, start: number, redactor: TextMasker): ValidationData {
  const title = titleOf(schema)
  const shown = source === 'json' ? input : copyFields(Object(input))
  return {
    source,
    vendor: maskAndCut(schema['~standard'].vendor, titleLimit, redactor),
    ...(title !== undefined && { schema: maskAndCut(title, titleLimit, redactor) }),
    start,
    issues: [],
    omittedIssues: 0,
    input: describeTree(shown, redactor, { bounds }),
  }
}

/**
 * Copies fields or parameters, which are in an object without a class, and masks the code of OAuth beside its state.
 */
function copyFields(fields: object): Record<string, unknown> {
  const names = { has: (name: string) => Object.hasOwn(fields, name) }
  return { ...fields, ...(names.has('code') && isSecretBeside('code', names) && { code: mask }) }
}

function describeEnd({ error, issues }: ValidationEnd, redactor: TextMasker): Partial<ValidationData> {
  if (issues === undefined)
    return error === undefined ? {} : { error: describeError(error, text => maskAndCut(text, errorLimit, redactor)) }
  const listed = issues.issues.map(({ message, path }) => ({
    path: path.map(key => redactor.text(key)),
    message: redactor.text(message),
  }))
  return { issues: listed, omittedIssues: issues.omitted }
}

/** The title of a schema of valibot (`v.title()` in a pipe) or zod (`.meta({ title })`). */
function titleOf(schema: object): string | undefined {
  try {
    const pipe = readProperty(schema, 'pipe')
    const action = Array.isArray(pipe) ? pipe.find(each => readProperty(each, 'type') === 'title') : undefined
    const meta = readProperty(schema, 'meta')
    const title = readProperty(action ?? (typeof meta === 'function' ? meta.call(schema) : undefined), 'title')
    return typeof title === 'string' && title !== '' ? title : undefined
  } catch {
    // A function `meta` of another library.
    return undefined
  }
}
