import { type FormData, isChosen, UploadedFile } from '../lib/body/form-data.ts'
import { ARGUMENT_INVALID, checkArguments, checkString } from '../lib/errors/arguments.ts'
import type { HttpError } from '../lib/errors/http-error.ts'
import { isThenable } from '../lib/event-dispatcher/event-dispatcher.ts'
import { isHeaderName } from '../lib/http/headers.ts'
import { checkRequest, type Request } from '../lib/http/request.ts'
import type { Route } from '../lib/routing/route.ts'
import type { Argument } from '../lib/routing/sources.ts'
import {
  describeIssues,
  type ReadableIssues,
  readIssues,
  type SchemaResult,
  type StandardSchema,
  toPointer,
} from '../lib/schema/standard-schema.ts'
import { findFirst } from '../lib/share.ts'
import { asText, type Conversion, findConversionMistake, findStandInMistake } from '../lib/text/conversion.ts'
import { describeValue, isKeyed, isPlainObject } from '../lib/text/describe-value.ts'
import { nearestNames, quoteNearest } from '../lib/text/mistakes.ts'
import { type Controller, createNamedByKey, isController, listSources, noteBody, noteParameter } from './controller.ts'
import {
  KERNEL_ARGUMENT_MISSING,
  KERNEL_CONVERSION_INVALID,
  KERNEL_COOKIE_INVALID,
  KERNEL_COOKIE_MISSING,
  KERNEL_FILE_MISSING,
  KERNEL_HEADER_INVALID,
  KERNEL_HEADER_MISSING,
  KERNEL_INPUT_REFUSED,
  KERNEL_QUERY_VALUE_INVALID,
  KERNEL_QUERY_VALUE_MISSING,
  KERNEL_ROUTE_REFUSED,
  KERNEL_ROUTE_VALUE_INVALID,
  KERNEL_SCHEMA_INVALID,
} from './errors.ts'

/**
 * The request that an error controller answers: the sub-request of the error page is a GET with
 * attributes of its own. Of any other request the request itself.
 */
export function failedRequest(request: Request): Request {
  checkRequest('failedRequest(request)', request)
  return request.attributes.has('exception') ? (request.parent ?? request) : request
}

/**
 * A parameter of the matched route. If it cannot be converted, the answer is 404. Without a name
 * it has the name of its key: `{ id: routeParameter(asInteger) }`.
 */
export function routeParameter(name?: string): Argument<string>
export function routeParameter<value>(conversion: Conversion<value>): Argument<value>
export function routeParameter<value>(name: string, conversion: Conversion<value>): Argument<value>
export function routeParameter(...given: Given): Argument {
  return bindName(given, (name, conversion) => {
    const find = ({ attributes }: Request) => {
      const value = attributes.get(name)
      return value === undefined ? undefined : String(value)
    }
    const argument = convertText('routeParameter', name, find, conversion, undefined, {
      missing: ({ attributes }) => new KERNEL_ARGUMENT_MISSING([name, attributes.get('_route') ?? '']),
      invalid: text => new KERNEL_ROUTE_VALUE_INVALID([name, conversion.expected, text]),
    })
    return noteParameter(argument, name)
  })
}

/**
 * A value of the query string. If it is missing and has no fallback, or cannot be converted, the answer
 * is 400. With `asListOf()` it is a list: `?tag=a,b` and `?tag=a&tag=b` are the same. Brackets in a name
 * have no meaning. Without a name it has the name of its key: `{ page: queryValue(asInteger, 1) }`.
 */
export function queryValue(name?: string): Argument<string>
export function queryValue<value>(conversion: Conversion<value>, fallback?: value): Argument<value>
export function queryValue<value>(name: string, conversion: Conversion<value>, fallback?: value): Argument<value>
export function queryValue(...given: Given): Argument {
  return bindName(given, (name, conversion, fallback) => {
    const find = ({ query }: Request) =>
      conversion.entry === undefined ? query.get(name) : joinValues(query.getAll(name))
    return convertText('queryValue', name, find, conversion, fallback, {
      missing: ({ query }) => new KERNEL_QUERY_VALUE_MISSING([name, suggestSent(name, query.keys())]),
      invalid: text => new KERNEL_QUERY_VALUE_INVALID([name, conversion.expected, text]),
    })
  })
}

/** The end of a message about a missing value. A similar name of a few letters is often another one. */
function suggestSent(name: string, sent: Iterable<string>): string {
  return quoteNearest(nearestNames(name, sent, name.length / 3))
}

function joinValues(values: readonly string[]): string | null {
  return values.length === 0 ? null : values.join(',')
}

/**
 * A header of the request. If it is missing and has no fallback, or cannot be converted, the
 * answer is 400. Without a name it has the name of its key: `{ 'user-agent': headerValue() }`.
 */
export function headerValue(name?: string): Argument<string>
export function headerValue<value>(conversion: Conversion<value>, fallback?: value): Argument<value>
export function headerValue<value>(name: string, conversion: Conversion<value>, fallback?: value): Argument<value>
export function headerValue(...given: Given): Argument {
  return bindName(given, (name, conversion, fallback) => {
    if (!isHeaderName(name))
      throw new ARGUMENT_INVALID([`headerValue("${name}")`, 'no header has this name: use one such as "user-agent"'])
    return convertText('headerValue', name, ({ headers }) => headers.get(name), conversion, fallback, {
      missing: ({ headers }) =>
        new KERNEL_HEADER_MISSING([
          name,
          suggestSent(
            name,
            Array.from(headers, ([each]) => each),
          ),
        ]),
      invalid: () => new KERNEL_HEADER_INVALID([name, conversion.expected]),
    })
  })
}

/**
 * A cookie of the request. If it is missing and has no fallback, or cannot be converted, the
 * answer is 400. Without a name it has the name of its key.
 */
export function cookieValue(name?: string): Argument<string>
export function cookieValue<value>(conversion: Conversion<value>, fallback?: value): Argument<value>
export function cookieValue<value>(name: string, conversion: Conversion<value>, fallback?: value): Argument<value>
export function cookieValue(...given: Given): Argument {
  return bindName(given, (name, conversion, fallback) =>
    convertText('cookieValue', name, ({ cookies }) => cookies.get(name), conversion, fallback, {
      missing: ({ cookies }) => new KERNEL_COOKIE_MISSING([name, suggestSent(name, cookies.keys())]),
      invalid: () => new KERNEL_COOKIE_INVALID([name, conversion.expected]),
    }),
  )
}

/** The arguments of a source: a name, a conversion and a fallback, of which the name may be left out. */
type Given = readonly unknown[]

/** Creates a source with the given name, or one that has the name of its key. */
function bindName(
  given: Given,
  create: (name: string, conversion: Conversion<unknown>, fallback: unknown) => Argument,
): Argument {
  const [first] = given
  const isNamed = given.length > 0 && !isKeyed(first)
  const [conversion = asText, fallback] = isNamed ? given.slice(1) : given
  // `create` checks both.
  const bind = (name: string) => create(name, conversion as Conversion<unknown>, fallback)
  return isNamed ? bind(first as string) : createNamedByKey(bind)
}

/**
 * The first file of this name in a form. If none was chosen, the answer is 422. Without a name it
 * has the name of its key.
 */
export function uploadedFile(name?: string): Argument<UploadedFile> {
  if (name === undefined) return createNamedByKey(uploadedFile) as Argument<UploadedFile>
  checkString('uploadedFile(name)', 'the name', name)
  const read = async (request: Request) => {
    const form = await request.formData()
    const file = form.get(name)
    if (!(file instanceof UploadedFile) || !isChosen(file))
      throw new KERNEL_FILE_MISSING([name, explainMissing(name, form)])
    return file
  }
  return noteBody(read, 'form')
}

/** The end of a sentence about a form without a file. */
function explainMissing(name: string, form: FormData): string {
  if (typeof form.get(name) === 'string') {
    return ': it has a text of this name. A form with files has enctype="multipart/form-data"'
  }
  const files = [...form].flatMap(([other, value]) => (value instanceof UploadedFile ? `"${other}"` : []))
  const others = files.filter(other => other !== `"${name}"`).slice(0, 3)
  return others.length === 0 ? '' : `: it has ${others.join(', ')}`
}

/**
 * The JSON body, as a schema returns it. Issues are answered with 422: problem details with `errors`, each with a JSON
 * `pointer` and a `detail`.
 */
export function jsonBody<value>(schema: StandardSchema<value>): Argument<value> {
  check('jsonBody', schema)
  const read = async (request: Request) => accept(request, 'json', schema, await request.json())
  return noteInput(noteBody(read, 'json'), { source: 'json', schema })
}

/**
 * The form, as a schema returns it. It validates an object with the fields by their names: text or
 * an UploadedFile, and a list only if there are several of one name. Issues are answered with 422.
 * To show the form again, use {@link checkedForm}.
 */
export function formBody<value>(schema: StandardSchema<value>): Argument<value> {
  check('formBody', schema)
  const read = async (request: Request) => accept(request, 'form', schema, await readForm(request))
  return noteInput(noteBody(read, 'form'), { source: 'form', schema })
}

/**
 * The query, as a schema returns it. It validates an object with texts by their names, and a list only
 * if there are several of one name. Issues are answered with 422, with the `parameter` of each issue.
 */
export function queryValues<value>(schema: StandardSchema<value>): Argument<value> {
  check('queryValues', schema)
  const read = (request: Request) => accept(request, 'query', schema, toObject(request.query))
  return noteInput(read, { source: 'query', schema })
}

/**
 * The parameters of the matched route, as a schema returns them. Issues are answered with 404,
 * because the address does not exist.
 */
export function routeParameters<value>(schema: StandardSchema<value>): Argument<value> {
  check('routeParameters', schema)
  const read = (request: Request) => {
    const parameters = Object.entries(request.attributes.get('_route_params') ?? {})
    // Other defaults, such as `_format`, are for the kernel.
    const own = parameters.filter(([name]) => !name.startsWith('_'))
    return accept(request, 'route', schema, toObject(own))
  }
  return noteInput(read, { source: 'route', schema })
}

/** The result of a form: the value of its schema, or issues. With both come the texts, to show the form again. */
export type CheckedForm<value> = {
  /** The texts that were sent, by the names of their fields. A field that was sent several times has a list. */
  readonly values: Readonly<Record<string, string | readonly string[]>>
} & (
  | {
      /** What the schema has made of the form; absent if there are issues. */
      readonly value: value
      /** Absent without issues. */
      readonly issues?: undefined
    }
  | {
      readonly value?: undefined
      /** Messages by the names of their fields; those about the whole form are under the empty name. */
      readonly issues: Readonly<Record<string, readonly string[]>>
    }
)

/** A {@link CheckedForm}. It has a class, by which development knows reads of other members, such as `errors`. */
export class FormResult {
  readonly value: unknown
  readonly issues: Readonly<Record<string, readonly string[]>> | undefined
  readonly values: Readonly<Record<string, string | readonly string[]>>

  constructor(result: ValidationResult<unknown>, input: Values) {
    this.value = result.issues === undefined ? result.value : undefined
    this.issues = result.issues && groupByField(result.issues)
    this.values = textsOf(input)
  }
}

/** A form and its issues, for a controller that answers issues with the form and its values. See {@link formBody}. */
export function checkedForm<value>(schema: StandardSchema<value>): Argument<CheckedForm<value>> {
  check('checkedForm', schema)
  const read = async (request: Request) => {
    const input = await readForm(request)
    // The result of the schema has its type.
    return new FormResult(await validate({ request, source: 'form', schema, input }), input) as CheckedForm<value>
  }
  checkedForms.add(read)
  return noteInput(noteBody(read, 'form'), { source: 'form', schema })
}

const checkedForms = new WeakSet<Argument>()

/** Whether a source of a controller is a {@link checkedForm}. */
export function hasCheckedForm(controller: Controller): boolean {
  return listSources(controller).some(source => checkedForms.has(source))
}

/** An input that a schema validates: the part of the request, and the schema. */
export interface RouteInput {
  /** The part of the request. */
  readonly source: 'json' | 'form' | 'query' | 'route'
  /** The schema that validates it. */
  readonly schema: StandardSchema
}

const inputs = new WeakMap<Argument, RouteInput>()

function noteInput<value>(argument: Argument<value>, input: RouteInput): Argument<value> {
  inputs.set(argument, input)
  return argument
}

/**
 * The inputs of a route that schemas validate, in the order of its sources; for descriptions of an
 * API, such as OpenAPI.
 */
export function inputsOf(route: Pick<Route, 'controller'>): RouteInput[] {
  checkArguments('inputsOf(route)', ['object'], route)
  const { controller } = route
  return isController(controller) ? listSources(controller).flatMap(source => inputs.get(source) ?? []) : []
}

/** Whether a fallback is in an object, as other frameworks take it. */
function isOptions(fallback: unknown): boolean {
  return isPlainObject(fallback) && ['fallback', 'default', 'defaultValue'].some(key => Object.hasOwn(fallback, key))
}

/** The errors for a text that is missing, and for a text that cannot be converted. */
interface TextErrors {
  missing(request: Request): Error
  invalid(text: string): Error
}

/**
 * An argument that finds a text in the request and converts it. Without the text it is the fallback, if there is one.
 *
 * @throws KERNEL_CONVERSION_INVALID
 */
function convertText(
  argument: string,
  name: string,
  find: (request: Request) => string | null | undefined,
  conversion: Conversion<unknown>,
  fallback: unknown,
  errors: TextErrors,
): Argument {
  if (typeof name === 'number' || typeof name === 'boolean') {
    const right = `a fallback is behind its conversion, as in ${argument}(asInteger, 1)`
    throw new ARGUMENT_INVALID([`${argument}(${name})`, `its name must be a string: ${right}`])
  }
  checkString(`${argument}(name)`, 'the name', name)
  if (typeof conversion?.convert !== 'function') {
    throw new KERNEL_CONVERSION_INVALID([`${argument}("${name}")`, describeValue(conversion)])
  }
  const mistaken = findConversionMistake(conversion)
  if (mistaken !== undefined) throw new ARGUMENT_INVALID([`${argument}("${name}")`, mistaken])
  const mistake = isOptions(fallback)
    ? 'is its third argument itself, not an object with options'
    : findStandInMistake(fallback, text => conversion.convert(text))
  if (mistake !== undefined) throw new ARGUMENT_INVALID([`${argument}("${name}")`, `the fallback ${mistake}`])
  return request => {
    const text = find(request)
    if (text === null || text === undefined) {
      if (fallback === undefined) throw errors.missing(request)
      return fallback
    }
    const value = conversion.convert(text)
    if (value === undefined) throw errors.invalid(text)
    return value
  }
}

/** Node.js runs TypeScript without a check of its types. @throws KERNEL_SCHEMA_INVALID */
function check(argument: string, schema: Partial<StandardSchema> | undefined): void {
  if (typeof schema?.['~standard']?.validate !== 'function')
    throw new KERNEL_SCHEMA_INVALID([argument, describeValue(schema)])
}

function accept<value>(
  request: Request,
  source: InputSource,
  schema: StandardSchema<value>,
  input: unknown,
): value | Promise<value> {
  const result = validate({ request, source, schema, input })
  const unwrap = (settled: ValidationResult<value>): value => {
    if (settled.issues !== undefined) throw refuse(source, settled.issues)
    return settled.value
  }
  return isThenable(result) ? Promise.resolve(result).then(unwrap) : unwrap(result)
}

function refuse(source: InputSource, found: ReadableIssues): HttpError {
  const hasBody = source === 'json' || source === 'form'
  const errors = found.issues.map(({ message, path }) => {
    if (hasBody) return { pointer: toPointer(path), detail: message }
    const [parameter] = path
    return { ...(parameter !== undefined && { parameter }), detail: message }
  })
  const members = { errors, ...(found.omitted > 0 && { omitted: found.omitted }) }
  const text = describeIssues(found)
  return source === 'route'
    ? new KERNEL_ROUTE_REFUSED([text], { members })
    : new KERNEL_INPUT_REFUSED([sourceNames[source], text], { members })
}

const sourceNames = { json: 'JSON body', form: 'form', query: 'query', route: 'route' } as const

type Values = Record<string, unknown>

async function readForm(request: Request): Promise<Values> {
  return toObject(chosen(await request.formData()))
}

function* chosen(fields: Iterable<readonly [string, unknown]>): Iterable<readonly [string, unknown]> {
  for (const field of fields) if (!(field[1] instanceof UploadedFile) || isChosen(field[1])) yield field
}

/**
 * Without a prototype, no name has an inherited value. Schemas copy values into objects with one:
 * `__proto__` is left out.
 */
function toObject(pairs: Iterable<readonly [name: string, value: unknown]>): Values {
  const values: Values = Object.create(null)
  for (const [name, value] of pairs) {
    if (name === '__proto__') continue
    const first = values[name]
    if (first === undefined) values[name] = value
    else if (Array.isArray(first)) first.push(value)
    else values[name] = [first, value]
  }
  return values
}

function groupByField({ issues }: ReadableIssues): Record<string, string[]> {
  const groups: Record<string, string[]> = Object.create(null)
  for (const { message, path } of issues) {
    const [field = ''] = path
    groups[field] = [...(groups[field] ?? []), message]
  }
  return groups
}

function textsOf(input: Values): Record<string, string | string[]> {
  const texts: Record<string, string | string[]> = Object.create(null)
  const isText = (value: unknown) => typeof value === 'string'
  for (const [name, value] of Object.entries(input)) {
    if (isText(value)) texts[name] = value
    else if (Array.isArray(value)) texts[name] = value.filter(isText)
  }
  return texts
}

/** The part of a request that a schema validates. */
type InputSource = RouteInput['source']

/** An input and its schema. The input is not masked. */
export interface Validation<value = unknown> {
  readonly request: Request
  readonly source: InputSource
  readonly schema: StandardSchema<value>
  readonly input: unknown
}

/** The result of a validation: the value of the schema, or the issues. */
type ValidationResult<value> =
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

/**
 * Passes validations to an observer, until the returned function is called. One observer records a
 * validation: the first.
 */
export function observeValidations(observer: ValidationObserver): () => void {
  observers.add(observer)
  return () => void observers.delete(observer)
}

/** Validates an input. A promise only if the schema is asynchronous. An error of the schema is not a result. */
function validate<value>(validation: Validation<value>): ValidationResult<value> | Promise<ValidationResult<value>> {
  const end = findFirst(observers, observer => observer(validation))
  const settle = (result: SchemaResult<value>): ValidationResult<value> => {
    if (Object(result) !== result) {
      const mistake = `its schema has returned ${describeValue(result)}, not an object with a value or issues`
      return fail(new ARGUMENT_INVALID([`the ${sourceNames[validation.source]}`, mistake]))
    }
    if (result.issues === undefined) {
      end?.({})
      return result
    }
    const issues = readIssues(result.issues, validation.input)
    end?.({ issues })
    return { issues }
  }
  const fail = (error: unknown): never => {
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
