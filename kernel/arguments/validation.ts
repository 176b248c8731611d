import { isThenable } from '../../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../../lib/http/request.ts'
import { type ReadableIssues, readIssues } from '../../lib/schema/readable-issues.ts'
import type { SchemaResult, StandardSchema } from '../../lib/schema/standard-schema.ts'

/** The part of a request that a schema validates. */
export type InputSource = 'json' | 'form' | 'query' | 'route'

/** An input and its schema. The input is not masked. */
export interface Validation<value = unknown> {
  readonly request: Request
  readonly source: InputSource
  readonly schema: StandardSchema<value>
  readonly input: unknown
}

/** The result of a validation: the value of the schema, or the issues. */
export type ValidationResult<value> =
  | { readonly value: value; readonly issues?: undefined }
  | { readonly issues: ReadableIssues }

/** The end of a validation: no issues if the schema accepts the input, or the error that the schema has thrown. */
export interface ValidationEnd {
  readonly issues?: ReadableIssues | undefined
  readonly error?: unknown
}

/** Called when a validation begins. The returned function is called when it ends; `undefined` if it is not recorded. */
export type ValidationObserver = (validation: Validation) => ((end: ValidationEnd) => void) | undefined

/** Arguments of controllers belong to no kernel, so their observers belong to the process. */
const observers = new Set<ValidationObserver>()

/** Passes validations to an observer, until the returned function is called. One observer records a validation: the first. */
export function observeValidations(observer: ValidationObserver): () => void {
  observers.add(observer)
  return () => void observers.delete(observer)
}

/** Validates an input. A promise only if the schema is asynchronous. An error of the schema is not a result. */
export function validate<value>(
  validation: Validation<value>,
): ValidationResult<value> | Promise<ValidationResult<value>> {
  const end = observers.size === 0 ? undefined : observe(validation)
  const settle = (result: SchemaResult<value>): ValidationResult<value> => {
    if (result.issues === undefined) {
      end?.({})
      return result
    }
    const issues = readIssues(result.issues, validation.input)
    end?.({ issues })
    return { issues }
  }
  const fail = (error: unknown) => {
    end?.({ error })
    throw error
  }
  let result: SchemaResult<value> | Promise<SchemaResult<value>>
  try {
    result = validation.schema['~standard'].validate(validation.input)
  } catch (error) {
    return fail(error)
  }
  return isThenable(result) ? Promise.resolve(result).then(settle, fail) : settle(result)
}

function observe(validation: Validation): ReturnType<ValidationObserver> {
  for (const observer of observers) {
    const end = observer(validation)
    if (end !== undefined) return end
  }
  return undefined
}
